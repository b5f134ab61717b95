//! Markdown as HTML that cannot do anything: HTML in it is text, links lead only to the web, to mail
//! and within the page, pictures are not fetched. Pure.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::escape;

/// Renders a text.
pub(super) fn render(source: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // What closes each open link or picture; nothing where the opening was left out.
    let mut open: Vec<&str> = Vec::new();
    let events = Parser::new_ext(source, options).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let target = link(&dest_url);
            open.push(if target.is_some() { "</a>" } else { "" });
            ours(target.unwrap_or_default())
        }
        Event::End(TagEnd::Link | TagEnd::Image) => ours(open.pop().unwrap_or_default().to_owned()),
        event => event,
    });
    let mut page = String::with_capacity(source.len() * 5 / 4);
    html::push_html(&mut page, events);
    page
}

fn ours(text: String) -> Event<'static> {
    Event::InlineHtml(CowStr::from(text))
}

/// The opening tag of a link, if its target may be followed.
fn link(target: &str) -> Option<String> {
    let target = target.trim();
    let scheme = target.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let may = match scheme.as_deref() {
        Some("http" | "https" | "mailto") => true,
        Some(_) => false,
        None => target.starts_with('#'),
    };
    may.then(|| format!("<a href=\"{}\" rel=\"noopener noreferrer nofollow\">", escape(target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f57_nothing_in_a_text_becomes_markup_of_its_own() {
        for (source, expected) in [
            ("a **b** `c<d`", "<p>a <strong>b</strong> <code>c&lt;d</code></p>\n"),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("x <b onclick=x>y</b>", "<p>x &lt;b onclick=x&gt;y&lt;/b&gt;</p>\n"),
            ("[x](javascript:alert(1))", "<p>x</p>\n"),
            ("[x](JaVaScRiPt:alert(1))", "<p>x</p>\n"),
            ("[x](data:text/html,y)", "<p>x</p>\n"),
            ("[x](file:///etc/passwd)", "<p>x</p>\n"),
            (
                "[x](https://a.b/?q=\"><script>)",
                "<p><a href=\"https://a.b/?q=&quot;&gt;&lt;script&gt;\" rel=\"noopener noreferrer nofollow\">x</a></p>\n",
            ),
            (
                "[x](https://a.b)",
                "<p><a href=\"https://a.b\" rel=\"noopener noreferrer nofollow\">x</a></p>\n",
            ),
            ("![pic](javascript:x)", "<p>pic</p>\n"),
        ] {
            assert_eq!(render(source), expected, "{source}");
        }
        let quoted = render("[x](<https://a.b/\"onmouseover=\"y>)");
        assert!(!quoted.contains("\"onmouseover"), "{quoted}");
        let fence = render("```html\n</code></pre><script>\n```");
        assert!(!fence.contains("<script>"), "{fence}");
        assert!(!render("```\"><script>\nx\n```").contains("<script>"));
    }
}
