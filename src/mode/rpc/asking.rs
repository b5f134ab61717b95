//! Commands that the session has no part in: what is in its file, and what the program around it
//! knows. They may read files, so they are carried out one after the other beside everything else.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::command::RpcCommand;
use super::{Request, respond};
use crate::agent_session::command::SessionCommand;
use crate::export::tree::tree_lines;
use crate::export::{Format, Secrets};
use crate::ids::EntryId;
use crate::mode::lines::Writer;
use crate::prompt::template::Template;
use crate::session::reader::SessionReader;
use crate::settings::edit::Change;
use crate::settings::schema::Key;
use crate::slash::ExportRequest;
use crate::tui::outside::{OpenSession, Outside, Reloaded};
use crate::tui::overlay::settings::SettingsSheet;

/// The person's own prompts, which `reload` replaces.
pub(super) type Templates = Arc<Mutex<Vec<Template>>>;

/// Whom to ask, and whom to tell what follows.
#[derive(Clone)]
pub(super) struct Aside {
    pub(super) outside: Arc<dyn Outside>,
    pub(super) templates: Templates,
    pub(super) session: mpsc::UnboundedSender<SessionCommand>,
}

/// A question and the session that was open when it came.
pub(super) type Question = (Request, OpenSession);

/// Answers questions until no more can come.
pub(super) async fn answer_all(
    mut questions: mpsc::UnboundedReceiver<Question>,
    aside: Aside,
    out: Writer,
) -> std::io::Result<()> {
    while let Some((request, session)) = questions.recv().await {
        out.has_room().await;
        let aside = aside.clone();
        let Request { id, name, command } = request;
        let answer = tokio::task::spawn_blocking(move || aside.answer(command, &session)).await;
        let answer = answer.unwrap_or_else(|_| Err("an internal error; the log tells more".into()));
        respond(&out, id, Some(&name), answer)?;
    }
    Ok(())
}

impl Aside {
    fn answer(&self, command: RpcCommand, open: &OpenSession) -> Result<Value, String> {
        match command {
            RpcCommand::Tree {} => {
                let mut entries = Vec::new();
                tree_lines(&open.reader, |line| entries.push(json!(line)));
                Ok(json!({ "entries": entries }))
            }
            RpcCommand::Entry { entry: id } => {
                let index = open.reader.tree().find(&id).ok_or_else(|| unknown(&id))?;
                let entry = open.reader.entry(index).map_err(|error| error.to_string())?;
                Ok(json!({ "entry": entry }))
            }
            RpcCommand::Path { leaf, last } => path(&open.reader, leaf.as_ref(), last),
            RpcCommand::Models {} => {
                let models = self.outside.models().into_iter().map(|(model, usable)| {
                    let mut model = json!(model);
                    model["usable"] = json!(usable);
                    model
                });
                Ok(json!({ "models": models.collect::<Vec<_>>() }))
            }
            RpcCommand::Sessions {} => Ok(json!({ "sessions": self.outside.sessions() })),
            RpcCommand::Templates {} => Ok(json!({ "templates": self.list_templates() })),
            RpcCommand::Settings {} => Ok(sheet(&self.outside.settings()?)),
            RpcCommand::SetSetting { key, value } => {
                let value = (!value.is_null()).then_some(value);
                let change = Change { key: Key::parse(&key), value };
                let (changed, reloaded) = self.outside.change_setting(&change)?;
                self.adopt(&reloaded);
                let mut answer = sheet(&changed);
                answer["problems"] = json!(reloaded.problems);
                Ok(answer)
            }
            RpcCommand::Reload {} => {
                let reloaded = self.outside.reload(&open.cwd);
                self.adopt(&reloaded);
                Ok(json!({ "changed": reloaded.changed, "problems": reloaded.problems }))
            }
            RpcCommand::Export { format, path, redact } => {
                let known = || format!("`{format}` is not one of html, md and jsonl");
                let format = Format::parse(&format).ok_or_else(known)?;
                let secrets = if redact { Secrets::Redact } else { Secrets::Keep };
                let request = ExportRequest { format, path, secrets };
                let file = self.outside.export(open, &request)?;
                Ok(json!({ "file": file.to_string_lossy() }))
            }
            other => Err(format!("{other:?} is carried out elsewhere")),
        }
    }

    fn list_templates(&self) -> Vec<Value> {
        let templates = self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        let one = |template: &Template| {
            json!({
                "name": template.name, "description": template.description,
                "arguments": template.argument_hint, "file": template.path,
            })
        };
        templates.iter().map(one).collect()
    }

    /// Goes by what was read again.
    fn adopt(&self, reloaded: &Reloaded) {
        if let Some(templates) = &reloaded.templates {
            let mut known = self.templates.lock().unwrap_or_else(PoisonError::into_inner);
            known.clone_from(templates);
        }
        if let Some(settings) = &reloaded.settings {
            // A session that is over goes by nothing any more.
            self.session.send(SessionCommand::UseSettings(settings.clone())).ok();
        }
    }
}

fn unknown(id: &EntryId) -> String {
    format!("this session has no entry {id}")
}

fn path(
    reader: &SessionReader,
    leaf: Option<&EntryId>,
    last: Option<usize>,
) -> Result<Value, String> {
    let path = {
        let tree = reader.tree();
        let leaf = match leaf {
            Some(id) => Some(tree.find(id).ok_or_else(|| unknown(id))?),
            None => tree.leaf(),
        };
        tree.path(leaf)
    };
    let from = path.len().saturating_sub(last.unwrap_or(usize::MAX));
    let mut entries = Vec::new();
    let mut problems = Vec::new();
    for &index in &path[from..] {
        match reader.entry(index) {
            Ok(entry) => entries.push(entry),
            Err(error) => problems.push(error.to_string()),
        }
    }
    Ok(json!({ "entries": entries, "before": from, "problems": problems }))
}

fn sheet(sheet: &SettingsSheet) -> Value {
    let settings = sheet.shown.iter().map(|shown| {
        json!({
            "key": shown.key.to_string(), "value": shown.value, "origin": shown.origin.to_string(),
        })
    });
    json!({ "file": sheet.file.to_string_lossy(), "settings": settings.collect::<Vec<_>>() })
}
