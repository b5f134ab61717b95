//! Prompt templates: a person's own `/name arguments` that stand for a longer prompt. Pure; reading
//! the files is [`super::library`]'s.

use super::front_matter::split;
use crate::nearest::nearest;

/// Most characters of a description, in a menu and in a message.
const LONGEST_DESCRIPTION: usize = 200;

/// A prompt with holes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// What is typed after the slash.
    pub name: String,
    /// What it is for, in one line: its own words, or the first line of the text.
    pub description: String,
    /// What should follow the name, such as `[file] [line]`; empty when it does not say.
    pub argument_hint: String,
    /// The text, placeholders and all.
    pub body: String,
    /// The file that it was read from.
    pub path: String,
}

impl Template {
    /// Reads the text of a template's file.
    ///
    /// # Errors
    /// Its head cannot be read, or there is no text.
    pub fn parse(name: &str, path: &str, text: &str) -> Result<Self, String> {
        let (head, body) = split(text)?;
        let body = body.trim();
        if body.is_empty() {
            return Err("it has no text".to_owned());
        }
        let first = body.lines().next().unwrap_or_default().trim_start_matches('#');
        let description = head.get("description").unwrap_or(first);
        Ok(Self {
            name: name.to_owned(),
            description: folded(description, LONGEST_DESCRIPTION),
            argument_hint: folded(head.get("argument-hint").unwrap_or_default(), 80),
            body: body.to_owned(),
            path: path.to_owned(),
        })
    }

    /// The prompt with arguments filled in: `$1` to `$9` are single ones, `$@` and `$ARGUMENTS` all of
    /// them; one that was not given is empty, and `\$1` is a plain `$1`. Arguments that a text without
    /// placeholders does not ask for follow it, so that nothing that was typed is lost. What is filled
    /// in is never looked through again.
    #[must_use]
    pub fn expand(&self, arguments: &[String]) -> String {
        let mut text = String::with_capacity(self.body.len());
        let mut rest = self.body.as_str();
        let mut asked = false;
        while let Some(at) = rest.find('$') {
            let (before, hole) = rest.split_at(at);
            let Some((placeholder, length)) = placeholder(hole) else {
                text.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
                continue;
            };
            rest = &hole[length..];
            if let Some(before) = before.strip_suffix('\\') {
                text.push_str(before);
                text.push_str(&hole[..length]);
                continue;
            }
            asked = true;
            text.push_str(before);
            match placeholder {
                Placeholder::All => text.push_str(&arguments.join(" ")),
                Placeholder::One(place) => {
                    text.push_str(arguments.get(place - 1).map_or("", String::as_str));
                }
            }
        }
        text.push_str(rest);
        if !asked && !arguments.is_empty() {
            text = format!("{}\n\n{}", text.trim_end(), arguments.join(" "));
        }
        text.trim().to_owned()
    }
}

enum Placeholder {
    /// Counted from 1.
    One(usize),
    All,
}

/// The placeholder that a text begins with, and its length in bytes.
fn placeholder(text: &str) -> Option<(Placeholder, usize)> {
    const ALL: &str = "$ARGUMENTS";
    if text.starts_with("$@") {
        return Some((Placeholder::All, 2));
    }
    if let Some(after) = text.strip_prefix(ALL) {
        let ends = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        return ends.then_some((Placeholder::All, ALL.len()));
    }
    let mut letters = text.chars().skip(1);
    let digit = letters.next()?.to_digit(10).filter(|digit| *digit > 0)?;
    // `$10` is a price rather than the first argument and a nought.
    let ends = letters.next().is_none_or(|next| !next.is_ascii_digit());
    ends.then_some((Placeholder::One(digit as usize), 2))
}

/// Takes arguments apart at blanks, as a shell would: quotes hold words together, a backslash takes
/// the meaning from what follows. Prose is not punished: a quote inside a word (`don't`) and one that
/// is never closed stand for themselves.
#[must_use]
pub fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (argument, left) = first_argument(rest);
        arguments.push(argument);
        rest = left.trim_start();
    }
    arguments
}

/// The first argument of a text that does not begin with a blank, and what follows it.
fn first_argument(text: &str) -> (String, &str) {
    if let Some((argument, rest)) = quoted(text) {
        return (argument, rest);
    }
    let mut argument = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => argument.push(letters.next().map_or('\\', |(_, next)| next)),
            letter if letter.is_whitespace() => return (argument, &text[at..]),
            letter => argument.push(letter),
        }
    }
    (argument, "")
}

/// An argument in quotes that are closed before a blank or the end.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let mut argument = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if quote == '"' => match letters.next() {
                Some((_, next @ ('"' | '\\'))) => argument.push(next),
                Some((_, next)) => argument.extend(['\\', next]),
                None => return None,
            },
            letter if letter == quote => {
                let rest = &text[at + quote.len_utf8()..];
                let ends = rest.chars().next().is_none_or(char::is_whitespace);
                return ends.then_some((argument, rest));
            }
            letter => argument.push(letter),
        }
    }
    None
}

/// What a line that begins with a slash means, as far as templates go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expansion {
    /// A template's text, filled in.
    Prompt(String),
    /// No template has this name; one that is near.
    Unknown(Option<String>),
}

/// Fills in the template that a line names; the slash in front may be left out. `more` are arguments
/// that are taken apart already.
#[must_use]
pub fn expand_line(templates: &[Template], line: &str, more: &[String]) -> Expansion {
    let line = line.trim();
    let line = line.strip_prefix('/').unwrap_or(line);
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match templates.iter().find(|template| template.name == name) {
        Some(template) => {
            let mut arguments = split_arguments(rest);
            arguments.extend_from_slice(more);
            Expansion::Prompt(template.expand(&arguments))
        }
        None => {
            let names = templates.iter().map(|template| template.name.as_str());
            Expansion::Unknown(nearest(name, names).map(ToOwned::to_owned))
        }
    }
}

/// A whole text as one line of at most so many characters: its line ends become blanks.
pub(super) fn folded(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(body: &str) -> Template {
        Template::parse("fix", "fix.md", body).unwrap()
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn u4_placeholders_are_filled_in_once() {
        for (body, arguments, expected) in [
            ("Fix $1 in $2.", &["the bug", "a.rs"][..], "Fix the bug in a.rs."),
            ("Fix $1 in $2.", &["x"], "Fix x in ."),
            ("All: $@", &["a", "b c"], "All: a b c"),
            ("All: $ARGUMENTS!", &["a", "b"], "All: a b!"),
            ("$1$1 $9", &["$2", "no"], "$2$2"),
            ("$@", &["$1 \\$1 $ARGUMENTS"], "$1 \\$1 $ARGUMENTS"),
            ("costs $10, $0, $x, $ARGUMENTSX and $", &[], "costs $10, $0, $x, $ARGUMENTSX and $"),
            ("\\$1 is $1, \\$@ is $@", &["a"], "$1 is a, $@ is a"),
            ("Review the diff.", &[], "Review the diff."),
            ("Review the diff.", &["only", "src"], "Review the diff.\n\nonly src"),
            ("한국어 $1 문장", &["고친"], "한국어 고친 문장"),
        ] {
            assert_eq!(template(body).expand(&words(arguments)), expected, "{body}");
        }
    }

    #[test]
    fn u4_arguments_are_quoted_as_in_a_shell_and_prose_is_forgiven() {
        for (text, expected) in [
            ("", &[][..]),
            ("a  b\tc\nd", &["a", "b", "c", "d"]),
            ("'a b' \"c d\"", &["a b", "c d"]),
            ("\"a \\\"b\\\" \\\\ \\n\"", &["a \"b\" \\ \\n"]),
            ("'a\\b' a\\ b \\'", &["a\\b", "a b", "'"]),
            ("'' x", &["", "x"]),
            ("don't crash", &["don't", "crash"]),
            ("'tis open", &["'tis", "open"]),
            ("\"never closed x", &["\"never", "closed", "x"]),
            ("'a'b c", &["'a'b", "c"]),
            ("한글 '두 단어'", &["한글", "두 단어"]),
            ("end\\", &["end\\"]),
        ] {
            assert_eq!(split_arguments(text), expected, "{text:?}");
        }
    }

    #[test]
    fn u4_a_template_says_what_it_is_for() {
        let told = template("---\ndescription: Fix\nargument-hint: [bug]\n---\n\nFix $1\n");
        assert_eq!((told.description.as_str(), told.argument_hint.as_str()), ("Fix", "[bug]"));
        assert_eq!(told.body, "Fix $1");
        assert_eq!(template("# Look at it\n\nDo.").description, "Look at it");
        let long = template(&"가".repeat(300));
        assert_eq!(long.description.chars().count(), LONGEST_DESCRIPTION + 1);
        assert_eq!(
            Template::parse("x", "x.md", "---\na: b\n---\n \n").unwrap_err(),
            "it has no text"
        );
    }

    #[test]
    fn u4_a_line_names_its_template() {
        let templates = [template("Fix $1 and $2")];
        let expand = |line: &str| expand_line(&templates, line, &words(&["more words"]));
        let prompt = |text: &str| Expansion::Prompt(text.to_owned());
        assert_eq!(expand("/fix it"), prompt("Fix it and more words"));
        assert_eq!(expand("fix"), prompt("Fix more words and"));
        assert_eq!(expand("/fxi it"), Expansion::Unknown(Some("fix".into())));
        assert_eq!(expand("/weather"), Expansion::Unknown(None));
    }
}
