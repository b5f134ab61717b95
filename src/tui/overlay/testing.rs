//! Pictures of overlays, for tests.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::Overlay;
use crate::tui::theme::Theme;

/// The overlay on a screen of this size, as text.
pub(super) fn picture(overlay: &mut dyn Overlay, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    let theme = Theme::dark();
    terminal
        .draw(|frame| {
            let area = frame.area();
            overlay.draw(frame, area, &theme);
        })
        .unwrap();
    let buffer = terminal.backend().buffer().clone();
    let mut text = String::new();
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let symbol = buffer[(column, row)].symbol();
            text.push_str(symbol);
            column += u16::try_from(crate::tui::text::width(symbol)).unwrap().max(1);
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text
}
