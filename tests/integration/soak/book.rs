//! What a session file says, read by other code than the program's: line by line, as plain JSON.
//!
//! The book follows the file as it grows, judges every new line (a known parent, no call parted from
//! its result, no compaction without new content), remembers what was acknowledged, and knows what is
//! in context at the leaf.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What a line stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Words of the person; a numbered question has its number.
    User(u32),
    /// An answer and its calls.
    Answer(Box<[u64]>),
    /// The result of a call.
    Result { call: u64, pruned: bool },
    /// Another thing that a model reads.
    Speaks,
    /// A compaction and the first entry that it keeps.
    Compaction(u32),
    /// Nothing that a model reads.
    Quiet,
}

impl Kind {
    fn speaks(&self) -> bool {
        !matches!(self, Self::Quiet | Self::Compaction(_))
    }
}

#[derive(Debug)]
struct Line {
    id: u32,
    parent: Option<u32>,
    kind: Kind,
    /// Of the bytes as they were first written; 0 of a result that was only seen pruned.
    hash: u64,
}

/// See the module's page.
#[derive(Debug)]
pub struct Book {
    path: PathBuf,
    inode: u64,
    /// How far it was read.
    offset: u64,
    lines: Vec<Line>,
    places: HashMap<u32, u32>,
    /// Acknowledged, and not seen in the file yet.
    acknowledged: HashMap<u32, u64>,
    pub compactions: usize,
    pub rewrites: usize,
    /// Results that stand pruned in the file.
    pub pruned: usize,
}

pub fn hash(text: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn id_of(value: &Value) -> Result<u32, String> {
    let text = value.as_str().ok_or_else(|| format!("no id: {value}"))?;
    u32::from_str_radix(text, 16).map_err(|_| format!("an odd id {text}"))
}

/// The number of a question: `Q12: …`.
pub fn question(text: &str) -> u32 {
    let number = text.strip_prefix('Q').and_then(|rest| rest.split_once(':'));
    number.and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

fn text_of(content: &Value) -> &str {
    content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default()
}

fn kind_of(value: &Value) -> Result<Kind, String> {
    let message = &value["message"];
    Ok(match (value["type"].as_str(), message["role"].as_str()) {
        (Some("message"), Some("user")) => Kind::User(question(text_of(&message["content"]))),
        (Some("message"), Some("assistant")) => {
            let blocks = message["content"].as_array().into_iter().flatten();
            let calls = blocks.filter(|block| block["type"] == "toolCall");
            Kind::Answer(calls.map(|call| hash(call["id"].as_str().unwrap_or_default())).collect())
        }
        (Some("message"), Some("toolResult")) => Kind::Result {
            call: hash(message["toolCallId"].as_str().unwrap_or_default()),
            pruned: message.get("prunedAt").is_some(),
        },
        (Some("message"), Some(_)) | (Some("custom_message"), _) => Kind::Speaks,
        (Some("branch_summary"), _) if value["summary"] != "" => Kind::Speaks,
        (Some("compaction"), _) => Kind::Compaction(id_of(&value["firstKeptEntryId"])?),
        (Some(_), _) => Kind::Quiet,
        (None, _) => return Err(format!("no type: {value}")),
    })
}

impl Book {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            inode: 0,
            offset: 0,
            lines: Vec::new(),
            places: HashMap::new(),
            acknowledged: HashMap::new(),
            compactions: 0,
            rewrites: 0,
            pruned: 0,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn bytes(&self) -> u64 {
        self.offset
    }

    /// The id of the entry at a place.
    pub fn id(&self, place: usize) -> String {
        format!("{:08x}", self.lines[place].id)
    }

    /// The session said that this entry, which is this line, is kept.
    pub fn acknowledge(&mut self, id: &str, line: &str) -> Result<(), String> {
        let id = u32::from_str_radix(id, 16).map_err(|_| format!("an odd id {id}"))?;
        self.acknowledged.insert(id, hash(line.trim_end().as_bytes()));
        Ok(())
    }

    /// Reads what is new. `settled`: nothing is being written now, so everything must be there.
    pub fn catch_up(&mut self, settled: bool) -> Result<(), String> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(_) if self.acknowledged.is_empty() && self.lines.is_empty() => return Ok(()),
            Err(error) => return Err(format!("the file is gone: {error}")),
        };
        let inode = file.metadata().map_err(|error| error.to_string())?.ino();
        let again = self.inode != 0 && inode != self.inode;
        let mut place = if again || self.inode == 0 { 0 } else { self.lines.len() + 1 };
        if place == 0 {
            self.offset = 0;
            self.rewrites += usize::from(again);
        }
        self.inode = inode;
        file.seek(SeekFrom::Start(self.offset)).map_err(|error| error.to_string())?;
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).map_err(|error| error.to_string())? > 0 {
            if line.pop() != Some(b'\n') {
                if settled {
                    return Err(format!("line {place} is torn"));
                }
                break;
            }
            self.offset += line.len() as u64 + 1;
            self.read_line(place, &line).map_err(|why| format!("line {place}: {why}"))?;
            place += 1;
            line.clear();
        }
        if again && place <= self.lines.len() {
            return Err(format!("{} lines were lost", self.lines.len() + 1 - place));
        }
        if settled { self.compare_acknowledged() } else { Ok(()) }
    }

    fn compare_acknowledged(&mut self) -> Result<(), String> {
        for (id, hash) in std::mem::take(&mut self.acknowledged) {
            let place =
                self.places.get(&id).ok_or(format!("{id:08x} was acknowledged, and lost"))?;
            let line = &mut self.lines[*place as usize];
            if matches!(line.kind, Kind::Result { pruned: true, .. }) {
                line.hash = hash;
            } else if line.hash != hash {
                return Err(format!("{id:08x} is not what was acknowledged"));
            }
        }
        Ok(())
    }

    fn read_line(&mut self, place: usize, line: &[u8]) -> Result<(), String> {
        let Some(place) = place.checked_sub(1) else {
            let header: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
            return if header["type"] == "session" { Ok(()) } else { Err("no header".into()) };
        };
        let new = hash(line);
        if let Some(known) = self.lines.get(place) {
            // The file was written anew: nothing but results may have changed.
            let Kind::Result { call, pruned } = known.kind else {
                return if new == known.hash { Ok(()) } else { Err("a line has changed".into()) };
            };
            let mut now_pruned = new != known.hash;
            if now_pruned {
                let value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
                let kind = kind_of(&value)?;
                now_pruned = kind == Kind::Result { call, pruned: true };
                if !now_pruned && (known.hash != 0 || kind != Kind::Result { call, pruned: false })
                {
                    return Err("a result has changed and is not pruned".into());
                }
                if !now_pruned {
                    self.lines[place].hash = new;
                }
            }
            self.pruned = self.pruned + usize::from(now_pruned) - usize::from(pruned);
            self.lines[place].kind = Kind::Result { call, pruned: now_pruned };
            return Ok(());
        }
        let value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let id = id_of(&value["id"])?;
        let parent = match &value["parentId"] {
            Value::Null => None,
            parent => Some(*self.places.get(&id_of(parent)?).ok_or("its parent is not there")?),
        };
        let kind = kind_of(&value)?;
        let hash = if matches!(kind, Kind::Result { pruned: true, .. }) { 0 } else { new };
        let entry = Line { id, parent, kind, hash };
        self.judge(&entry)?;
        self.compactions += usize::from(matches!(entry.kind, Kind::Compaction(_)));
        self.pruned += usize::from(matches!(entry.kind, Kind::Result { pruned: true, .. }));
        if self.places.insert(id, u32::try_from(self.lines.len()).unwrap()).is_some() {
            return Err(format!("{id:08x} is there twice"));
        }
        self.lines.push(entry);
        Ok(())
    }

    /// The lines from a place up to the root.
    fn ancestors(&self, from: Option<u32>) -> impl Iterator<Item = (u32, &Line)> {
        std::iter::successors(from.map(|at| (at, &self.lines[at as usize])), |(_, line)| {
            line.parent.map(|at| (at, &self.lines[at as usize]))
        })
    }

    fn judge(&self, new: &Line) -> Result<(), String> {
        match &new.kind {
            Kind::Result { call, .. } => {
                let mut above = self.ancestors(new.parent).map(|(_, line)| &line.kind);
                let answer = above.find(|kind| !matches!(kind, Kind::Result { .. } | Kind::Quiet));
                let known = matches!(answer, Some(Kind::Answer(calls)) if calls.contains(call));
                if known { Ok(()) } else { Err("a result without its call".into()) }
            }
            Kind::Compaction(first_kept) => {
                let mut above = self.ancestors(new.parent).map(|(_, line)| &line.kind);
                let before = above.find(|kind| **kind != Kind::Quiet);
                if !before.is_some_and(Kind::speaks) {
                    return Err("two compactions without new content between them".into());
                }
                self.judge_tail(new.parent, *first_kept)
            }
            _ => Ok(()),
        }
    }

    /// Whether a kept tail begins on the path, and between a call and its results nowhere.
    fn judge_tail(&self, from: Option<u32>, first_kept: u32) -> Result<(), String> {
        let mut without_call = HashSet::new();
        for (_, line) in self.ancestors(from) {
            match &line.kind {
                Kind::Result { call, .. } => {
                    without_call.insert(*call);
                }
                Kind::Answer(calls) => calls.iter().for_each(|call| {
                    without_call.remove(call);
                }),
                _ => {}
            }
            if line.id == first_kept {
                let parted = !without_call.is_empty();
                return if parted {
                    Err("a call is parted from its result".into())
                } else {
                    Ok(())
                };
            }
        }
        Err(format!("the first kept entry {first_kept:08x} is not on the path"))
    }

    /// The places of what is in context at the leaf (X1, J6), the newest compaction first.
    pub fn context(&self) -> Result<Vec<usize>, String> {
        let leaf = self.lines.len().checked_sub(1).map(|last| last as u32);
        let (mut nodes, mut compaction) = (Vec::new(), None);
        for (place, line) in self.ancestors(leaf) {
            match (&line.kind, compaction) {
                (Kind::Compaction(first_kept), None) => {
                    compaction = Some((place, *first_kept));
                    continue;
                }
                (kind, _) if kind.speaks() => nodes.push(place as usize),
                _ => {}
            }
            if compaction.is_some_and(|(_, first_kept)| first_kept == line.id) {
                nodes.extend(compaction.map(|(place, _)| place as usize));
                nodes.reverse();
                return Ok(nodes);
            }
        }
        if compaction.is_some() {
            return Err("the first kept entry is not on the path".into());
        }
        nodes.reverse();
        Ok(nodes)
    }

    /// The numbers of the questions in context, in order.
    pub fn questions(&self) -> Result<Vec<u32>, String> {
        let numbers =
            self.context()?.into_iter().filter_map(|place| match self.lines[place].kind {
                Kind::User(number) if number > 0 => Some(number),
                _ => None,
            });
        Ok(numbers.collect())
    }

    /// The hashes of what is in context: the same in a fork.
    pub fn fingerprint(&self) -> Result<Vec<u32>, String> {
        Ok(self.context()?.into_iter().map(|place| self.lines[place].id).collect())
    }
}
