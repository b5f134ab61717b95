//! The command line, as types only (SPEC section 12).

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// A coding agent for the terminal whose conversations are trees.
#[derive(Debug, Parser)]
#[command(name = "regrow", version, about, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do instead of talking.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to talk.
    #[command(flatten)]
    pub talk: TalkArgs,
}

/// Sub-commands; none of them needs a terminal.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the sessions of this folder
    Sessions {
        /// Those of all folders
        #[arg(long)]
        all: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Show the tree of a session, as `/tree` would
    Tree {
        /// A path, an id or the beginning of one
        session: String,
        /// Also what is in the branches that were left
        #[arg(long)]
        all: bool,
        /// One JSON object an entry, in file order
        #[arg(long)]
        json: bool,
    },
    /// Say what is damaged in a session's file, and repair a copy of it
    Doctor {
        /// A path, an id or the beginning of one
        session: String,
        /// Repair the file itself, after a backup
        #[arg(long)]
        fix: bool,
    },
    /// Show exactly what a model would be sent now, and what fills it
    Context {
        /// A path, an id or the beginning of one
        session: String,
        /// As seen from this entry
        #[arg(long, value_name = "ID")]
        leaf: Option<String>,
        /// For this model
        #[arg(long, value_name = "ID")]
        model: Option<String>,
        /// `{messages, tokens}`
        #[arg(long)]
        json: bool,
    },
    /// Summarise old history and keep the recent tail
    Compact {
        /// A path, an id or the beginning of one
        session: String,
        /// What the summary should look at
        instructions: Vec<String>,
        /// Say what would be done, without a model
        #[arg(long)]
        dry_run: bool,
        /// JSON on stdout
        #[arg(long)]
        json: bool,
    },
    /// Write a session for other people or programs
    Export {
        /// A path, an id or the beginning of one
        session: String,
        /// As what: html, md or jsonl; else by the ending of FILE
        #[arg(long, value_name = "FORMAT", group = "as")]
        format: Option<String>,
        /// As a page for a browser, with all branches
        #[arg(long, group = "as")]
        html: bool,
        /// As Markdown, the path to the leaf
        #[arg(long, group = "as")]
        md: bool,
        /// As JSON Lines, the whole session
        #[arg(long, group = "as")]
        jsonl: bool,
        /// Where to; else stdout
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Black out what looks like a key
        #[arg(long)]
        redact: bool,
    },
    /// Take in a session of another program of the family
    Import {
        /// The file
        file: PathBuf,
    },
    /// Store the key of a provider; it is typed without echo, or piped in
    Login {
        /// The provider's name
        provider: String,
    },
    /// List the models that can be used
    Models {
        /// Only those whose name contains this
        filter: Option<String>,
    },
    /// List the hooks of the settings, or try them
    Hooks {
        /// What of them
        #[command(subcommand)]
        what: HooksCommand,
    },
    /// Look at the settings
    Config {
        /// What of them
        #[command(subcommand)]
        what: ConfigCommand,
    },
    /// Print a completion script
    Completions {
        /// The shell it is for
        shell: clap_complete::Shell,
    },
}

/// See [`Command::Config`].
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ConfigCommand {
    /// Each value and where it comes from
    Show,
    /// The JSON Schema of the settings
    Schema,
    /// The folders whose settings files are read
    Path,
    /// Rewrite removed keys of the files; a backup stays beside each
    Migrate,
}

/// See [`Command::Hooks`].
#[derive(Debug, Clone, Subcommand)]
pub enum HooksCommand {
    /// Each hook, what starts it and when
    List,
    /// Run the hooks of an event on a sample of it and show what they answer; nothing else happens
    Test {
        /// Such as `tool_call`
        event: String,
        /// As of this session instead of a sample: a path, an id or the beginning of one
        #[arg(long, value_name = "PATH|ID")]
        session: Option<String>,
        /// For `tool_call` and `tool_result`: the tool
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
        /// For `tool_call` and `tool_result`: the call's arguments
        #[arg(long, value_name = "JSON", requires = "tool")]
        input: Option<String>,
    },
}

/// Flags of a conversation.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TalkArgs {
    /// What to say first; `@file` adds a file
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,
    /// Go on with the newest session of this folder
    #[arg(short, long = "continue", conflicts_with_all = ["session", "tour", "no_session"])]
    pub continue_last: bool,
    /// Choose a session to go on with
    #[arg(short, long, conflicts_with_all = ["session", "continue_last", "tour", "no_session"])]
    pub resume: bool,
    /// Go on in a copy of a session: a file, an id, or the beginning of an id
    #[arg(long, value_name = "PATH|ID", conflicts_with_all = ["session", "continue_last", "tour", "no_session"])]
    pub fork: Option<String>,
    /// Open a session: a file, an id, or the beginning of an id
    #[arg(long, value_name = "PATH|ID", conflicts_with_all = ["tour", "no_session"])]
    pub session: Option<String>,
    /// Keep this conversation in memory only
    #[arg(long)]
    pub no_session: bool,
    /// Folder of session files
    #[arg(long, value_name = "DIR", env = "REGROW_SESSION_DIR")]
    pub session_dir: Option<PathBuf>,
    /// Open a copy of a session that shows what a tree is
    #[arg(long, conflicts_with = "no_session")]
    pub tour: bool,
    /// Answer the prompt on stdout and leave
    #[arg(short, long)]
    pub print: bool,
    /// Talk line by line, without a screen: for screen readers and simple terminals
    #[arg(long, conflicts_with_all = ["print", "mode"])]
    pub plain: bool,
    /// What goes to stdout
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<OutputMode>,
    /// Provider to use
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Model to use; `provider/model` names both
    #[arg(long, value_name = "ID")]
    pub model: Option<String>,
    /// Thinking level: off, minimal, low, medium, high, xhigh
    #[arg(long, value_name = "LEVEL")]
    pub thinking: Option<String>,
    /// Only these tools, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,
    /// What may be done without asking: read, ask, edits, full
    #[arg(long, value_name = "MODE")]
    pub permission: Option<String>,
    /// Text in place of the built-in system prompt
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// Text added to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,
    /// Folder to work in
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Trust the settings of this folder from now on
    #[arg(long)]
    pub trust: bool,
}

/// See [`TalkArgs::mode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputMode {
    /// The answer's text
    Text,
    /// Session events as JSON Lines
    Json,
    /// Commands in, events out, as JSON Lines
    Rpc,
}
