//! Going to places that are not held, letting go of what is far, copying.

use super::*;

/// A session of `count` requests, open at its end.
fn long(count: usize) -> Stage {
    let mut stage = Stage::new();
    for number in 0..count {
        stage.store(EntryBody::Message { message: user(&format!("request {number} end")) });
    }
    stage.opened();
    stage.draw(60, 20);
    stage
}

#[test]
fn u1_find_goes_to_what_is_not_held_and_reads_only_what_is_around_it() {
    let mut stage = long(5_000);
    let before = stage.loads;
    stage.write("/find request 77 ");
    stage.key(KeyCode::Enter);
    stage.write("/find request 77 end");
    stage.key(KeyCode::Enter);
    let screen = stage.draw(60, 20);
    assert!(screen.contains("▌ request 77 end"), "{screen}");
    assert!(stage.loads - before < 1_000, "{} were read", stage.loads - before);
    // From there one scrolls on in both directions, and nothing is skipped.
    for (key, first) in [(KeyCode::PageUp, 52), (KeyCode::PageDown, 77)] {
        for _ in 0..4 {
            stage.key(key);
            stage.draw(60, 20);
        }
        assert!(stage.draw(60, 20).contains(&format!("request {first} ")), "{key:?}");
    }
    stage.press(KeyCode::End, KeyModifiers::CONTROL);
    assert!(stage.draw(60, 20).contains("▌ request 4999 end"));
    stage.write("/find nowhere at all");
    stage.key(KeyCode::Enter);
    assert!(stage.draw(60, 20).contains("nothing above holds nowhere"));
}

/// F88, I10: whoever walks through a long session holds a window of it, not all of it.
#[test]
fn u1_what_is_far_from_the_view_is_let_go() {
    let mut stage = long(3_000);
    let mut most = 0;
    let mut seen = BTreeSet::new();
    let mut walk = |stage: &mut Stage, key, steps| {
        for _ in 0..steps {
            stage.key(key);
            let screen = stage.draw(60, 40);
            seen.extend(screen.lines().filter_map(|line| {
                line.strip_prefix("▌ request ")?.strip_suffix(" end")?.parse::<u32>().ok()
            }));
            most = most.max(stage.app.transcript.held());
        }
    };
    walk(&mut stage, KeyCode::PageUp, 120);
    walk(&mut stage, KeyCode::PageDown, 140);
    assert!(most <= 900, "{most} blocks were held");
    let first = *seen.first().unwrap();
    assert!(first < 1_500, "scrolled only to {first}");
    assert_eq!(seen.len() as u32, 3_000 - first, "nothing was skipped");
    assert!(stage.draw(60, 40).contains("request 2999"), "back at the end");
    stage.user("one more");
    assert!(stage.draw(60, 40).contains("▌ one more"));
}

#[test]
fn u1_what_is_said_while_one_looks_far_back_is_there_at_the_end() {
    let mut stage = long(3_000);
    stage.press(KeyCode::Home, KeyModifiers::CONTROL);
    assert!(stage.draw(60, 20).contains("▌ request 0 end"));
    stage.activity(ActivityKind::Answering);
    stage.stream("streamed text");
    assert!(stage.draw(60, 20).contains("▌ request 0 end"), "the view stays");
    stage.answer(vec![Block::text("streamed text")]);
    stage.activity(ActivityKind::Idle);
    stage.press(KeyCode::End, KeyModifiers::CONTROL);
    let screen = stage.draw(60, 20);
    assert!(screen.contains("request 2999") && screen.contains("streamed text"), "{screen}");
}

#[test]
fn u1_requests_are_walked_through_one_by_one() {
    let mut stage = long(300);
    for number in (200..300).rev() {
        stage.press(KeyCode::Up, KeyModifiers::CONTROL);
        let screen = stage.draw(60, 20);
        assert!(screen.starts_with(&format!("▌ request {number} ")), "{number}\n{screen}");
    }
    stage.press(KeyCode::Down, KeyModifiers::CONTROL);
    assert!(stage.draw(60, 20).starts_with("▌ request 201 "));
}

#[test]
fn u1_answers_and_code_are_copied_one_after_the_other() {
    let mut stage = Stage::open();
    stage.user("q");
    stage.answer(vec![Block::text("one\n\n```rs\nlet a;\n```\n\n```\nb\n```")]);
    stage.user("r");
    stage.answer(vec![Block::text("two")]);
    stage.draw(60, 30);
    let copied = |stage: &mut Stage, letter| {
        stage.other.clear();
        stage.press(KeyCode::Char(letter), KeyModifiers::ALT);
        stage.other.clone()
    };
    let copy = |text: &str| vec![UiEffect::Copy(text.to_owned())];
    assert_eq!(copied(&mut stage, 'c'), copy("two"));
    assert!(
        matches!(&copied(&mut stage, 'c')[..], [UiEffect::Copy(text)] if text.starts_with("one"))
    );
    assert_eq!(copied(&mut stage, 'c'), []);
    assert!(stage.draw(60, 30).contains("there is no answer before that"));
    assert_eq!(copied(&mut stage, 'k'), copy("b\n"));
    assert_eq!(copied(&mut stage, 'k'), copy("let a;\n"));
    stage.later(10_000);
    assert_eq!(copied(&mut stage, 'k'), copy("b\n"), "later it begins anew");
}

#[test]
fn u1_times_are_shown_when_they_are_wanted() {
    let mut stage = Stage::open();
    stage.user("one");
    stage.user("two");
    let plain = stage.draw(60, 20);
    stage.press(KeyCode::Char('t'), KeyModifiers::ALT);
    let with_times = stage.draw(60, 20);
    assert!(with_times.contains("01-01"), "{with_times}");
    stage.press(KeyCode::Char('t'), KeyModifiers::ALT);
    assert_eq!(stage.draw(60, 20), plain);
}
