//! Lines that hold a text, and the text at the top of the view when lines come out differently.

use super::*;

/// Words of different lengths, so that every width breaks them elsewhere.
fn paragraph(number: usize) -> String {
    let words = ["a", "lengthy", "word", "and", "considerably", "more", "of", "them"];
    let tail: Vec<&str> = words.iter().cycle().skip(number % 5).take(14).copied().collect();
    format!("paragraph {number:03} {}", tail.join(" "))
}

fn told(paragraphs: Vec<String>) -> Stage {
    let mut stage = Stage::open();
    stage.user("tell me");
    stage.answer(vec![Block::text(paragraphs.join("\n\n"))]);
    stage.draw(60, 20);
    stage
}

impl Stage {
    fn find(&mut self, text: &str) -> String {
        self.write(&format!("/find {text}"));
        self.key(KeyCode::Enter);
        self.draw(60, 20)
    }

    /// The words of the screen that are marked.
    fn marked(&mut self, columns: u16, rows: u16) -> String {
        use ratatui::style::Modifier;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| crate::tui::view::draw(&mut self.app, frame, self.now)).unwrap();
        let cells = terminal.backend().buffer().content();
        // The caret stands in a row of its own, below the transcript.
        let found = cells.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED));
        found.map(|cell| cell.symbol()).collect()
    }
}

/// The first line of the screen.
fn top(screen: &str) -> &str {
    screen.lines().next().unwrap_or_default().trim()
}

#[test]
fn u1_find_goes_to_the_line_inside_a_long_answer_and_on_upward_line_by_line() {
    let mut paragraphs: Vec<String> = (0..200).map(paragraph).collect();
    for number in [30, 31, 150] {
        paragraphs[number] = format!("Here {number} stands the **Nee**dle, once");
    }
    let mut stage = told(paragraphs);
    for number in [150, 31, 30] {
        let screen = stage.find("needle");
        assert!(top(&screen).starts_with(&format!("Here {number} ")), "{number}\n{screen}");
        let in_view = if number == 30 { "NeedleNeedle" } else { "Needle" };
        assert_eq!(stage.marked(60, 20), in_view);
    }
    let screen = stage.find("needle");
    assert!(screen.contains("nothing above holds needle") && top(&screen).starts_with("Here 30 "));
    assert_eq!(stage.marked(60, 20), "NeedleNeedle");
    stage.key(KeyCode::PageDown);
    assert_eq!(stage.marked(60, 20), "", "what was done last is no search");
    // From the middle it goes upward, over the end of a line too.
    let screen = stage.find("paragraph 007 and considerably");
    assert!(screen.contains("nothing above holds"), "{screen}");
    let text = paragraph(9);
    let screen = stage.find(&text[..60]);
    assert!(top(&screen).starts_with("paragraph 009"), "{screen}");
}

#[test]
fn u1_find_goes_to_the_line_in_what_was_not_held() {
    let mut stage = Stage::new();
    let mut paragraphs: Vec<String> = (0..100).map(paragraph).collect();
    paragraphs[40].push_str(" needle");
    paragraphs[70].push_str(" needle");
    stage.store(EntryBody::Message { message: user("begin") });
    stage.store(EntryBody::Message {
        message: Message::Assistant(AssistantMessage {
            content: vec![Block::text(paragraphs.join("\n\n"))],
            ..Default::default()
        }),
    });
    for number in 0..1_000 {
        stage.store(EntryBody::Message { message: user(&format!("request {number} end")) });
    }
    stage.opened();
    stage.draw(60, 20);
    stage.find("needle");
    for number in [70, 40] {
        assert_eq!(stage.marked(60, 20), "needle");
        let screen = stage.draw(60, 20);
        assert!(screen.contains(&format!("paragraph {:03}", number + 1)), "{screen}");
        // What was there all the time is not new.
        assert!(!screen.contains(" new line"), "{screen}");
        stage.find("needle");
    }
    for _ in 0..30 {
        stage.key(KeyCode::PageDown);
        let screen = stage.draw(60, 20);
        assert!(!screen.contains(" new line"), "{screen}");
    }
}

#[test]
fn u1_find_goes_to_output_that_is_folded_and_into_it_once_it_is_shown() {
    let mut stage = Stage::open();
    stage.user("begin needle");
    stage.answer(vec![call("c3", "bash", json!({"command": "seq 300"}))]);
    let output: String = (0..300)
        .map(|number| if number == 150 { "a needle\n".into() } else { format!("line {number}\n") })
        .collect();
    stage.result("c3", &output, json!({"summary": "exit 0"}), false);
    stage.answer(vec![Block::text("end\n\n".repeat(40))]);
    stage.draw(60, 20);
    let screen = stage.find("needle");
    assert!(top(&screen).contains("seq 300"), "{screen}");
    stage.ctrl('o');
    let screen = stage.find("needle");
    assert!(top(&screen).contains("a needle"), "{screen}");
    assert_eq!(stage.marked(60, 20), "needle");
    let screen = stage.find("needle");
    assert!(top(&screen).contains("begin needle"), "{screen}");
}

/// F88: where lines come out differently, the same text stays at the top, and there and back is home.
#[test]
fn u1_the_same_text_stays_at_the_top_at_every_width() {
    let mut stage = told((0..200).map(paragraph).collect());
    for pages in [4, 1, 9] {
        for _ in 0..pages {
            stage.key(KeyCode::PageUp);
            stage.draw(60, 20);
        }
        let before = stage.draw(60, 20);
        let first = before.split_whitespace().collect::<Vec<_>>()[..4].join(" ");
        for columns in [140, 61, 45, 200, 41] {
            let screen = stage.draw(columns, 20);
            let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
            // The first line may begin with what stood at the end of the line before.
            let at = words.find(&first).unwrap_or(usize::MAX);
            assert!(at <= 200, "{first}: {columns} columns\n{screen}");
            assert!(!screen.contains(" new line"), "{screen}");
        }
        assert_eq!(stage.draw(60, 20), before, "there and back");
    }
}

#[test]
fn u1_more_detail_and_less_again_is_where_one_was() {
    let mut stage = Stage::open();
    for number in 0..20 {
        stage.user(&format!("request {number}"));
        stage.answer(vec![
            thinking(&"thought\n".repeat(9)),
            call("c3", "bash", json!({"command": format!("seq {number}")})),
        ]);
        stage.result("c3", &"out\n".repeat(60), json!({"summary": "exit 0"}), false);
    }
    stage.draw(60, 20);
    for _ in 0..4 {
        stage.key(KeyCode::PageUp);
        stage.draw(60, 20);
    }
    for key in ['o', 't'] {
        let before = stage.draw(60, 20);
        stage.ctrl(key);
        let with_more = stage.draw(60, 20);
        assert!(with_more != before && !with_more.contains(" new line"), "{with_more}");
        stage.ctrl(key);
        stage.ctrl(key);
        assert_eq!(stage.draw(60, 20), with_more, "two at once");
        stage.ctrl(key);
        assert_eq!(stage.draw(60, 20), before);
        // Inside of what is shown whole, the view moves with what is moved.
        stage.ctrl(key);
        stage.draw(60, 20);
        stage.event(UiEvent::Key(KeyEvent::new(KeyCode::PageDown, KeyModifiers::NONE)));
        let moved = stage.draw(60, 20);
        stage.draw(90, 20);
        assert_eq!(stage.draw(60, 20), moved);
        stage.ctrl(key);
        stage.draw(60, 20);
    }
}
