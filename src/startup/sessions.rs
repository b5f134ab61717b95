//! The sub-commands that look at sessions or work on them without a screen (SPEC section 12).

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::json;

use super::library::library;
use super::places::Folders;
use super::stamp::SystemStamper;
use super::talk::{Making, make_session, registry};
use crate::agent_session::command::SessionCommand;
use crate::agent_session::event::{ActivityKind, SessionEvent};
use crate::agent_session::{AgentSession, Attendance, Commands, SessionHandle};
use crate::cli::TalkArgs;
use crate::compaction::tokens::Estimator;
use crate::export::tree::{Branches, TreeText, write_tree_json, write_tree_text};
use crate::export::{Format, Secrets, Source};
use crate::ids::{EntryId, Stamper};
use crate::mode::interrupt::Interrupts;
use crate::mode::printed;
use crate::prompt::skill::SkillShelf;
use crate::session::listing;
use crate::session::lock::SessionLock;
use crate::session::report::ContextReport;
use crate::session::store::place::{beside, create_private_dir, keep_aside, sync_dir};
use crate::session::store::{Access, Opened, SessionStore};
use crate::settings::Settings;
use crate::settings::file::{environment, load};
use crate::whole_file::WholeFile;

/// Columns of a tree that goes to a file or to another program.
const PIPED_COLUMNS: usize = 100;

/// `regrow sessions`.
pub(super) fn list(all: bool, json: bool) -> anyhow::Result<ExitCode> {
    let (folders, cwd) = here()?;
    let listing = if all {
        listing::list_all(&folders.data.join("sessions"))
    } else {
        listing::list(&session_dir(&folders, &cwd)?)
    };
    let mut out = printed::stdout();
    for session in &listing.sessions {
        if json {
            writeln!(std::io::stdout(), "{}", serde_json::to_string(session)?)?;
        } else {
            let name = session.name.as_deref().unwrap_or(&session.first);
            writeln!(out, "{}  {}  {name}", session.id, session.changed)?;
        }
    }
    out.flush()?;
    tell(&listing.problems)?;
    Ok(ExitCode::SUCCESS)
}

/// `regrow tree`.
pub(super) fn tree(wanted: &str, all: bool, json: bool) -> anyhow::Result<ExitCode> {
    let opened = open(wanted, Access::ReadOnly)?;
    tell(&opened.warnings)?;
    let reader = opened.store.reader();
    if json {
        let mut out = BufWriter::new(std::io::stdout().lock());
        write_tree_json(reader, &mut out)?;
        out.flush()?;
    } else {
        let columns = if std::io::stdout().is_terminal() {
            crossterm::terminal::size().map_or(PIPED_COLUMNS, |(columns, _)| usize::from(columns))
        } else {
            PIPED_COLUMNS
        };
        let branches = if all { Branches::Unfolded } else { Branches::Folded };
        let how = TreeText { columns, now: SystemStamper.now(), branches };
        let mut out = printed::stdout();
        write_tree_text(reader, &how, &mut out)?;
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `regrow doctor`: what is wrong with a file, and a copy of all that can be read. Nothing is ever
/// deleted: with `--fix` the damaged file stays as `<name>.damaged`.
pub(super) fn doctor(wanted: &str, fix: bool) -> anyhow::Result<ExitCode> {
    let opened = open(wanted, Access::ReadOnly)?;
    let path = opened.store.path().context("this session has no file")?.to_path_buf();
    let entries = opened.store.reader().tree().len();
    let mut out = printed::stdout();
    writeln!(out, "{}: {entries} entries can be read", path.display())?;
    if opened.warnings.is_empty() {
        writeln!(out, "nothing is damaged")?;
        return Ok(ExitCode::SUCCESS);
    }
    for warning in &opened.warnings {
        writeln!(out, "  {warning}")?;
    }
    let copy = beside(&path, "repaired");
    let reader = opened.store.reader();
    let leaf = reader.tree().leaf();
    let source = Source { reader, header: opened.store.header(), leaf, file: opened.store.path() };
    let problems = write_export(Format::Jsonl, &source, Secrets::Keep, Some(&path), &copy)
        .with_context(|| format!("cannot write {}", copy.display()))?;
    for problem in problems {
        writeln!(out, "  {problem}")?;
    }
    if !fix {
        writeln!(out, "repaired copy: {}", copy.display())?;
        return Ok(ExitCode::SUCCESS);
    }
    // Nobody may be writing while the file is replaced.
    drop(opened);
    let lock = SessionLock::acquire(&path)?;
    let damaged = keep_aside(&path, "damaged", "").with_context(|| {
        format!("cannot keep the damaged file; the repaired copy is {}", copy.display())
    })?;
    std::fs::rename(&copy, &path)?;
    sync_dir(path.parent().unwrap_or(Path::new(".")))?;
    drop(lock);
    writeln!(out, "repaired; the damaged file is {}", damaged.display())?;
    Ok(ExitCode::SUCCESS)
}

/// `regrow context`.
pub(super) fn context(
    wanted: &str,
    leaf: Option<&str>,
    model: Option<&str>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let mut opened = open(wanted, Access::ReadOnly)?;
    if let Some(leaf) = leaf {
        let found = opened.store.reader().tree().find(&EntryId::new(leaf));
        let Some(found) = found else { bail!("there is no entry {leaf} in this session") };
        opened.store.stand_at(found);
    }
    tell(&opened.warnings)?;
    let args = TalkArgs { model: model.map(ToOwned::to_owned), ..TalkArgs::default() };
    let (mut session, _, _) = session_on(opened, &args, model.is_some())?;
    let (messages, report) = session.look().map_err(anyhow::Error::msg)?;
    let mut out = printed::stdout();
    if json {
        writeln!(std::io::stdout(), "{}", json!({ "messages": messages, "tokens": report }))?;
    } else {
        for message in &messages {
            writeln!(out, "{}", serde_json::to_string(message)?)?;
        }
        write_report(&mut out, &report)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn write_report(out: &mut impl Write, report: &ContextReport) -> std::io::Result<()> {
    let about = if report.estimated { "~" } else { "" };
    writeln!(out, "{about}{} of {} tokens", report.tokens, report.window)?;
    writeln!(out, "  system prompt  {}", report.system_prompt)?;
    writeln!(out, "  tools          {}", report.tools)?;
    writeln!(out, "  instructions   {}", report.instructions)?;
    if let Some(summary) = &report.summary {
        writeln!(out, "  summary        {} for {} entries", summary.tokens, summary.entries)?;
        let kept = &report.kept_tail;
        writeln!(out, "  kept tail      {} in {} entries", kept.tokens, kept.entries)?;
    }
    writeln!(out, "  since then     {} in {} entries", report.since.tokens, report.since.entries)?;
    for (name, tokens) in &report.largest {
        writeln!(out, "  largest        {tokens}  {name}")?;
    }
    Ok(())
}

/// `regrow compact`.
pub(super) fn compact(
    wanted: &str,
    instructions: &str,
    dry_run: bool,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let access = if dry_run { Access::ReadOnly } else { Access::Write };
    let opened = open(wanted, access)?;
    tell(&opened.warnings)?;
    let (session, commands, handle) = session_on(opened, &TalkArgs::default(), false)?;
    let plan = session.dry_run();
    // With nothing to compact nothing runs, and nothing would end.
    if dry_run || plan.get("nothing").is_some() {
        return show_plan(&plan, json);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let instructions = (!instructions.is_empty()).then(|| instructions.to_owned());
    runtime.block_on(async {
        let running = tokio::spawn(session.run(commands));
        let end = run_compaction(handle, instructions, json).await;
        running.await.ok();
        end
    })
}

fn show_plan(plan: &serde_json::Value, json: bool) -> anyhow::Result<ExitCode> {
    let mut out = printed::stdout();
    if json {
        writeln!(std::io::stdout(), "{plan}")?;
    } else if let Some(reason) = plan["nothing"].as_str() {
        writeln!(out, "{reason}")?;
    } else {
        let count = |key: &str| plan[key].as_array().map_or(0, Vec::len);
        writeln!(out, "{} tokens in context", plan["tokensBefore"])?;
        writeln!(out, "would summarise {} entries", count("summarize") + count("turnPrefix"))?;
        writeln!(
            out,
            "would keep      {} entries, from {}",
            count("kept"),
            plan["firstKeptEntryId"]
        )?;
        for key in ["readFiles", "modifiedFiles"] {
            for file in plan[key].as_array().into_iter().flatten() {
                writeln!(out, "  {key}  {}", file.as_str().unwrap_or_default())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn run_compaction(
    mut handle: SessionHandle,
    instructions: Option<String>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let mut interrupts = Interrupts::listen()?;
    handle.commands.send(SessionCommand::Compact { instructions }).ok();
    let mut code = ExitCode::SUCCESS;
    loop {
        let event = tokio::select! {
            event = handle.events.recv() => event,
            _ = interrupts.next() => {
                handle.commands.send(SessionCommand::Abort).ok();
                code = ExitCode::from(130);
                continue;
            }
        };
        match event {
            None | Some(SessionEvent::Ended) => return Ok(code),
            Some(SessionEvent::CompactionEnd { aborted: true, .. }) => {
                writeln!(std::io::stderr(), "stopped; nothing has changed")?;
            }
            Some(SessionEvent::CompactionEnd { result, error, .. }) => {
                if let Some(result) = result {
                    let words =
                        format!("{} → {} tokens", result.tokens_before, result.tokens_after);
                    let line = if json { serde_json::to_string(&result)? } else { words };
                    writeln!(std::io::stdout(), "{line}")?;
                } else if let Some(error) = error {
                    writeln!(printed::stderr(), "regrow: {error}")?;
                    code = ExitCode::FAILURE;
                }
            }
            Some(SessionEvent::Notice { text, .. }) => {
                writeln!(printed::stderr(), "regrow: {text}")?
            }
            Some(SessionEvent::Activity { kind: ActivityKind::Idle }) => {
                handle.commands.send(SessionCommand::Quit).ok();
            }
            Some(_) => {}
        }
    }
}

/// `regrow export`.
pub(super) fn export(
    wanted: &str,
    format: Option<&str>,
    output: Option<&Path>,
    redact: bool,
) -> anyhow::Result<ExitCode> {
    let opened = open(wanted, Access::ReadOnly)?;
    let ending = output.and_then(Path::extension).and_then(|ending| ending.to_str());
    let word = format.or(ending).unwrap_or("md");
    let Some(format) = Format::parse(word) else {
        bail!("there is no format {word}; there are html, md and jsonl");
    };
    let reader = opened.store.reader();
    let leaf = reader.tree().leaf();
    let source = Source { reader, header: opened.store.header(), leaf, file: opened.store.path() };
    let secrets = if redact { Secrets::Redact } else { Secrets::Keep };
    let problems = match output {
        Some(path) => write_export(format, &source, secrets, opened.store.path(), path)
            .with_context(|| format!("cannot export to {}", path.display()))?,
        None => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            let problems = crate::export::export(format, &source, secrets, &mut out)?;
            out.flush()?;
            problems
        }
    };
    tell(&opened.warnings)?;
    tell(&problems)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes an export to a file that only the person can read, whole or not at all; never over the
/// session itself.
pub(super) fn write_export(
    format: Format,
    source: &Source<'_>,
    secrets: Secrets,
    session: Option<&Path>,
    target: &Path,
) -> std::io::Result<Vec<String>> {
    let real = |path: &Path| path.canonicalize().ok();
    if real(target).is_some() && real(target) == session.and_then(real) {
        return Err(std::io::Error::other("that is the session itself"));
    }
    let mut out = WholeFile::begin(target)?;
    let problems = crate::export::export(format, source, secrets, &mut out)?;
    out.finish()?;
    Ok(problems)
}

/// `regrow import`: a copy in this folder's sessions; the original is not touched.
pub(super) fn import(file: &Path) -> anyhow::Result<ExitCode> {
    let (folders, cwd) = here()?;
    let dir = session_dir(&folders, &cwd)?;
    let name = file.file_name().with_context(|| format!("{} is not a file", file.display()))?;
    // Damage and foreign files are found before anything is copied.
    let Opened { warnings, store } =
        SessionStore::open(file, Access::ReadOnly, Estimator::default())?;
    drop(store);
    let target = dir.join(name);
    if target.exists() {
        bail!("{} is there already", target.display());
    }
    create_private_dir(&dir)?;
    let copy = || {
        let mut copy = WholeFile::begin(&target)?;
        std::io::copy(&mut File::open(file)?, &mut copy)?;
        copy.finish_new()
    };
    copy().with_context(|| format!("cannot write {}", target.display()))?;
    tell(&warnings)?;
    writeln!(std::io::stdout(), "{}", target.display())?;
    Ok(ExitCode::SUCCESS)
}

fn here() -> anyhow::Result<(Folders, PathBuf)> {
    let cwd =
        std::env::current_dir().context("the folder you are in is gone; cd somewhere else")?;
    Ok((Folders::find()?, cwd))
}

fn session_dir(folders: &Folders, cwd: &Path) -> anyhow::Result<PathBuf> {
    let chosen = std::env::var_os("REGROW_SESSION_DIR").map(PathBuf::from);
    let chosen =
        chosen.or_else(|| settings(folders, cwd).ok()?.session_dir.clone().map(PathBuf::from));
    Ok(folders.sessions(cwd, chosen.as_deref()))
}

fn settings(folders: &Folders, cwd: &Path) -> anyhow::Result<Arc<Settings>> {
    let places = super::talk::settings_places(folders, cwd);
    match load(&places, environment(), &[]) {
        Ok(resolved) => Ok(Arc::new(resolved.settings)),
        Err(errors) => {
            let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
            bail!("{}", lines.join("\n"))
        }
    }
}

/// Opens the session that a path, an id or the beginning of one names.
pub(super) fn open(wanted: &str, access: Access) -> anyhow::Result<Opened> {
    let (folders, cwd) = here()?;
    let dir = session_dir(&folders, &cwd)?;
    let path = listing::find(wanted, &[&dir, &folders.data.join("sessions")])?;
    Ok(SessionStore::open(&path, access, Estimator::default())?)
}

/// A session that is not attended, on an open store.
pub(super) fn session_on(
    opened: Opened,
    args: &TalkArgs,
    model_is_chosen: bool,
) -> anyhow::Result<(AgentSession, Commands, SessionHandle)> {
    let (folders, cwd) = here()?;
    let settings = settings(&folders, &cwd)?;
    let registry = registry(&settings, &folders);
    let attendance = Attendance::Unattended;
    let skills = SkillShelf::new(library(&folders, &cwd).skills);
    let making = Making { folders: &folders, cwd: &cwd, settings, attendance, skills };
    let made = make_session(args, making, registry, opened.store, Vec::new())?;
    let mut session = made.session;
    if model_is_chosen {
        session.answer_with(made.model);
    }
    Ok((session, made.commands, made.handle))
}

/// Words to the person go to stderr.
fn tell(lines: &[String]) -> std::io::Result<()> {
    let mut out = printed::stderr();
    lines.iter().try_for_each(|line| writeln!(out, "regrow: {line}"))
}
