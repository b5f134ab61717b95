//! What is remarkable about a command, in the few words that the question shows. Pure tables.

use super::inner::{SHELLS, is_name};
use super::shell::SimpleRun;
use super::word::Word;

/// Said of what runs code that is given to it.
pub(super) const RUNS_CODE: &str = "runs code";

/// Programs and what is said of them.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("deletes files", &["rm", "rmdir", "unlink", "shred", "srm", "trash", "truncate"]),
    (
        "network",
        &[
            "curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "telnet", "ftp",
            "gh", "aws", "gcloud", "az", "http", "https", "socat", "aria2c", "rclone", "kubectl",
            "helm",
        ],
    ),
    ("as another user", &["sudo", "doas", "su", "pkexec", "runuser"]),
    ("changes permissions", &["chmod", "chown", "chgrp", "setfacl", "chattr"]),
    ("ends processes", &["kill", "pkill", "killall", "reboot", "shutdown", "poweroff", "halt"]),
    ("writes to devices", &["dd", "mkfs", "fdisk", "parted", "wipefs", "mount", "umount"]),
    (
        "goes on after the command",
        &["nohup", "setsid", "disown", "crontab", "at", "systemctl", "launchctl", "tmux", "screen"],
    ),
    ("installs software", &["apt", "apt-get", "dnf", "yum", "pacman", "apk", "brew", "snap"]),
];

/// Sub-commands and what is said of them.
const SUBCOMMANDS: &[(&str, &str, &[&str])] = &[
    ("network", "git", &["push", "pull", "fetch", "clone", "ls-remote", "submodule"]),
    ("throws work away", "git", &["clean", "reset", "restore", "checkout", "switch", "stash"]),
    ("rewrites history", "git", &["rebase", "filter-branch", "filter-repo", "gc", "reflog"]),
    ("deletes files", "git", &["rm"]),
    ("publishes", "cargo", &["publish", "yank", "login", "owner"]),
    ("installs software", "cargo", &["install"]),
    ("publishes", "npm", &["publish", "unpublish", "login"]),
    ("installs software", "npm", &["install", "i", "ci", "add", "exec", "update"]),
    ("installs software", "pnpm", &["install", "i", "add", "dlx", "update"]),
    ("installs software", "yarn", &["install", "add", "dlx", "upgrade"]),
    ("installs software", "bun", &["install", "i", "add", "x"]),
    ("installs software", "pip", &["install", "download"]),
    ("installs software", "pip3", &["install", "download"]),
    ("installs software", "uv", &["add", "sync", "pip", "tool"]),
    ("installs software", "go", &["install", "get"]),
    ("installs software", "gem", &["install"]),
    ("network", "docker", &["pull", "push", "login"]),
    ("deletes containers", "docker", &["rm", "rmi", "prune", "kill", "stop", "down"]),
];

/// Languages that run code given as an argument, and the options that give it.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("python", &["-c"]),
    ("python3", &["-c"]),
    ("node", &["-e", "-p", "--eval", "--print"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
    ("osascript", &["-e"]),
];

/// Variables that make other programs run, or run differently.
const POWERFUL_VARIABLES: &[&str] = &[
    "PATH",
    "IFS",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "CDPATH",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "SHELL",
    "HOME",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PERL5OPT",
    "PERL5LIB",
    "RUBYOPT",
    "NODE_OPTIONS",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
    "CC",
    "CXX",
    "MAKEFLAGS",
    "JAVA_TOOL_OPTIONS",
    "LESSOPEN",
    "MANPAGER",
];

/// Beginnings of such variables' names.
const POWERFUL_BEGINNINGS: &[&str] =
    &["LD_", "DYLD_", "GIT_", "SSH_", "CARGO_", "NPM_CONFIG_", "BASH_"];

/// Variables that may be set for a command that a rule allows.
const HARMLESS_VARIABLES: &[&str] = &[
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "TERM",
    "LANG",
    "TZ",
    "DEBUG",
    "VERBOSE",
    "NODE_ENV",
    "COLUMNS",
    "LINES",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
];

/// Builtins that do nothing to anyone: beside allowed commands they need no rule of their own.
const NEUTRAL: &[&str] = &[
    "cd", "echo", "true", "false", ":", "test", "[", "pwd", "exit", "return", "break", "continue",
    "shift", "sleep",
];

/// Options of `set` that only make a shell stricter or louder.
const HARMLESS_OPTIONS: &[&str] = &[
    "-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "-o", "-eo", "-euo", "-exo", "-euxo", "+e",
    "+u", "+x", "pipefail", "errexit", "nounset", "xtrace",
];

/// What is remarkable about a simple command.
pub(super) fn of(run: &SimpleRun) -> Vec<&'static str> {
    let Some(name) = run.program_name() else {
        return vec!["the program is known only when it runs"];
    };
    let mut notes: Vec<&'static str> = PROGRAMS
        .iter()
        .filter(|(_, programs)| programs.contains(&name))
        .map(|(note, _)| *note)
        .collect();
    let subcommand = subcommand(run);
    notes.extend(
        SUBCOMMANDS
            .iter()
            .filter(|(_, program, subs)| {
                *program == name && subcommand.is_some_and(|sub| subs.contains(&sub))
            })
            .map(|(note, ..)| *note),
    );
    let has =
        |wanted: &[&str]| run.arguments().iter().any(|word| wanted.contains(&word.text.as_str()));
    let is_code = |(program, options): &(&str, &[&str])| *program == name && has(options);
    if INTERPRETERS.iter().any(is_code) || (SHELLS.contains(&name) && run.piped) {
        notes.push(RUNS_CODE);
    }
    match name {
        "find" | "fd" if has(&["-delete"]) => notes.push("deletes files"),
        "find" if has(&["-exec", "-execdir", "-ok", "-okdir"]) => notes.push("runs commands"),
        "git" if subcommand == Some("push") && has(&["--force", "-f", "--force-with-lease"]) => {
            notes.push("rewrites history");
        }
        "git" if subcommand == Some("commit") && has(&["--amend"]) => {
            notes.push("rewrites history")
        }
        "sed" if has(&["-i", "--in-place"]) => notes.push("changes files"),
        "eval" | "source" | "." => notes.push(RUNS_CODE),
        _ => {}
    }
    if run.assignments.iter().any(|assignment| is_powerful(variable(assignment))) {
        notes.push("sets variables that change programs");
    }
    notes
}

/// The first argument that is no option, for programs that have sub-commands.
pub(super) fn subcommand(run: &SimpleRun) -> Option<&str> {
    let arguments = run.arguments().iter().filter(|word| word.literal);
    arguments.map(|word| word.text.as_str()).find(|text| !text.starts_with(['-', '+']))
}

/// Whether a variable makes other programs run, or run differently.
pub(super) fn is_powerful(name: &str) -> bool {
    POWERFUL_VARIABLES.contains(&name)
        || POWERFUL_BEGINNINGS.iter().any(|start| name.starts_with(start))
}

/// Whether a prefix `NAME=value` changes nothing about what a rule allows.
pub(super) fn is_harmless(assignment: &str) -> bool {
    let name = variable(assignment);
    HARMLESS_VARIABLES.contains(&name) || name.starts_with("LC_")
}

fn variable(assignment: &str) -> &str {
    let name = assignment.split(['=', '[']).next().unwrap_or_default();
    name.strip_suffix('+').unwrap_or(name)
}

/// Whether a command does nothing by itself.
pub(super) fn is_neutral(run: &SimpleRun) -> bool {
    let Some(program) = run.program() else { return false };
    if !run.assignments.iter().all(|assignment| is_harmless(assignment)) {
        return false;
    }
    let arguments = run.arguments();
    match program {
        "cd" => matches!(arguments, [] | [Word { literal: true, .. }]),
        "set" => arguments.iter().all(|word| HARMLESS_OPTIONS.contains(&word.text.as_str())),
        "export" => arguments.iter().all(|word| {
            let name = variable(&word.text);
            is_name(name) && !is_powerful(name)
        }),
        // `printf -v` and `wait -p` set variables.
        "printf" | "wait" => {
            arguments.first().is_none_or(|word| word.literal && !word.text.starts_with('-'))
        }
        program => NEUTRAL.contains(&program),
    }
}

/// Whether a command changes the files that it names.
pub(super) fn writes_files(run: &SimpleRun) -> bool {
    const WRITERS: &[&str] = &[
        "rm", "rmdir", "unlink", "shred", "mv", "cp", "tee", "touch", "truncate", "dd", "install",
        "ln", "chmod", "chown", "chgrp", "rsync", "patch", "mkdir", "git", "sponge",
    ];
    match run.program_name() {
        Some("sed" | "perl") => run.arguments().iter().any(|word| word.text.starts_with("-i")),
        Some(name) => WRITERS.contains(&name),
        None => false,
    }
}

/// Programs whose first argument says what they do; *always* then covers only that.
pub(super) fn has_subcommands(program: &str) -> bool {
    const PROGRAMS: &[&str] = &[
        "git",
        "cargo",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "deno",
        "go",
        "docker",
        "podman",
        "kubectl",
        "helm",
        "pip",
        "pip3",
        "uv",
        "poetry",
        "gh",
        "make",
        "just",
        "task",
        "rustup",
        "dotnet",
        "mvn",
        "gradle",
        "bundle",
        "rake",
        "gem",
        "composer",
        "terraform",
        "brew",
        "apt",
        "systemctl",
        "npx",
        "mix",
        "swift",
        "zig",
        "nix",
        "python",
        "python3",
        "node",
        "ruby",
        "java",
    ];
    PROGRAMS.contains(&program)
}
