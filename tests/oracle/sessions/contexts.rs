//! Kind `session`, as far as section 3 of the specification goes, and kind `bashText`.

use std::collections::BTreeMap;
use std::sync::Arc;

use regrow::compaction::tokens::Estimator;
use regrow::ids::EntryId;
use regrow::message::{Block, Content, Message};
use regrow::session::context::build_session_context;
use regrow::session::describe::describe;
use regrow::session::reader::SessionReader;
use regrow::session::store::Access;
use regrow::session::tree::NodeIndex;
use regrow::session::view::convert_to_llm;
use serde_json::{Value, json};

use super::Written;
use crate::cases::{OMP, PI, cases, rows};
use crate::tally::Tally;

/// A case as a session that was opened from disk.
struct Scene {
    name: String,
    tags: Vec<String>,
    reader: SessionReader,
    _written: Written,
}

impl Scene {
    fn of(case: &Value) -> Self {
        let header = match &case["input"]["header"] {
            Value::Null => json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}),
            header => header.clone(),
        };
        let mut text = format!("{header}\n");
        for entry in list(&case["input"]["entries"]) {
            text.push_str(&format!("{entry}\n"));
        }
        let written = Written::new(&text);
        let opened = written.open(Access::ReadOnly).unwrap();
        let tags = list(&case["tags"]).iter().map(|tag| tag.as_str().unwrap().into()).collect();
        let name = case["name"].as_str().unwrap().to_owned();
        Self { name, tags, reader: opened.store.reader().clone(), _written: written }
    }

    fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|own| own == tag)
    }

    fn ids(&self, nodes: &[NodeIndex]) -> Vec<String> {
        let tree = self.reader.tree();
        nodes.iter().map(|index| tree.node(*index).id.to_string()).collect()
    }

    /// The leaf that a row names; an unknown id stands for the default.
    fn leaf(&self, row: &Value) -> Option<NodeIndex> {
        let tree = self.reader.tree();
        match row["leafId"].as_str() {
            Some(id) => tree.find(&EntryId::new(id)).or(tree.leaf()),
            None if row["leafArg"] == "undefined" => tree.leaf(),
            None => None,
        }
    }

    fn messages(&self, leaf: Option<NodeIndex>) -> Vec<(NodeIndex, Arc<Message>)> {
        let outline = build_session_context(&self.reader.tree(), leaf);
        let (messages, problems) = self.reader.messages(&outline.nodes);
        assert_eq!(problems, [""; 0], "{}", self.name);
        messages
    }

    /// Ids of messages of a role that only oh-my-pi knows and sends.
    fn developer_ids(&self, case: &Value) -> Vec<String> {
        list(&case["input"]["entries"])
            .iter()
            .filter(|entry| entry["message"]["role"] == "developer")
            .map(|entry| entry["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn strings(value: &Value) -> Vec<String> {
    list(value).iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
}

fn role(message: &Message) -> String {
    serde_json::to_value(message).unwrap()["role"].as_str().unwrap().to_owned()
}

#[test]
fn j6_j11_leaf_path_and_nodes() {
    let cases = cases("session");
    let mut tally = Tally::new("session: leaf, path, nodes");
    for case in &cases {
        let scene = Scene::of(case);
        let expected = &case["expected"][OMP];
        let tree = scene.reader.tree();
        let leaf = tree.leaf().map(|leaf| tree.node(leaf).id.to_string());
        tally.compare(&scene.name, leaf.as_deref(), expected["smDefaultLeafId"].as_str());
        let path = tree.path(scene.leaf(&case["input"]));
        tally.compare(&scene.name, scene.ids(&path), strings(&expected["pathIds"]));
        // The figures of compaction are compared elsewhere, on entries read whole: nodes that were
        // made in passing must be the same.
        for (index, node) in tree.nodes() {
            let entry = scene.reader.entry(index).unwrap();
            let whole = describe(&entry, Estimator::CharsPerFour, node.span);
            tally.compare(&scene.name, node, &whole);
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 5_000 });
}

#[test]
fn x1_x2_contexts_and_models() {
    let cases = cases("session");
    let mut tally = Tally::new("session: contexts");
    for case in &cases {
        let scene = Scene::of(case);
        let expected = &case["expected"][OMP];
        let developers = scene.developer_ids(case);
        for row in list(&expected["contexts"]) {
            let place = format!("{} {} {}", scene.name, row["kind"], row["leafId"]);
            let leaf = scene.leaf(row);
            let messages = scene.messages(leaf);
            let nodes: Vec<_> = messages.iter().map(|(index, _)| *index).collect();
            let mut ids = strings(&row["ids"]);
            let mut roles = strings(&row["roles"]);
            if ids.iter().any(|id| developers.contains(id)) {
                tally.except("messages of role developer are no part of the format (J4)");
                ids.retain(|id| !developers.contains(id));
                roles.retain(|role| role != "developer");
            }
            tally.compare(&place, scene.ids(&nodes), ids);
            if row.get("roles").is_some() {
                let ours: Vec<_> = messages.iter().map(|(_, message)| role(message)).collect();
                tally.compare(&place, ours, roles);
            }
            let outline = build_session_context(&scene.reader.tree(), leaf);
            let thinking = outline.thinking.as_deref().unwrap_or("off");
            tally.compare(&place, Some(thinking), row["thinkingLevel"].as_str());
        }
        for row in list(&expected["contextModels"]) {
            let leaf = scene.leaf(row);
            let outline = build_session_context(&scene.reader.tree(), leaf);
            let ours = outline.model.map(|model| model.to_string());
            let theirs = row["models"]["default"].as_str().map(str::to_owned);
            tally.compare(format!("{} {}", scene.name, row["leafId"]), ours, theirs);
        }
        let found = scene.messages(scene.leaf(&case["input"])).into_iter().enumerate().find_map(
            |(position, (_, message))| match &*message {
                Message::CompactionSummary(summary) => Some((position, summary.clone())),
                _ => None,
            },
        );
        let theirs = &expected["compactionMessage"];
        let ours = found.map_or(Value::Null, |(position, summary)| {
            json!({"tokensBefore": summary.tokens_before, "shortSummary": summary.short_summary,
                   "timestamp": summary.timestamp, "index": position,
                   "providerPayload": theirs["providerPayload"]})
        });
        tally.compare(&scene.name, &ours, theirs);
    }
    tally.finish(if cases.is_empty() { 0 } else { 2_000 });
}

#[test]
fn x3_what_a_model_is_sent() {
    let cases = cases("session");
    let mut tally = Tally::new("session: llm");
    for case in &cases {
        let scene = Scene::of(case);
        let messages: BTreeMap<_, _> = scene
            .messages(scene.leaf(&case["input"]))
            .into_iter()
            .map(|(index, message)| (scene.reader.tree().node(index).id.to_string(), message))
            .collect();
        for row in list(&case["expected"][OMP]["llm"]) {
            let id = row["from"].as_str().unwrap();
            if row["agentRole"] == "developer" {
                tally.except("messages of role developer are no part of the format (J4)");
                continue;
            }
            let place = format!("{} {id}", scene.name);
            let sent = convert_to_llm(&[messages[id].clone()]);
            let Some(sent) = sent.first() else {
                tally.compare(&place, true, row["omitted"] == true);
                continue;
            };
            tally.compare(&place, role(sent).as_str(), row["role"].as_str().unwrap());
            let text = match &**sent {
                Message::User(user) => glued(&user.content),
                Message::ToolResult(result) => glued(&result.content),
                Message::Assistant(answer) => answer.text(),
                other => panic!("{other:?}"),
            };
            if let Some(expect) = row["text"].as_str() {
                tally.compare(&place, text.as_str(), expect);
            }
            if row.get("wrapped").is_some() {
                compare_wrapped(&mut tally, &scene, &place, &text, &messages[id], &row["wrapped"]);
            }
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 4_000 });
}

/// The text of a content as the cases have it: blocks without anything between them.
fn glued(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => blocks.iter().filter_map(Block::as_text).collect(),
    }
}

/// Row 18: the wording is our own; the summary goes in as it is, with a newline before the end.
fn compare_wrapped(
    tally: &mut Tally,
    scene: &Scene,
    place: &str,
    text: &str,
    message: &Message,
    row: &Value,
) {
    let (Message::CompactionSummary(_) | Message::BranchSummary(_)) = message else { panic!() };
    let stored = serde_json::to_value(message).unwrap()["summary"].as_str().unwrap().to_owned();
    let (lead, rest) = text.split_once("<summary>\n").unwrap();
    let inner = rest.strip_suffix("\n</summary>").unwrap();
    tally.compare(place, inner, stored.as_str());
    tally.compare(place, lead.is_empty(), false);
    if scene.has("format-sensitive") {
        tally.except("row 18: the summary passes through no formatter");
    } else if let Some(expect) = row["inner"]["text"].as_str() {
        tally.compare(place, inner, expect);
    }
}

#[test]
fn x3_commands_of_the_person() {
    let cases = cases("bashText");
    let mut tally = Tally::new("bashText");
    for row in cases.iter().flat_map(rows) {
        let mut run = row.clone();
        run["role"] = json!("bashExecution");
        if run["exitCode"] == "undefined" {
            run["exitCode"] = Value::Null;
        }
        let message: Message = serde_json::from_value(run).unwrap();
        let sent = convert_to_llm(&[Arc::new(message)]);
        let Message::User(user) = &*sent[0] else { panic!() };
        for source in [OMP, PI] {
            let expect = row["expected"][source].as_str().unwrap();
            tally.compare(row, user.content.text().as_str(), expect);
        }
    }
    tally.finish(if cases.is_empty() { 0 } else { 50 });
}
