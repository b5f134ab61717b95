//! Markdown → lines for the screen (U1).
//!
//! [`render`] draws a whole text. [`Growing`] draws a text that streams: finished blocks are drawn
//! once, only the open last one again. The source must have passed [`super::text::sanitize`].

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::highlight::Highlights;
use super::links::bare_addresses;
use super::theme::Theme;
use super::wrap::{Breaking, Margins, wrap};

mod growing;
mod table;

pub use growing::Growing;
use table::Table;

/// What drawing depends on besides the text.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    /// The styles.
    pub theme: &'a Theme,
    /// Columns.
    pub width: usize,
    /// Coloured code, as far as it is there.
    pub highlights: &'a Highlights,
}

const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Draws a text.
#[must_use]
pub fn render(source: &str, page: Page<'_>) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    append(&mut lines, false, source, page);
    lines
}

/// Draws a text after `lines`, a blank line between if `gap` says so. Gives whether a blank line
/// belongs between it and what may follow.
fn append(lines: &mut Vec<Line<'static>>, gap: bool, source: &str, page: Page<'_>) -> bool {
    let mut writer = Writer::new(std::mem::take(lines), gap, page);
    for event in Parser::new_ext(source, OPTIONS) {
        writer.event(event);
    }
    *lines = writer.lines;
    writer.gap
}

/// The code blocks of a text, in order.
#[must_use]
pub fn code_blocks(source: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for event in Parser::new_ext(source, OPTIONS) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => open = Some(String::new()),
            Event::Text(text) => {
                if let Some(code) = &mut open {
                    code.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

/// The bar that stands before code.
fn code_bar(theme: &Theme) -> Span<'static> {
    Span::styled("│ ", theme.dim)
}

/// A block that holds blocks.
enum Container {
    /// A list: the number of its next item, when it has numbers.
    List(Option<u64>),
    /// An item: what stands at the left of its first line until that is written, and its indent.
    Item { mark: Option<String>, indent: usize },
    /// A quotation, and whether something of it is written already.
    Quote { begun: bool },
}

/// Turns the parser's events into lines.
struct Writer<'a> {
    page: Page<'a>,
    lines: Vec<Line<'static>>,
    containers: Vec<Container>,
    /// The text of the block that is being read.
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// Whether the next block is to be set off by a blank line.
    gap: bool,
    code: Option<(String, String)>,
    table: Option<Table>,
    link: Option<(String, usize)>,
}

impl<'a> Writer<'a> {
    fn new(lines: Vec<Line<'static>>, gap: bool, page: Page<'a>) -> Self {
        Self {
            page,
            lines,
            containers: Vec::new(),
            spans: Vec::new(),
            styles: vec![page.theme.text],
            gap,
            code: None,
            table: None,
            link: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                self.inline_code(&code);
            }
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html),
            Event::Rule => self.rule(),
            Event::TaskListMarker(done) => {
                self.text(if done { "[x] " } else { "[ ] " });
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                let mut style = self.page.theme.heading;
                if level == HeadingLevel::H1 {
                    style = style.add_modifier(Modifier::UNDERLINED);
                }
                self.styles.push(style);
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.containers.push(Container::Quote { begun: false });
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',', '{']).next().unwrap_or_default().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(start) => {
                self.flush();
                self.containers.push(Container::List(start));
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => self.table = Some(Table::new(alignments)),
            Tag::TableCell => self.spans.clear(),
            Tag::Emphasis => self.push_modifier(Modifier::ITALIC),
            Tag::Strong => self.push_modifier(Modifier::BOLD),
            Tag::Strikethrough => self.push_modifier(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let style = self.style().patch(self.page.theme.link);
                self.styles.push(self.page.highlights.link(style, &dest_url));
                self.link = Some((dest_url.into_string(), self.spans.len()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.flush();
                self.gap = false;
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::BlockQuote(_) | TagEnd::List(_) => {
                self.flush();
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::Item => {
                self.flush();
                // An item without any text still shows its mark.
                if matches!(self.containers.last(), Some(Container::Item { mark: Some(_), .. })) {
                    self.write_spans(&[Span::raw("")]);
                }
                self.containers.pop();
                self.gap = false;
            }
            TagEnd::Table => self.finish_table(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push_modifier(&mut self, modifier: Modifier) {
        self.styles.push(self.style().add_modifier(modifier));
    }

    fn text(&mut self, text: &str) {
        let style = self.style();
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            _ => self.spans.push(Span::styled(text.to_owned(), style)),
        }
    }

    fn inline_code(&mut self, code: &str) {
        let theme = self.page.theme;
        let text = if theme.colourless { format!("`{code}`") } else { code.to_owned() };
        self.spans.push(Span::styled(text, self.style().patch(theme.code)));
    }

    /// A link whose text is not its address shows the address too: text can lie.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, from)) = self.link.take() else { return };
        let shown: String =
            self.spans.iter().skip(from).map(|span| span.content.as_ref()).collect();
        let bare = address.strip_prefix("mailto:").unwrap_or(&address);
        if !bare.is_empty() && shown.trim() != bare {
            let style = self.page.theme.dim;
            let address_style = self.page.highlights.link(style, &address);
            self.spans.push(Span::styled(" (", style));
            self.spans.push(Span::styled(bare.to_owned(), address_style));
            self.spans.push(Span::styled(")", style));
        }
    }

    fn item(&mut self) {
        self.flush();
        let mark = match self.containers.last_mut() {
            Some(Container::List(Some(number))) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            _ => "• ".to_owned(),
        };
        let indent = mark.chars().count();
        self.containers.push(Container::Item { mark: Some(mark), indent });
    }

    /// What stands at the left of the next block, and of its further lines. Taking it uses up the
    /// marks of the items that begin here.
    fn margins(&mut self) -> Margins {
        let mut margins = Margins::default();
        for container in &mut self.containers {
            match container {
                Container::List(_) => {}
                Container::Item { mark, indent } => {
                    let blank = Span::raw(" ".repeat(*indent));
                    margins.first.push(mark.take().map_or_else(|| blank.clone(), Span::raw));
                    margins.rest.push(blank);
                }
                Container::Quote { .. } => {
                    let bar = Span::styled("> ", self.page.theme.dim);
                    margins.first.push(bar.clone());
                    margins.rest.push(bar);
                }
            }
        }
        // Of very deep nesting only the innermost signs are shown: the text needs room.
        for margin in [&mut margins.first, &mut margins.rest] {
            while margin.iter().map(Span::width).sum::<usize>() > self.page.width * 2 / 3 {
                margin.remove(0);
            }
        }
        margins
    }

    fn open_block(&mut self) {
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let begun =
                |container: &&Container| matches!(container, Container::Quote { begun: true });
            self.lines.push(match self.containers.iter().filter(begun).count() {
                0 => Line::default(),
                quotes => {
                    Line::styled(">".repeat(quotes.min(self.page.width)), self.page.theme.dim)
                }
            });
        }
        for container in &mut self.containers {
            if let Container::Quote { begun } = container {
                *begun = true;
            }
        }
    }

    /// Writes the text that was read, if any.
    fn flush(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        self.open_block();
        self.write_spans(&self.with_bare_links(spans));
    }

    /// Addresses in plain text lead somewhere too.
    fn with_bare_links(&self, spans: Vec<Span<'static>>) -> Vec<Span<'static>> {
        let mut linked = Vec::with_capacity(spans.len());
        for span in spans {
            let addresses = match span.style.underline_color {
                None => bare_addresses(&span.content),
                Some(_) => Vec::new(),
            };
            let mut from = 0;
            for place in addresses {
                let (before, address) =
                    (&span.content[from..place.start], &span.content[place.clone()]);
                if !before.is_empty() {
                    linked.push(Span::styled(before.to_owned(), span.style));
                }
                let style = self.page.highlights.link(span.style, address);
                linked.push(Span::styled(address.to_owned(), style));
                from = place.end;
            }
            match from {
                0 => linked.push(span),
                from => linked.push(Span::styled(span.content[from..].to_owned(), span.style)),
            }
        }
        linked
    }

    fn write_spans(&mut self, spans: &[Span<'_>]) {
        let margins = self.margins();
        self.lines.extend(wrap(spans, self.page.width, &margins, Breaking::Words));
    }

    fn rule(&mut self) {
        self.flush();
        self.open_block();
        let width = self.page.width.min(40);
        self.lines.push(Line::styled("─".repeat(width), self.page.theme.dim));
        self.gap = true;
    }

    fn code_block(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        self.open_block();
        let mut margins = self.margins();
        let bar = code_bar(self.page.theme);
        margins.first.push(bar.clone());
        margins.rest.push(bar);
        let code = code.strip_suffix('\n').unwrap_or(&code);
        let coloured = self.page.highlights.get(&language, code);
        for (number, text) in code.split('\n').enumerate() {
            let spans = match coloured.as_ref().and_then(|lines| lines.get(number)) {
                Some(spans) => spans.clone(),
                None => vec![Span::styled(text.to_owned(), self.page.theme.text)],
            };
            self.lines.extend(wrap(&spans, self.page.width, &margins, Breaking::Anywhere));
            margins.first.clone_from(&margins.rest);
        }
        self.gap = true;
    }

    fn finish_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        self.open_block();
        let margins = self.margins();
        let taken: usize = margins.rest.iter().map(Span::width).sum();
        let rows = table.draw(self.page.width.saturating_sub(taken), self.page.theme);
        for (number, row) in rows.into_iter().enumerate() {
            let margin = if number == 0 { &margins.first } else { &margins.rest };
            self.lines.push(Line::from([margin.clone(), row.spans].concat()));
        }
        self.gap = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::text::width;

    fn draw(source: &str, columns: usize) -> Vec<String> {
        let theme = Theme::dark();
        let highlights = Highlights::default();
        let page = Page { theme: &theme, width: columns, highlights: &highlights };
        render(source, page).iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn check(source: &str, columns: usize, expected: &[&str]) {
        assert_eq!(draw(source, columns), expected, "{source}");
    }

    #[test]
    fn u1_paragraphs_headings_and_rules() {
        check(
            "# Title\ntext *with* **stress**\n\nmore",
            30,
            &["Title", "text with stress", "", "more"],
        );
        check("a\nb\n\n---\n\nc", 10, &["a", "b", "", "──────────", "", "c"]);
    }

    #[test]
    fn u1_lists_hang_and_nest() {
        check("- one two three\n- b\n  - c", 10, &["• one two", "  three", "• b", "  • c"]);
        check("9. a\n10. b b b", 8, &["9. a", "10. b b", "    b"]);
        check("- a\n\n- b\n\n  second", 20, &["• a", "• b", "", "  second"]);
        check("1. x\n   ```\n   code\n   ```\n2. y", 20, &["1. x", "   │ code", "2. y"]);
        check("- [x] done\n- [ ] open\n-", 20, &["• [x] done", "• [ ] open", "• "]);
    }

    #[test]
    fn u1_quotes_keep_their_sign_on_every_line() {
        check("> one two\n>\n> - x", 7, &["> one", "> two", ">", "> • x"]);
    }

    #[test]
    fn u1_code_stands_behind_a_bar_and_is_not_reflowed() {
        check("```rust\nfn  a() {\n\n}\n```", 20, &["│ fn  a() {", "│ ", "│ }"]);
        check("text\n```\nopen", 20, &["text", "", "│ open"]);
    }

    #[test]
    fn u1_links_show_where_they_lead() {
        check("[here](https://x.io/a) <https://y.io>", 60, &["here (https://x.io/a) https://y.io"]);
        check("<b>html</b> stays", 40, &["<b>html</b> stays"]);
    }

    #[test]
    fn f83_korean_wraps_by_columns() {
        let lines = draw("- 가나다 라마바 사아자\n", 10);
        assert_eq!(lines, ["• 가나다", "  라마바", "  사아자"]);
        assert!(lines.iter().all(|line| width(line) <= 10));
    }
}
