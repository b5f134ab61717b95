//! The first prompt from the command line: words, a `/template` with arguments, `@file` arguments and
//! what is piped in (SPEC section 12).

use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};

use crate::agent_session::queue::Prompt;
use crate::message::Image;
use crate::prompt::template::Template;
use crate::slash;
use crate::tool::{read_image, resolve_path};

/// Largest file that is taken into a prompt, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Builds the prompt; `None` when there is nothing to say.
///
/// # Errors
/// A file that cannot be read or is too large, or a template that does not exist; the sentence names
/// it.
pub(super) fn build_prompt(
    words: &[String],
    cwd: &Path,
    templates: &[Template],
    piped: Option<&mut dyn Read>,
) -> anyhow::Result<Option<Prompt>> {
    let mut files = String::new();
    let mut prompt = Prompt::default();
    let mut said = Vec::new();
    for word in words {
        match word.strip_prefix('@').filter(|path| !path.is_empty()) {
            Some(path) => attach(path, cwd, &mut files, &mut prompt.images)?,
            None => said.push(word.clone()),
        }
    }
    let mut input = String::new();
    if let Some(piped) = piped {
        piped.read_to_string(&mut input).context("cannot read what is piped in as UTF-8 text")?;
    }
    let said = expand(&said, templates)?;
    let parts = [files.trim_end(), input.trim_end(), &said];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    prompt.text = parts.join("\n\n");
    Ok((!prompt.text.is_empty() || !prompt.images.is_empty()).then_some(prompt))
}

/// Fills in the template that the first word names, if it is meant as one. What follows it was taken
/// apart by the shell.
fn expand(said: &[String], templates: &[Template]) -> anyhow::Result<String> {
    let Some((first, more)) = said.split_first().filter(|(first, _)| slash::names_a_command(first))
    else {
        return Ok(said.join(" "));
    };
    Ok(slash::fill_in(first, more, templates)?)
}

fn attach(
    path: &str,
    cwd: &Path,
    files: &mut String,
    images: &mut Vec<Image>,
) -> anyhow::Result<()> {
    let full = resolve_path(cwd, path);
    let size = std::fs::metadata(&full).with_context(|| format!("cannot read @{path}"))?.len();
    if let Some(image) = read_image::read(&full).map_err(anyhow::Error::msg)? {
        images.push(image);
        return Ok(());
    }
    if size > MAX_FILE {
        bail!("@{path} is too large to send ({size} bytes); let the agent read the part it needs");
    }
    let bytes = std::fs::read(&full).with_context(|| format!("cannot read @{path}"))?;
    let Ok(text) = String::from_utf8(bytes) else {
        bail!("@{path} is neither UTF-8 text nor an image");
    };
    files.push_str(&format!("<file path=\"{path}\">\n{}\n</file>\n\n", text.trim_end()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(Into::into).collect()
    }

    #[test]
    fn section_12_words_files_and_input_make_one_prompt() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.txt"), "에이\n").unwrap();
        let mut piped: &[u8] = b"from a pipe\n";
        let prompt =
            build_prompt(&words("explain this @a.txt please"), dir.path(), &[], Some(&mut piped));
        assert_eq!(
            prompt.unwrap().unwrap().text,
            "<file path=\"a.txt\">\n에이\n</file>\n\nfrom a pipe\n\nexplain this please"
        );
        assert_eq!(build_prompt(&[], dir.path(), &[], None).unwrap(), None);
    }

    #[test]
    fn u4_templates_are_filled_in_and_unknown_ones_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let fix = Template::parse("fix", "fix.md", "Fix $1 in $2.").unwrap();
        let build = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let built = build_prompt(&words, dir.path(), std::slice::from_ref(&fix), None);
            built.map(|prompt| prompt.unwrap().text).map_err(|error| error.to_string())
        };
        assert_eq!(build(&["/fix 'the bug' a.rs"]).unwrap(), "Fix the bug in a.rs.");
        assert_eq!(build(&["/fix", "the bug", "don't.rs"]).unwrap(), "Fix the bug in don't.rs.");
        for text in ["/usr/bin/env is gone", " /fix", "//", "/"] {
            assert_eq!(build(&[text]).unwrap(), text);
        }
        assert_eq!(
            build(&["/fxi it"]).unwrap_err(),
            "there is no command /fxi; did you mean /fix? (a space before the slash sends it as text)"
        );
        assert!(build(&["/compact"]).unwrap_err().starts_with("/compact is typed on the screen"));
    }

    #[test]
    fn section_12_images_are_attached_and_missing_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let png = include_bytes!("../../assets/export-tour.png");
        std::fs::write(dir.path().join("p.png"), png).unwrap();
        std::fs::write(dir.path().join("half.png"), &png[..12]).unwrap();
        let prompt = build_prompt(&words("@p.png"), dir.path(), &[], None).unwrap().unwrap();
        assert_eq!(prompt.images[0].mime_type, "image/png");
        for name in ["@none", "@half.png"] {
            let error = build_prompt(&words(name), dir.path(), &[], None).unwrap_err();
            assert!(error.to_string().contains(&name[1..]), "{error}");
        }
    }
}
