//! Pictures of the main screens at 40, 80 and 160 columns, to be looked at by people (SCREEN, U7).

use super::storm::listed;
use super::*;
use crate::session::listing::ListedSession;
use crate::tui::overlay::settings::SettingsSheet;

const SIZES: [(u16, u16); 3] = [(40, 14), (80, 24), (160, 32)];

fn take_pictures(name: &str, stage: impl Fn() -> Stage) {
    for (columns, rows) in SIZES {
        let mut stage = stage();
        insta::assert_snapshot!(format!("{name}_{columns}"), stage.draw(columns, rows));
    }
}

/// The session of the sketches, with branches that were left.
fn branched() -> Stage {
    let mut stage = Stage::worked();
    let fork = stage.tree.read().unwrap().leaf();
    stage.user("What if we validate on the client?");
    stage.answer(vec![Block::text("Then the server must still check.")]);
    stage.tree.write().unwrap().set_leaf(fork);
    stage.user("Now the same for sign-up, and keep the old error type for one release");
    stage.answer(vec![Block::text("Done, 31 tests pass.")]);
    stage.append(EntryBody::SessionInfo { name: Some("auth-refactor".into()) });
    stage.session(SessionEvent::Moved { leaf: None, editor: None });
    stage
}

#[test]
fn u1_an_answer_streams_below_a_tool() {
    take_pictures("streaming", || {
        let mut stage = Stage::worked();
        stage.event(UiEvent::Branch(Some("main*".into())));
        stage.activity(ActivityKind::Answering);
        stage.stream(
            "The sign-up form keeps its **own** errors:\n\n1. `email` is checked twice\n2. ",
        );
        stage.stream("the old error type stays for one release, as you said");
        stage.session(SessionEvent::Queue {
            steering: vec!["and update the changelog, please".into()],
            follow_up: vec!["then commit".into()],
        });
        stage.later(12_000);
        stage
    });
}

#[test]
fn u5_the_tree() {
    take_pictures("tree", || {
        let mut stage = branched();
        stage.write("/tree");
        stage.key(KeyCode::Enter);
        stage
    });
}

#[test]
fn u4_the_models() {
    take_pictures("models", || {
        let mut stage = Stage::open();
        let other = |provider: &str, id: &str, window, input, output| Model {
            provider: provider.into(),
            id: id.into(),
            context_window: window,
            price: Price { input, output, ..Price::default() },
            ..model()
        };
        let models = vec![
            (model(), true),
            (other("local", "qwen3-coder-30b-a3b-instruct", 32_768, 0.0, 0.0), true),
            (other("openai", "gpt-6", 400_000, 1.25, 10.0), false),
            (other("amazon-bedrock", "us.anthropic.claude-opus-5", 1_000_000, 5.0, 25.0), false),
        ];
        stage.event(UiEvent::Models { wanted: None, models });
        stage
    });
}

#[test]
fn u4_the_sessions() {
    take_pictures("sessions", || {
        let mut stage = Stage::open();
        let sessions = ["auth-refactor", "로그인 폼 오류를 고쳐 주세요", "write about trees"];
        let sessions = sessions.map(|text| ListedSession {
            name: (text == "auth-refactor").then(|| text.to_owned()),
            first: "Make the login form say which field failed".into(),
            last: "Done, 31 tests pass.".into(),
            ..listed(text)
        });
        let sessions = sessions.to_vec();
        stage.event(UiEvent::Sessions { search: None, sessions });
        stage
    });
}

#[test]
fn a3_the_question_for_permission() {
    take_pictures("permission", || {
        let mut stage = Stage::worked();
        stage.activity(ActivityKind::RunningTools);
        stage.session(SessionEvent::PermissionAsked(PermissionQuestion {
            question: 3,
            tool: "bash".into(),
            subject: "rm -rf target && cargo build --release".into(),
            marks: vec![(0, 13)],
            diff: None,
            note: Some("deletes files".into()),
            rule: "`cargo build*`".into(),
            editable: true,
        }));
        stage
    });
}

#[test]
fn u4_what_fills_the_window() {
    take_pictures("context", || {
        let mut stage = Stage::worked();
        let report = json!({"tokens": 76_100, "estimated": false, "window": 200_000,
            "compactsAt": 183_616, "systemPrompt": 2_100, "tools": 3_400, "instructions": 1_200,
            "since": {"tokens": 43_600, "entries": 12}, "cached": 61_000,
            "largest": [["bash \"cargo test\"", 12_100], ["read src/lib.rs", 8_000]]});
        stage.session(SessionEvent::Context { report });
        stage
    });
}

#[test]
fn u4_the_settings() {
    take_pictures("settings", || {
        let mut stage = Stage::open();
        let merged = crate::settings::layers::Merged::of([]);
        let shown = crate::settings::resolve::show(&merged);
        let file = "/home/me/.config/regrow/settings.json".into();
        stage.event(UiEvent::Settings(SettingsSheet { file, shown, own: Vec::new() }));
        stage
    });
}

#[test]
fn u1_the_welcome() {
    take_pictures("welcome", Stage::open);
}

/// A session that is gone on with says at its top that there are other branches.
#[test]
fn u1_a_resumed_session_tells_of_its_branches() {
    take_pictures("resumed", || {
        let mut stage = branched();
        stage.opened();
        stage.draw(80, 24);
        stage.press(KeyCode::Home, KeyModifiers::CONTROL);
        stage
    });
}

#[test]
fn u4_the_keys() {
    take_pictures("keys", || {
        let mut stage = Stage::open();
        stage.key(KeyCode::F(1));
        stage
    });
}
