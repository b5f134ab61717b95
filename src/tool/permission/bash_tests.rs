//! The sieve against a real bash (F80): whatever bash runs of a command must have been seen in it.
//!
//! Random commands are put together from pieces of shell grammar and run by bash with an empty PATH
//! and a handler that notes each program it was to run. Programs are named `c0` … `c9`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::inner::{self, Inner};
use super::shell::{Item, take_apart};

/// Pieces of commands. No functions and no loops without end: those would do harm.
const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    "c0",
    "c1 ",
    "c2",
    "c3 ",
    " c4 ",
    "c5",
    "x",
    "x y",
    "; ",
    ";",
    " && ",
    " || ",
    " | ",
    " |& ",
    " & ",
    "&",
    "\n",
    "$(",
    ")",
    "`",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "\\\n",
    "{ ",
    "; }",
    "(",
    ") ",
    "if ",
    "; then ",
    "; else ",
    "; fi",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<-E\n",
    "<<\\E\n",
    "<<< ",
    " #",
    "#",
    "$'",
    "\\x27",
    "$\"",
    "${a:-",
    "${a",
    "}",
    ">f ",
    "< /dev/null ",
    "2>&1 ",
    ">&2",
    "! ",
    "a=",
    "a=1 ",
    "[ ",
    " ]",
    "[[ ",
    " ]]",
    "$((",
    "((",
    "))",
    "case x in x) ",
    ";; ",
    "esac",
    "for i in ",
    "; do ",
    "; done",
    "*",
    "?",
    "[",
    "]",
    "~",
    "time ",
    "eval ",
    "command ",
    "eval '",
    "trap ",
    " EXIT",
    "bash -c '",
    "builtin ",
    "exec ",
    "<(",
    ">(",
    "$a",
    "${#a}",
    "${a[",
    "a[",
    "]=",
    "=(",
    "+=",
    "!",
    "-",
    "--",
    ",",
    ".",
    "1",
    "$",
    "$$",
    "&>f ",
    ">|f ",
    "{c6,c7}",
    "\t",
    "é",
    "coproc ",
    "in ",
    "select ",
];

/// Programs that bash was to run.
fn run_by_bash(command: &str, folder: &Path) -> BTreeSet<String> {
    // A file of its own: background jobs of the last command may still be at it.
    let log = tempfile::NamedTempFile::new_in(folder).unwrap().into_temp_path();
    let prelude = folder.join("prelude");
    fs::write(
        &prelude,
        format!(
            "unset BASH_ENV; ulimit -t 2; exec 9>>{}\ncommand_not_found_handle() {{ \
             builtin printf '%s\\0' \"$1\" >&9; case $1 in c[02468]) return 0;; *) return 1;; esac; }}\n\
             PATH=/nowhere\n",
            log.display()
        ),
    )
    .unwrap();
    Command::new("/bin/bash")
        .args(["--noprofile", "--norc", "-c", command])
        .env_clear()
        .env("BASH_ENV", &prelude)
        .env("LC_ALL", "C.UTF-8")
        .current_dir(folder.join("cwd"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        // Reads until nobody holds the pipe: background jobs count too.
        .output()
        .unwrap();
    let log = fs::read_to_string(&log).unwrap();
    log.split('\0').filter(|name| is_ours(name)).map(ToOwned::to_owned).collect()
}

fn is_ours(name: &str) -> bool {
    name.len() == 2 && name.starts_with('c') && name.as_bytes()[1].is_ascii_digit()
}

/// Programs that were seen; `None` when the command was not understood, or something of it is known
/// only when it runs.
fn seen(items: &[Item], found: &mut BTreeSet<String>) -> bool {
    items.iter().all(|item| {
        let Item::Run(run) = item else { return true };
        let Some(program) = run.program() else { return false };
        found.insert(program.to_owned());
        match inner::of(run) {
            Inner::None => true,
            Inner::Only(items) | Inner::Among(items) => seen(&items, found),
            Inner::Hidden => false,
        }
    })
}

fn missed(command: &str, folder: &Path) -> BTreeSet<String> {
    let Ok(items) = take_apart(command) else { return BTreeSet::new() };
    let mut found = BTreeSet::new();
    if !seen(&items, &mut found) {
        return BTreeSet::new();
    }
    run_by_bash(command, folder).difference(&found).cloned().collect()
}

#[test]
fn f80_nothing_runs_that_was_not_seen() {
    if !Path::new("/bin/bash").exists() {
        println!("skipped: no /bin/bash");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("cwd")).unwrap();
    // The harness itself must be able to fail.
    assert_eq!(run_by_bash("c0 && c1; c2", folder.path()).len(), 3);

    let cases = std::env::var("REGROW_SHELL_CASES").ok().and_then(|cases| cases.parse().ok());
    let config =
        Config { cases: cases.unwrap_or(200), failure_persistence: None, ..Config::default() };
    let commands = proptest::collection::vec(proptest::sample::select(PIECES), 1..14);
    let tested = TestRunner::new(config).run(&commands, |pieces| {
        let command = pieces.concat();
        let missed = missed(&command, folder.path());
        prop_assert!(missed.is_empty(), "{command:?} ran {missed:?} unseen");
        Ok(())
    });
    if let Err(error) = tested {
        panic!("{error}");
    }
}

#[test]
fn f80_known_traps_of_the_grammar() {
    if !Path::new("/bin/bash").exists() {
        println!("skipped: no /bin/bash");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("cwd")).unwrap();
    for command in [
        "c0 \"$(c1 \"`c2`\")\"",
        "c0 <<A <<B\n$(c1)\nA\n`c2`\nB\nc3",
        "c0 <<\"A B\"\n$(c1)\nA B\nc2",
        "c0 <<-A\n\t$(c1)\n\tA\nc2",
        "c0 $'\\'' ; c1 #'",
        "c0 \"\\\"\" ; c1 \"\\\\\" ; c2",
        "c0 '\\' ; c1",
        "c0 #x\nc1",
        "c0 x#x; c1",
        "c0 ${a:-'}'} ; c1",
        "c0 \"${a:-'}\" ; c1 ; c2 \"'}\"",
        "c0 \"${a:-`c1`}\"",
        "c0 $(c1 # )\n c2)",
        "c0 $(case x in x) c1;; esac); c2",
        "c0 `c1 \\`c2\\``",
        "c0 \"$((1 + $(c1)))\"",
        "((a = $(c1))); c2",
        "c0 $( (c1); c2 )",
        "c0 $((c1); c2)",
        "a=(x $(c1) [$(c2)]=y); c3",
        "a[$(c1)]=x c2",
        "[[ $(c1) == x && `c2` ]] ; c3",
        "c0 <(c1) > >(c2)",
        "{ c0; } 2>&1 | c1 && ! c2 || c3",
        "for i in $(c0) `c1`; do c2; done",
        "if c0; then c1; elif c1; then c2; else c3; fi",
        "case $(c0) in `c1`) c2;; *) c3;; esac",
        "time -p c0 | c1",
        "c0\\\n; c\\\n1",
        "eval \"c0; c1\"; bash -c 'c2 && c3'",
        "trap 'c0' EXIT; c1",
        "c0 & c1 && c2 & c3",
        "c0 >&$(c1)",
        "c0 2>$(c1)f",
        "c0 ${a/$(c1)/`c2`} ${a:$(c3)}",
        "x='a[$(c1)]'; c0 $((x))",
        "test -v 'a[$(c1)]'; c0",
        "printf -v 'a[$(c1)]' x; c0",
        "let 'a[$(c1)]=1'; c0",
        "declare 'a[$(c1)]=1'; c0",
        "unset 'a[$(c1)]'; c0",
        "read 'a[$(c1)]' <<< x; c0",
        "a='$(c1)'; c0 ${a@P}",
        "a='$(c1)'; eval c0 $a",
        "alias c0=c1; c0",
        "mapfile -C c1 -c 1 a <<< x; c0",
        "command eval c1; builtin eval c2; c0",
        "select i in x; do c1; break; done <<< 1; c0",
        "coproc c1; wait; c0",
        "exec 3< <(c1); c0",
        "c0 $'\\x24(c1)' \"$'\" ; c2 \"'\"",
        "c0 \"$(echo ')' ; c1)\" ; c2",
        "c0 <<E\n\\$(c1) $(c2)\nE",
        "c0 <<E\n${a:-$(c1)} `c2`\nE",
        "c0 <<E\nE \n$(c1)\nE\nc2",
    ] {
        assert_eq!(missed(command, folder.path()), BTreeSet::new(), "{command:?}");
    }
}

proptest! {
    #[test]
    fn f80_no_text_breaks_the_sieve(text in "[ -~\n\t]{0,60}", odd in "\\PC{0,20}") {
        let _ = take_apart(&text);
        let _ = take_apart(&odd);
        let _ = take_apart(&format!("{odd} {text}"));
    }
}
