//! `/resume`: another session to go on in. Those of this folder first; Tab shows all projects.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Clear;

use super::list::{FuzzyList, Picked, Row, Weight};
use super::tree::paint::age;
use super::{Outcome, Overlay};
use crate::agent_session::command::{SessionCommand, SwitchTo};
use crate::ids::Timestamp;
use crate::session::listing::ListedSession;
use crate::tui::effect::UiEffect;
use crate::tui::footer::short_path;
use crate::tui::text::{first_parts, hints};
use crate::tui::theme::Theme;

/// See the module.
pub struct SessionPicker {
    sessions: Vec<ListedSession>,
    place: Place,
    /// Whether sessions of other folders are shown.
    all_projects: bool,
    list: FuzzyList<PathBuf>,
    /// The session that is about to be deleted, while the person is asked.
    deleting: Option<PathBuf>,
    hint: Option<String>,
}

/// Where and when the list is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder one works in.
    pub cwd: String,
    /// The person's home, written `~`.
    pub home: Option<PathBuf>,
    /// The session that is open.
    pub current: Option<PathBuf>,
    /// The time now.
    pub now: Timestamp,
}

impl SessionPicker {
    /// Offers sessions, newest first; those of other folders only when there is none of this one.
    #[must_use]
    pub fn new(sessions: Vec<ListedSession>, place: Place) -> Self {
        let none_here = !sessions.iter().any(|session| session.cwd == place.cwd);
        let mut picker = Self {
            sessions,
            place,
            all_projects: none_here,
            list: FuzzyList::new([]),
            deleting: None,
            hint: None,
        };
        picker.refill();
        picker
    }

    fn refill(&mut self) {
        let (place, all) = (&self.place, self.all_projects);
        let shown = self.sessions.iter().filter(|session| all || session.cwd == place.cwd);
        let rows = shown.map(|session| (session.path.clone(), row(session, place, all)));
        self.list.replace(rows);
    }

    fn choose(&mut self) -> Outcome {
        let Some(path) = self.list.selected().cloned() else { return Outcome::Consumed };
        if self.place.current.as_ref() == Some(&path) {
            return Outcome::Close(Vec::new());
        }
        let open = SessionCommand::Switch(SwitchTo::Open(path));
        Outcome::Close(vec![UiEffect::Send(open)])
    }

    fn ask_to_delete(&mut self) {
        let Some(path) = self.list.selected() else { return };
        if self.place.current.as_ref() == Some(path) {
            self.hint = Some("this session is open; go to another one first".to_owned());
        } else {
            self.deleting = Some(path.clone());
        }
    }

    fn key_while_asked(&mut self, key: KeyEvent) -> Outcome {
        let Some(path) = self.deleting.take() else { return Outcome::Ignored };
        if !matches!(key.code, KeyCode::Char('y' | 'Y')) || !key.modifiers.is_empty() {
            return Outcome::Consumed;
        }
        self.sessions.retain(|session| session.path != path);
        self.refill();
        self.hint = Some("moved to the trash".to_owned());
        Outcome::Do(vec![UiEffect::DeleteSession(path)])
    }

    fn picked(&mut self, picked: Picked) -> Outcome {
        match picked {
            Picked::Moved => Outcome::Consumed,
            Picked::Chosen => self.choose(),
            Picked::Left => Outcome::Close(Vec::new()),
            Picked::Ignored => Outcome::Ignored,
        }
    }
}

/// Name or first request, age; below, the folder and the last message.
fn row(session: &ListedSession, place: &Place, with_folder: bool) -> Row {
    let first = if session.first.is_empty() { "(nothing said yet)" } else { &session.first };
    let text = session.name.as_deref().unwrap_or(first);
    let mut below = Vec::new();
    if with_folder {
        below.push(short_path(session.cwd.as_ref(), place.home.as_deref()));
    }
    if session.name.is_some() {
        below.push(first.to_owned());
    }
    if !session.last.is_empty() && session.last != session.first {
        below.push(format!("… {}", session.last));
    }
    let is_current = place.current.as_ref() == Some(&session.path);
    Row {
        text: text.to_owned(),
        right: age(session.changed, place.now),
        below: below.join(" · "),
        weight: if is_current { Weight::Current } else { Weight::Plain },
    }
}

impl Overlay for SessionPicker {
    fn key(&mut self, key: KeyEvent) -> Outcome {
        self.hint = None;
        if self.deleting.is_some() {
            return self.key_while_asked(key);
        }
        match key.code {
            KeyCode::Tab => {
                self.all_projects = !self.all_projects;
                self.refill();
                return Outcome::Consumed;
            }
            KeyCode::Char('d') if key.modifiers == KeyModifiers::CONTROL => self.ask_to_delete(),
            KeyCode::Delete => self.ask_to_delete(),
            _ => {
                let picked = self.list.key(key);
                return self.picked(picked);
            }
        }
        Outcome::Consumed
    }

    fn paste(&mut self, text: &str) -> Outcome {
        self.list.paste(text);
        Outcome::Consumed
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Outcome {
        if self.deleting.is_some() {
            return Outcome::Consumed;
        }
        let picked = self.list.mouse(mouse);
        self.picked(picked)
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Option<Position> {
        frame.render_widget(Clear, area);
        let [head, list, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(2), Constraint::Length(1)])
                .areas(area);
        let columns = usize::from(area.width);
        let where_from = match self.all_projects {
            true => "all projects".to_owned(),
            false => short_path(self.place.cwd.as_ref(), self.place.home.as_deref()),
        };
        let (shown, all) = self.list.counts();
        let title = format!(" Sessions · {where_from} · {shown} of {all}");
        frame.render_widget(
            Line::styled(first_parts(&title, columns).into_owned(), theme.heading),
            head,
        );
        let (words, style) = match (&self.deleting, &self.hint) {
            (Some(_), _) => {
                ("move this session to the trash?  y yes · any other key no", theme.warning)
            }
            (None, Some(hint)) => (hint.as_str(), theme.warning),
            (None, None) if self.all_projects => {
                ("enter open · tab this folder · ctrl+d delete · esc close", theme.dim)
            }
            (None, None) => {
                ("enter open · tab all projects · ctrl+d delete · esc close", theme.dim)
            }
        };
        let words = hints(words, columns.saturating_sub(1));
        frame.render_widget(Line::styled(format!(" {words}"), style), foot);
        Some(self.list.draw(frame, list, theme))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::picture;
    use super::*;

    fn picker() -> SessionPicker {
        let now = Timestamp::from_millis(1_768_402_800_000);
        let session = |name: Option<&str>, cwd: &str, first: &str, minutes: i64| ListedSession {
            path: PathBuf::from(format!("/s/{minutes}.jsonl")),
            id: minutes.to_string(),
            cwd: cwd.to_owned(),
            name: name.map(str::to_owned),
            began: now,
            changed: Timestamp::from_millis(now.as_millis() - minutes * 60_000),
            size: 1,
            first: first.to_owned(),
            last: "31 tests pass 🎉".to_owned(),
        };
        let sessions = vec![
            session(Some("auth-refactor"), "/home/me/src/shop", "Make the login form say", 0),
            session(None, "/home/me/src/shop", "로그인 폼 오류를 고쳐 주세요", 90),
            session(None, "/home/me/src/blog", "Write about trees", 3_000),
        ];
        let place = Place {
            cwd: "/home/me/src/shop".into(),
            home: Some("/home/me".into()),
            current: Some("/s/0.jsonl".into()),
            now,
        };
        SessionPicker::new(sessions, place)
    }

    fn press(picker: &mut SessionPicker, code: KeyCode, modifiers: KeyModifiers) -> Outcome {
        picker.key(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn u4_sessions_of_this_folder_and_of_all() {
        let mut picker = picker();
        insta::assert_snapshot!("sessions_here", picture(&mut picker, 80, 18));
        press(&mut picker, KeyCode::Tab, KeyModifiers::NONE);
        insta::assert_snapshot!("sessions_all", picture(&mut picker, 80, 18));
        insta::assert_snapshot!("sessions_40x12", picture(&mut picker, 40, 12));
    }

    #[test]
    fn u4_opening_a_session() {
        let mut picker = picker();
        let plain = KeyModifiers::NONE;
        let stays = press(&mut picker, KeyCode::Enter, plain);
        assert_eq!(stays, Outcome::Close(Vec::new()), "the current one is open already");
        press(&mut picker, KeyCode::Down, plain);
        let open = SessionCommand::Switch(SwitchTo::Open("/s/90.jsonl".into()));
        let opened = press(&mut picker, KeyCode::Enter, plain);
        assert_eq!(opened, Outcome::Close(vec![UiEffect::Send(open)]));
    }

    #[test]
    fn u4_deleting_asks_first_and_never_takes_the_open_one() {
        let mut picker = picker();
        let delete =
            |picker: &mut SessionPicker| press(picker, KeyCode::Char('d'), KeyModifiers::CONTROL);
        delete(&mut picker);
        assert!(picture(&mut picker, 80, 10).contains("this session is open"));
        press(&mut picker, KeyCode::Down, KeyModifiers::NONE);
        delete(&mut picker);
        assert_eq!(press(&mut picker, KeyCode::Enter, KeyModifiers::NONE), Outcome::Consumed);
        assert_eq!(picker.sessions.len(), 3, "enter is no yes");
        delete(&mut picker);
        let deleted = press(&mut picker, KeyCode::Char('y'), KeyModifiers::NONE);
        let effect = UiEffect::DeleteSession("/s/90.jsonl".into());
        assert_eq!(deleted, Outcome::Do(vec![effect]));
        assert!(!picture(&mut picker, 80, 10).contains("로그인"));
    }
}
