//! How the tree looks, at several sizes, with wide characters, light and dark.

use super::*;

/// A session with everything that has a look of its own.
const ALL_KINDS: &str = "u1 user '로그인 폼이 어떤 항목에서 실패했는지 말하게 해 주세요 🙏'
     / a1 assistant 'I will look at the validator first.' call=read:src/auth/validate.rs call=bash:cargo_test_-p_auth
     / r1 result 'fn validate' of=a1-0 tool=read / r2 result 'test failed' of=a1-1 tool=bash failed
     / x1 shell 'git status' / c1 compaction 'moved validation into auth/validate.rs' keep=r1
     / u2 user 'Now the same for sign-up' / l1 label 'plan-b' of=u2
     / u3 user 'Derive the field errors with a macro' ago=130
     / a3 assistant '매크로를 만들었습니다 — 그런데 위치 정보가 사라졌어요' call=edit:auth/derive.rs ago=125
     / r3 result 'ok' of=a3-0 tool=edit ago=125
     / u4 user 'What if we validate on the client?' ago=1500 < u2 / a4 assistant 'Then …' ago=1490
     / s1 summary 'Left:\\n\\n## Goal\\nMacro attempt: derive built, spans lost\\n\\n## Progress\\n- [x] derive(Form) for LoginForm\\n- [ ] spans point at the derive\\n\\n<modified-files>\\nauth/derive.rs\\n</modified-files>' from=r3 < u2
     / u5 user 'Try it with a trait per form' / a5 assistant 'A trait would look like this'
     / a6 assistant call=edit:src/auth/form.rs / r6 result 'ok' of=a6-0 tool=edit
     / a7 assistant 'Done, 31 tests pass 🎉'";

fn picture(size: (u16, u16)) -> Stage {
    Stage::of(Session::parse(ALL_KINDS), size)
}

#[test]
fn u5_at_four_sizes() {
    for (columns, rows) in [(40, 12), (80, 24), (120, 40), (200, 60)] {
        let stage = picture((columns, rows));
        insta::assert_snapshot!(format!("tree_{columns}x{rows}"), stage.screen());
    }
}

/// What a newcomer sees: the session that `--tour` opens.
#[test]
fn u5_the_tour() {
    let lines = include_str!("../../../../../assets/sessions/tour.jsonl").lines().skip(1);
    let entries: Vec<_> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut stage = Stage::of(Session::build(&entries, None), (120, 40));
    insta::assert_snapshot!("tour_opened", stage.screen());
    stage.press(KeyCode::Char('/'));
    stage.type_text("macro");
    stage.press(KeyCode::Enter);
    stage.press(KeyCode::Char('p'));
    stage.press(KeyCode::End);
    stage.press(KeyCode::Enter);
    insta::assert_snapshot!("tour_asked", stage.screen());
}

#[test]
fn u5_the_summary_of_a_branch_is_previewed() {
    let mut stage = picture((120, 30));
    stage.press(KeyCode::End);
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn u5_a_question_at_forty_columns() {
    let mut stage = picture((40, 12));
    stage.press(KeyCode::End);
    stage.press(KeyCode::Enter);
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn u5_tab_shows_the_preview_on_a_small_screen() {
    let mut stage = picture((40, 12));
    stage.select("u1");
    stage.press(KeyCode::Tab);
    insta::assert_snapshot!(stage.screen());
    stage.press(KeyCode::Tab);
    assert!(stage.screen().contains("┃● you"));
}

#[test]
fn u5_times_everything_and_the_keys() {
    let mut stage = picture((90, 30));
    stage.press(KeyCode::Char('t'));
    stage.press(KeyCode::Tab);
    for _ in 0..4 {
        stage.press(KeyCode::Char('f'));
    }
    insta::assert_snapshot!("tree_all_with_times", stage.screen());
    stage.press(KeyCode::Char('?'));
    insta::assert_snapshot!("tree_keys", stage.screen());
}

#[test]
fn u5_deep_forks_keep_their_text_readable() {
    let mut text = String::from("u0 user 'root'");
    for number in 1..46 {
        let before = number - 1;
        text.push_str(&format!(" / x{number} user 'aside {number}' < u{before}"));
        text.push_str(&format!(" / u{number} user 'on with {number}' < u{before}"));
    }
    let stage = Stage::of(Session::parse(&text), (60, 14));
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn u7_a_window_that_is_too_small_says_so() {
    let stage = picture((29, 7));
    assert!(stage.screen().contains("the window is too small"));
}

/// The styles of a row, as runs of text with what differs from plain.
fn styles(stage: &Stage, needle: &str) -> String {
    let buffer = stage.terminal.backend().buffer();
    let row = (0..buffer.area.height)
        .find(|row| {
            let text: String =
                (0..buffer.area.width).map(|column| buffer[(column, *row)].symbol()).collect();
            text.contains(needle)
        })
        .unwrap();
    let mut runs: Vec<(String, (Color, Modifier))> = Vec::new();
    for column in 0..60 {
        let cell = &buffer[(column, row)];
        let look = (cell.fg, cell.modifier);
        match runs.last_mut() {
            Some((text, same)) if *same == look => text.push_str(cell.symbol()),
            _ => runs.push((cell.symbol().to_owned(), look)),
        }
    }
    runs.iter()
        .map(|(text, (colour, modifier))| format!("{colour:?} {modifier:?} {text:?}\n"))
        .collect()
}

#[test]
fn u7_light_dark_and_without_colour() {
    let mut looks = String::new();
    for (name, depth) in
        [("dark", ColorDepth::True), ("light", ColorDepth::True), ("dark", ColorDepth::None)]
    {
        let mut stage = picture((120, 40));
        stage.theme = Theme::named(name, depth).unwrap();
        stage.press(KeyCode::Up);
        for needle in ["로 그", "compacted", "Try it", "edit     src", "✎ M", "What if"] {
            let row = styles(&stage, needle);
            looks.push_str(&format!("{name} {depth:?} · {needle}\n{row}\n"));
        }
    }
    insta::assert_snapshot!(looks);
}
