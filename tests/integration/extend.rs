//! What a person adds to the program and changes of it, in the real binary: prompt templates, skills,
//! settings (U4, G1, G2).

use std::process::{Command, Output, Stdio};

use crate::support::pty::{Home, Pty};

const SKILL: &str = "---\nname: release\ndescription: How releases are made here.\n---\n\
                     Run the tests, then tag.\n";

fn open(home: &Home) -> Pty {
    let pty = Pty::start(home.command(&[]), 100, 30);
    pty.until_shows("/help");
    pty
}

/// The program without a screen, in a home of the terminal's tests.
fn printed(home: &Home, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_regrow"));
    command.args(["--provider", "offline", "--model", "offline"]).args(arguments).env_clear();
    command.current_dir(home.project()).stdin(Stdio::null());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let root = home.project().parent().unwrap().to_owned();
    command.env("HOME", &root).env("XDG_CONFIG_HOME", root.join("config"));
    command.env("XDG_DATA_HOME", root.join("data")).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn u4_a_template_stands_in_the_menu_and_becomes_a_prompt() {
    let home = Home::new();
    home.configure(
        "prompts/look.md",
        "---\ndescription: Looks into a file\nargument-hint: FILE\n---\nread $1\n",
    );
    home.configure("prompts/tree.md", "never used");
    let mut pty = open(&home);
    pty.until_shows("/tree is a command of regrow's own");
    pty.send("/loo");
    let screen = pty.until_shows("FILE Looks into a file");
    assert!(screen.contains("/look"), "{screen}");
    // The template wants an argument, so choosing it does not send it yet.
    pty.send("\r");
    pty.until_shows("> /look");
    pty.send("'README.md'\r");
    let screen = pty.until_shows("✓ read   README.md");
    assert!(screen.contains("▌ read README.md"), "{screen}");
    pty.until_gone("esc to stop");
    pty.send("/lokk x\r");
    pty.until_shows("there is no command /lokk; did you mean /look?");
    // It stays in the editor.
    pty.until_shows("> /lokk x");
}

#[test]
fn u4_a_template_works_without_a_screen() {
    let home = Home::new();
    home.configure("prompts/look.md", "read $1\n");
    let said = printed(&home, &["-p", "/look", "README.md"]);
    assert!(text(&said.stdout).contains("# Shop"), "{}{}", text(&said.stdout), text(&said.stderr));
    let said = printed(&home, &["-p", "/lokk README.md"]);
    assert_eq!(said.status.code(), Some(1));
    assert!(text(&said.stderr).contains("did you mean /look?"), "{}", text(&said.stderr));
}

/// G2: a repository that was cloned brings no prompts and no skills until it is trusted.
#[test]
fn g2_a_projects_templates_and_skills_wait_for_trust() {
    let home = Home::new();
    home.put(".regrow/prompts/look.md", "read README.md\n");
    home.put(".agents/skills/release/SKILL.md", SKILL);
    let said = printed(&home, &["-p", "/look"]);
    assert_eq!(said.status.code(), Some(1));
    let said = printed(&home, &["-p", "skill release"]);
    assert!(!text(&said.stdout).contains("then tag"), "{}", text(&said.stdout));
    assert!(
        text(&said.stderr).contains(".regrow/prompts and .agents/skills are left out"),
        "{}",
        text(&said.stderr)
    );
    let said = printed(&home, &["--trust", "-p", "/look"]);
    assert!(text(&said.stdout).contains("# Shop"), "{}", text(&said.stderr));
    let said = printed(&home, &["-p", "skill release"]);
    assert!(text(&said.stdout).contains("then tag"), "{}", text(&said.stdout));
}

/// A skill of the person lies outside the project and is read all the same, without a question.
#[test]
fn a3_a_skill_is_read_on_the_screen_without_a_question() {
    let home = Home::new();
    home.configure("skills/release/SKILL.md", SKILL);
    home.configure("skills/Broken/SKILL.md", "no head");
    let mut pty = open(&home);
    pty.until_shows("the name `Broken` may hold only");
    pty.send("skill release\r");
    let screen = pty.until_shows("✓ skill  release");
    assert!(!screen.contains("wants to"), "{screen}");
    pty.until_shows("it ends with Run the tests, then tag.");
}

/// F82: a change keeps comments, is backed up, checked where it is typed, and counts at once.
#[test]
fn u4_a_setting_is_changed_on_the_screen() {
    let home = Home::new();
    let text = "{\n  // mine\n  \"mouse\": false, // no mouse\n}\n";
    home.configure("settings.json", text);
    let mut pty = open(&home);
    pty.until_shows("compacts at 75%");
    pty.send("/settings\r");
    pty.until_shows("changes go to");
    pty.send("compaction.enabled");
    pty.until_shows("compact by itself when the window fills");
    pty.send("\r");
    pty.until_shows("enter choose · esc back");
    pty.send("false\r");
    pty.until_shows("saved: compaction.enabled is false");
    let file = std::fs::read_to_string(home.config("settings.json")).unwrap();
    assert!(file.contains("// mine") && file.contains("// no mouse"), "{file}");
    assert!(file.contains("\"enabled\": false"), "{file}");
    assert_eq!(std::fs::read_to_string(home.config("settings.json.bak")).unwrap(), text);
    pty.send("\u{15}reserveRatio\r\u{15}7\r");
    pty.until_shows("must be a number from 0 to 1, not 7");
    pty.send("\u{1b}");
    pty.until_gone("summarization.reserveRatio =");
    pty.send("\u{1b}");
    pty.until_gone("changes go to");
    // Automatic compaction is off at once.
    pty.until_gone("compacts at 75%");
    // A file with a mistake is never written over.
    home.configure("settings.json", "{\"mouse\": ");
    pty.send("/settings\r");
    pty.until_shows("settings.json:1:");
    assert_eq!(std::fs::read_to_string(home.config("settings.json")).unwrap(), "{\"mouse\": ");
}

#[test]
fn u4_reload_reads_everything_again_and_keeps_the_session() {
    let home = Home::new();
    let mut pty = open(&home);
    pty.send("read README.md\r");
    pty.until_shows("✓ read   README.md");
    pty.until_gone("esc to stop");
    home.configure("prompts/look.md", "ls .");
    home.configure("skills/release/SKILL.md", SKILL);
    home.configure("settings.yaml", "compaction:\n  enabled: false\n");
    home.configure("keymap.toml", "no_such_action = []\n");
    home.put("AGENTS.md", "Be brief.\n");
    pty.send("/reload\r");
    let screen = pty.until_shows("skills: new release");
    for line in ["compaction.enabled: true → false", "prompts: new /look", "instructions: "] {
        assert!(screen.contains(line), "{line} in\n{screen}");
    }
    pty.until_shows("keymap.toml");
    pty.until_gone("compacts at 75%");
    assert!(pty.screen().contains("▌ read README.md"), "{}", pty.screen());
    pty.send("/look\r");
    pty.until_shows("✓ ls");
    pty.until_gone("esc to stop");
    pty.send("skill release\r");
    pty.until_shows("✓ skill  release");
    pty.send("/reload\r");
    pty.until_shows("nothing has changed");
}
