//! Images that are pasted: as paths (a file that is dropped on a terminal arrives as one), or from the
//! desktop's clipboard.

use std::path::{Path, PathBuf};

use super::editor::{Arrived, Attachment};
use crate::tool::{read_image, resolve_path};

/// Endings of files that models take.
const ENDINGS: &[&str] = &[".png", ".jpg", ".jpeg", ".gif", ".webp"];

/// Longest text that is looked at.
const LONGEST: usize = 8_192;

/// Whether a pasted text looks like paths of images and nothing else. Pure.
pub fn may_name_images(text: &str) -> bool {
    let text = text.trim();
    let end = text.trim_end_matches(['\'', '"']).to_lowercase();
    let begins = ["/", "~/", "./", "../", "file://", "'", "\""];
    text.len() <= LONGEST
        && !text.contains('\n')
        && ENDINGS.iter().any(|ending| end.ends_with(ending))
        && begins.iter().any(|sign| text.starts_with(sign))
}

/// The images that a text names; the text itself, and perhaps why, when it does not name images alone.
/// Reads files.
pub(super) fn attach(cwd: &Path, text: &str) -> (Arrived, Option<String>) {
    let whole = text.trim();
    let words = words(whole);
    let unquoted = words.as_slice();
    // Some terminals paste a path with blanks as it is.
    let candidates = [std::slice::from_ref(&whole.to_owned()), unquoted].map(<[String]>::to_vec);
    let mut problem = None;
    for paths in candidates {
        let images: Result<Vec<_>, _> = paths.iter().map(|path| load(cwd, path)).collect();
        match images {
            Ok(images) if !images.is_empty() => return (Arrived::Images(images), None),
            Ok(_) | Err(None) => {}
            Err(Some(why)) => problem = Some(why),
        }
    }
    (Arrived::Text(text.to_owned()), problem)
}

/// An image from a file. `Err(None)`: there is no such image.
fn load(cwd: &Path, path: &str) -> Result<Attachment, Option<String>> {
    let path = path_of(cwd, path);
    if !path.is_file() {
        return Err(None);
    }
    let image = read_image::read(&path).map_err(Some)?.ok_or(None)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Attachment { name, image })
}

fn path_of(cwd: &Path, text: &str) -> PathBuf {
    match text.strip_prefix("file://") {
        // `file://host/path` too: the host is this one, or the file is not there.
        Some(rest) => PathBuf::from(percent_decoded(rest.find('/').map_or("", |at| &rest[at..]))),
        None => resolve_path(cwd, text),
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| byte == b'%') {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The words of a line as a shell would take it apart: terminals quote what is dropped on them.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(sign), character) if sign == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                word.get_or_insert_default().extend(characters.next());
            }
            (None, character) if character.is_whitespace() => words.extend(word.take()),
            (_, character) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// What lies on the desktop's clipboard, or why nothing comes from there.
#[cfg(feature = "clipboard")]
pub(super) fn from_clipboard() -> (Arrived, Option<String>) {
    let nothing = |why: &str| (Arrived::Text(String::new()), Some(why.to_owned()));
    let Ok(mut clipboard) = arboard::Clipboard::new() else {
        return nothing("the clipboard of this machine cannot be read; paste a path instead");
    };
    #[cfg(feature = "images")]
    if let Ok(picture) = clipboard.get_image() {
        let (width, height) = (picture.width as u64, picture.height as u64);
        let made = read_image::from_pixels(width, height, picture.bytes.into_owned());
        return match made {
            Ok(image) => {
                let name = "from the clipboard".to_owned();
                (Arrived::Images(vec![Attachment { name, image }]), None)
            }
            Err(why) => nothing(&why),
        };
    }
    match clipboard.get_text() {
        Ok(text) if !text.is_empty() => (Arrived::Text(text), None),
        _ => nothing("the clipboard is empty"),
    }
}

#[cfg(not(feature = "clipboard"))]
pub(super) fn from_clipboard() -> (Arrived, Option<String>) {
    let why = "this build reads no clipboard; paste a path instead";
    (Arrived::Text(String::new()), Some(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u2_only_paths_of_images_are_taken_for_images() {
        for text in [
            "/tmp/a.png",
            " '/tmp/a b.PNG' ",
            "~/shot.jpeg",
            "file:///tmp/a%20b.webp",
            "/a.png /b.gif",
            "/tmp/with\\ blank.png",
        ] {
            assert!(may_name_images(text), "{text}");
        }
        for text in ["see a.png", "a.png", "/tmp/a.txt", "/tmp/a.png\nand", "/tmp/.png.rs", ""] {
            assert!(!may_name_images(text), "{text}");
        }
    }

    #[test]
    fn u2_dropped_files_are_found_however_the_terminal_quotes_them() {
        let folder = tempfile::tempdir().unwrap();
        let png = include_bytes!("../../assets/export-tour.png");
        for name in ["a b.png", "한글.png"] {
            std::fs::write(folder.path().join(name), png).unwrap();
        }
        std::fs::write(folder.path().join("text.png"), "no image").unwrap();
        let at = folder.path().display().to_string();
        for (text, names) in [
            (format!("{at}/a b.png"), vec!["a b.png"]),
            (format!("'{at}/a b.png'"), vec!["a b.png"]),
            (format!("{at}/a\\ b.png"), vec!["a b.png"]),
            (format!("file://{at}/a%20b.png"), vec!["a b.png"]),
            (format!("\"{at}/a b.png\" {at}/한글.png "), vec!["a b.png", "한글.png"]),
            ("./한글.png".to_owned(), vec!["한글.png"]),
        ] {
            let (arrived, hint) = attach(folder.path(), &text);
            let Arrived::Images(images) = arrived else { panic!("{text}: {arrived:?} {hint:?}") };
            let found: Vec<_> = images.iter().map(|image| image.name.as_str()).collect();
            assert_eq!(found, names, "{text}");
            assert_eq!(images[0].image.mime_type, "image/png");
        }
        for text in
            [format!("{at}/text.png"), format!("{at}/gone.png"), format!("{at}/a b.png x.png")]
        {
            let (arrived, _) = attach(folder.path(), &text);
            assert_eq!(arrived, Arrived::Text(text));
        }
    }
}
