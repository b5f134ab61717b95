//! Words of a shell command: quotes removed, substitutions followed.

use brush_parser::word::{
    Parameter, ParameterExpr, ParameterTransformOp, TildeExpr, WordPiece, WordPieceWithSource,
};

use super::shell::{Walker, options};

/// A word as a program would get it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Word {
    /// Its text; parts that only running would tell stand as they were written.
    pub(super) text: String,
    /// Whether the text is what the program gets: nothing in it is expanded.
    pub(super) literal: bool,
    /// Whether it begins with a person's home.
    pub(super) home: bool,
}

impl Word {
    pub(super) fn dynamic(text: &str) -> Self {
        Self { text: text.to_owned(), literal: false, home: false }
    }

    /// Whether it is a path that can be read off.
    pub(super) const fn is_plain_path(&self) -> bool {
        self.literal && !self.home
    }
}

/// Takes a raw word; what it runs goes to the walker.
pub(super) fn parse(raw: &str, walker: &mut Walker) -> Result<Word, String> {
    let pieces = brush_parser::word::parse(raw, &options())
        .map_err(|_| format!("the word {raw} is not understood"))?;
    from_pieces(raw, &pieces, walker)
}

/// A word from pieces of `raw`.
pub(super) fn from_pieces(
    raw: &str,
    pieces: &[WordPieceWithSource],
    walker: &mut Walker,
) -> Result<Word, String> {
    let mut built = Built { word: Word { literal: true, ..Word::default() }, kept: String::new() };
    for piece in pieces {
        add(raw, piece, Quotes::None, &mut built, walker)?;
    }
    if hides_a_substitution(&built.kept) {
        return Err(format!("{} may hide a command in a subscript", built.word.text));
    }
    Ok(built.word)
}

/// A word in the making.
struct Built {
    word: Word,
    /// The text of the word that is not expanded here.
    kept: String,
}

impl Built {
    fn keep(&mut self, text: &str) {
        self.word.text.push_str(text);
        self.kept.push_str(text);
    }

    /// Puts a piece into the word as it was written.
    fn expanded(&mut self, raw: &str, piece: &WordPieceWithSource) {
        self.word.literal = false;
        match raw.get(piece.start_index..piece.end_index) {
            Some(text) if !text.is_empty() => self.word.text.push_str(text),
            _ => self.word.text.push_str("$…"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Double,
}

fn add(
    raw: &str,
    piece: &WordPieceWithSource,
    quotes: Quotes,
    built: &mut Built,
    walker: &mut Walker,
) -> Result<(), String> {
    match &piece.piece {
        WordPiece::Text(text) => {
            if text.contains("$(") || text.contains('`') || text.contains("${") {
                return Err(format!("{text} is not understood"));
            }
            if quotes == Quotes::None && is_pattern(text) {
                built.word.literal = false;
            }
            built.keep(text);
        }
        WordPiece::SingleQuotedText(text) => built.keep(text),
        // Escapes could spell anything, a subscript with a command in it too.
        WordPiece::AnsiCQuotedText(text) if text.contains('\\') && text.contains('[') => {
            return Err(format!("{raw} is not understood"));
        }
        WordPiece::AnsiCQuotedText(text) => {
            built.word.literal &= !text.contains('\\');
            built.keep(text);
        }
        WordPiece::EscapeSequence(sequence) => {
            let escaped = sequence.strip_prefix('\\').unwrap_or(sequence);
            if escaped != "\n" {
                built.keep(escaped);
            }
        }
        WordPiece::DoubleQuotedSequence(pieces)
        | WordPiece::GettextDoubleQuotedSequence(pieces) => {
            for piece in pieces {
                add(raw, piece, Quotes::Double, built, walker)?;
            }
        }
        WordPiece::TildeExpansion(tilde) => {
            built.word.home |= built.word.text.is_empty();
            built.keep("~");
            if let TildeExpr::UserHome(user) = tilde {
                built.keep(user);
            } else if !matches!(tilde, TildeExpr::Home) {
                built.word.literal = false;
            }
        }
        WordPiece::CommandSubstitution(command) => {
            built.expanded(raw, piece);
            walker.subshell_text(command)?;
        }
        WordPiece::BackquotedCommandSubstitution(command) => {
            built.expanded(raw, piece);
            if command.contains('\\') {
                return Err("backquotes with escapes are not followed".to_owned());
            }
            walker.subshell_text(command)?;
        }
        WordPiece::ArithmeticExpression(expression) => {
            built.expanded(raw, piece);
            walker.arithmetic(&expression.value)?;
        }
        WordPiece::ParameterExpansion(expansion) => {
            if built.word.text.is_empty() && is_home(expansion) {
                // Written as `~`, so that rules about the home see it.
                built.word.home = true;
                built.word.literal = false;
                built.word.text.push('~');
                return Ok(());
            }
            built.expanded(raw, piece);
            parameter(expansion, walker)?;
        }
    }
    Ok(())
}

fn is_home(expansion: &ParameterExpr) -> bool {
    matches!(expansion, ParameterExpr::Parameter { parameter: Parameter::Named(name), .. } if name == "HOME")
}

/// Everything in a parameter expansion that is expanded in turn.
fn parameter(expansion: &ParameterExpr, walker: &mut Walker) -> Result<(), String> {
    use ParameterExpr as Expr;
    let (parameter, fragments): (Option<&Parameter>, [Option<&String>; 2]) = match expansion {
        Expr::Parameter { parameter, .. } | Expr::ParameterLength { parameter, .. } => {
            (Some(parameter), [None, None])
        }
        Expr::UseDefaultValues { parameter, default_value: text, .. }
        | Expr::AssignDefaultValues { parameter, default_value: text, .. }
        | Expr::IndicateErrorIfNullOrUnset { parameter, error_message: text, .. }
        | Expr::UseAlternativeValue { parameter, alternative_value: text, .. }
        | Expr::RemoveSmallestSuffixPattern { parameter, pattern: text, .. }
        | Expr::RemoveLargestSuffixPattern { parameter, pattern: text, .. }
        | Expr::RemoveSmallestPrefixPattern { parameter, pattern: text, .. }
        | Expr::RemoveLargestPrefixPattern { parameter, pattern: text, .. }
        | Expr::UppercaseFirstChar { parameter, pattern: text, .. }
        | Expr::UppercasePattern { parameter, pattern: text, .. }
        | Expr::LowercaseFirstChar { parameter, pattern: text, .. }
        | Expr::LowercasePattern { parameter, pattern: text, .. } => {
            (Some(parameter), [text.as_ref(), None])
        }
        Expr::Substring { parameter, offset, length, .. } => {
            (Some(parameter), [Some(&offset.value), length.as_ref().map(|length| &length.value)])
        }
        Expr::ReplaceSubstring { parameter, pattern, replacement, .. } => {
            (Some(parameter), [Some(pattern), replacement.as_ref()])
        }
        Expr::Transform { parameter, op, .. } => {
            if matches!(op, ParameterTransformOp::PromptExpand) {
                return Err("${…@P} runs what the variable holds".to_owned());
            }
            (Some(parameter), [None, None])
        }
        Expr::VariableNames { .. } | Expr::MemberKeys { .. } => (None, [None, None]),
    };
    if let Some(Parameter::NamedWithIndex { index, .. }) = parameter {
        walker.arithmetic(index)?;
    }
    if let Expr::AssignDefaultValues {
        parameter: Parameter::Named(name) | Parameter::NamedWithIndex { name, .. },
        ..
    } = expansion
    {
        walker.assigned(name);
    }
    fragments.into_iter().flatten().try_for_each(|text| walker.fragment(text))
}

/// Whether unquoted text is expanded to file names or several words.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[']) || (text.contains('{') && text.contains('}'))
}

/// Arithmetic and some builtins evaluate subscripts of names that they are given as text:
/// `test -v 'a[$(command)]'` runs the command, quotes or not.
fn hides_a_substitution(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let name = rest[..at].chars().next_back();
        let subscript = &rest[at + 1..];
        let named = name.is_some_and(|character| character.is_alphanumeric() || character == '_');
        if named && (subscript.contains("$(") || subscript.contains('`')) {
            return true;
        }
        rest = subscript;
    }
    false
}
