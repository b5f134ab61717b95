//! The person's latest request, carried verbatim in a stored summary when the cut leaves it behind
//! (SPEC C14; F17, F43, I6). Pure text.

const OPEN: &str = "<latest-request>\n";
const CLOSE: &str = "\n</latest-request>";

/// The summary with `request` in a block of its own, before the blocks that name files (C20). A block
/// that the text already holds, because a model copied it from the previous summary, is replaced, not
/// doubled; without a request it only goes.
#[must_use]
pub fn carry_request(summary: &str, request: Option<&str>) -> String {
    let text = without_request(summary);
    let Some(request) = request.map(str::trim).filter(|request| !request.is_empty()) else {
        return text;
    };
    let files = ["<read-files>\n", "<modified-files>\n"];
    let end = files.iter().filter_map(|tag| find_line(&text, tag)).min().unwrap_or(text.len());
    let (before, files) = (text[..end].trim_end(), &text[end..]);
    let mut carried = String::with_capacity(text.len() + request.len() + 64);
    for part in [before, &format!("{OPEN}{request}{CLOSE}"), files] {
        if !carried.is_empty() && !part.is_empty() {
            carried.push_str("\n\n");
        }
        carried.push_str(part);
    }
    carried
}

/// The summary without such a block.
#[must_use]
pub fn without_request(summary: &str) -> String {
    let mut text = summary.to_owned();
    while let Some(start) = find_line(&text, OPEN) {
        // Of a block that was cut off only the tag goes.
        let end = match text[start..].find(CLOSE) {
            Some(at) => start + at + CLOSE.len(),
            None => start + OPEN.len(),
        };
        let (before, after) = (text[..start].trim_end(), text[end..].trim_start());
        let joint = if before.is_empty() || after.is_empty() { "" } else { "\n\n" };
        text = format!("{before}{joint}{after}");
    }
    text
}

/// The first occurrence of `tag` at the beginning of a line.
fn find_line(text: &str, tag: &str) -> Option<usize> {
    text.match_indices(tag).map(|(at, _)| at).find(|at| *at == 0 || text[..*at].ends_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "<latest-request>\n고쳐 줘\n\nplease\n</latest-request>";

    #[test]
    fn c14_the_request_stands_before_the_files_word_for_word() {
        let request = Some("  고쳐 줘\n\nplease\n");
        assert_eq!(carry_request("S\n", request), format!("S\n\n{BLOCK}"));
        let files = "<modified-files>\na\n</modified-files>";
        assert_eq!(
            carry_request(&format!("S\n\n{files}"), request),
            format!("S\n\n{BLOCK}\n\n{files}")
        );
        assert_eq!(carry_request("", request), BLOCK);
        assert_eq!(carry_request("S", Some(" \n")), "S");
    }

    #[test]
    fn i6_it_is_there_once() {
        let files = "<read-files>\na\n</read-files>";
        let once = carry_request(&format!("S\n\n{files}"), Some("one"));
        assert_eq!(carry_request(&once, Some("one")), once);
        assert_eq!(carry_request(&once, None), format!("S\n\n{files}"));
        let twice = format!("{once}\n\nmore\n\n{once}");
        assert_eq!(carry_request(&twice, None), format!("S\n\n{files}\n\nmore\n\nS\n\n{files}"));
        assert_eq!(carry_request("S\n\n<latest-request>\ncut off", None), "S\n\ncut off");
        assert_eq!(
            carry_request("about `<latest-request>` tags", None),
            "about `<latest-request>` tags"
        );
    }
}
