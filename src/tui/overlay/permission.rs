//! The question for permission (A3): what is to run or change, and the answers. Lies over the lower
//! part of the screen; what was said stays in view.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::{Outcome, Overlay};
use crate::agent_session::command::{PermissionAnswer, SessionCommand};
use crate::agent_session::event::{PermissionQuestion, SessionEvent};
use crate::tui::cell::diff;
use crate::tui::editor::layout::Layout;
use crate::tui::editor::{Direction, Distance, Editor};
use crate::tui::effect::UiEffect;
use crate::tui::text::{one_line, sanitize, width};
use crate::tui::theme::Theme;
use crate::tui::wrap::{Breaking, Margins, wrap};

/// What the person is writing, beside a bare answer.
#[derive(Debug)]
enum Writing {
    /// Nothing: a key answers.
    Nothing,
    /// Why not.
    Reason(Editor),
    /// Another command.
    Command(Editor),
    /// What to do instead.
    Instead(Editor),
}

impl Writing {
    const fn editor(&self) -> Option<&Editor> {
        match self {
            Self::Nothing => None,
            Self::Reason(editor) | Self::Command(editor) | Self::Instead(editor) => Some(editor),
        }
    }

    const fn editor_mut(&mut self) -> Option<&mut Editor> {
        match self {
            Self::Nothing => None,
            Self::Reason(editor) | Self::Command(editor) | Self::Instead(editor) => Some(editor),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct PermissionOverlay {
    question: PermissionQuestion,
    writing: Writing,
    /// First line of the body that is shown.
    top: usize,
}

impl PermissionOverlay {
    /// Asks a question.
    #[must_use]
    pub const fn new(question: PermissionQuestion) -> Self {
        Self { question, writing: Writing::Nothing, top: 0 }
    }

    fn answer(&self, answer: PermissionAnswer) -> Vec<UiEffect> {
        let question = self.question.question;
        vec![UiEffect::Send(SessionCommand::Permission { question, answer })]
    }

    fn answer_key(&mut self, key: KeyEvent) -> Outcome {
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return Outcome::Ignored;
        }
        match key.code {
            KeyCode::Char('y' | 'Y' | '1') => Outcome::Close(self.answer(PermissionAnswer::Once)),
            KeyCode::Char('a' | 'A' | '2') => Outcome::Close(self.answer(PermissionAnswer::Always)),
            KeyCode::Char('n' | 'N' | '3') => {
                Outcome::Close(self.answer(PermissionAnswer::No { reason: None }))
            }
            KeyCode::Char('e' | 'E') => {
                let mut editor = Editor::default();
                self.writing = if self.question.editable {
                    editor.set_text(&self.question.subject);
                    Writing::Command(editor)
                } else {
                    Writing::Instead(editor)
                };
                Outcome::Consumed
            }
            KeyCode::Esc => {
                self.writing = Writing::Reason(Editor::default());
                Outcome::Consumed
            }
            KeyCode::Up => {
                self.top = self.top.saturating_sub(1);
                Outcome::Consumed
            }
            KeyCode::Down => {
                self.top += 1;
                Outcome::Consumed
            }
            // Nothing that is typed may slip through to the editor behind.
            KeyCode::Char(_) | KeyCode::Enter | KeyCode::Backspace | KeyCode::Tab => {
                Outcome::Consumed
            }
            _ => Outcome::Ignored,
        }
    }

    fn writing_key(&mut self, key: KeyEvent) -> Outcome {
        let Some(editor) = self.writing.editor_mut() else { return Outcome::Ignored };
        match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Esc, _) => return self.leave_writing(),
            (KeyCode::Enter, _) => return self.send_writing(),
            (KeyCode::Backspace, _) => editor.delete(Direction::Back, Distance::Character),
            (KeyCode::Char('w'), true) => editor.delete(Direction::Back, Distance::Word),
            (KeyCode::Char('u'), true) => editor.delete(Direction::Back, Distance::Line),
            (KeyCode::Delete, _) => editor.delete(Direction::Forward, Distance::Character),
            (KeyCode::Left, _) => editor.go(Direction::Back, Distance::Character),
            (KeyCode::Right, _) => editor.go(Direction::Forward, Distance::Character),
            (KeyCode::Home, _) | (KeyCode::Char('a'), true) => {
                editor.go(Direction::Back, Distance::Line);
            }
            (KeyCode::End, _) | (KeyCode::Char('e'), true) => {
                editor.go(Direction::Forward, Distance::Line);
            }
            (KeyCode::Char(_), true) => return Outcome::Ignored,
            (KeyCode::Char(character), false) => editor.insert(&character.to_string()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Escape goes back one step: from the reason it says no and stops the turn.
    fn leave_writing(&mut self) -> Outcome {
        match std::mem::replace(&mut self.writing, Writing::Nothing) {
            Writing::Reason(_) => {
                let mut effects = self.answer(PermissionAnswer::No { reason: None });
                effects.push(UiEffect::Send(SessionCommand::Abort));
                Outcome::Close(effects)
            }
            _ => Outcome::Consumed,
        }
    }

    fn send_writing(&mut self) -> Outcome {
        let Some(editor) = self.writing.editor() else { return Outcome::Ignored };
        let text = editor.text().trim().to_owned();
        let filled = Some(text).filter(|text| !text.is_empty());
        let answer = match (&self.writing, filled) {
            // Nothing is no command.
            (Writing::Command(_), None) => return Outcome::Consumed,
            (Writing::Command(_), Some(text)) if text == self.question.subject.trim() => {
                PermissionAnswer::Once
            }
            (Writing::Command(_), Some(command)) => PermissionAnswer::Edited { command },
            (Writing::Instead(_), Some(text)) => {
                PermissionAnswer::No { reason: Some(format!("Do this instead: {text}")) }
            }
            (_, reason) => PermissionAnswer::No { reason },
        };
        Outcome::Close(self.answer(answer))
    }

    fn title(&self, theme: &Theme) -> Line<'static> {
        let wants = match (&self.question.diff, self.question.editable) {
            (Some(_), _) => "wants to change",
            (None, true) => "wants to run",
            (None, false) => "wants to use",
        };
        let mut spans = vec![
            Span::styled(format!("  {}", one_line(&self.question.tool)), theme.heading),
            Span::raw(format!(" {wants}")),
        ];
        if self.question.diff.is_some() {
            spans.push(Span::raw(format!(" {}", one_line(&self.question.subject))));
        }
        if let Some(note) = &self.question.note {
            spans.push(Span::styled(format!(" · {}", one_line(note)), theme.warning));
        }
        Line::from(spans)
    }

    fn body(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let margins = Margins::blank(4);
        match &self.question.diff {
            Some(text) => {
                let drawn = diff::draw(text, columns.saturating_sub(6), theme);
                let indent = |mut line: Line<'static>| {
                    line.spans.insert(0, Span::raw("    "));
                    line
                };
                drawn.into_iter().map(indent).collect()
            }
            None => {
                let spans = self.command(theme);
                wrap(&spans, columns.saturating_sub(2), &margins, Breaking::Anywhere)
            }
        }
    }

    /// The command, what the question is about underlined.
    fn command(&self, theme: &Theme) -> Vec<Span<'static>> {
        let subject = self.question.subject.as_str();
        let marked = theme.code.patch(theme.warning).add_modifier(Modifier::UNDERLINED);
        let mut spans = Vec::new();
        let mut put = |text: Option<&str>, style| {
            let text = text.filter(|text| !text.is_empty());
            spans.extend(text.map(|text| Span::styled(sanitize(text).into_owned(), style)));
        };
        let mut at = 0;
        for (start, end) in &self.question.marks {
            put(subject.get(at..*start), theme.code);
            put(subject.get(*start..*end), marked);
            at = *end;
        }
        put(subject.get(at..), theme.code);
        spans
    }

    fn answers(&self, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
        let always = format!("always {}", one_line(&self.question.rule));
        let pairs: [(&str, &str); 5] = match self.writing {
            Writing::Nothing => [
                ("y", "once"),
                ("a", &always),
                ("n", "no"),
                ("e", if self.question.editable { "edit it first…" } else { "something else…" }),
                ("esc", "no, and say why…"),
            ],
            Writing::Reason(_) => [
                ("enter", "no, for this reason"),
                ("esc", "no, and stop"),
                ("", ""),
                ("", ""),
                ("", ""),
            ],
            Writing::Command(_) => {
                [("enter", "run this"), ("esc", "back"), ("", ""), ("", ""), ("", "")]
            }
            Writing::Instead(_) => {
                [("enter", "say this instead"), ("esc", "back"), ("", ""), ("", ""), ("", "")]
            }
        };
        let mut lines = vec![Line::raw("  ")];
        let mut used = 2;
        for (key, meaning) in pairs.into_iter().filter(|(key, _)| !key.is_empty()) {
            let needed = width(key) + 1 + width(meaning) + 3;
            if used + needed > columns && used > 2 {
                lines.push(Line::raw("  "));
                used = 2;
            }
            if let Some(line) = lines.last_mut() {
                line.push_span(Span::styled(key.to_owned(), theme.accent));
                line.push_span(Span::raw(format!(" {meaning}   ")));
            }
            used += needed;
        }
        lines
    }

    /// Rows that the question takes at most.
    fn area(&self, screen: Rect, body: usize, foot: usize) -> Rect {
        let wanted = (body + foot + 2) as u16;
        let most = (screen.height * 2 / 3).max(7).min(screen.height);
        let height = wanted.min(most);
        Rect { y: screen.bottom() - height, height, ..screen }
    }
}

impl Overlay for PermissionOverlay {
    fn is_question(&self) -> bool {
        true
    }

    fn key(&mut self, key: KeyEvent) -> Outcome {
        match self.writing {
            Writing::Nothing => self.answer_key(key),
            _ => self.writing_key(key),
        }
    }

    fn paste(&mut self, text: &str) -> Outcome {
        if let Some(editor) = self.writing.editor_mut() {
            editor.paste(text);
        }
        Outcome::Consumed
    }

    fn session(&mut self, event: &SessionEvent) -> Outcome {
        match event {
            SessionEvent::PermissionSettled { question } if *question == self.question.question => {
                Outcome::Close(Vec::new())
            }
            _ => Outcome::Ignored,
        }
    }

    fn draw(&mut self, frame: &mut Frame<'_>, screen: Rect, theme: &Theme) -> Option<Position> {
        let columns = usize::from(screen.width);
        let body = self.body(columns, theme);
        let answers = self.answers(columns, theme);
        let input = self.writing.editor().map(|editor| editor.layout(columns.saturating_sub(6)));
        let input_rows = input.as_ref().map_or(0, |layout| layout.rows.len());
        let area = self.area(screen, body.len(), answers.len() + input_rows);
        frame.render_widget(Clear, area);
        let mut rows = area.rows();
        let mut put = |frame: &mut Frame<'_>, line: &Line<'_>| {
            let row = rows.next()?;
            frame.render_widget(line, row);
            Some(row)
        };
        put(frame, &Line::styled("─".repeat(columns), theme.dim));
        put(frame, &self.title(theme));
        let room = usize::from(area.height).saturating_sub(2 + answers.len() + input_rows);
        let hidden = body.len().saturating_sub(room);
        self.top = self.top.min(hidden);
        for (number, line) in body.iter().skip(self.top).take(room).enumerate() {
            let row = put(frame, line);
            if let (Some(row), true) = (row, number + 1 == room && self.top < hidden) {
                let note = format!(" … {} more · ↓ ", hidden - self.top);
                let at = row.right().saturating_sub(width(&note) as u16 + 1);
                frame.buffer_mut().set_string(at, row.y, note, theme.dim);
            }
        }
        let mut caret = None;
        if let Some(layout) = input {
            caret = draw_input(frame, &layout, theme, &mut put);
        }
        for line in &answers {
            put(frame, line);
        }
        caret
    }

    fn full_screen(&self) -> bool {
        false
    }
}

fn draw_input(
    frame: &mut Frame<'_>,
    layout: &Layout,
    theme: &Theme,
    put: &mut impl FnMut(&mut Frame<'_>, &Line<'_>) -> Option<Rect>,
) -> Option<Position> {
    let mut caret = None;
    for (number, row) in layout.rows.iter().enumerate() {
        let sign = if number == 0 { "  > " } else { "    " };
        let line = Line::from(vec![Span::styled(sign, theme.accent), Span::raw(row.text())]);
        let place = put(frame, &line)?;
        if number == layout.caret.0 {
            caret = Some(Position::new(place.x + 4 + layout.caret.1 as u16, place.y));
        }
    }
    caret
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> PermissionQuestion {
        PermissionQuestion {
            question: 7,
            tool: "bash".into(),
            subject: "rm -rf target && cargo build".into(),
            marks: vec![(0, 13)],
            diff: None,
            note: Some("deletes files".into()),
            rule: "`cargo build*`".into(),
            editable: true,
        }
    }

    fn press(overlay: &mut PermissionOverlay, code: KeyCode) -> Outcome {
        overlay.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn closes_with(answer: PermissionAnswer) -> Outcome {
        Outcome::Close(vec![UiEffect::Send(SessionCommand::Permission { question: 7, answer })])
    }

    /// F80, F85: what no rule allows is underlined, and nothing of the command is lost on the way.
    #[test]
    fn f80_what_the_question_is_about_is_underlined() {
        let theme = Theme::dark();
        let underlined = |question: PermissionQuestion| -> (String, String) {
            let spans = PermissionOverlay::new(question).command(&theme);
            let is_marked =
                |span: &&Span<'_>| span.style.add_modifier.contains(Modifier::UNDERLINED);
            let marked = spans.iter().filter(is_marked).map(|span| span.content.as_ref());
            (marked.collect(), spans.iter().map(|span| span.content.as_ref()).collect())
        };
        let (marked, all) = underlined(question());
        assert_eq!(
            (marked.as_str(), all.as_str()),
            ("rm -rf target", "rm -rf target && cargo build")
        );
        let whole = PermissionQuestion { marks: Vec::new(), ..question() };
        assert_eq!(underlined(whole).0, "");
        let odd = PermissionQuestion {
            subject: "가\u{1b}[31m; rm 나".into(),
            marks: vec![(10, 16)],
            ..question()
        };
        assert_eq!(underlined(odd), ("rm 나".to_owned(), "가; rm 나".to_owned()));
    }

    #[test]
    fn a3_keys_answer() {
        for (key, answer) in [
            ('y', PermissionAnswer::Once),
            ('a', PermissionAnswer::Always),
            ('n', PermissionAnswer::No { reason: None }),
        ] {
            let mut overlay = PermissionOverlay::new(question());
            assert_eq!(press(&mut overlay, KeyCode::Char(key)), closes_with(answer));
        }
        let mut overlay = PermissionOverlay::new(question());
        assert_eq!(press(&mut overlay, KeyCode::Enter), Outcome::Consumed, "enter answers nothing");
    }

    #[test]
    fn a3_escape_asks_why_and_escape_again_stops() {
        let mut overlay = PermissionOverlay::new(question());
        assert_eq!(press(&mut overlay, KeyCode::Esc), Outcome::Consumed);
        for letter in "안 돼".chars() {
            press(&mut overlay, KeyCode::Char(letter));
        }
        let reason = Some("안 돼".to_owned());
        assert_eq!(
            press(&mut overlay, KeyCode::Enter),
            closes_with(PermissionAnswer::No { reason })
        );
        let mut overlay = PermissionOverlay::new(question());
        press(&mut overlay, KeyCode::Esc);
        let Outcome::Close(effects) = press(&mut overlay, KeyCode::Esc) else { panic!() };
        assert_eq!(effects[1], UiEffect::Send(SessionCommand::Abort));
    }

    #[test]
    fn a3_a_command_is_edited_before_it_runs() {
        let mut overlay = PermissionOverlay::new(question());
        press(&mut overlay, KeyCode::Char('e'));
        assert_eq!(press(&mut overlay, KeyCode::Enter), closes_with(PermissionAnswer::Once));
        let mut overlay = PermissionOverlay::new(question());
        press(&mut overlay, KeyCode::Char('e'));
        press(&mut overlay, KeyCode::Char('s'));
        let command = "rm -rf target && cargo builds".to_owned();
        assert_eq!(
            press(&mut overlay, KeyCode::Enter),
            closes_with(PermissionAnswer::Edited { command })
        );
        let mut overlay = PermissionOverlay::new(question());
        press(&mut overlay, KeyCode::Char('e'));
        overlay.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(press(&mut overlay, KeyCode::Enter), Outcome::Consumed, "nothing is no command");
    }

    #[test]
    fn a3_something_else_is_said_of_what_is_no_command() {
        let question =
            PermissionQuestion { editable: false, diff: Some("+a".into()), ..question() };
        let mut overlay = PermissionOverlay::new(question);
        press(&mut overlay, KeyCode::Char('e'));
        press(&mut overlay, KeyCode::Char('b'));
        let reason = Some("Do this instead: b".to_owned());
        assert_eq!(
            press(&mut overlay, KeyCode::Enter),
            closes_with(PermissionAnswer::No { reason })
        );
    }

    #[test]
    fn a3_an_answered_question_closes() {
        let mut overlay = PermissionOverlay::new(question());
        let settled = SessionEvent::PermissionSettled { question: 7 };
        assert_eq!(overlay.session(&settled), Outcome::Close(Vec::new()));
        let other = SessionEvent::PermissionSettled { question: 8 };
        assert_eq!(overlay.session(&other), Outcome::Ignored);
    }
}
