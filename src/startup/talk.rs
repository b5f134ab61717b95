//! From flags to a conversation: settings, models, tools, session, and the shell that shows it.

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};

use super::library::library;
use super::live::Live;
use super::places::Folders;
use super::program::Program;
use super::prompt_args::build_prompt;
use super::prompts::DiskPrompts;
use super::session_choice::{Chosen, choose_session};
use super::stamp::SystemStamper;
use super::{has_terminal, log, screen};
use crate::agent_session::command::SessionCommand;
use crate::agent_session::queue::Prompt;
use crate::agent_session::{AgentSession, Attendance, Commands, SessionDeps, SessionHandle};
use crate::cli::{OutputMode, TalkArgs};
use crate::compaction::summarizer::Summarizer;
use crate::compaction::tokens::Estimator;
use crate::mode::plain::PlainOptions;
use crate::mode::print::RunEnd;
use crate::mode::printed;
use crate::mode::rpc::RpcOptions;
use crate::prompt::skill::SkillShelf;
use crate::prompt::template::Template;
use crate::provider::ThinkingLevel;
use crate::provider::model::Model;
use crate::provider::registry::{ProviderRegistry, RegistryFiles};
use crate::provider::retry::RetryPolicy;
use crate::session::store::SessionStore;
use crate::settings::Settings;
use crate::settings::file::{Places, Resolved, environment, load, project_root};
use crate::settings::layers::Override;
use crate::settings::trust;
use crate::tool::builtin::builtin;
use crate::tool::permission::rule_problems;
use crate::tool::skill::SkillTool;
use crate::tui::ExitReason;

/// How long what still runs in the background may hold up leaving.
const FAREWELL: Duration = Duration::from_secs(1);

/// Runs a conversation on the screen, or one prompt without it.
///
/// # Errors
/// Settings, session or model are not to be had; the sentence says what to do.
pub(super) fn talk(args: &TalkArgs) -> anyhow::Result<ExitCode> {
    let shell = Shell::of(args);
    let cwd = working_folder(args.cwd.as_deref())?;
    let folders = Folders::find()?;
    let Some(resolved) = read_settings(args, &folders, &cwd)? else {
        return Ok(ExitCode::from(2));
    };
    let debug = std::env::var("AGENT_DEBUG_LOGGING").ok();
    let debug = crate::settings::file::debug_logging(debug.as_deref(), &cwd);
    let _log = log::start_log(&folders.state, debug);
    let settings = Arc::new(resolved.settings);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start")?;
    let library = library(&folders, &cwd);
    let prompt = first_prompt(args, shell, &cwd, &library.templates)?;
    if shell == Shell::Once && prompt.is_none() {
        writeln!(
            std::io::stderr(),
            "regrow: nothing to say: give a prompt, or start regrow in a terminal"
        )?;
        return Ok(ExitCode::from(2));
    }
    let attendance =
        if shell == Shell::Once { Attendance::Unattended } else { Attendance::Attended };
    let skills = SkillShelf::new(library.skills);
    let live = Live::new(&folders, &cwd, overrides(args), &skills)
        .having_read(resolved.shown, library.templates);
    let live = Arc::new(live);
    let end = runtime.block_on(async {
        let making =
            Making { folders: &folders, cwd: &cwd, settings: settings.clone(), attendance, skills };
        let notices = resolved.notices.into_iter().chain(library.notices).collect();
        let started = start(args, making, notices).await?;
        let session = tokio::spawn(started.session.run(started.commands));
        if attendance == Attendance::Attended && started.registry.is_unconfigured() {
            look_for_local_model(&started.handle, started.registry.clone());
        }
        let handle = started.handle;
        let outside = || Arc::new(Program::new(started.registry.clone(), &folders, live.clone()));
        let templates = live.templates();
        let end = match shell {
            Shell::Screen => {
                let first = screen::first_thing(prompt, args.resume);
                let reason = screen::show(handle, first, &settings, &folders, &live, outside());
                reason.await.map(|reason| match reason {
                    ExitReason::Quit => RunEnd::Answered,
                    ExitReason::Signal => RunEnd::Interrupted,
                    ExitReason::SessionLost => RunEnd::Failed,
                })
            }
            Shell::Rpc => {
                let options = RpcOptions { prompt, templates, outside: outside() };
                let (input, out) = (std::io::stdin(), std::io::stdout());
                crate::mode::rpc::run(handle, options, input, out).await.map_err(Into::into)
            }
            Shell::Plain => {
                let terminal = std::io::stdin().is_terminal();
                let (choose, outside) = (args.resume, outside());
                let summarize = settings.branch_summary.enabled;
                let options =
                    PlainOptions { prompt, choose, templates, outside, summarize, terminal };
                let out = printed::stdout();
                crate::mode::plain::run(handle, options, std::io::stdin(), out)
                    .await
                    .map_err(Into::into)
            }
            Shell::Once => show(args, handle, prompt).await,
        };
        // The session ends by itself once its shell has gone; its last write must not be cut off.
        session.await.ok();
        end
    })?;
    // A read that hangs on a dead disk must not hold up leaving.
    runtime.shutdown_timeout(FAREWELL);
    Ok(match end {
        RunEnd::Answered => ExitCode::SUCCESS,
        RunEnd::Failed => ExitCode::FAILURE,
        RunEnd::Interrupted => ExitCode::from(130),
    })
}

/// Who shows the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    /// The screen.
    Screen,
    /// Lines, typed and said.
    Plain,
    /// A program.
    Rpc,
    /// Nobody: one prompt, one answer.
    Once,
}

impl Shell {
    fn of(args: &TalkArgs) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match args.mode {
            Some(OutputMode::Rpc) => Self::Rpc,
            Some(_) => Self::Once,
            None if args.print => Self::Once,
            None if args.plain => Self::Plain,
            None if !has_terminal() => Self::Once,
            None if dumb => Self::Plain,
            None => Self::Screen,
        }
    }
}

fn working_folder(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    let cwd = match chosen {
        Some(chosen) => {
            chosen.canonicalize().with_context(|| format!("cannot work in {}", chosen.display()))?
        }
        None => {
            std::env::current_dir().context("the folder you are in is gone; cd somewhere else")?
        }
    };
    if !cwd.is_dir() {
        bail!("{} is not a folder", cwd.display());
    }
    Ok(cwd)
}

/// The settings in force; `None`, after all mistakes are written to stderr, when there are any.
fn read_settings(
    args: &TalkArgs,
    folders: &Folders,
    cwd: &Path,
) -> anyhow::Result<Option<Resolved>> {
    let root = project_root(cwd);
    let places = settings_places(folders, cwd);
    if args.trust {
        trust::trust(&places.trust, &root)?;
    }
    match load(&places, environment(), &overrides(args)) {
        Ok(resolved) => Ok(Some(resolved)),
        Err(errors) => {
            for error in errors {
                writeln!(printed::stderr(), "regrow: {error}")?;
            }
            Ok(None)
        }
    }
}

/// Where settings are looked for when working in `cwd`.
pub(super) fn settings_places(folders: &Folders, cwd: &Path) -> Places {
    Places {
        user: folders.config.clone(),
        project: Some(project_root(cwd)),
        trust: folders.config.join("trusted-folders"),
    }
}

fn overrides(args: &TalkArgs) -> Vec<Override> {
    let text = |option: &str, key: &'static str, value: Option<String>| {
        value.map(|text| Override { option: option.to_owned(), key, text })
    };
    [
        text("--provider", "provider", args.provider.clone()),
        text("--model", "model", args.model.clone()),
        text("--thinking", "thinking", args.thinking.clone()),
        text("--permission", "permissions.mode", args.permission.clone()),
        text("--tools", "tools", args.tools.as_ref().map(|names| names.join(","))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn first_prompt(
    args: &TalkArgs,
    shell: Shell,
    cwd: &Path,
    templates: &[Template],
) -> anyhow::Result<Option<Prompt>> {
    let mut stdin = std::io::stdin();
    // To the others what is piped in are commands.
    let piped = shell == Shell::Once && !stdin.is_terminal();
    let piped: Option<&mut dyn Read> = if piped { Some(&mut stdin) } else { None };
    build_prompt(&args.prompt, cwd, templates, piped)
}

/// A session that is ready to run, and its shell's handle.
pub(super) struct Started {
    /// The session.
    pub(super) session: AgentSession,
    /// Its end of the commands.
    pub(super) commands: Commands,
    /// The shell's end.
    pub(super) handle: SessionHandle,
    /// The model that was chosen.
    pub(super) model: Arc<Model>,
    registry: Arc<ProviderRegistry>,
}

/// Looks for a model server on this machine behind the first frame, and takes its model when nothing
/// else is configured (P1).
fn look_for_local_model(handle: &SessionHandle, registry: Arc<ProviderRegistry>) {
    let commands = handle.commands.clone();
    tokio::spawn(async move {
        if let Some(model) = registry.find_local().await.first() {
            // The person may have left meanwhile.
            commands.send(SessionCommand::SetModel(model.model_ref())).ok();
        }
    });
}

/// What a session is made of besides its store.
pub(super) struct Making<'a> {
    /// Where files are.
    pub(super) folders: &'a Folders,
    /// Where the person is.
    pub(super) cwd: &'a Path,
    /// The settings in force.
    pub(super) settings: Arc<Settings>,
    /// Whether the person is there.
    pub(super) attendance: Attendance,
    /// The skills on offer.
    pub(super) skills: SkillShelf,
}

async fn start(
    args: &TalkArgs,
    making: Making<'_>,
    notices: Vec<String>,
) -> anyhow::Result<Started> {
    let dir = making.session_dir(args);
    let all = making.folders.data.join("sessions");
    let Chosen { store, mut warnings } =
        choose_session(args, &dir, &all, making.cwd, Estimator::default(), &SystemStamper)?;
    warnings.splice(0..0, notices);
    let registry = registry(&making.settings, making.folders);
    if making.attendance == Attendance::Unattended && registry.is_unconfigured() {
        // On the screen this happens behind the first frame.
        registry.find_local().await;
    }
    make_session(args, making, registry, store, warnings)
}

impl Making<'_> {
    fn session_dir(&self, args: &TalkArgs) -> PathBuf {
        let chosen = args.session_dir.clone();
        let chosen = chosen.or_else(|| self.settings.session_dir.clone().map(PathBuf::from));
        self.folders.sessions(self.cwd, chosen.as_deref())
    }
}

/// Puts a session together on an open store.
pub(super) fn make_session(
    args: &TalkArgs,
    making: Making<'_>,
    registry: ProviderRegistry,
    store: SessionStore,
    mut warnings: Vec<String>,
) -> anyhow::Result<Started> {
    let session_dir = making.session_dir(args);
    let Making { folders, settings, attendance, skills, .. } = making;
    let registry = Arc::new(registry);
    let estimator = Estimator::default();
    warnings.extend(registry.warnings());
    warnings.extend(rule_problems(&settings.permissions));
    let provider = args.provider.as_deref().or(settings.provider.as_deref());
    let model = args.model.as_deref().or(settings.model.as_deref());
    let model = registry.choose_model(provider, model)?;
    let thinking = settings.thinking.as_deref().and_then(ThinkingLevel::parse).unwrap_or_default();
    let tools = builtin().and(Arc::new(SkillTool::new(skills.clone())));
    let tools = tools.only_in(settings.tools.as_deref(), settings.permissions.mode);
    let summarizer = Arc::new(Summarizer::new(registry.clone(), settings.clone(), estimator));
    let deps = SessionDeps {
        providers: registry.clone(),
        tools,
        settings,
        stamper: Arc::new(SystemStamper),
        prompts: Arc::new(DiskPrompts {
            user_folder: folders.config.clone(),
            own: args.system_prompt.clone(),
            appended: args.append_system_prompt.clone(),
            skills,
        }),
        summarizer,
        retry: RetryPolicy::default().nothing_executed(),
        attendance,
        estimator,
        session_dir,
        hooks: Arc::new(super::hooks::configured),
    };
    let (mut session, commands, handle) =
        AgentSession::new(deps, store, warnings, model.clone(), thinking);
    // What is asked for by name wins over what a resumed session was last worked on with.
    if args.model.is_some() || args.provider.is_some() {
        session.answer_with(model.clone());
    }
    if args.thinking.is_some() {
        session.think_at(thinking);
    }
    Ok(Started { session, commands, handle, model, registry })
}

/// The models and their keys. Reads nothing yet.
pub(super) fn registry(settings: &Settings, folders: &Folders) -> ProviderRegistry {
    let files = RegistryFiles {
        models: Some(folders.config.join("models.json")),
        keys: Some(folders.config.join("auth.json")),
    };
    ProviderRegistry::new(settings, environment().into_iter().collect(), files)
}

/// Hands the session to a shell without a screen.
async fn show(
    args: &TalkArgs,
    handle: SessionHandle,
    prompt: Option<Prompt>,
) -> anyhow::Result<RunEnd> {
    let prompt = prompt.unwrap_or_default();
    let mut out = std::io::stdout();
    let end = match args.mode {
        Some(OutputMode::Json) => crate::mode::json::run(handle, prompt, &mut out).await?,
        _ => {
            let (mut out, mut words) =
                (crate::tool::sanitize::Cleaned::over(out), printed::stderr());
            crate::mode::print::run(handle, prompt, &mut out, &mut words).await?
        }
    };
    Ok(end)
}
