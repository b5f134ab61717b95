//! The hooks of the settings, and `regrow hooks`: what there is, and what they answer to a sample.

use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, anyhow, bail};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::places::Folders;
use super::session_choice::copy_tour;
use super::stamp::SystemStamper;
use super::{commands, sessions, talk};
use crate::cli::{HooksCommand, TalkArgs};
use crate::compaction::tokens::Estimator;
use crate::hook::chain::{ChainEnd, Hooks, Occasion};
use crate::hook::external::{End, ExternalHook, Ran};
use crate::hook::{EventName, Hook, HookAnswer, HookEvent, SessionFacts};
use crate::ids::Stamper;
use crate::message::ToolCall;
use crate::mode::interrupt::Interrupts;
use crate::mode::printed;
use crate::nearest::nearest;
use crate::session::entry::SessionHeader;
use crate::session::store::{Access, Opened, SessionStore};
use crate::settings::file::{environment, load};
use crate::settings::{HookCommand, HookSettings, Settings};
use crate::tool::sanitize;
use crate::tool::truncate::one_line;

/// Most characters of an answer that are shown.
const SHOWN: usize = 1_000;

/// The hooks of the settings, in their order.
pub(super) fn configured(settings: &Settings) -> Hooks {
    let hook = |hook: &HookSettings| Arc::new(ExternalHook::new(hook.clone())) as Arc<dyn Hook>;
    Hooks::new(settings.hooks.iter().map(hook).collect())
}

/// `regrow hooks`.
pub(super) fn hooks(what: HooksCommand) -> anyhow::Result<ExitCode> {
    let folders = Folders::find()?;
    let cwd =
        std::env::current_dir().context("the folder you are in is gone; cd somewhere else")?;
    let resolved = match load(&talk::settings_places(&folders, &cwd), environment(), &[]) {
        Ok(resolved) => resolved,
        Err(errors) => return commands::mistakes(&errors),
    };
    for notice in &resolved.notices {
        writeln!(printed::stderr(), "regrow: {notice}")?;
    }
    let hooks = &resolved.settings.hooks;
    match what {
        HooksCommand::List => list(hooks),
        HooksCommand::Test { event, session, tool, input } => {
            let event = event_named(&event)?;
            let call = tool.map(|tool| sample_call(tool, input.as_deref())).transpose()?;
            test(hooks, event, session.as_deref(), call)
        }
    }
}

fn list(hooks: &[HookSettings]) -> anyhow::Result<ExitCode> {
    let mut out = printed::stdout();
    if hooks.is_empty() {
        writeln!(
            out,
            "there are no hooks in the settings (`regrow config path` tells where they are)"
        )?;
    }
    for hook in hooks {
        writeln!(out, "{}", hook.name)?;
        writeln!(out, "  starts    {}", shown_command(hook))?;
        let events: Vec<_> = hook.events.iter().map(|event| event.as_str()).collect();
        writeln!(out, "  at        {}", events.join(", "))?;
        if let Some(tools) = &hook.tools {
            writeln!(out, "  tools     {}", tools.join(", "))?;
        }
        let failing =
            if hook.required { "cancels what can be cancelled" } else { "is told and ignored" };
        writeln!(out, "  may take  {} s; its failure {failing}", hook.timeout)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn shown_command(hook: &HookSettings) -> String {
    let mut words = match &hook.command {
        HookCommand::Line(line) => vec![line.clone()],
        HookCommand::Program(words) => words.clone(),
    };
    words.extend(hook.args.iter().cloned());
    words.join(" ")
}

fn event_named(name: &str) -> anyhow::Result<EventName> {
    let names = || EventName::ALL.into_iter().map(EventName::as_str);
    EventName::ALL.into_iter().find(|event| event.as_str() == name).ok_or_else(|| {
        let help = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        anyhow!("there is no event `{name}`; {help}")
    })
}

fn sample_call(tool: String, input: Option<&str>) -> anyhow::Result<ToolCall> {
    let arguments = serde_json::from_str(input.unwrap_or("{}"))
        .with_context(|| format!("--input is no JSON: {}", input.unwrap_or_default()))?;
    Ok(ToolCall { id: "call".to_owned(), name: tool, arguments, thought_signature: None })
}

/// `regrow hooks test`. Fails when a hook fails.
fn test(
    hooks: &[HookSettings],
    event: EventName,
    wanted: Option<&str>,
    call: Option<ToolCall>,
) -> anyhow::Result<ExitCode> {
    // The folder of a sample lives as long as the session that is read from it.
    let samples = tempfile::tempdir().context("cannot make a folder for the sample")?;
    let opened = match wanted {
        Some(wanted) => sessions::open(wanted, Access::ReadOnly)?,
        None => sample_session(samples.path())?,
    };
    let (session, ..) = sessions::session_on(opened, &TalkArgs::default(), false)?;
    let occasion = session.sample(event, call).map_err(anyhow::Error::msg)?;
    let facts = session.facts();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut interrupts = Interrupts::listen()?;
        tokio::select! {
            code = try_all(hooks, occasion, &facts) => code,
            // Dropped, the hook's processes are killed.
            _ = interrupts.next() => Ok(ExitCode::from(130)),
        }
    })
}

/// A copy of the tour that works in the present folder.
fn sample_session(folder: &std::path::Path) -> anyhow::Result<Opened> {
    let cwd = std::env::current_dir()?.display().to_string();
    let header = SessionHeader::new("sample".to_owned(), SystemStamper.now(), cwd);
    let path = copy_tour(folder, header)?;
    Ok(SessionStore::open(&path, Access::ReadOnly, Estimator::default())?)
}

async fn try_all(
    hooks: &[HookSettings],
    mut occasion: Box<dyn Occasion>,
    facts: &SessionFacts,
) -> anyhow::Result<ExitCode> {
    let event = occasion.event();
    let mut out = printed::stdout();
    let mut asked = false;
    let mut code = ExitCode::SUCCESS;
    for hook in hooks.iter().map(|hook| ExternalHook::new(hook.clone())) {
        if !hook.wants(event, None) {
            continue;
        }
        if !hook.wants(event, occasion.tool()) {
            let tool = occasion.tool().unwrap_or_default();
            writeln!(out, "{}: not asked, it looks at other tools than {tool}", hook.name())?;
            continue;
        }
        asked = true;
        let tried = Tried::of(&hook, occasion.as_mut(), facts).await;
        writeln!(out, "{}: {}", hook.name(), tried.how)?;
        for (what, text) in &tried.lines {
            writeln!(out, "  {what:<7} {text}")?;
        }
        if tried.failed {
            code = ExitCode::FAILURE;
        }
        if tried.ends {
            break;
        }
    }
    if !asked {
        bail!("no hook of the settings is asked at {event}; `regrow hooks list` shows them");
    }
    Ok(code)
}

/// What came of trying a hook.
struct Tried {
    how: String,
    lines: Vec<(&'static str, String)>,
    failed: bool,
    /// Whether the chain ends here.
    ends: bool,
}

impl Tried {
    async fn of(hook: &ExternalHook, occasion: &mut dyn Occasion, facts: &SessionFacts) -> Self {
        let event =
            HookEvent { event: occasion.event(), session: facts.clone(), data: occasion.data() };
        let started = hook.start(&event).await;
        let mut tried = Self {
            how: started.as_ref().map_or_else(Clone::clone, how_it_ended),
            lines: Vec::new(),
            failed: false,
            ends: false,
        };
        if let Ok(ran) = &started {
            tried.show("answer", &String::from_utf8_lossy(&ran.stdout));
            tried.show("stderr", &ran.stderr);
        }
        let answer = started.and_then(|ran| hook.read(&ran));
        let effect = tried.take(hook, occasion, facts, answer).await;
        tried.lines.push(("effect", effect));
        tried
    }

    fn show(&mut self, what: &'static str, text: &str) {
        let text = sanitize::for_screen(text.trim()).replace('\n', "\n          ");
        if !text.is_empty() {
            let cut = text.char_indices().nth(SHOWN).map(|(end, _)| format!("{}…", &text[..end]));
            self.lines.push((what, cut.unwrap_or(text)));
        }
    }

    /// Lets the chain judge the answer, as it would in a session.
    async fn take(
        &mut self,
        hook: &ExternalHook,
        occasion: &mut dyn Occasion,
        facts: &SessionFacts,
        answer: Result<Option<HookAnswer>, String>,
    ) -> String {
        let recorded = Recorded { hook: hook.clone(), answer };
        let problems = Mutex::new(Vec::new());
        let report = |problem| {
            problems.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
        };
        let before = occasion.effect();
        let failed_before = recorded.answer.is_err();
        let chain = Hooks::new(vec![Arc::new(recorded)]);
        let end = chain.run(occasion, facts, &CancellationToken::new(), &report).await;
        let problems = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.failed = failed_before || !problems.is_empty();
        match (end, problems.first()) {
            (ChainEnd::Cancelled(cancelled), _) => {
                self.ends = true;
                format!("{cancelled}; hooks after it are not asked")
            }
            (_, Some(problem)) => format!("ignored: {problem}"),
            _ => match occasion.effect() {
                Some(effect) if Some(&effect) != before.as_ref() => one_line(&effect, SHOWN),
                _ => "none".to_owned(),
            },
        }
    }
}

fn how_it_ended(ran: &Ran) -> String {
    let end = match ran.end {
        End::Exited(code) => format!("exit {code}"),
        End::Signalled(signal) => format!("signal {signal}"),
        End::TimedOut => "killed at its time limit".to_owned(),
        End::TooMuch => "killed, it said too much".to_owned(),
    };
    format!("{end} after {:.2} s", ran.elapsed.as_secs_f64())
}

/// A hook whose answer is known already.
struct Recorded {
    hook: ExternalHook,
    answer: Result<Option<HookAnswer>, String>,
}

impl Hook for Recorded {
    fn name(&self) -> &str {
        self.hook.name()
    }

    fn on_event<'a>(
        &'a self,
        _event: &'a HookEvent,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<HookAnswer>, String>> {
        Box::pin(async move { self.answer.clone() })
    }

    fn required(&self) -> bool {
        self.hook.required()
    }
}
