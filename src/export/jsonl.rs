//! The session in its own format: the header, then every entry that can be read, in file order and
//! byte for byte, so that nothing is lost that another version or program put there (J3).

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::Value;

use super::redact::{redact, redact_value};
use super::{Secrets, Source};

pub(super) fn write(
    source: &Source<'_>,
    secrets: Secrets,
    out: &mut dyn Write,
) -> io::Result<Vec<String>> {
    let mut problems = Vec::new();
    out.write_all(source.header.to_line().as_bytes())?;
    let nodes: Vec<_> = source.reader.tree().nodes().map(|(index, _)| index).collect();
    for index in nodes {
        match source.reader.line(index) {
            Ok(line) if secrets == Secrets::Keep => out.write_all(&line)?,
            Ok(line) => out.write_all(&without_secrets(&line))?,
            Err(error) => {
                let id = source.reader.tree().node(index).id.clone();
                problems.push(format!("entry {id} is left out: {error}"));
                continue;
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(problems)
}

/// A line without what looks like a key; as it stands when there is none.
fn without_secrets(line: &[u8]) -> Cow<'_, [u8]> {
    let Ok(mut entry) = serde_json::from_slice::<Value>(line) else {
        let text = String::from_utf8_lossy(line);
        return redact(&text).into_owned().into_bytes().into();
    };
    if redact_value(&mut entry) { entry.to_string().into_bytes().into() } else { line.into() }
}
