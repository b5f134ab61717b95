//! What is kept from the shell parser: it recurses, and it backtracks, so a command nested deeply
//! enough would take its stack or its time. Pure.
//!
//! This scanner knows quotes, comments and here-documents, just well enough to count. It decides
//! nothing about what a command does.

/// Longest command that is taken apart.
const LONGEST: usize = 64 * 1024;

/// Most brackets within brackets.
const DEEPEST: usize = 24;

/// Most brackets that are never closed: the time to find that out doubles with each.
const MOST_OPEN: usize = 6;

/// Most words that open something: `if`, `for`, `{`, `!` …
const MOST_OPENING_WORDS: usize = 60;

/// Most `case` within `case`: the time doubles with each.
const MOST_CASES: usize = 5;

const OPENING_WORDS: &[&str] =
    &["if", "while", "until", "for", "case", "select", "{", "!", "function", "coproc"];

/// Says whether a command can be given to the parser.
///
/// # Errors
/// Why not, as the rest of "cannot be checked: …".
pub(super) fn check(command: &str) -> Result<(), String> {
    if command.len() > LONGEST {
        return Err("it is too long".to_owned());
    }
    if let Some(character) = command.chars().find(|character| is_odd(*character)) {
        return Err(format!("it holds the invisible character U+{:04X}", character as u32));
    }
    // A shell takes out what continues a line before anything else; so may the parser, or not.
    check_text(command)?;
    if command.contains("\\\n") { check_text(&command.replace("\\\n", "")) } else { Ok(()) }
}

fn check_text(command: &str) -> Result<(), String> {
    if let Some(number) = too_large(command) {
        return Err(format!("the number {number} is too large"));
    }
    let mut scan = Scan::new(command);
    scan.run();
    let open = scan.open.len() + scan.open_in_documents;
    let crowded = scan.words > MOST_OPENING_WORDS || scan.most_cases > MOST_CASES;
    if scan.deepest > DEEPEST || open > MOST_OPEN || crowded {
        return Err("it is nested too deeply".to_owned());
    }
    if scan.tangled {
        return Err("a here-document begins inside of ${…}".to_owned());
    }
    if scan.enclosed && scan.open.len() > scan.doubted {
        return Err("a here-document begins inside of a bracket that is never closed".to_owned());
    }
    Ok(())
}

/// A number that the parser would count with and cannot: of a redirection, a sequence or a stack of
/// folders. Nine digits always fit.
fn too_large(command: &str) -> Option<&str> {
    let mut rest = command;
    while let Some(begin) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, from) = rest.split_at(begin);
        let end = from.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        let unsigned = before.trim_end_matches(['+', '-']);
        let counts = after.starts_with(['<', '>'])
            || after.starts_with("..")
            || unsigned.ends_with("..")
            || unsigned.ends_with('~');
        if counts && number.len() > 9 {
            return Some(number);
        }
        rest = after;
    }
    None
}

/// Characters that shells and parsers may take differently, or that people do not see.
fn is_odd(character: char) -> bool {
    !matches!(character, ' ' | '\t' | '\n')
        && (character.is_whitespace() || character.is_control() || is_invisible(character))
}

const fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// `(`, `$(`, `((`.
    Round,
    /// `${`.
    Curly,
    /// `$[`, `[`.
    Square,
    /// `"`.
    Quote,
    /// `` ` ``.
    Tick,
}

struct Document {
    delimiter: String,
    /// Whether substitutions in it are carried out.
    expands: bool,
    /// Whether it could be something else, a shift in arithmetic: then its brackets count.
    doubtful: bool,
}

struct Scan<'a> {
    rest: &'a str,
    open: Vec<Open>,
    deepest: usize,
    words: usize,
    /// `case` that have not met their `esac`, now and at most.
    cases: usize,
    most_cases: usize,
    word: String,
    /// Here-documents that begin at the next line.
    awaited: Vec<Document>,
    /// Brackets that are never closed in here-documents.
    open_in_documents: usize,
    /// In how many here-documents this text stands.
    level: usize,
    /// Whether a here-document begins inside of `${…}`: the parser loses its place there.
    tangled: bool,
    /// Whether a here-document begins inside of any bracket.
    enclosed: bool,
    /// Brackets that may only be letters of here-documents.
    doubted: usize,
}

impl<'a> Scan<'a> {
    const fn new(command: &'a str) -> Self {
        Self {
            rest: command,
            open: Vec::new(),
            deepest: 0,
            words: 0,
            cases: 0,
            most_cases: 0,
            word: String::new(),
            awaited: Vec::new(),
            open_in_documents: 0,
            level: 0,
            tangled: false,
            enclosed: false,
            doubted: 0,
        }
    }

    fn run(&mut self) {
        while let Some(character) = self.next() {
            if character == '\\' {
                self.next();
            } else if self.open.last() == Some(&Open::Quote) {
                self.in_quotes(character);
            } else {
                self.outside(character);
            }
            self.deepest = self.deepest.max(self.open.len());
        }
        self.end_word();
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    fn in_quotes(&mut self, character: char) {
        match character {
            '"' => {
                self.open.pop();
            }
            '`' => self.tick(),
            '$' => self.dollar(),
            _ => {}
        }
    }

    fn outside(&mut self, character: char) {
        match character {
            '\'' => {
                let end = self.rest.find('\'').map_or(self.rest.len(), |at| at + 1);
                self.rest = &self.rest[end..];
                self.word.push('\'');
                return;
            }
            '#' if self.word.is_empty() && self.open.last() != Some(&Open::Curly) => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
                return;
            }
            '"' => self.open.push(Open::Quote),
            '`' => self.tick(),
            '$' => self.dollar(),
            '(' => self.open.push(Open::Round),
            '[' => self.open.push(Open::Square),
            ')' => self.close_round(),
            ']' if self.open.last() == Some(&Open::Square) => {
                self.open.pop();
            }
            '}' if self.open.last() == Some(&Open::Curly) => {
                self.open.pop();
            }
            '<' if self.rest.starts_with('<') && !self.rest.starts_with("<<") => {
                self.here_document()
            }
            '\n' => self.skip_documents(),
            _ => {}
        }
        if character.is_whitespace() || ";&|()<>".contains(character) {
            self.end_word();
        } else {
            self.word.push(character);
        }
    }

    /// A bracket of a pattern that was never closed ends with what it stands in.
    fn close_round(&mut self) {
        let inner = self.open.iter().rev().take_while(|open| **open == Open::Square).count();
        let without = self.open.len() - inner;
        if self.open[..without].last() == Some(&Open::Round) {
            self.open.truncate(without - 1);
        }
    }

    fn tick(&mut self) {
        if self.open.contains(&Open::Tick) {
            while self.open.pop() != Some(Open::Tick) {}
        } else {
            self.open.push(Open::Tick);
        }
    }

    fn dollar(&mut self) {
        match self.rest.chars().next() {
            Some('{') => self.open.push(Open::Curly),
            Some('(') => self.open.push(Open::Round),
            Some('[') => self.open.push(Open::Square),
            _ => return,
        }
        self.next();
    }

    fn end_word(&mut self) {
        self.words += usize::from(OPENING_WORDS.contains(&self.word.as_str()));
        match self.word.as_str() {
            "case" => self.cases += 1,
            "esac" => self.cases = self.cases.saturating_sub(1),
            _ => {}
        }
        self.most_cases = self.most_cases.max(self.cases);
        self.word.clear();
    }

    /// After `<<`: remembers the delimiter.
    fn here_document(&mut self) {
        self.tangled |= self.open.contains(&Open::Curly);
        self.enclosed |= !self.open.is_empty();
        self.next();
        let rest = self.rest.strip_prefix('-').unwrap_or(self.rest).trim_start_matches([' ', '\t']);
        let end = rest.find([' ', '\t', '\n', ';', '|', '&', ')', '>']).unwrap_or(rest.len());
        let delimiter = rest[..end].replace(['\'', '"', '\\'], "");
        let quoted = delimiter.len() < end;
        if !delimiter.is_empty() {
            let doubtful = !quoted && self.open.contains(&Open::Round);
            self.awaited.push(Document { delimiter, expands: !quoted, doubtful });
        }
        self.rest = &rest[end..];
    }

    fn skip_documents(&mut self) {
        for document in std::mem::take(&mut self.awaited) {
            let whole = self.rest;
            let mut end = whole.len();
            while !self.rest.is_empty() {
                let begin = whole.len() - self.rest.len();
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                if line.trim_start_matches('\t') == document.delimiter {
                    end = begin;
                    break;
                }
                if document.doubtful {
                    let brackets = line.bytes().filter(|byte| b"({".contains(byte)).count();
                    self.open.extend(std::iter::repeat_n(Open::Round, brackets));
                    self.doubted += brackets;
                }
            }
            if document.expands {
                self.count_in_document(&whole[..end]);
            }
        }
    }

    /// What opens in the text of a here-document: it is read like a text in quotes, whose own quotes
    /// are letters.
    fn count_in_document(&mut self, text: &str) {
        if self.level > MOST_OPEN {
            self.deepest = DEEPEST + 1;
            return;
        }
        let text = text.replace('"', " ");
        let mut inner = Scan::new(&text);
        inner.level = self.level + 1;
        inner.open.push(Open::Quote);
        inner.run();
        self.deepest = self.deepest.max(inner.deepest);
        self.words += inner.words;
        self.most_cases = self.most_cases.max(self.cases + inner.most_cases);
        self.open_in_documents += inner.open.len() - 1 + inner.open_in_documents;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f80_ordinary_commands_pass_however_many_brackets_they_hold() {
        let code = "print(f(g(h(1))))\nif x: (y)\n".repeat(100);
        for command in [
            format!("cat > a.py <<'EOF'\n{code}EOF\npython a.py"),
            format!("cat > a.py <<EOF\n{code}EOF"),
            format!("python -c '{code}'"),
            format!("python -c \"{code}\""),
            "grep '((((((((' f".to_owned(),
            "echo \\(\\(\\(\\(\\(\\(\\(".to_owned(),
            "date -d @1700000000000 +%s; ls v1.20261130123456 > 20261130123456.txt".to_owned(),
            "ls # ((((((((((".to_owned(),
            "echo $((1 + (2 * 3))); ".repeat(50),
            "for i in $(seq 3); do if [ $i = 2 ]; then echo \"$(date)\"; fi; done".to_owned(),
            "case $x in a) ls;; b) ls;; esac; ".repeat(12),
            format!("git commit -m \"$(cat <<'EOF'\n{code}EOF\n)\""),
        ] {
            assert_eq!(check(&command), Ok(()), "{command}");
        }
    }

    #[test]
    fn f80_traps_for_the_parser_do_not() {
        for command in [
            "(".repeat(7),
            "$((".repeat(4),
            format!("{}{}", "(".repeat(30), ")".repeat(30)),
            format!("echo {}", "\"$(".repeat(20)),
            format!("echo {}", "${x:-".repeat(20)),
            format!("{}ls", "if a; then ".repeat(100)),
            format!("{}ls", "{ ".repeat(100)),
            format!("[[ {}x ]]", "! ".repeat(100)),
            "x".repeat(LONGEST + 1),
            format!("cat <<EOF\n{}EOF\n", "$(x(rm x)\n".repeat(8)),
            format!("cat <<EOF\n{}EOF\n", "\"${x \n".repeat(8)),
            format!("cat <<EOF\n{}", "$(cat <<A\n".repeat(5_000)),
            "( ')' ".repeat(30),
            "( # )\n".repeat(30),
            "( cat <<A\n)\nA\n".repeat(30),
            format!("(( 1 <<A\n{}", "( ".repeat(30)),
        ] {
            assert!(check(&command).is_err(), "{}", &command[..7]);
        }
    }
}
