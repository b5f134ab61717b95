//! The session in its own format: the header, then every entry that can be read, in file order and
//! byte for byte, so that nothing is lost that another version or program put there (J3).

use std::io::{self, Write};

use super::{Secrets, Source, shown};

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
            Ok(line) => {
                let text = String::from_utf8_lossy(&line);
                out.write_all(shown(&text, secrets).as_bytes())?;
            }
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
