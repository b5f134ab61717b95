//! Draws the screen: from the top the transcript, messages that wait, the status line, the editor,
//! the footer. No decisions; what depends on the size is worked out here and kept where it belongs.

use std::time::Instant;

use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::app::App;
use super::editor::layout::Layout;
use super::overlay::tree::paint::moment;
use super::text::{clip, first_parts, one_line, width};

/// Below this size a line says that the window is too small.
const SMALLEST: (u16, u16) = (30, 8);

/// Messages that wait are shown up to this many.
const MOST_QUEUED: usize = 3;

/// Draws everything.
pub fn draw(app: &mut App, frame: &mut Frame<'_>, now: Instant) {
    let screen = frame.area();
    if screen.width < SMALLEST.0 || screen.height < SMALLEST.1 {
        return too_small(frame, screen);
    }
    let covered = app.overlays.iter().rposition(|overlay| overlay.full_screen());
    let mut caret = None;
    if covered.is_none() {
        caret = draw_main(app, frame, screen, now);
    }
    let theme = app.theme;
    for overlay in app.overlays.iter_mut().skip(covered.unwrap_or(0)) {
        caret = overlay.draw(frame, screen, &theme);
    }
    if let Some(caret) = caret {
        frame.set_cursor_position(caret);
    }
}

fn too_small(frame: &mut Frame<'_>, screen: Rect) {
    let texts = ["the window is too small (30×8)", "window too small", "too small"];
    let fits = texts.into_iter().find(|text| width(text) <= usize::from(screen.width));
    let text = fits.unwrap_or_default();
    let middle = Rect { y: screen.y + screen.height / 2, height: 1.min(screen.height), ..screen };
    frame.render_widget(Line::raw(text).centered(), middle);
}

fn draw_main(app: &mut App, frame: &mut Frame<'_>, screen: Rect, now: Instant) -> Option<Position> {
    let columns = usize::from(screen.width);
    app.editor_columns = columns.saturating_sub(4);
    let layout = app.editor.layout(app.editor_columns);
    let most_rows = (screen.height / 3).max(1);
    let editor_rows = (layout.rows.len() as u16).clamp(1, most_rows);
    let rule_rows = u16::from(screen.height >= 12);
    let hint = hint_line(app, columns);
    let hint_rows = u16::from(hint.is_some() && screen.height >= 12);
    let queued = queue_lines(app, columns);

    let mut bottom = screen.bottom();
    let mut take = |rows: u16| {
        bottom = bottom.saturating_sub(rows).max(screen.y);
        Rect { y: bottom, height: rows, ..screen }
    };
    let footer = take(1);
    let hint_area = take(hint_rows);
    let editor = take(editor_rows);
    let rule = take(rule_rows);
    let status = take(1);
    // Where there is room, what runs stands apart from what was said.
    take(u16::from(screen.height >= 24));
    let queue = take(queued.len() as u16);
    let transcript = Rect { height: queue.y - screen.y, ..screen };

    let below = draw_transcript(app, frame, transcript);
    for (row, line) in queue.rows().zip(&queued) {
        frame.render_widget(line, row);
    }
    frame.render_widget(app.status.draw(columns, now, &app.theme), status);
    draw_rule(app, frame, rule, status, below);
    if let Some(hint) = hint {
        frame.render_widget(hint, hint_area);
    }
    frame.render_widget(app.footer.draw(columns, &app.theme), footer);
    draw_menu(app, frame, if rule_rows > 0 { rule } else { editor });
    Some(draw_editor(app, frame, editor, &layout))
}

/// Draws what is seen of the transcript. Gives the lines that came since the end was left.
fn draw_transcript(app: &mut App, frame: &mut Frame<'_>, area: Rect) -> Option<usize> {
    let rows = usize::from(area.height);
    app.transcript_rows = rows;
    let App { transcript, theme, highlights, cwd, times, .. } = app;
    let seen = transcript.look_at(rows, usize::from(area.width), theme, highlights, cwd);
    let mut y = area.y;
    for block in transcript.seen(&seen) {
        if let (true, 1.., Some(time)) = (*times, block.blank, block.time) {
            let time = moment(time, &TimeZone::system());
            let row = Rect { y, height: 1, ..area };
            frame.render_widget(Line::styled(format!("{time}  "), theme.dim).right_aligned(), row);
        }
        y += block.blank as u16;
        for line in block.lines {
            if y >= area.bottom() {
                break;
            }
            let inset = (block.inset as u16).min(area.width);
            let row = Rect { x: area.x + inset, y, width: area.width - inset, height: 1 };
            frame.render_widget(line, row);
            y += 1;
        }
    }
    seen.below
}

/// The line over the editor. When the view is not at the end, it says how to get there.
fn draw_rule(app: &App, frame: &mut Frame<'_>, rule: Rect, status: Rect, below: Option<usize>) {
    if rule.height > 0 {
        let line = Line::styled("─".repeat(usize::from(rule.width)), app.theme.dim);
        frame.render_widget(line, rule);
    }
    let Some(new) = below else { return };
    let text = match new {
        0 => " ↓ more below · ctrl+end ".to_owned(),
        1 => " ↓ 1 new line · ctrl+end ".to_owned(),
        new => format!(" ↓ {new} new lines · ctrl+end "),
    };
    let area = if rule.height > 0 { rule } else { status };
    let wide = width(&text) as u16;
    if wide + 2 <= area.width {
        let place = Rect { x: area.right() - wide - 2, width: wide, ..area };
        frame.render_widget(Line::styled(text, app.theme.accent), place);
    }
}

/// Messages that wait, dimmed (F89).
fn queue_lines(app: &App, columns: usize) -> Vec<Line<'static>> {
    let steering = app.queue.steering.iter().map(|text| ("next", text));
    let follow_up = app.queue.follow_up.iter().map(|text| ("after the turn", text));
    let all: Vec<_> = steering.chain(follow_up).collect();
    let mut lines = Vec::new();
    for (when, text) in all.iter().take(MOST_QUEUED) {
        let first = one_line(text.trim_start().lines().next().unwrap_or_default());
        let key = app.keymap.key_name(super::action::Action::TakeQueue);
        let head = format!("  ↳ {when}: ");
        let room = columns.saturating_sub(width(&head) + 2);
        let hint = if lines.is_empty() { format!(" · {key} edits") } else { String::new() };
        // The words of the person come first.
        let hint = if room < width(&hint) + width(&first).min(24) { String::new() } else { hint };
        let room = room - width(&hint);
        let text = format!("{head}{}{hint}", clip(&first, room));
        lines.push(Line::styled(text, app.theme.dim));
    }
    if all.len() > MOST_QUEUED {
        let more = format!("  ↳ {} more", all.len() - MOST_QUEUED);
        lines.push(Line::styled(more, app.theme.dim));
    }
    lines
}

/// Under the editor, only when there is something to hint at.
fn hint_line(app: &App, columns: usize) -> Option<Line<'static>> {
    let text = app.editor.before_caret();
    let hint = if text.starts_with("!!") {
        "runs in your shell; the model does not see it"
    } else if text.starts_with('!') {
        "runs in your shell; the model sees the output · !! keeps it from the model"
    } else if app.status.is_busy() && !app.editor.is_empty() {
        "enter: after the current tool · alt+enter: after the turn"
    } else {
        return None;
    };
    let hint = first_parts(hint, columns.saturating_sub(3)).into_owned();
    Some(Line::styled(format!("  {hint}"), app.theme.dim))
}

fn draw_menu(app: &App, frame: &mut Frame<'_>, over: Rect) {
    let Some(menu) = &app.menu else { return };
    let rows = (menu.rows() as u16).min(over.y);
    let area = Rect { y: over.y - rows, height: rows, ..over };
    frame.render_widget(Clear, area);
    let lines = menu.draw(usize::from(area.width), &app.theme);
    for (row, line) in area.rows().zip(lines) {
        frame.render_widget(line, row);
    }
}

fn draw_editor(app: &App, frame: &mut Frame<'_>, area: Rect, layout: &Layout) -> Position {
    let rows = usize::from(area.height);
    let (caret_row, caret_column) = layout.caret;
    let first = (caret_row + 1).saturating_sub(rows).min(layout.rows.len().saturating_sub(rows));
    let first = first.max(caret_row.saturating_sub(rows.saturating_sub(1)));
    for (number, place) in area.rows().enumerate() {
        let Some(row) = layout.rows.get(first + number) else { break };
        let sign = if first + number == 0 { "> " } else { "  " };
        let mut spans = vec![Span::styled(sign, app.theme.accent)];
        spans.extend(row.pieces.iter().map(|piece| {
            let style = if piece.fold { app.theme.accent } else { app.theme.text };
            Span::styled(piece.shown.as_str(), style)
        }));
        frame.render_widget(Line::from(spans), place);
    }
    let x = (area.x + 2 + caret_column as u16).min(area.right().saturating_sub(1));
    Position::new(x, area.y + (caret_row - first) as u16)
}
