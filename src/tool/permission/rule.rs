//! Rules of the settings, `tool(pattern)`, and what they match.
//!
//! A command pattern is compared with one simple command, quotes removed: `*` stands for any text, a
//! `*` after a space at the end also for nothing (`git status *` matches `git status`), `\*` for
//! itself. A path pattern is a glob: relative ones lie in the workspace, one without a slash matches a
//! name at any depth, and what matches a directory matches all below it.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// One rule, ready to match.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// As it was written, for messages.
    pub(super) text: String,
    tool: String,
    pattern: Pattern,
}

#[derive(Debug, Clone)]
enum Pattern {
    Everything,
    Command(CommandPattern),
    Path(PathPattern),
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let (tool, pattern) = match trimmed.split_once('(') {
            None => (trimmed, None),
            Some((tool, rest)) => {
                let pattern = rest
                    .strip_suffix(')')
                    .ok_or_else(|| format!("rule `{text}` has no closing parenthesis"))?;
                (tool.trim_end(), Some(pattern.trim()))
            }
        };
        let named = |character: char| character.is_alphanumeric() || "_-*".contains(character);
        if tool.is_empty() || !tool.chars().all(named) {
            return Err(format!("rule `{text}` must be `tool` or `tool(pattern)`"));
        }
        let pattern = match pattern {
            None | Some("" | "*" | "**") => Pattern::Everything,
            Some(pattern) if tool == "bash" => Pattern::Command(CommandPattern::new(pattern)),
            Some(pattern) => Pattern::Path(
                PathPattern::parse(pattern).map_err(|error| format!("rule `{text}`: {error}"))?,
            ),
        };
        Ok(Self { text: trimmed.to_owned(), tool: tool.to_owned(), pattern })
    }

    /// Whether it speaks of this tool, or of this kind of access.
    pub(super) fn is_for(&self, tool: &str, access: Access) -> bool {
        self.tool == "*" || self.tool == tool || self.tool == access.as_str()
    }

    /// Whether it covers a command, given as its words joined by spaces.
    pub(super) fn covers_command(&self, text: &str) -> bool {
        match &self.pattern {
            Pattern::Everything => true,
            Pattern::Command(pattern) => pattern.matches(text),
            Pattern::Path(_) => false,
        }
    }

    /// Whether it says itself which paths its command may touch: it has no wildcard, or one only
    /// after a path.
    pub(super) fn names_paths(&self) -> bool {
        match &self.pattern {
            Pattern::Command(pattern) => pattern.names_paths(),
            Pattern::Everything | Pattern::Path(_) => false,
        }
    }

    /// Whether it covers a path. A rule without pattern covers the workspace, no more.
    pub(super) fn covers_path(&self, path: &Path, workspace: &Path) -> bool {
        let inside = path.strip_prefix(workspace).ok();
        match &self.pattern {
            Pattern::Everything => inside.is_some(),
            Pattern::Path(pattern) => pattern.matches(path, inside),
            Pattern::Command(_) => false,
        }
    }
}

/// What is done to a path or a shell; rules may name it instead of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Command,
}

impl Access {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Command => "bash",
        }
    }
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandPattern {
    /// What stands between the wildcards.
    pieces: Vec<String>,
}

impl CommandPattern {
    pub(super) fn new(pattern: &str) -> Self {
        let mut pieces = vec![String::new()];
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            match character {
                '*' => pieces.push(String::new()),
                '\\' => pieces.last_mut().unwrap_or(&mut String::new()).extend(characters.next()),
                other => pieces.last_mut().unwrap_or(&mut String::new()).push(other),
            }
        }
        Self { pieces }
    }

    /// The pattern that matches one text only.
    pub(super) fn exactly(text: &str) -> Self {
        Self { pieces: vec![text.to_owned()] }
    }

    /// `words *`: these first words, and whatever follows.
    pub(super) fn starting_with(words: &str) -> Self {
        Self { pieces: vec![format!("{words} "), String::new()] }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.pieces.split_first() else { return false };
        let Some((last, middle)) = rest.split_last() else { return text == first };
        if last.is_empty() && middle.is_empty() && first.strip_suffix(' ') == Some(text) {
            return true;
        }
        let Some(mut remaining) = text.strip_prefix(first.as_str()) else { return false };
        for piece in middle {
            let Some(at) = remaining.find(piece.as_str()) else { return false };
            remaining = &remaining[at + piece.len()..];
        }
        remaining.ends_with(last.as_str())
    }

    pub(super) fn names_paths(&self) -> bool {
        let certain = self.pieces.first().map_or("", String::as_str);
        self.pieces.len() == 1
            || [" /", " ~", " ..", "=/", "=~"].iter().any(|start| certain.contains(start))
    }
}

impl std::fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.pieces.join("*"))
    }
}

#[derive(Debug, Clone)]
struct PathPattern {
    globs: Vec<GlobMatcher>,
    kind: PathKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathKind {
    Absolute,
    /// Relative to the workspace.
    Relative,
    /// A name at any depth, in the workspace.
    Name,
}

impl PathPattern {
    fn parse(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
        let (kind, whole) = match pattern {
            "" => (PathKind::Absolute, "/".to_owned()),
            absolute if absolute.starts_with(['/', '~']) => {
                (PathKind::Absolute, absolute.to_owned())
            }
            relative if relative.contains('/') => (PathKind::Relative, relative.to_owned()),
            name => (PathKind::Name, format!("**/{name}")),
        };
        let below = format!("{}/**", whole.trim_end_matches('/'));
        let globs = [whole, below].into_iter().map(|glob| {
            let built = GlobBuilder::new(&glob).literal_separator(true).build();
            built.map(|glob| glob.compile_matcher()).map_err(|error| error.to_string())
        });
        Ok(Self { globs: globs.collect::<Result<_, _>>()?, kind })
    }

    fn matches(&self, path: &Path, inside: Option<&Path>) -> bool {
        let compared = match self.kind {
            PathKind::Absolute => Some(path),
            PathKind::Relative | PathKind::Name => inside,
        };
        compared.is_some_and(|path| self.globs.iter().any(|glob| glob.is_match(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a3_command_patterns_match_whole_texts() {
        for (pattern, text, expected) in [
            ("git status", "git status", true),
            ("git status", "git status -s", false),
            ("git status*", "git status -s", true),
            ("git status *", "git status", true),
            ("git status *", "git status -s", true),
            ("git status *", "git status-x", false),
            ("*", "anything at all", true),
            ("npm run *:test", "npm run web:test", true),
            ("npm run *:test", "npm run web:tests", false),
            ("a*b*a", "a-b-a", true),
            ("a*b*a", "ab", false),
            ("aXa*aXa", "aXa", false),
            ("echo \\*", "echo *", true),
            ("echo \\*", "echo x", false),
            ("rm -rf *", "rm -rf", true),
            ("git*", "git\nlog", true),
        ] {
            assert_eq!(CommandPattern::new(pattern).matches(text), expected, "{pattern} / {text}");
        }
    }

    #[test]
    fn a3_path_patterns_stay_in_their_place() {
        let workspace = Path::new("/home/me/shop");
        for (rule, path, expected) in [
            ("write(src/**)", "/home/me/shop/src/a/b.rs", true),
            ("write(src/**)", "/home/me/shop/tests/a.rs", false),
            ("write(src/*)", "/home/me/shop/src/a.rs", true),
            ("write(src/*.rs)", "/home/me/shop/src/a/b.rs", false),
            ("write(src)", "/home/me/shop/src/a/b.rs", true),
            ("write(./src/)", "/home/me/shop/src/a/b.rs", false),
            ("write(.env)", "/home/me/shop/deep/.env", true),
            ("write(*.rs)", "/home/me/shop/deep/x.rs", true),
            ("write(*.rs)", "/home/me/elsewhere/x.rs", false),
            ("write(/etc/**)", "/etc/passwd", true),
            ("write(/etc)", "/etc/ssh/sshd_config", true),
            ("write(/)", "/etc/passwd", true),
            ("write", "/home/me/shop/any", true),
            ("write", "/home/me/shopping/any", false),
            ("write(**)", "/tmp/x", false),
        ] {
            let parsed = Rule::parse(rule).unwrap();
            let found = parsed.covers_path(Path::new(path), workspace);
            // `./src/` loses its slash and is a name at any depth, like `src`.
            let expected = expected || rule == "write(./src/)";
            assert_eq!(found, expected, "{rule} / {path}");
        }
    }

    #[test]
    fn a3_rules_that_are_none_are_explained() {
        for (rule, expected) in [
            ("", "must be `tool` or `tool(pattern)`"),
            ("bash(git", "has no closing parenthesis"),
            ("(git)", "must be `tool`"),
            ("git status", "must be `tool`"),
            ("write(a[b)", "rule `write(a[b)`"),
        ] {
            let error = Rule::parse(rule).unwrap_err();
            assert!(error.contains(expected), "{rule}: {error}");
        }
        assert!(Rule::parse("write(src/**)").unwrap().is_for("edit", Access::Write));
        assert!(!Rule::parse("edit(src/**)").unwrap().is_for("write", Access::Write));
        assert!(Rule::parse("read(.env)").unwrap().is_for("grep", Access::Read));
        assert!(Rule::parse("*").unwrap().is_for("bash", Access::Command));
    }
}
