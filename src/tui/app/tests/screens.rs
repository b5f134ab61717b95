//! What the screen shows: snapshots at several sizes, streaming, scrolling, hostile text.

use super::*;

#[test]
fn u1_the_main_screen_at_100_columns() {
    let mut stage = Stage::worked();
    stage.append(compaction());
    stage.user("Now the same for sign-up");
    stage.activity(ActivityKind::Answering);
    let delta = StreamDelta::Thinking { block: 0, text: "x ".repeat(2800) };
    stage.session(SessionEvent::Stream { delta });
    stage.later(12_200);
    stage.write("and keep the old error type");
    insta::assert_snapshot!(stage.draw(100, 36));
}

#[test]
fn u7_the_main_screen_at_40_80_and_160_columns() {
    for (columns, rows) in [(40, 20), (80, 24), (160, 30)] {
        let mut stage = Stage::worked();
        stage.append(compaction());
        stage.write("한글 입력");
        insta::assert_snapshot!(format!("main_{columns}"), stage.draw(columns, rows));
    }
}

#[test]
fn u7_40_by_10_is_usable_and_less_says_so() {
    let mut stage = Stage::worked();
    stage.write("hello");
    insta::assert_snapshot!(stage.draw(40, 10));
    assert!(stage.draw(29, 10).contains("too small"));
    assert!(stage.draw(40, 7).contains("too small"));
}

#[test]
fn u1_a_fresh_session_says_what_to_try() {
    insta::assert_snapshot!(Stage::open().draw(80, 12));
}

#[test]
fn u1_streaming_korean_markdown() {
    let mut stage = Stage::open();
    stage.user("로그인 화면이 어느 항목에서 실패했는지 알려 주게 고쳐 주세요");
    stage.activity(ActivityKind::Answering);
    for piece in [
        "## 계획\n\n",
        "- **검증기**를 먼저 ",
        "봅니다\n- `auth/validate.rs`",
        "를 고칩니다\n\n```rust\n",
        "fn 검증() {",
    ] {
        stage.stream(piece);
    }
    insta::assert_snapshot!(stage.draw(50, 20));
}

#[test]
fn u1_ctrl_o_shows_everything_and_ctrl_t_the_thinking() {
    let mut stage = Stage::worked();
    stage.append(compaction());
    stage.ctrl('o');
    stage.ctrl('t');
    insta::assert_snapshot!(stage.draw(80, 70));
}

#[test]
fn f83_the_caret_stands_after_korean_text_while_text_streams() {
    let mut stage = Stage::open();
    stage.activity(ActivityKind::Answering);
    stage.write("한글");
    for _ in 0..5 {
        stage.stream("more text that streams\n\n");
        assert!(stage.draw(60, 20).contains("> 한글█"));
    }
}

#[test]
fn f88_idle_moves_nothing_and_work_ten_times_a_second() {
    let mut stage = Stage::open();
    assert_eq!(stage.app.next_tick(stage.now), None);
    stage.activity(ActivityKind::Answering);
    assert_eq!(stage.app.next_tick(stage.now), Some(Duration::from_millis(100)));
    stage.activity(ActivityKind::Idle);
    assert_eq!(stage.app.next_tick(stage.now), None);
}

/// F88, section 13: only the end of a long session is read, more when one scrolls there, and the
/// view does not jump.
#[test]
fn u1_a_long_session_is_read_from_its_end() {
    let mut stage = Stage::new();
    for number in 0..2_000 {
        stage.store(EntryBody::Message { message: user(&format!("request {number}")) });
    }
    stage.opened();
    let screen = stage.draw(60, 20);
    assert!(screen.contains("request 1999") && stage.loads < 120, "{} were read", stage.loads);
    let mut seen = BTreeSet::new();
    for _ in 0..60 {
        stage.key(KeyCode::PageUp);
        let screen = stage.draw(60, 20);
        seen.extend(
            screen.lines().filter_map(|line| line.strip_prefix("▌ request ")?.parse::<u32>().ok()),
        );
    }
    let (first, last) = (*seen.first().unwrap(), *seen.last().unwrap());
    assert!(first < 1_700, "scrolled only to {first}");
    assert_eq!(seen.len() as u32, last - first + 1, "nothing was skipped");
}

#[test]
fn u1_scrolled_up_nothing_jumps_and_new_lines_are_counted() {
    let mut stage = Stage::open();
    for number in 0..40 {
        stage.user(&format!("request {number}"));
    }
    stage.draw(60, 20);
    stage.key(KeyCode::PageUp);
    let before = stage.draw(60, 20);
    assert!(before.contains("↓ more below"), "{before}");
    stage.user("another");
    stage.activity(ActivityKind::Answering);
    stage.stream("text\n\nmore");
    let after = stage.draw(60, 20);
    let transcript = |screen: &str| screen.lines().take(16).collect::<Vec<_>>().join("\n");
    assert_eq!(transcript(&before), transcript(&after));
    assert!(after.contains("↓ 6 new lines"), "{after}");
    stage.press(KeyCode::End, KeyModifiers::CONTROL);
    assert!(stage.draw(60, 20).contains("  more"));
}

/// What wraps anew in another window, or was coloured since, is not new.
#[test]
fn u1_only_what_came_is_counted_as_new() {
    let mut stage = Stage::worked();
    stage.draw(100, 20);
    stage.key(KeyCode::PageUp);
    assert!(stage.draw(100, 20).contains("↓ more below"));
    let narrow = stage.draw(40, 20);
    assert!(narrow.contains("↓ more below"), "{narrow}");
    stage.press(KeyCode::End, KeyModifiers::CONTROL);
    stage.draw(40, 20);
    let theme = Box::new(Theme::named("light", ColorDepth::True).unwrap());
    stage.event(UiEvent::Theme(theme));
    stage.press(KeyCode::Up, KeyModifiers::CONTROL);
    let recoloured = stage.draw(40, 20);
    assert!(recoloured.contains("↓ more below"), "{recoloured}");
    stage.user("another");
    assert!(stage.draw(40, 20).contains("↓ 2 new lines"));
}

#[test]
fn b5_after_a_move_the_path_is_shown_and_the_text_comes_back() {
    let mut stage = Stage::worked();
    stage.draw(80, 30);
    {
        let mut tree = stage.tree.write().unwrap();
        let first = tree.find(&"00000001".into());
        tree.set_leaf(first);
    }
    stage.session(SessionEvent::Moved {
        leaf: Some("00000001".into()),
        editor: Some("retry".into()),
    });
    let screen = stage.draw(80, 12);
    assert!(!screen.contains("validator first"), "{screen}");
    assert!(screen.contains("▌ Make the login form") && screen.contains("> retry█"), "{screen}");
}

#[test]
fn u1_the_streamed_answer_becomes_its_entry_in_place() {
    let mut stage = Stage::open();
    stage.user("hi");
    stage.activity(ActivityKind::Answering);
    stage.session(SessionEvent::Stream { delta: StreamDelta::Start });
    stage.stream("Hello there");
    let streaming = stage.draw(60, 14);
    stage.answer(vec![Block::text("Hello there")]);
    assert_eq!(streaming, stage.draw(60, 14));
    stage.activity(ActivityKind::Idle);
    assert_eq!(stage.draw(60, 14).matches("Hello there").count(), 1);
}

#[test]
fn f85_hostile_tool_output_leaves_no_residue() {
    let mut stage = Stage::open();
    stage.answer(vec![call("c", "bash", json!({"command": "x\u{1b}[2J"}))]);
    let nasty = "\u{1b}[0;32mok\u{1b}[0m \u{0}\u{7}\t|\u{1b}]0;t\u{7}👨\u{200d}👩\u{200d}👧|\u{202e}x\r\n50%\r100%";
    stage.result("c", nasty, json!({"summary": "done\u{1b}[31m"}), false);
    let screen = stage.draw(60, 14);
    assert!(screen.contains("ok "), "{screen}");
    assert!(screen.contains("100%") && !screen.contains("50%\n"), "{screen}");
    assert!(!screen.contains("[0;32m") && !screen.contains("[31m") && !screen.contains('\u{1b}'));
}

#[test]
fn u7_without_colour_everything_is_told_apart_by_signs() {
    let mut stage = Stage::with_theme(Theme::named("dark", ColorDepth::None).unwrap());
    stage.opened();
    stage.user("question");
    stage.answer(vec![
        Block::text("answer with `code`"),
        call("c", "bash", json!({"command": "ls"})),
    ]);
    stage.result("c", "no", json!({"summary": "exit 2"}), true);
    stage.session(SessionEvent::Notice { level: NoticeLevel::Warning, text: "careful".into() });
    let screen = stage.draw(60, 20);
    for sign in ["▌ question", "  answer with `code`", "  ✗ bash   ls", "  ! careful"] {
        assert!(screen.contains(sign), "{sign} in\n{screen}");
    }
}
