//! The table of commands against rules (SPEC A3, F80), and the grammar against a real bash.

use super::*;

const WORKSPACE: &str = "/home/me/shop";

fn settings(mode: PermissionMode, allow: &[&str], deny: &[&str]) -> PermissionSettings {
    let owned = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
    PermissionSettings { mode, allow: owned(allow), deny: owned(deny) }
}

fn run(command: &str, settings: &PermissionSettings, granted: &SessionGrants) -> Judgement {
    let effect = Effect::Command { command: command.to_owned() };
    judge(&effect, "bash", Path::new(WORKSPACE), settings, granted)
}

/// `allow`, `deny`, `ask` or `ask: note`.
fn short(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Allow => "allow".to_owned(),
        Judgement::Deny { .. } => "deny".to_owned(),
        Judgement::Ask { note: None, .. } => "ask".to_owned(),
        Judgement::Ask { note: Some(note), .. } => format!("ask: {note}"),
    }
}

/// Runs a table of (command, expected); an expectation may end early.
fn check(settings: &PermissionSettings, table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (command, expected) in table {
        let found = short(&run(command, settings, &SessionGrants::default()));
        let fits = found == *expected
            || (expected.ends_with('…') && found.starts_with(expected.trim_end_matches('…')));
        if !fits {
            wrong.push(format!("{command:?}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn f80_every_part_of_a_command_is_judged() {
    let rules = settings(
        PermissionMode::Ask,
        &[
            "bash(git status *)",
            "bash(git log *)",
            "bash(ls *)",
            "bash(cat *)",
            "bash(grep *)",
            "bash(cargo *)",
        ],
        &[],
    );
    check(
        &rules,
        &[
            ("git status", "allow"),
            ("git status -s", "allow"),
            ("  git   status\t-s  ", "allow"),
            ("git status; git log", "allow"),
            ("git status && rm -rf x", "ask: deletes files"),
            ("rm -rf x && git status", "ask: deletes files"),
            ("git status || rm -rf x", "ask: deletes files"),
            ("git status | tee log", "ask"),
            ("git status |& tee log", "ask"),
            ("sleep 1 & rm x", "ask: deletes files"),
            ("git status &rm x", "ask: deletes files"),
            ("git status\nrm x", "ask: deletes files"),
            ("git status;rm x", "ask: deletes files"),
            ("git status # ; rm x", "allow"),
            ("git status \\\n-s", "allow"),
            ("git sta\\\ntus && r\\\nm x", "ask: deletes files"),
            ("git status $(touch evil)", "ask"),
            ("git status `touch evil`", "ask"),
            ("git status \"$(touch evil)\"", "ask"),
            ("git status \"`touch evil`\"", "ask"),
            ("git status '$(touch evil)'", "allow"),
            ("git status \\$(touch evil)", "ask: cannot be checked…"),
            ("git status \"x[$(git log)]\"", "allow"),
            ("git status \"x[$(touch evil)]\"", "ask"),
            ("git status ${x:-$(touch evil)}", "ask"),
            ("git status ${x/a/$(touch evil)}", "ask"),
            ("git status ${x[$(touch evil)]}", "ask"),
            ("git status $((1 + $(touch evil)))", "ask"),
            ("git status $(git log)", "allow"),
            ("git status $(git log $(touch evil))", "ask"),
            ("cat <(touch evil)", "ask"),
            ("git log > >(touch evil)", "ask"),
            ("(git status; rm x)", "ask: deletes files"),
            ("{ git status; rm x; }", "ask: deletes files"),
            ("if git status; then rm x; fi", "ask: deletes files"),
            ("if git status; then git log; else ls; fi", "allow"),
            ("for f in *; do rm $f; done", "ask: deletes files"),
            ("for f in $(touch evil); do ls; done", "ask"),
            ("while git status; do rm x; done", "ask: deletes files"),
            ("case $(touch evil) in *) ls;; esac", "ask"),
            ("case x in x) rm y;; esac", "ask: deletes files"),
            ("git() { rm x; }; git status", "ask: deletes files"),
            ("function ls { rm x; }; ls", "ask: deletes files"),
            ("! git status", "allow"),
            ("time git status", "allow"),
            ("time rm x", "ask: deletes files"),
            ("coproc rm x", "ask: deletes files"),
            ("[[ -f $(touch evil) ]] && ls", "ask"),
            ("[[ -f x ]] && ls", "allow"),
            ("(( x = $(touch evil) )); ls", "ask"),
            ("x=$(touch evil); ls", "ask"),
            ("x=(1 $(touch evil)); ls", "ask"),
            ("x=1; ls", "allow"),
            ("cat <<EOF\n$(touch evil)\nEOF", "ask"),
            ("cat <<'EOF'\n$(touch evil)\nEOF", "allow"),
            ("cat <<EOF\ntext; rm x\nEOF\nrm y", "ask: deletes files"),
            ("cat <<EOF\ntext; rm x\nEOF", "allow"),
            ("cat <<< $(touch evil)", "ask"),
            ("ls; cd src && ls ../README.md", "allow"),
            ("cd src; ls ../README.md", "ask: outside the workspace"),
            ("cd src || cat ../x", "ask: outside the workspace"),
        ],
    );
}

#[test]
fn f80_disguises_are_seen_through() {
    let rules = settings(
        PermissionMode::Ask,
        &["bash(git status *)", "bash(echo *)", "bash(ls *)"],
        &["bash(rm *)", "bash(git push *)"],
    );
    check(
        &rules,
        &[
            ("rm x", "deny"),
            ("git status && rm -rf x", "deny"),
            ("git status $(rm x)", "deny"),
            ("echo `rm x`", "deny"),
            ("/bin/rm x", "deny"),
            ("'rm' x", "deny"),
            ("r\"m\" x", "deny"),
            ("\\rm x", "deny"),
            ("r\\\nm x", "deny"),
            ("FOO=1 rm x", "deny"),
            ("rm", "deny"),
            ("bash -c 'rm x'", "deny"),
            ("bash -c \"git status; rm x\"", "deny"),
            ("bash -ec 'rm x'", "deny"),
            ("sh -c 'bash -c \"rm x\"'", "deny"),
            ("/bin/sh -c 'rm x'", "deny"),
            ("eval rm x", "deny"),
            ("eval 'r''m' x", "deny"),
            ("env rm x", "deny"),
            ("env -i A=1 rm x", "deny"),
            ("command rm x", "deny"),
            ("builtin eval 'rm x'", "deny"),
            ("exec rm x", "deny"),
            ("nohup rm x &", "deny"),
            ("timeout 5 rm x", "deny"),
            ("timeout -s KILL 5 rm x", "deny"),
            ("nice -n 5 rm x", "deny"),
            ("sudo -u root rm x", "deny"),
            ("ls | xargs rm", "deny"),
            ("ls | xargs -n 1 -I{} rm {}", "deny"),
            ("find . -name x -exec rm {} +", "deny"),
            ("busybox rm x", "deny"),
            ("trap 'rm x' EXIT", "deny"),
            ("git -C . push", "deny"),
            ("git -c a.b=c push origin", "deny"),
            ("git --no-pager push", "deny"),
            ("f() { rm x; }; f", "deny"),
            ("cat <(rm x)", "deny"),
            ("echo rm x", "allow"),
            ("git status rm", "allow"),
            ("$CMD x", "ask: the program is known only when it runs"),
            ("$(echo rm) x", "ask: the program is known only when it runs"),
            ("{rm,-rf,x}", "ask: the program is known only when it runs"),
            ("/bin/r? x", "ask: the program is known only when it runs"),
            ("$'r\\x6d' x", "ask: the program is known only when it runs"),
            ("bash -c \"$X\"", "ask: runs code that is not shown"),
            ("echo x | bash", "ask: runs code that is not shown"),
            ("eval \"$X\"", "ask: runs code that is not shown"),
            ("GIT_SSH_COMMAND=evil git status", "ask: sets variables that change programs"),
            ("PATH=. git status", "ask: sets variables that change programs"),
            ("PATH=.; git status", "ask: sets variables that change programs"),
            ("export PATH=.; git status", "ask"),
            ("RUST_LOG=debug git status", "allow"),
            ("for PATH in .; do git status; done", "ask: sets variables that change programs"),
            ("((PATH=5)); git status", "ask: sets variables that change programs"),
            ("ls ${GIT_PAGER:=evil}", "ask: sets variables that change programs"),
            ("BASH_CMDS[git]=evil; git status", "ask: sets variables that change programs"),
            ("X=-v; printf $X PATH .; git status", "ask"),
            ("read PATH <<< .; git status", "ask"),
            ("set -k; git status GIT_PAGER=evil", "ask"),
            ("export \"$X\"; git status", "ask"),
            ("hash -p ./evil git; git status", "ask: runs code that is not shown"),
            ("alias git=evil; git status", "ask: runs code that is not shown"),
            ("set -euo pipefail; export A=1; git status", "allow"),
            ("LD_PRELOAD=./x.so ls", "ask: sets variables that change programs"),
            ("./git status", "ask"),
            (
                "git status\u{a0}# ; rm x",
                "ask: cannot be checked: it holds the invisible character U+00A0",
            ),
            (
                "git status\r\nrm x",
                "ask: cannot be checked: it holds the invisible character U+000D",
            ),
            (
                "test -v 'a[$(rm x)]'; ls",
                "ask: cannot be checked: a[$(rm x)] may hide a command in a subscript",
            ),
            ("ls ${x@P}", "ask: cannot be checked: ${…@P} runs what the variable holds"),
            ("ls `echo \\`rm x\\``", "deny"),
            ("ls 'unclosed", "ask: cannot be checked: it is no valid shell syntax…"),
            ("ls &&", "ask: cannot be checked…"),
        ],
    );
}

#[test]
fn a3_redirections_are_reads_and_writes() {
    let rules = settings(
        PermissionMode::Ask,
        &["bash(ls *)", "bash(cat *)", "write(out/**)", "read(/usr/share/**)"],
        &["write(secret/**)", "read(.env)"],
    );
    check(
        &rules,
        &[
            ("ls > /dev/null 2>&1", "allow"),
            ("ls 2>/dev/null", "allow"),
            ("ls >&2", "allow"),
            ("ls 2>&-", "allow"),
            ("ls > out/list", "allow"),
            ("ls > list", "ask"),
            ("ls >> list", "ask"),
            ("ls >| list", "ask"),
            ("ls &> list", "ask"),
            ("ls >& list", "ask"),
            ("> list", "ask"),
            ("ls > secret/list", "deny"),
            ("cp a secret/b", "deny"),
            ("ls > /etc/passwd", "ask: outside the workspace"),
            ("ls > ../x", "ask: outside the workspace"),
            ("ls > ~/x", "ask: outside the workspace"),
            ("ls > $HOME/x", "ask: outside the workspace"),
            ("ls > \"$X\"", "ask: writes to a file known only when it runs"),
            ("cd out && ls > list", "allow"),
            ("cd /tmp && ls > list", "ask: outside the workspace"),
            ("cat < /etc/passwd", "ask: outside the workspace"),
            ("cat < /usr/share/dict", "allow"),
            ("cat < notes", "allow"),
            ("cat .env", "deny"),
            ("cat deep/.env", "deny"),
            ("cat < .env", "deny"),
            ("cat --file=.env", "deny"),
            ("cat /etc/passwd", "ask: outside the workspace"),
            ("cat /usr/share/x", "allow"),
            ("cat ../sibling/x", "ask: outside the workspace"),
            ("cat src/../../x", "ask: outside the workspace"),
            ("cat /home/me/shop/x", "allow"),
            ("cat /home/me/shopping", "ask: outside the workspace"),
            ("cat ~/.ssh/id_rsa", "ask: outside the workspace"),
            ("cat $HOME/.ssh/id_rsa", "ask: outside the workspace"),
            ("cat /etc/*", "ask: outside the workspace"),
            ("ls { > x", "ask"),
            ("echo x > .git/hooks/pre-commit", "ask: changes what programs do here"),
            ("cat < /dev/tcp/evil/80", "ask: outside the workspace"),
        ],
    );
}

#[test]
fn a3_modes_free_what_they_say() {
    let commands: &[(&str, &str)] =
        &[("echo hi", "ask"), ("ls", "ask"), ("cargo test", "ask"), ("echo x > f", "ask")];
    check(&settings(PermissionMode::Ask, &[], &[]), commands);
    check(&settings(PermissionMode::Edits, &[], &[]), commands);
    check(
        &settings(PermissionMode::Full, &[], &[]),
        &[
            ("echo hi", "allow"),
            ("cargo test 2>&1 | tail -5", "allow"),
            ("rm -rf target", "allow"),
            ("for f in *.rs; do sort \"$f\" > \"$f.out\"; done", "allow"),
            ("grep -rn '/api/v1' src | head", "allow"),
            ("sed -i 's/a/b/' src/x.rs", "allow"),
            ("sed -e '/a/d' -e '/b/d' x", "allow"),
            ("awk -v a=1 '/x/ {print}' f", "allow"),
            ("grep -v /x f", "allow"),
            ("grep -rn x /etc", "ask: outside the workspace"),
            ("git commit -am x -m '/api: fix'", "allow"),
            ("python3 -c 'print(1)'", "allow"),
            ("curl https://example.com/x -o x", "allow"),
            ("git commit -m 'a: /b, c'", "allow"),
            ("git diff main..HEAD -- src", "allow"),
            ("cd src && ls ../tests", "allow"),
            ("/usr/bin/env python3 x.py", "allow"),
            ("x=$(git rev-parse HEAD) && echo $x", "allow"),
            ("\"$PYTHON\" x.py", "allow"),
            ("cat <<'EOF' > src/x.rs\nfn main() {}\nEOF", "allow"),
            ("rm -rf /", "ask: deletes files, outside the workspace"),
            ("rm -rf ~", "ask: deletes files, outside the workspace"),
            ("rm -rf /home/me/shop/../other", "ask: deletes files, outside the workspace"),
            ("cp x /etc/", "ask: outside the workspace"),
            ("tar -C/etc -xf x.tar", "ask: outside the workspace"),
            ("dd if=x of=/dev/sda", "ask: writes to devices, outside the workspace"),
            ("cd .. && rm x", "ask: outside the workspace, deletes files"),
            ("cd", "ask: outside the workspace"),
            ("ls 'unclosed", "ask: cannot be checked…"),
        ],
    );
    check(
        &settings(PermissionMode::Full, &[], &["bash(rm *)"]),
        &[
            ("cargo test", "allow"),
            ("rm x", "deny"),
            ("$X y", "ask: the program is known only when it runs"),
            ("eval \"$X\"", "ask: runs code that is not shown"),
        ],
    );
}

fn write(path: &str, settings: &PermissionSettings, granted: &SessionGrants) -> Judgement {
    let effect = Effect::Write { path: path.into(), diff: Some("+x".to_owned()) };
    judge(&effect, "edit", Path::new(WORKSPACE), settings, granted)
}

fn read(path: &str, settings: &PermissionSettings, granted: &SessionGrants) -> Judgement {
    let effect = Effect::Read { paths: vec![path.into()] };
    judge(&effect, "grep", Path::new(WORKSPACE), settings, granted)
}

#[test]
fn a3_files_inside_and_outside() {
    use PermissionMode::{Ask, Edits, Full};
    let none = SessionGrants::default();
    for (mode, path, expected) in [
        (Ask, "/home/me/shop/a", "ask"),
        (Edits, "/home/me/shop/a", "allow"),
        (Full, "/home/me/shop/a", "allow"),
        (Full, "/home/me/other/a", "ask: outside the workspace"),
        (Full, "/home/me/shopping", "ask: outside the workspace"),
        (Edits, "/home/me/shop/.git/config", "ask: changes what programs do here"),
        (Edits, "/home/me/shop/.regrow/settings.json", "ask: changes what programs do here"),
        (Full, "/home/me/shop/.git/config", "allow"),
    ] {
        assert_eq!(
            short(&write(path, &settings(mode, &[], &[]), &none)),
            expected,
            "{mode:?} {path}"
        );
    }
    for (path, expected) in [
        ("/home/me/shop/a", "allow"),
        ("/home/me/shop", "allow"),
        ("/etc/passwd", "ask: outside the workspace"),
        ("/tmp/regrow-output-x1.log", "allow"),
    ] {
        assert_eq!(short(&read(path, &settings(Ask, &[], &[]), &none)), expected, "{path}");
    }
    let rules = settings(
        Ask,
        &["write(src/**)", "edit(/tmp/x)", "read(/etc/hosts)"],
        &["write(src/gen/**)", "read(*.key)"],
    );
    for (judgement, expected) in [
        (write("/home/me/shop/src/a", &rules, &none), "allow"),
        (write("/home/me/shop/src/gen/a", &rules, &none), "deny"),
        (write("/tmp/x", &rules, &none), "allow"),
        (read("/etc/hosts", &rules, &none), "allow"),
        (read("/home/me/shop/deep/my.key", &rules, &none), "deny"),
    ] {
        assert_eq!(short(&judgement), expected);
    }
}

/// The command with brackets around what a question marks in it.
fn marked(command: &str, settings: &PermissionSettings) -> String {
    let Judgement::Ask { subject, marks, .. } = run(command, settings, &SessionGrants::default())
    else {
        panic!("{command} is not asked")
    };
    marks.into_iter().rev().fold(subject, |mut text, range| {
        text.insert(range.end, ']');
        text.insert(range.start, '[');
        text
    })
}

/// The parser loses its place in these and would panic.
#[test]
fn f80_a_here_document_inside_of_an_expansion_is_asked() {
    let rules = settings(PermissionMode::Ask, &["bash(*)"], &[]);
    for start in ["c ${a:-<<E", "c ${a<<-E", "c \"${a:-x <<'E'", "c ${a:-$(b <<E"] {
        for end in ["\n}\nE\n", "\n}x\nE\n", "\nE\n", "\n", "}", "\n}\"\nE\n", "\nE\n)}"] {
            let command = format!("{start}{end}");
            let found = short(&run(&command, &rules, &SessionGrants::default()));
            assert!(found.starts_with("ask: cannot be checked"), "{command:?}: {found}");
        }
    }
}

#[test]
fn f80_a_question_marks_what_no_rule_allows() {
    let rules = settings(PermissionMode::Ask, &["bash(git status *)", "bash(ls *)"], &[]);
    for (command, expected) in [
        ("git status && rm -rf x", "git status && [rm -rf x]"),
        ("git status $(touch evil)", "git status $([touch evil])"),
        ("git status | tee log; ls", "git status | [tee log]; ls"),
        ("ls > /etc/passwd", "ls > [/etc/passwd]"),
        ("ls < $file", "ls < [$file]"),
        ("PATH=. ; ls", "[PATH]=. ; ls"),
        ("bash -c 'ls; rm x'", "bash -c 'ls; [rm x]'"),
        ("ls; if", "[ls; if]"),
        ("rm x", "rm x"),
        ("rm x\n", "rm x\n"),
    ] {
        assert_eq!(marked(command, &rules), expected);
    }
}

#[test]
fn a3_the_question_shows_what_it_is_about() {
    let none = SessionGrants::default();
    let rules = settings(PermissionMode::Ask, &[], &[]);
    let Judgement::Ask { subject, diff, note, rule, .. } =
        write("/home/me/shop/src/a", &rules, &none)
    else {
        panic!()
    };
    assert_eq!((subject.as_str(), diff.as_deref(), note), ("src/a", Some("+x"), None));
    assert_eq!(rule.to_string(), "edits in this folder");
    let Judgement::Deny { reason } =
        run("rm a", &settings(PermissionMode::Full, &[], &["bash(rm *)"]), &none)
    else {
        panic!()
    };
    assert!(
        reason.starts_with("`rm a` is forbidden by the rule `bash(rm *)` of the settings."),
        "{reason}"
    );
}

#[test]
fn a3_always_covers_what_it_says_and_no_more() {
    let rules = settings(PermissionMode::Ask, &[], &[]);
    for (command, offered, also, not) in [
        (
            "cargo build --release",
            "`cargo build *`",
            vec!["cargo build", "cargo build -v && cargo build"],
            vec!["cargo run", "cargo build; rm x", "cargo build > /etc/x"],
        ),
        ("ls -la", "`ls *`", vec!["ls", "ls src | ls"], vec!["ls /etc", "lsof"]),
        (
            "cargo fmt && cargo test",
            "`cargo fmt *`, `cargo test *`",
            vec!["cargo test -q"],
            vec!["cargo run"],
        ),
        ("cd src && make all", "`make all *`", vec!["make all"], vec!["make clean"]),
        (
            "rm -rf target",
            "`rm -rf target`",
            vec!["rm -rf target; rm -rf target"],
            vec!["rm -rf src", "rm -rf target x"],
        ),
        (
            "git push origin main",
            "`git push origin main`",
            vec![],
            vec!["git push --force origin main"],
        ),
        ("echo '*'", "`echo *`", vec!["echo x"], vec![]),
        ("rm '*'", "`rm *`", vec!["rm '*'"], vec!["rm x"]),
        ("timeout 5 cargo test", "`cargo test *`", vec!["cargo test"], vec!["timeout 5 rm x"]),
        ("bash -c 'make x'", "`make x *`", vec!["bash -c 'make x y'"], vec!["bash -c 'make y'"]),
        ("cat /etc/hosts", "`cat /etc/hosts`", vec![], vec!["cat /etc/passwd", "cat x"]),
        ("ls > list", "edits in this folder, `ls *`", vec!["ls > other"], vec!["ls > /tmp/x"]),
        ("ls 'unclosed", "this very command", vec![], vec!["ls 'unclosed2"]),
        ("ls > \"$X\"", "this very command", vec![], vec!["ls > \"$Y\""]),
        ("PATH=. && make x", "this very command", vec![], vec!["make x"]),
        ("$CMD x", "`$CMD x`", vec![], vec!["$CMD y"]),
        ("find . -exec ls {} +", "`find . -exec ls {} +`", vec![], vec!["find . -exec rm {} +"]),
    ] {
        let mut grants = SessionGrants::default();
        let Judgement::Ask { rule, .. } = run(command, &rules, &grants) else {
            panic!("{command}")
        };
        assert_eq!(rule.to_string(), offered, "{command}");
        grants.grant(rule);
        assert_eq!(short(&run(command, &rules, &grants)), "allow", "{command} again");
        for other in also {
            assert_eq!(short(&run(other, &rules, &grants)), "allow", "{other} after {command}");
        }
        for other in not {
            assert_ne!(short(&run(other, &rules, &grants)), "allow", "{other} after {command}");
        }
        let strict = settings(PermissionMode::Ask, &[], &["bash"]);
        assert_eq!(short(&run(command, &strict, &grants)), "deny", "a rule that forbids wins");
    }
    let mut grants = SessionGrants::default();
    let Judgement::Ask { rule, .. } = write("/home/me/shop/a", &rules, &grants) else { panic!() };
    grants.grant(rule);
    assert_eq!(short(&write("/home/me/shop/b", &rules, &grants)), "allow");
    assert_ne!(short(&write("/home/me/b", &rules, &grants)), "allow");
    assert_ne!(short(&write("/home/me/shop/.git/config", &rules, &grants)), "allow");
    let Judgement::Ask { rule, .. } = write("/tmp/one", &rules, &grants) else { panic!() };
    assert_eq!(rule.to_string(), "writing /tmp/one");
}

#[test]
fn a3_a_rule_that_forbids_and_cannot_be_read_makes_everything_a_question() {
    let none = SessionGrants::default();
    let rules = settings(PermissionMode::Full, &[], &["bash(rm"]);
    assert!(
        short(&run("ls", &rules, &none))
            .starts_with("ask: a rule that forbids something cannot be read: rule `bash(rm`")
    );
    assert!(short(&read("/home/me/shop/a", &rules, &none)).starts_with("ask: a rule"));
    let problems =
        rule_problems(&settings(PermissionMode::Full, &["write(a[b)", "bash(ls *)"], &["bash(rm"]));
    assert_eq!(problems.len(), 2, "{problems:?}");
}

#[test]
fn f80_deep_and_long_commands_are_asked_not_survived_by_luck() {
    let rules = settings(PermissionMode::Ask, &["bash(echo *)"], &[]);
    let none = SessionGrants::default();
    for command in [
        "(".repeat(100_000),
        format!("{}ls{}", "$(".repeat(50), ")".repeat(50)),
        format!("{}ls{}", "(".repeat(150), ")".repeat(150)),
        format!("{}ls{}", "{ ".repeat(150), "; }".repeat(150)),
        format!("echo {}", "$((".repeat(60)),
        format!("echo {}", "${x:-".repeat(120)),
        "echo x; ".repeat(20_000),
        "`".repeat(99),
    ] {
        let started = std::time::Instant::now();
        assert!(short(&run(&command, &rules, &none)).starts_with("ask"), "{}", &command[..40]);
        assert!(started.elapsed().as_secs() < 5, "{} took {:?}", &command[..40], started.elapsed());
    }
}

#[test]
fn f80_runners_of_runners_are_judged_at_once() {
    // Every end of a runner's words may be what it runs; in runners of runners that doubled each time.
    let settings = settings(PermissionMode::Ask, &["bash(ls *)"], &["bash(rm *)"]);
    let command = format!("sudo -u me {} rm x", "env -i ls ".repeat(80));
    let began = std::time::Instant::now();
    let judgement = run(&command, &settings, &SessionGrants::default());
    assert!(matches!(judgement, Judgement::Deny { .. }), "{judgement:?}");
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn f80_whatever_opens_again_and_again_is_judged_in_no_time() {
    let openers = [
        "(",
        "$(",
        "${",
        "${x:-",
        "${x[",
        "$[",
        "$((",
        "((",
        "[",
        "[[",
        "[[ ",
        "a[",
        "a[$(",
        "{",
        "{ ",
        "{a,",
        "{1..",
        "`",
        "\\`",
        "\"",
        "\"$(",
        "'",
        "$'",
        "$\"",
        "<(",
        ">(",
        "@(",
        "!(",
        "+(",
        "?(",
        "*(",
        "<<A\n",
        "<<-A ",
        "<<<",
        "if ",
        "case x in ",
        "case x in (",
        "! ",
        "~",
        "f() ",
        "function f ",
        "a=(",
        "a[1]=(",
        "\\",
        "\\u[",
        "for x in ",
        "while ",
        "|& ",
        "2>&",
        "coproc ",
        "time ",
        "[!",
        "[^",
        "[:",
        "[[:",
        "[a-",
        "=(",
        "&",
        "#",
    ];
    let (sender, receiver) = std::sync::mpsc::channel();
    let (done, finished) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let rules = settings(PermissionMode::Ask, &["bash(echo *)"], &["bash(rm *)"]);
        for opener in openers {
            for (filler, end) in [
                ("", ""),
                ("a", ""),
                (" ", "x"),
                ("\n", "\n"),
                ("d\\ud80nam", ""),
                (";", "done"),
                ("$(x)", ")"),
                ("", "))))))))))))))))))))"),
                ("a", "]]]]]]]]]]]]]]]]]]]]"),
                ("\"", "}}}}}}}}}}}}}}}}}}}}"),
            ] {
                for times in [3, 6, 12, 24, 60] {
                    let command =
                        format!("echo {}{end}", format!("{opener}{filler}").repeat(times));
                    sender.send(command.clone()).unwrap();
                    let _ = run(&command, &rules, &SessionGrants::default());
                }
            }
        }
        done.send(()).unwrap();
    });
    let limit = std::time::Duration::from_secs(60);
    let ended = finished.recv_timeout(limit);
    let last = receiver.try_iter().last();
    assert!(ended.is_ok(), "not judged: {last:?}");
}
