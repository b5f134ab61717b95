//! Between a file's bytes and its text: byte order marks, UTF-16 and named legacy encodings, and the
//! way back to exactly the same bytes (F77). Pure.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a file writes its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// UTF-8, with or without a byte order mark.
    Utf8 { mark: bool },
    /// UTF-16 with its byte order mark.
    Utf16(&'static Encoding),
    /// An encoding that the call named.
    Named(&'static Encoding),
}

impl Form {
    /// For messages: `None` for plain UTF-8.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf8 { .. } => None,
            Self::Utf16(encoding) | Self::Named(encoding) => Some(encoding.name()),
        }
    }
}

/// Why bytes are not taken for text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotText {
    /// It holds NUL bytes; with the kind of file, where its beginning tells.
    Binary { kind: Option<&'static str> },
    /// It is not valid in its encoding, from this byte on.
    Invalid { encoding: &'static str, offset: Option<usize> },
}

impl NotText {
    /// The rest of a sentence that begins with the file's name.
    pub(crate) fn explain(&self) -> String {
        match self {
            Self::Binary { kind } => {
                let kind = kind.map(|kind| format!(" ({kind})")).unwrap_or_default();
                format!(
                    "is a binary file{kind}, not text; look at it with bash, for example `file`, \
                     `strings` or `xxd | head`"
                )
            }
            Self::Invalid { encoding, offset } => {
                let place = offset.map(|at| format!(" (byte {at})")).unwrap_or_default();
                format!(
                    "is not valid {encoding}{place}; if its encoding is known, give it as \
                     `encoding`, such as euc-kr, shift_jis, gb18030 or windows-1252"
                )
            }
        }
    }
}

/// Finds an encoding by any of its labels.
pub(crate) fn named(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes())
}

/// The form that a file's first bytes announce; UTF-8 when they announce nothing.
pub(crate) fn announced(start: &[u8], named: Option<&'static Encoding>) -> Form {
    match Encoding::for_bom(start) {
        Some((encoding, _)) if encoding == UTF_16LE || encoding == UTF_16BE => {
            Form::Utf16(encoding)
        }
        Some(_) => Form::Utf8 { mark: true },
        None => match named {
            Some(encoding) if encoding != encoding_rs::UTF_8 => Form::Named(encoding),
            _ => Form::Utf8 { mark: false },
        },
    }
}

/// A whole file's text, without its byte order mark.
pub(crate) fn decode(
    bytes: &[u8],
    encoding: Option<&'static Encoding>,
) -> Result<(String, Form), NotText> {
    let form = announced(bytes, encoding);
    let text = match form {
        Form::Utf8 { mark } => {
            let body = if mark { &bytes[UTF8_MARK.len()..] } else { bytes };
            utf8(body)?.to_owned()
        }
        Form::Utf16(encoding) => {
            if !bytes.len().is_multiple_of(2) {
                return Err(NotText::Invalid { encoding: encoding.name(), offset: None });
            }
            strictly(encoding, &bytes[2..])?
        }
        Form::Named(encoding) => strictly(encoding, bytes)?,
    };
    Ok((text, form))
}

/// Bytes as UTF-8 text; says what else they are.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, NotText> {
    if memchr::memchr(0, bytes).is_some() {
        return Err(NotText::Binary { kind: kind(bytes) });
    }
    std::str::from_utf8(bytes).map_err(|error| match kind(bytes) {
        Some(kind) if !kind.starts_with("text/") => NotText::Binary { kind: Some(kind) },
        _ => NotText::Invalid { encoding: "UTF-8", offset: Some(error.valid_up_to()) },
    })
}

/// What a file is by its first bytes.
pub(crate) fn kind(bytes: &[u8]) -> Option<&'static str> {
    infer::get(bytes).map(|kind| kind.mime_type())
}

fn strictly(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, NotText> {
    encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
        .map(std::borrow::Cow::into_owned)
        .ok_or(NotText::Invalid { encoding: encoding.name(), offset: None })
}

/// The bytes of a text in a form; `None` when the encoding cannot write it.
pub(crate) fn encode(text: &str, form: Form) -> Option<Vec<u8>> {
    match form {
        Form::Utf8 { mark: false } => Some(text.as_bytes().to_vec()),
        Form::Utf8 { mark: true } => Some([UTF8_MARK, text.as_bytes()].concat()),
        Form::Utf16(encoding) => {
            let big = encoding == UTF_16BE;
            let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
            Some(std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(unit).collect())
        }
        Form::Named(encoding) => match encoding.encode(text) {
            (bytes, used, false) if used == encoding => Some(bytes.into_owned()),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f77_every_form_comes_back_to_the_same_bytes() {
        let euc_kr = named("euc-kr");
        let cases: [(&[u8], Option<&'static Encoding>, &str); 6] = [
            (b"plain\r\n", None, "plain\r\n"),
            (b"\xef\xbb\xbfmarked\n", None, "marked\n"),
            (b"\xff\xfeh\0i\0", None, "hi"),
            (b"\xfe\xff\0h\xac\x00", None, "h가"),
            (b"\xb0\xa1\xb3\xaa", euc_kr, "가나"),
            (b"caf\xe9", named("latin1"), "café"),
        ];
        for (bytes, encoding, expected) in cases {
            let (text, form) = decode(bytes, encoding).unwrap();
            assert_eq!(text, expected);
            assert_eq!(encode(&text, form).as_deref(), Some(bytes), "{form:?}");
        }
        assert_eq!(encode("✓", Form::Named(encoding_rs::WINDOWS_1252)), None);
    }

    #[test]
    fn f79_what_is_not_text_is_explained() {
        for (bytes, expected) in [
            (&b"a\0b"[..], "is a binary file, not text"),
            (b"\x1f\x8b\x08\0\0\0", "application/gzip"),
            (b"\x89PNG\r\n\x1a\n\xff\xff", "image/png"),
            (b"caf\xe9 au lait", "is not valid UTF-8 (byte 3)"),
            (b"\xff\xfeh\0\x00\xd8", "UTF-16LE"),
        ] {
            let said = decode(bytes, None).unwrap_err().explain();
            assert!(said.contains(expected), "{said}");
        }
        assert!(named("klingon").is_none());
    }
}
