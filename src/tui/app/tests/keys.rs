//! What keys do, and what is sent.

use super::*;
use crate::message::Image;
use crate::tui::editor::{Arrived, Attachment};

#[test]
fn a3_the_question_for_permission_leaves_the_transcript_in_view() {
    let mut stage = Stage::worked();
    stage.activity(ActivityKind::RunningTools);
    stage.session(SessionEvent::PermissionAsked(PermissionQuestion {
        question: 3,
        tool: "bash".into(),
        subject: "rm -rf target && cargo build --release".into(),
        marks: Vec::new(),
        diff: None,
        note: Some("deletes files".into()),
        rule: "`cargo build*`".into(),
        editable: true,
    }));
    insta::assert_snapshot!(stage.draw(80, 20));
    stage.write("y");
    assert_eq!(
        stage.sent,
        [SessionCommand::Permission {
            question: 3,
            answer: crate::agent_session::command::PermissionAnswer::Once
        }]
    );
}

#[test]
fn a3_whoever_is_typing_does_not_answer_by_accident() {
    let mut stage = Stage::open();
    stage.activity(ActivityKind::RunningTools);
    stage.write("ma");
    stage.later(100);
    stage.session(SessionEvent::PermissionAsked(PermissionQuestion {
        question: 3,
        tool: "bash".into(),
        subject: "ls".into(),
        marks: Vec::new(),
        diff: None,
        note: None,
        rule: "`ls*`".into(),
        editable: true,
    }));
    stage.write("y");
    assert_eq!((stage.app.editor.text().as_str(), stage.sent.len()), ("may", 0));
    stage.later(1_000);
    stage.write("y");
    assert_eq!(stage.sent.len(), 1);
}

#[test]
fn f89_messages_that_wait_are_seen_and_two_keys_tell_them_apart() {
    let mut stage = Stage::worked();
    stage.activity(ActivityKind::Answering);
    stage.write("first do this");
    stage.key(KeyCode::Enter);
    stage.write("then that");
    stage.press(KeyCode::Enter, KeyModifiers::ALT);
    let delivered: Vec<Delivery> = stage
        .sent
        .iter()
        .map(|command| match command {
            SessionCommand::Prompt { delivery, .. } => *delivery,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(delivered, [Delivery::Steer, Delivery::FollowUp]);
    stage.session(SessionEvent::Queue {
        steering: vec!["first do this".into()],
        follow_up: vec!["then that".into()],
    });
    let screen = stage.draw(80, 16);
    assert!(screen.contains("↳ next: first do this · alt+up edits"), "{screen}");
    assert!(screen.contains("↳ after the turn: then that"), "{screen}");
    stage.write("draft");
    stage.session(SessionEvent::QueueReturned { text: "first do this".into(), images: Vec::new() });
    assert_eq!(stage.app.editor.text(), "first do this\n\ndraft");
}

#[test]
fn u3_escape_stops_what_runs_and_twice_opens_the_tree_only_when_idle() {
    let mut stage = Stage::worked();
    stage.activity(ActivityKind::Answering);
    stage.write("typed");
    stage.key(KeyCode::Esc);
    assert_eq!(stage.sent, [SessionCommand::Abort]);
    assert_eq!(stage.app.editor.text(), "typed", "what was typed stays");
    stage.activity(ActivityKind::Idle);
    stage.key(KeyCode::Esc);
    assert_eq!(stage.sent.len(), 1, "an idle escape sends nothing");
}

#[test]
fn u3_ctrl_c_clears_then_quits() {
    let mut stage = Stage::open();
    stage.write("text");
    stage.ctrl('c');
    assert!(stage.app.editor.is_empty());
    stage.later(5_000);
    stage.ctrl('c');
    assert!(stage.draw(80, 12).contains("ctrl+c again to quit"));
    stage.ctrl('c');
    assert_eq!(stage.sent, [SessionCommand::Quit]);
    let mut stage = Stage::open();
    stage.ctrl('d');
    assert_eq!(stage.sent, [SessionCommand::Quit]);
}

#[test]
fn u4_an_unknown_command_is_not_sent_and_not_lost() {
    let mut stage = Stage::open();
    stage.write("/comapct now");
    stage.key(KeyCode::Enter);
    assert!(stage.sent.is_empty());
    assert_eq!(stage.app.editor.text(), "/comapct now");
    assert!(stage.draw(80, 20).contains("did you mean /compact?"));
}

#[test]
fn u2_the_command_menu_completes_and_runs() {
    let mut stage = Stage::open();
    stage.write("/co");
    insta::assert_snapshot!(stage.draw(70, 18));
    stage.key(KeyCode::Enter);
    assert_eq!(stage.sent, [SessionCommand::Compact { instructions: None }]);
    assert!(stage.app.editor.is_empty());
    stage.write("/nam");
    stage.key(KeyCode::Tab);
    assert_eq!(stage.app.editor.text(), "/name ");
}

#[test]
fn u2_ctrl_r_walks_through_what_was_sent_and_holds_the_words() {
    let mut stage = Stage::open();
    for text in ["fix the login", "run the tests", "fix the tests"] {
        stage.write(text);
        stage.key(KeyCode::Enter);
    }
    stage.write("FIX");
    let mut shown = Vec::new();
    for _ in 0..3 {
        stage.ctrl('r');
        shown.push(stage.app.editor.text());
    }
    assert_eq!(shown, ["fix the tests", "fix the login", "fix the login"]);
}

#[test]
fn u1_find_goes_back_to_what_holds_the_text() {
    let mut stage = Stage::open();
    for number in 0..40 {
        stage.user(&format!("request {number}"));
    }
    stage.draw(60, 20);
    stage.write("/find QUEST 7");
    stage.key(KeyCode::Enter);
    assert!(stage.draw(60, 20).starts_with("▌ request 7"));
    stage.ctrl('f');
    assert!(stage.draw(60, 20).contains("nothing above holds QUEST 7"));
}

#[test]
fn u2_files_are_offered_after_an_at_sign() {
    let mut stage = Stage::open();
    stage.write("see @va");
    let asked =
        |query: &str| UiEffect::FindFiles { cwd: "/home/me/src/shop".into(), query: query.into() };
    assert_eq!(stage.other.last(), Some(&asked("va")));
    let files = vec!["src/auth/validate.rs".to_owned(), "vars.rs".to_owned()];
    stage.event(UiEvent::Files { query: "v".into(), files: vec!["late".into()] });
    assert!(stage.app.menu.is_none(), "an answer to an older question is dropped");
    stage.event(UiEvent::Files { query: "va".into(), files });
    assert!(stage.draw(60, 14).contains("› @src/auth/validate.rs"));
    stage.key(KeyCode::Enter);
    assert_eq!(stage.app.editor.text(), "see @src/auth/validate.rs ");
    assert!(stage.prompts().is_empty());
}

#[test]
fn u2_exclamation_marks_run_commands() {
    let mut stage = Stage::open();
    stage.write("!git status");
    assert!(stage.draw(80, 14).contains("the model sees the output"));
    stage.key(KeyCode::Enter);
    stage.write("!!ls");
    stage.key(KeyCode::Enter);
    let shell =
        |command: &str, excluded| SessionCommand::Shell { command: command.into(), excluded };
    assert_eq!(stage.sent, [shell("git status", false), shell("ls", true)]);
}

#[test]
fn u3_a_backslash_before_enter_is_a_new_line() {
    let mut stage = Stage::open();
    stage.write("one\\");
    stage.key(KeyCode::Enter);
    stage.write("two");
    stage.press(KeyCode::Enter, KeyModifiers::SHIFT);
    stage.write("three");
    stage.key(KeyCode::Enter);
    assert_eq!(stage.prompts(), ["one\ntwo\nthree"]);
}

#[test]
fn u2_what_is_sent_while_an_image_is_read_goes_with_it() {
    let mut stage = Stage::worked();
    stage.event(UiEvent::Paste("/tmp/shot.png".into()));
    let [.., UiEffect::Attach { place, .. }] = stage.other.as_slice() else {
        panic!("{:?}", stage.other)
    };
    let place = *place;
    stage.write("what is this?");
    stage.key(KeyCode::Enter);
    assert!(stage.sent.is_empty(), "it waits for the image: {:?}", stage.sent);
    let image = Image { data: "aGk=".into(), mime_type: "image/png".into() };
    let attachment = Attachment { name: "shot.png".into(), image: image.clone() };
    stage.event(UiEvent::Arrived { place, what: Arrived::Images(vec![attachment]) });
    let [SessionCommand::Prompt { text, images, .. }] = stage.sent.as_slice() else {
        panic!("{:?}", stage.sent)
    };
    assert_eq!((text.as_str(), images), ("[image shot.png] what is this?", &vec![image]));
}

#[test]
fn u3_the_trees_keys_are_the_persons_however_it_is_opened() {
    for line in ["/tree", "/tree ENTRY"] {
        let mut stage = Stage::worked();
        stage.app.keymap = KeyMap::with_changes("[tree]\nback = [\"z\"]\n").unwrap();
        let first = stage.reader().tree().nodes().next().unwrap().1.id.to_string();
        stage.write(&line.replace("ENTRY", &first));
        stage.key(KeyCode::Enter);
        assert!(stage.draw(80, 20).contains("Tree ·"), "{line}");
        stage.write("z");
        assert!(!stage.draw(80, 20).contains("Tree ·"), "{line}");
    }
}
