//! What no test of the whole screen sees.

use std::path::Path;

use super::*;
use crate::agent_session::event::StreamDelta;
use crate::tui::highlight::Highlights;
use crate::tui::theme::Theme;

/// F85: nothing of one session is left for the next, not even the beginning of a sequence of its stream.
#[test]
fn f85_clearing_forgets_all_that_was_said() {
    let (theme, highlights) = (Theme::dark(), Highlights::default());
    let mut transcript = Transcript::default();
    transcript.stream(&StreamDelta::Text { block: 0, text: "one\n\ntwo\n\nthree \u{1b}[3".into() });
    transcript.notice(NoticeLevel::Info, "said by the screen");
    transcript.look_at(2, 40, &theme, &highlights, Path::new("/"));
    transcript.find_back("two", &theme, &highlights, Path::new("/"));
    transcript.toggle_tools();
    transcript.clear();
    assert!(transcript.is_empty() && transcript.is_at_end() && transcript.width == 40);
    assert_eq!(transcript.tools(), Detail::Full, "how things are looked at stays");
    let fresh = Transcript {
        next_seq: transcript.next_seq,
        first_seq: transcript.first_seq,
        look: transcript.look,
        width: 40,
        tools: Detail::Full,
        ..Transcript::default()
    };
    assert_eq!(format!("{transcript:?}"), format!("{fresh:?}"));
}
