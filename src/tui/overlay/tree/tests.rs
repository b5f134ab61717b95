//! The tree overlay without a terminal: keys in, wishes and pictures out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

use super::notation::{NOW, Session};
use super::*;
use crate::agent_session::command::{Navigation, SessionCommand, SwitchTo};
use crate::tui::theme::ColorDepth;

mod pictures;

/// A tree overlay, the session below it, and a screen.
struct Stage {
    session: Session,
    overlay: TreeOverlay,
    /// Drawn on anew each time: what wide characters cover is otherwise kept by the test's screen.
    terminal: Terminal<TestBackend>,
    theme: Theme,
}

impl Stage {
    fn new(text: &str) -> Self {
        Self::of(Session::parse(text), (80, 24))
    }

    fn of(session: Session, size: (u16, u16)) -> Self {
        let settings = BranchSummarySettings::default();
        let overlay = TreeOverlay::new(session.reader.clone(), settings, NOW, false);
        let terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
        let mut stage = Self {
            session,
            overlay: overlay.in_zone(TimeZone::UTC),
            terminal,
            theme: Theme::dark(),
        };
        stage.draw();
        stage
    }

    /// Draws, and reads what it then wants until it wants nothing more.
    fn draw(&mut self) {
        let size = self.terminal.size().unwrap();
        for _ in 0..10 {
            self.terminal = Terminal::new(TestBackend::new(size.width, size.height)).unwrap();
            let overlay = &mut self.overlay;
            let theme = self.theme;
            self.terminal
                .draw(|frame| {
                    let area = frame.area();
                    if let Some(caret) = overlay.draw(frame, area, &theme) {
                        frame.set_cursor_position(caret);
                    }
                })
                .unwrap();
            let wanted = self.overlay.wants();
            if wanted.is_empty() {
                return;
            }
            for effect in wanted {
                assert_eq!(self.carry_out(effect), None);
            }
        }
        panic!("it never has enough");
    }

    /// Answers loads and searches as the loop would; gives everything else back.
    fn carry_out(&mut self, effect: UiEffect) -> Option<UiEffect> {
        let reader = self.session.reader.clone();
        let outcome = match effect {
            UiEffect::LoadEntries(wanted) => {
                let entries: Vec<_> =
                    wanted.into_iter().map(|index| (index, reader.entry(index).unwrap())).collect();
                self.overlay.entries(&entries)
            }
            UiEffect::SearchBodies(query) => {
                let mut found = Vec::new();
                search::search_bodies(&reader, &query, &|| false, &mut |hits| found.push(hits));
                for hits in found {
                    self.overlay.found(&hits);
                }
                Outcome::Consumed
            }
            other => return Some(other),
        };
        match outcome {
            Outcome::Do(effects) => effects.into_iter().find_map(|effect| self.carry_out(effect)),
            _ => None,
        }
    }

    fn press(&mut self, code: KeyCode) -> Outcome {
        self.press_with(code, KeyModifiers::NONE)
    }

    fn press_with(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Outcome {
        let outcome = self.overlay.key(KeyEvent::new(code, modifiers));
        let outcome = match outcome {
            Outcome::Do(effects) => {
                let left: Vec<_> =
                    effects.into_iter().filter_map(|effect| self.carry_out(effect)).collect();
                if left.is_empty() { Outcome::Consumed } else { Outcome::Do(left) }
            }
            outcome => outcome,
        };
        self.draw();
        outcome
    }

    fn type_text(&mut self, text: &str) {
        for character in text.chars() {
            assert_eq!(self.press(KeyCode::Char(character)), Outcome::Consumed);
        }
    }

    /// The id of the selected entry.
    fn selected(&self) -> String {
        let line = self.overlay.line().unwrap();
        self.session.reader.tree().node(line.node).id.to_string()
    }

    fn select(&mut self, id: &str) {
        let index = self.session.at(id);
        self.overlay.go_to(index);
        self.draw();
    }

    fn screen(&self) -> String {
        self.terminal.backend().to_string()
    }

    fn last_line(&self) -> String {
        let screen = self.screen();
        screen.lines().last().unwrap().trim_matches('"').trim().to_owned()
    }
}

fn navigate(target: &str, summary: SummaryChoice) -> UiEffect {
    let target = EntryId::new(target);
    UiEffect::Send(SessionCommand::Navigate(Navigation { target, summary, label: None }))
}

const FORKED: &str = "u1 user 'Make the login form say which field failed'
     / a1 assistant 'I will look at the validator' call=read:src/auth/validate.rs
     / r1 result 'fn validate' of=a1-0 tool=read
     / u2 user 'Use a macro' / a2 assistant 'macro built' / a3 assistant 'spans lost'
     / u3 user 'Use a trait' < r1 / a4 assistant 'A trait would look like this'
     / a5 assistant 'done'";

#[test]
fn u5_opens_at_the_leaf_with_abandoned_branches_folded() {
    let mut stage = Stage::new(FORKED);
    assert_eq!(stage.selected(), "a5");
    assert_eq!(stage.last_line(), "you are here");
    assert!(!stage.screen().contains("macro built"));
    stage.press(KeyCode::Down);
    assert_eq!(stage.selected(), "u2");
    assert_eq!(
        stage.last_line(),
        "here → leaves 3 entries (11 tokens) behind · its text goes to the editor"
    );
}

#[test]
fn u3_the_persons_own_keys_work_and_are_named() {
    let mut stage = Stage::new(FORKED);
    let source = "[tree]\nfilter = [\"ctrl+f\"]\nfold = [\"z\"]\ncompare = []\nhelp = [\"f1\"]";
    let map = crate::tui::keymap::KeyMap::with_changes(source).unwrap();
    stage.overlay.keys = map.tree().clone();
    stage.press(KeyCode::Char('z'));
    assert_eq!(stage.selected(), "u3", "to the head of the branch");
    assert_eq!(stage.press(KeyCode::Char('f')), Outcome::Ignored);
    stage.press_with(KeyCode::Char('f'), KeyModifiers::CONTROL);
    let head = stage.screen().lines().next().unwrap().to_owned();
    assert!(head.contains("ctrl+f: no tools") && head.contains("f1 keys"), "{head}");
    stage.press(KeyCode::F(1));
    let help = stage.screen();
    assert!(help.contains("  z  →  space "), "{help}");
    assert!(!help.contains("mark a branch"), "what has no key is not in the help: {help}");
}

#[test]
fn u5_arrows_fold_unfold_and_leave_a_branch() {
    let mut stage = Stage::new(FORKED);
    stage.press(KeyCode::Left);
    assert_eq!(stage.selected(), "u3", "to the head of the branch");
    stage.press(KeyCode::Left);
    assert!(!stage.screen().contains("would look like"), "folded");
    stage.press(KeyCode::Left);
    assert_eq!(stage.selected(), "r1", "from a folded branch to the fork");
    stage.select("u2");
    stage.press(KeyCode::Left);
    stage.press(KeyCode::Right);
    stage.press(KeyCode::Right);
    assert_eq!(stage.selected(), "a2");
}

#[test]
fn u5_jumps() {
    let mut stage = Stage::new(FORKED);
    for (code, modifiers, selected) in [
        (KeyCode::Right, KeyModifiers::CONTROL, "u2"),
        (KeyCode::Left, KeyModifiers::ALT, "u3"),
        (KeyCode::Char('p'), KeyModifiers::NONE, "r1"),
        (KeyCode::Char('a'), KeyModifiers::NONE, "a5"),
        (KeyCode::Char('r'), KeyModifiers::NONE, "u1"),
        (KeyCode::End, KeyModifiers::NONE, "u2"),
        (KeyCode::Home, KeyModifiers::NONE, "u1"),
        (KeyCode::PageDown, KeyModifiers::NONE, "u2"),
        (KeyCode::PageUp, KeyModifiers::NONE, "u1"),
        (KeyCode::Char('G'), KeyModifiers::SHIFT, "u2"),
        (KeyCode::Char('g'), KeyModifiers::NONE, "u1"),
    ] {
        stage.press_with(code, modifiers);
        assert_eq!(stage.selected(), selected, "{code:?}");
    }
}

#[test]
fn b1_the_leaf_is_no_target() {
    let mut stage = Stage::new(FORKED);
    assert_eq!(stage.press(KeyCode::Enter), Outcome::Consumed);
    assert_eq!(stage.last_line(), "you are here already; nothing to do");
}

#[test]
fn b1_a_leaf_mark_is_the_entry_that_it_marks() {
    let mut stage = Stage::new("u1 user 'a' / a1 assistant 'b' / u2 user 'c' / m1 mark < a1");
    assert_eq!(stage.selected(), "a1");
    assert!(stage.screen().contains("← active"));
    assert_eq!(stage.press(KeyCode::Enter), Outcome::Consumed);
    assert_eq!(stage.last_line(), "you are here already; nothing to do");
}

#[test]
fn b8_enter_asks_what_becomes_of_the_branch() {
    for (key, choice) in [('1', SummaryChoice::None), ('2', SummaryChoice::Default)] {
        let mut stage = Stage::new(FORKED);
        stage.select("u2");
        assert_eq!(stage.press(KeyCode::Enter), Outcome::Consumed);
        assert!(stage.screen().contains("leave 3 entries (11 tokens) behind?"));
        let outcome = stage.press(KeyCode::Char(key));
        assert_eq!(outcome, Outcome::Close(vec![navigate("u2", choice)]));
    }
}

#[test]
fn b8_the_preselected_answer_follows_the_settings() {
    for (enabled, skip_prompt, asks, choice) in [
        (false, false, true, SummaryChoice::None),
        (true, false, true, SummaryChoice::Default),
        (false, true, false, SummaryChoice::None),
        (true, true, false, SummaryChoice::Default),
    ] {
        let mut stage = Stage::new(FORKED);
        stage.overlay.settings =
            BranchSummarySettings { enabled, skip_prompt, ..Default::default() };
        stage.select("u2");
        let mut outcome = stage.press(KeyCode::Enter);
        if asks {
            assert_eq!(outcome, Outcome::Consumed);
            outcome = stage.press(KeyCode::Enter);
        }
        assert_eq!(outcome, Outcome::Close(vec![navigate("u2", choice)]));
    }
}

#[test]
fn b4_focus_and_own_prompt_are_written_in_place() {
    for (key, choice) in [
        ('3', SummaryChoice::Focus("매크로 spans".into())),
        ('4', SummaryChoice::OwnPrompt("매크로 spans".into())),
    ] {
        let mut stage = Stage::new(FORKED);
        stage.select("u2");
        stage.press(KeyCode::Enter);
        stage.press(KeyCode::Char(key));
        assert_eq!(stage.press(KeyCode::Enter), Outcome::Consumed, "nothing is written yet");
        stage.type_text("매크로");
        stage.overlay.paste(" spans");
        let outcome = stage.press(KeyCode::Enter);
        assert_eq!(outcome, Outcome::Close(vec![navigate("u2", choice)]));
    }
}

#[test]
fn b7_escape_goes_one_step_back_each_time() {
    let mut stage = Stage::new(FORKED);
    stage.select("u2");
    stage.press(KeyCode::Enter);
    stage.press(KeyCode::Char('3'));
    assert_eq!(stage.press(KeyCode::Esc), Outcome::Consumed);
    assert!(stage.screen().contains("with my own prompt"));
    assert_eq!(stage.press(KeyCode::Esc), Outcome::Consumed);
    assert_eq!(stage.selected(), "u2");
    assert_eq!(stage.press(KeyCode::Esc), Outcome::Close(Vec::new()));
}

#[test]
fn b4_nothing_left_behind_asks_nothing() {
    let mut stage = Stage::new("u1 user 'a' / a1 assistant 'b' / u2 user 'c' / m1 mark < a1");
    stage.select("u2");
    assert!(stage.last_line().starts_with("here → leaves nothing behind"));
    let outcome = stage.press(KeyCode::Enter);
    assert_eq!(outcome, Outcome::Close(vec![navigate("u2", SummaryChoice::None)]));
}

#[test]
fn u5_the_title_of_a_summarised_branch_goes_on_at_its_end() {
    let mut stage = Stage::new(
        "u1 user 'one' / a1 assistant 'x' / u2 user 'two' / a2 assistant 'y'
         / s1 summary 'Macro attempt' from=a2 < a1 / u3 user 'three'",
    );
    stage.press(KeyCode::End);
    assert!(stage.screen().contains("▸ ✎ Macro attempt"));
    assert!(stage.last_line().ends_with("goes on at the branch's end"));
    stage.press(KeyCode::Enter);
    let outcome = stage.press(KeyCode::Enter);
    assert_eq!(outcome, Outcome::Close(vec![navigate("a2", SummaryChoice::None)]));
}

#[test]
fn f24_while_a_turn_runs_the_tree_is_read_only() {
    let mut stage = Stage::new(FORKED);
    stage.overlay.session(&SessionEvent::Activity { kind: ActivityKind::Answering });
    stage.select("u2");
    assert!(stage.last_line().contains("asks to stop the running turn"));
    for code in [KeyCode::Char('l'), KeyCode::Char('e')] {
        assert_eq!(stage.press(code), Outcome::Consumed);
        assert!(stage.last_line().starts_with("a turn is running"));
    }
    stage.press(KeyCode::Enter);
    assert!(stage.screen().contains("stop it and go"));
    assert_eq!(stage.press(KeyCode::Enter), Outcome::Consumed, "staying is preselected");
    assert!(!stage.screen().contains("stop it and go"));
    stage.press(KeyCode::Enter);
    stage.press(KeyCode::Char('1'));
    let outcome = stage.press(KeyCode::Char('1'));
    let stop = UiEffect::Send(SessionCommand::Abort);
    assert_eq!(outcome, Outcome::Close(vec![stop, navigate("u2", SummaryChoice::None)]));
    stage.overlay.session(&SessionEvent::Activity { kind: ActivityKind::Idle });
    assert!(!stage.overlay.busy);
}

#[test]
fn b7_a_failed_summary_offers_three_ways_out() {
    for (key, choice) in [
        ('1', SummaryChoice::Focus("spans".into())),
        ('2', SummaryChoice::None),
        ('3', SummaryChoice::Extractive),
    ] {
        let mut stage = Stage::new(FORKED);
        let tried = SummaryChoice::Focus("spans".into());
        let overlay =
            TreeOverlay::new(stage.session.reader.clone(), Default::default(), NOW, false);
        stage.overlay = overlay.reopen_at(&EntryId::new("a2"), Some(("no answer", tried)));
        stage.draw();
        assert_eq!(stage.selected(), "a2");
        assert!(stage.screen().contains("the summary failed: no answer"));
        let outcome = stage.press(KeyCode::Char(key));
        assert_eq!(outcome, Outcome::Close(vec![navigate("a2", choice)]));
    }
}

#[test]
fn b7_a_stopped_move_opens_the_tree_at_the_same_place() {
    let mut stage = Stage::new(FORKED);
    let overlay = TreeOverlay::new(stage.session.reader.clone(), Default::default(), NOW, false);
    stage.overlay = overlay.reopen_at(&EntryId::new("a2"), None);
    stage.draw();
    assert_eq!(
        (stage.selected().as_str(), stage.last_line().as_str()),
        ("a2", "stopped; nothing has changed")
    );
}

#[test]
fn u5_search_goes_to_the_hits_as_one_types() {
    let mut stage = Stage::new(FORKED);
    stage.press(KeyCode::Char('/'));
    stage.type_text("MACRO");
    assert_eq!(stage.selected(), "u2");
    assert!(stage.last_line().ends_with("1 of 2"));
    stage.press(KeyCode::Down);
    assert_eq!(stage.selected(), "a2", "the folded branch opens");
    stage.press(KeyCode::Enter);
    stage.press(KeyCode::Char('n'));
    assert_eq!(stage.selected(), "u2", "round the end");
    stage.press(KeyCode::Char('N'));
    assert_eq!(stage.selected(), "a2");
    assert_eq!(stage.press(KeyCode::Esc), Outcome::Consumed, "ends the search first");
    assert_eq!(stage.press(KeyCode::Esc), Outcome::Close(Vec::new()));
}

#[test]
fn u5_leaving_a_search_puts_everything_back() {
    let mut stage = Stage::new(FORKED);
    let before = stage.screen();
    stage.press(KeyCode::Char('/'));
    stage.type_text("spans");
    assert_eq!(stage.selected(), "a3");
    stage.press(KeyCode::Esc);
    assert_eq!(stage.screen(), before);
}

#[test]
fn u5_search_finds_what_only_a_body_says() {
    let text = format!("u1 user '{} needle' / a1 assistant 'b' / u2 user 'c'", "x ".repeat(200));
    let mut stage = Stage::new(&text);
    stage.press(KeyCode::Char('/'));
    stage.type_text("needle");
    assert_eq!(stage.selected(), "u1");
    stage.type_text("s");
    assert!(stage.last_line().ends_with("nothing found"));
}

#[test]
fn u5_filters_keep_the_selection_where_it_can_be() {
    let mut stage = Stage::new(FORKED);
    stage.select("r1");
    stage.press(KeyCode::Char('f'));
    assert_eq!(stage.selected(), "a1", "without tools, the answer that called");
    stage.press(KeyCode::Char('f'));
    assert_eq!(stage.selected(), "u1");
    stage.press(KeyCode::Char('f'));
    assert!(stage.screen().contains("no entry passes the filter"));
    assert_eq!(stage.press(KeyCode::Enter), Outcome::Consumed);
    stage.press(KeyCode::Char('f'));
    stage.press(KeyCode::Char('f'));
    assert!(stage.screen().contains("f: default"));
}

#[test]
fn u4_labels_are_given_and_taken_away() {
    let mut stage = Stage::new("u1 user 'a' / a1 assistant 'b' / l1 label 'plan-b' of=u1");
    stage.select("u1");
    assert!(stage.screen().contains("[plan-b]"));
    let label = |label: Option<&str>| {
        let target = EntryId::new("u1");
        let label = label.map(str::to_owned);
        Outcome::Do(vec![UiEffect::Send(SessionCommand::Label { target, label })])
    };
    stage.press(KeyCode::Char('l'));
    stage.type_text("2");
    assert_eq!(stage.press(KeyCode::Enter), label(Some("plan-b2")));
    stage.press(KeyCode::Char('l'));
    assert_eq!(stage.press(KeyCode::Enter), Outcome::Consumed, "nothing changed");
    stage.press(KeyCode::Char('l'));
    stage.press_with(KeyCode::Char('u'), KeyModifiers::CONTROL);
    assert_eq!(stage.press(KeyCode::Enter), label(None));
}

#[test]
fn u5_copy_and_export() {
    let mut stage = Stage::new(FORKED);
    stage.select("a2");
    let copied = Outcome::Do(vec![UiEffect::Copy("macro built".into())]);
    assert_eq!(stage.press(KeyCode::Char('c')), copied);
    let fork = SessionCommand::Switch(SwitchTo::Fork(Some(EntryId::new("a2"))));
    let outcome = stage.press(KeyCode::Char('e'));
    assert_eq!(outcome, Outcome::Close(vec![UiEffect::Send(fork)]));
}

#[test]
fn u5_a_copy_that_has_to_wait_for_its_body() {
    let mut stage = Stage::new(FORKED);
    stage.select("a2");
    stage.overlay.bodies = Bodies::default();
    let index = stage.session.at("a2");
    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE);
    let wanted = Outcome::Do(vec![UiEffect::LoadEntries(vec![index])]);
    assert_eq!(stage.overlay.key(key), wanted);
    let entry = stage.session.reader.entry(index).unwrap();
    let copied = Outcome::Do(vec![UiEffect::Copy("macro built".into())]);
    assert_eq!(stage.overlay.entries(&[(index, entry)]), copied);
}

#[test]
fn u5_comparing_two_branches() {
    let mut stage = Stage::new(FORKED);
    stage.press(KeyCode::Char('d'));
    assert!(stage.screen().contains("◇ marked"));
    stage.press(KeyCode::Char('d'));
    assert!(stage.last_line().starts_with("both are on the same branch"));
    stage.press(KeyCode::Char('d'));
    stage.select("u2");
    stage.press(KeyCode::Char('d'));
    let screen = stage.screen();
    for words in ["both go off from: fn validate", "● Use a trait", "● Use a macro", "spans lost"]
    {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    stage.press(KeyCode::Esc);
    assert_eq!(stage.selected(), "u2");
}

#[test]
fn u5_entries_that_arrive_are_shown_and_the_selection_stays() {
    let mut stage = Stage::new(FORKED);
    stage.select("a4");
    let grown = Session::parse(&format!("{FORKED} / a6 assistant 'one more thing'"));
    *stage.session.shared.write().unwrap() = grown.tree();
    stage.overlay.session(&SessionEvent::Moved { leaf: None, editor: None });
    stage.session.reader = grown.reader.clone();
    stage.draw();
    assert_eq!(stage.selected(), "a4");
    assert!(stage.screen().contains("one more thing"));
}

#[test]
fn u5_the_mouse_selects_folds_and_scrolls() {
    let mut stage = Stage::new(FORKED);
    let row = |stage: &Stage, text: &str| {
        let screen = stage.screen();
        screen.lines().position(|line| line.contains(text)).unwrap() as u16
    };
    let mouse = |kind, row| MouseEvent { kind, column: 12, row, modifiers: KeyModifiers::NONE };
    let click = MouseEventKind::Down(MouseButton::Left);
    let head = row(&stage, "Use a macro");
    stage.overlay.mouse(mouse(click, head));
    stage.draw();
    assert_eq!(stage.selected(), "u2");
    stage.overlay.mouse(mouse(click, head));
    stage.draw();
    assert!(stage.screen().contains("spans lost"), "a second click unfolds");
    stage.overlay.mouse(mouse(MouseEventKind::ScrollUp, head));
    stage.draw();
    assert_eq!(stage.selected(), "u3");
    assert_eq!(stage.overlay.mouse(mouse(MouseEventKind::Moved, head)), Outcome::Ignored);
}

#[test]
fn u5_another_session_closes_the_tree() {
    let mut stage = Stage::new(FORKED);
    let opened = SessionEvent::Opened {
        reader: stage.session.reader.clone(),
        file: None,
        cwd: "/".into(),
        warnings: Vec::new(),
        read_only: false,
    };
    assert_eq!(stage.overlay.session(&opened), Outcome::Close(Vec::new()));
}

#[test]
fn u5_an_empty_session_has_an_empty_tree() {
    let mut stage = Stage::of(Session::build(&[], None), (80, 24));
    assert!(stage.screen().contains("nothing has been said yet"));
    for code in
        [KeyCode::Enter, KeyCode::Down, KeyCode::Left, KeyCode::Char('l'), KeyCode::Char('d')]
    {
        assert_eq!(stage.press(code), Outcome::Consumed, "{code:?}");
    }
}

#[test]
fn j7_an_id_that_two_entries_have_is_no_target() {
    let session = Session::parse("u1 user 'a' / a1 assistant 'b' / u2 user 'c'");
    let twin = session.tree().node(session.at("a1")).clone();
    session.shared.write().unwrap().insert(twin, None);
    let mut stage = Stage::of(session, (80, 24));
    stage.press(KeyCode::Home);
    while stage.overlay.line().unwrap().node.get() != 3 {
        stage.press(KeyCode::Down);
    }
    assert_eq!(stage.press(KeyCode::Enter), Outcome::Consumed);
    assert!(stage.last_line().starts_with("two entries are called a1"));
}
