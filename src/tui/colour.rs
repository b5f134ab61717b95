//! Colours for code, with the grammars of `syntect`. Blocking and slow (a quarter of a millisecond a
//! line): runs off the UI thread. Grammars are read when the first code needs them.

use std::sync::{Arc, OnceLock};

use ratatui::style::{Modifier, Style};
use ratatui::text::Span;
use syntect::parsing::{ParseState, ScopeStack, SyntaxSet};
use syntect::util::LinesWithEndings;

use super::highlight::{CodeJob, ColouredCode};
use super::theme::Theme;

/// Longer lines stay plain: grammars are slow on them and nobody reads them.
const LONGEST_LINE: usize = 2_000;

/// Colours code in a theme.
#[derive(Debug, Default)]
pub struct Colourer {
    grammars: OnceLock<SyntaxSet>,
}

impl Colourer {
    /// The lines of a piece of code in colours; `None` when the language is not known.
    #[must_use]
    pub fn colour(&self, job: &CodeJob, theme: &Theme) -> Option<ColouredCode> {
        let grammars = self.grammars.get_or_init(two_face::syntax::extra_newlines);
        let grammar = grammars.find_syntax_by_token(&job.language)?;
        let mut state = ParseState::new(grammar);
        let mut scopes = ScopeStack::new();
        let mut lines = Vec::new();
        for line in LinesWithEndings::from(&job.code) {
            if line.len() > LONGEST_LINE {
                return None;
            }
            let changes = state.parse_line(line, grammars).ok()?;
            lines.push(spans(line, &changes, &mut scopes, theme)?);
        }
        Some(Arc::new(lines))
    }
}

fn spans(
    line: &str,
    changes: &[(usize, syntect::parsing::ScopeStackOp)],
    scopes: &mut ScopeStack,
    theme: &Theme,
) -> Option<Vec<Span<'static>>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut push = |text: &str, style: Style| {
        let text = text.trim_end_matches('\n');
        match spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            _ => spans.push(Span::styled(text.to_owned(), style)),
        }
    };
    let mut from = 0;
    for (at, change) in changes {
        push(line.get(from..*at)?, style_of(scopes, theme));
        from = *at;
        scopes.apply(change).ok()?;
    }
    push(line.get(from..)?, style_of(scopes, theme));
    Some(spans)
}

/// The style of the innermost scope that has one.
fn style_of(scopes: &ScopeStack, theme: &Theme) -> Style {
    for scope in scopes.as_slice().iter().rev() {
        let name = scope.build_string();
        let is = |prefix: &str| name.starts_with(prefix);
        if is("comment") || is("punctuation.definition.comment") {
            return theme.dim.add_modifier(Modifier::ITALIC);
        }
        if is("string") || is("punctuation.definition.string") {
            return theme.added;
        }
        if is("constant") || is("support.constant") {
            return theme.code;
        }
        if is("keyword.operator") || is("punctuation") {
            return theme.text;
        }
        if is("keyword") || is("storage") || is("entity.name.tag") {
            return theme.accent;
        }
        if is("entity.name") || is("support.function") {
            return theme.summary;
        }
    }
    theme.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_code_is_coloured_and_its_text_unchanged() {
        let code = "fn main() {\n    // 주석\n    let s = \"x\";\n}";
        let job = CodeJob { key: 1, language: "rust".into(), code: code.into() };
        let theme = Theme::dark();
        let coloured = Colourer::default().colour(&job, &theme).unwrap();
        let text: Vec<String> = coloured
            .iter()
            .map(|line| line.iter().map(|span| span.content.as_ref()).collect())
            .collect();
        assert_eq!(text.join("\n"), code);
        assert_eq!(coloured[0][0], Span::styled("fn", theme.accent));
        let unknown = CodeJob { language: "no-such-language".into(), ..job };
        assert!(Colourer::default().colour(&unknown, &theme).is_none());
    }
}
