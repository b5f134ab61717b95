//! What commands show that open something on the screen: the same as lines.

use crate::agent_session::command::{SessionCommand, SwitchTo};
use crate::export::tree::tree_lines;
use crate::prompt::template::Template;
use crate::provider::ThinkingLevel;
use crate::session::listing::ListedSession;
use crate::session::reader::SessionReader;
use crate::slash::COMMANDS;
use crate::tui::cell::{Shown, cells_of};
use crate::tui::outside::Outside;
use crate::tui::words;

/// Most lines of a list; the newest are worth most.
const MOST: usize = 60;

/// The points that one may go to: what the person said, and summaries.
pub(super) fn tree(reader: &SessionReader) -> Vec<String> {
    let mut lines = Vec::new();
    tree_lines(reader, |line| {
        let who = match (line.kind.as_str(), line.role.as_deref()) {
            ("message", Some("user")) => "you",
            ("compaction", _) => "compacted",
            ("branch_summary", _) => "branch",
            ("message", Some("assistant")) if line.leaf => "regrow",
            (kind, _) if line.leaf => kind,
            _ => return,
        };
        let place = match (line.leaf, line.on_path) {
            (true, _) => ", here",
            (false, true) => "",
            (false, false) => ", another branch",
        };
        lines.push(format!("{} {who}{place}: {}", line.id, line.preview));
    });
    let mut lines = newest(lines);
    lines.push("/tree and an entry's id goes there".to_owned());
    lines
}

/// The last of many, and how many there are before.
fn newest(mut lines: Vec<String>) -> Vec<String> {
    let before = lines.len().saturating_sub(MOST);
    if before > 0 {
        lines.drain(..before);
        lines.insert(0, format!("{before} earlier ones"));
    }
    lines
}

/// The sessions that a word is found in; the one that it names is opened.
pub(super) fn sessions(
    sessions: &[ListedSession],
    search: Option<&str>,
) -> Result<SessionCommand, Vec<String>> {
    let named = |session: &&ListedSession| search.is_some_and(|id| session.id.starts_with(id));
    let mut matching = sessions.iter().filter(named);
    if let (Some(one), None) = (matching.next(), matching.next()) {
        return Ok(SessionCommand::Switch(SwitchTo::Open(one.path.clone())));
    }
    let needle = search.unwrap_or_default().to_lowercase();
    let title = |session: &ListedSession| session.name.clone().unwrap_or(session.first.clone());
    let holds = |session: &&ListedSession| {
        [&title(session), &session.cwd, &session.id]
            .iter()
            .any(|text| text.to_lowercase().contains(&needle))
    };
    let line =
        |session: &ListedSession| format!("{} {}: {}", session.id, session.cwd, title(session));
    let mut lines: Vec<_> = sessions.iter().filter(holds).take(MOST).map(line).collect();
    lines.push("/resume and the beginning of an id opens one".to_owned());
    Err(lines)
}

pub(super) fn models(
    outside: &dyn Outside,
    wanted: Option<&str>,
) -> Result<SessionCommand, Vec<String>> {
    let models = outside.models();
    if let Some(wanted) = wanted {
        return words::wanted_model(wanted, &models)
            .map(SessionCommand::SetModel)
            .map_err(|why| vec![format!("error: {why}")]);
    }
    let usable = models.iter().filter(|(_, usable)| *usable);
    let mut lines: Vec<_> = usable.map(|(model, _)| model.model_ref().to_string()).collect();
    lines.push("/model and one of these takes it; others need a key: regrow login".to_owned());
    Err(lines)
}

pub(super) fn settings(outside: &dyn Outside) -> Vec<String> {
    match outside.settings() {
        Ok(sheet) => {
            let mut lines: Vec<_> = sheet.shown.iter().map(ToString::to_string).collect();
            lines.push(format!("change them in {}, then /reload", sheet.file.display()));
            lines
        }
        Err(why) => vec![format!("error: {why}")],
    }
}

pub(super) fn thinking() -> String {
    let names: Vec<&str> = ThinkingLevel::ALL.into_iter().map(ThinkingLevel::as_str).collect();
    format!("/thinking takes {}", names.join(", "))
}

pub(super) fn help(templates: &[Template]) -> Vec<String> {
    let mut lines: Vec<_> =
        COMMANDS.iter().map(|command| format!("{}: {}", command.usage(), command.help)).collect();
    lines.extend(templates.iter().map(|template| {
        let usage = format!("/{} {}", template.name, template.argument_hint);
        format!("{}: {}", usage.trim_end(), template.description)
    }));
    lines.extend(keys());
    lines
}

pub(super) fn keys() -> Vec<String> {
    [
        "a line that ends in \\ goes on in the next one",
        "!command runs a command, !!command keeps it from the model",
        "ctrl+c stops what runs; twice when nothing runs, it leaves",
        "ctrl+d leaves when all is done",
    ]
    .map(ToOwned::to_owned)
    .to_vec()
}

/// Lines on the path that hold a text, each with its entry.
pub(super) fn find(reader: &SessionReader, text: &str) -> Vec<String> {
    let needle = text.to_lowercase();
    let path = reader.tree().active_path();
    let mut found = Vec::new();
    for index in path {
        let Ok(entry) = reader.entry(index) else { continue };
        let texts = match cells_of(&entry, None) {
            Shown::Cells(cells) => cells.iter().map(crate::tui::cell::Cell::text).collect(),
            Shown::Result(result) => vec![result.content.text()],
        };
        let lines = texts.iter().flat_map(|text| text.lines());
        let lines = lines.filter(|line| line.to_lowercase().contains(&needle));
        found.extend(lines.map(|line| format!("{} {}", entry.id, line.trim())));
    }
    if found.is_empty() { vec![format!("nothing holds {text}")] } else { newest(found) }
}

/// The text of the last answer on the path.
pub(super) fn last_answer(reader: &SessionReader) -> Option<String> {
    let path = reader.tree().active_path();
    path.into_iter().rev().find_map(|index| {
        let entry = reader.entry(index).ok()?;
        let crate::session::entry::EntryBody::Message { message } = &entry.body else {
            return None;
        };
        let crate::message::Message::Assistant(answer) = message else { return None };
        Some(answer.text()).filter(|text| !text.trim().is_empty())
    })
}
