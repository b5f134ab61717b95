//! A terminal emulator that is fed what the screen would write, frame after frame. Each frame is
//! compared with the same state drawn on a terminal that showed nothing before (F84).

use std::cell::RefCell;
use std::io;
use std::num::NonZeroU16;
use std::rc::Rc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};

use super::*;
use crate::tui::links::LinkingBackend;
use crate::tui::text::width;

#[derive(Clone, Default)]
struct Written(Rc<RefCell<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// See the module.
pub(super) struct Emulated {
    terminal: Terminal<LinkingBackend<Written>>,
    written: Written,
    parser: vt100::Parser,
    size: (u16, u16),
}

fn non_zero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Emulated {
    pub(super) fn new(columns: u16, rows: u16) -> Self {
        let written = Written::default();
        let backend = LinkingBackend::new(written.clone(), Some(Links::default()));
        let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
        let parser = vt100::Parser::new(non_zero(rows), non_zero(columns), 0);
        Self { terminal, written, parser, size: (columns, rows) }
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        self.size = (columns, rows);
        self.parser.screen_mut().set_size(non_zero(rows), non_zero(columns));
        self.terminal.resize(Rect::new(0, 0, columns, rows)).unwrap();
    }

    /// Draws a frame, checks what was written for it, and gives what ratatui thinks is shown.
    fn frame(&mut self, stage: &mut Stage) -> Buffer {
        let now = stage.now;
        let frame =
            self.terminal.draw(|frame| crate::tui::view::draw(&mut stage.app, frame, now)).unwrap();
        let buffer = frame.buffer.clone();
        let bytes = std::mem::take(&mut *self.written.0.borrow_mut());
        check_bytes(&bytes);
        self.parser.process(&bytes);
        buffer
    }

    /// Draws until nothing more is wanted, and compares.
    pub(super) fn check(&mut self, stage: &mut Stage) {
        for _ in 0..4 {
            self.frame(stage);
            let effects = stage.app.take_effects();
            let is_settled = effects.is_empty();
            stage.carry_out(effects);
            if is_settled {
                break;
            }
        }
        let buffer = self.frame(stage);
        let screen = self.parser.screen();
        compare(&buffer, screen);
        let mut fresh = Self::new(self.size.0, self.size.1);
        fresh.frame(stage);
        let fresh = fresh.parser.screen();
        for row in 0..self.size.1 {
            for column in 0..self.size.0 {
                let [here, there] =
                    [screen, fresh].map(|screen| look(screen.cell(row, column).unwrap()));
                assert_eq!(
                    here,
                    there,
                    "residue at {row}:{column} of\n{}\ndrawn anew\n{}",
                    screen.contents(),
                    fresh.contents()
                );
            }
        }
        assert_eq!(screen.hide_cursor(), fresh.hide_cursor());
        if !screen.hide_cursor() {
            assert_eq!(screen.cursor_position(), fresh.cursor_position());
        }
    }

    pub(super) fn contents(&self) -> String {
        self.parser.screen().contents()
    }
}

/// What is seen of a cell.
fn look(cell: &vt100::Cell) -> impl PartialEq + std::fmt::Debug + '_ {
    let text = if cell.has_contents() { cell.contents() } else { " " };
    // What a blank would be written in is not seen, unless there is a line below it.
    let is_ink = text != " " || cell.underline() || cell.inverse();
    let ink = is_ink.then(|| (cell.fgcolor(), cell.bold(), cell.dim(), cell.italic()));
    (text, cell.is_wide(), cell.bgcolor(), cell.underline(), cell.inverse(), ink)
}

/// The emulator shows just what ratatui thinks it does: every width is right, and no wide character
/// lost a half.
fn compare(buffer: &Buffer, screen: &vt100::Screen) {
    for y in 0..buffer.area.height {
        let mut x = 0;
        while x < buffer.area.width {
            // A mark without a letter is left out.
            let is_mark = |c: char| width(c.encode_utf8(&mut [0; 4])) == 0;
            let symbol = buffer[(x, y)].symbol().trim_start_matches(is_mark);
            let symbol = if symbol.is_empty() { " " } else { symbol };
            let columns = width(symbol).max(1) as u16;
            assert!(x + columns <= buffer.area.width, "half of {symbol:?} at the edge of row {y}");
            // Some terminals show the two letters of a flag in a cell each; the columns are the same.
            let cells: Vec<_> =
                (x..x + columns).map(|column| screen.cell(y, column).unwrap()).collect();
            let shown: String = cells.iter().map(|cell| cell.contents()).collect();
            let shown = if shown.is_empty() { " " } else { &shown };
            assert_eq!(shown, symbol, "at {y}:{x} of\n{}", screen.contents());
            let is_covered =
                |cell: &&vt100::Cell| cell.is_wide_continuation() || cell.has_contents();
            assert!(cells[1..].iter().all(is_covered), "{symbol:?} at {y}:{x} is narrower");
            assert!(
                cells[0].is_wide() == (columns == 2) || cells[1..].iter().any(|c| c.has_contents()),
                "{symbol:?} at {y}:{x}"
            );
            x += columns;
        }
    }
}

/// Only what the program means reaches the terminal: moves, styles, clearing, the caret, links.
#[track_caller]
fn check_bytes(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).expect("a frame is UTF-8");
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_control()) {
        let sequence = &rest[at..];
        let shown: String = sequence.chars().take(40).collect();
        if let Some(link) = sequence.strip_prefix("\u{1b}]8;;") {
            let end = link.find(|c: char| c.is_control()).expect("a link ends");
            assert!(link[end..].starts_with("\u{1b}\\"), "{shown:?}");
            rest = &link[end + 2..];
            continue;
        }
        let Some(body) = sequence.strip_prefix("\u{1b}[") else { panic!("{shown:?}") };
        let end = body.find(|c: char| c.is_ascii_alphabetic()).expect("a sequence ends");
        assert!(
            body[..end].chars().all(|c| c.is_ascii_digit() || matches!(c, ';' | ':' | '?'))
                && matches!(&body[end..=end], "H" | "m" | "J" | "K" | "h" | "l"),
            "{shown:?}"
        );
        rest = &body[end + 1..];
    }
}
