//! The rules of the code base that no compiler checks: layers, sizes, headers, words, prompts.
//!
//! Cargo does not check dependencies inside a crate, so this does. It reads source text, line by
//! line; it understands `use` trees and inline `crate::` paths, not macros.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules and the layer that each belongs to; a module without a line has the layer of its parent.
/// `src/lib.rs` explains the layers. Imports go to the same layer or a lower one.
const LAYERS: &[(&str, u8)] = &[
    ("ids", 1),
    ("message", 1),
    ("nearest", 1),
    ("whole_file", 4),
    ("session", 2),
    ("session::listing", 4),
    ("session::lock", 4),
    ("session::originals", 4),
    ("session::reader", 3),
    ("session::store", 4),
    ("compaction", 2),
    ("compaction::remote", 4),
    ("compaction::summarizer", 4),
    ("settings", 2),
    ("settings::file", 4),
    ("settings::trust", 4),
    ("prompt", 2),
    ("prompt::context_files", 4),
    ("prompt::library", 4),
    ("prompt::source", 3),
    ("provider", 3),
    ("provider::model", 2),
    ("provider::sse", 2),
    ("provider::retry", 3),
    ("provider::assemble", 3),
    ("provider::azure", 3),
    ("provider::catalogue", 3),
    ("provider::decode", 3),
    ("provider::effort", 3),
    ("provider::failure", 3),
    ("provider::secret", 3),
    ("provider::testing", 3),
    ("provider::*", 4),
    ("provider::*::wire", 3),
    ("provider::*::quirks", 3),
    ("tool", 3),
    ("tool::truncate", 3),
    ("tool::diff", 3),
    ("tool::sanitize", 3),
    ("tool::permission", 3),
    ("tool::*", 4),
    ("hook", 3),
    ("hook::external", 4),
    ("agent", 5),
    ("agent_session", 6),
    ("slash", 7),
    ("export", 7),
    ("mode", 7),
    ("tui", 7),
    ("cli", 7),
    ("startup", 7),
    ("main", 7),
    ("lib", 7),
];

/// The lowest layer that touches the world.
const ADAPTERS: u8 = 4;
/// The layer of the shells.
const SHELLS: u8 = 7;

/// Code that reaches the world: files, processes, sockets, clocks, the environment, the runtime.
/// `tokio::sync` and `tokio::select!` are not here: channels need no runtime.
const WORLD: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::time::SystemTime",
    "std::time::Instant",
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "tokio::spawn",
    "tokio::task",
    "tokio::time",
    "tokio::fs",
    "tokio::net",
    "tokio::process",
    "tokio::runtime",
    "tokio::io",
    "reqwest",
    "etcetera",
    "dotenvy",
    "Uuid::new",
];

/// Names of the world that a lower layer may use after all, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    // `~` in a path means the same to every tool, so the port itself resolves it.
    ("src/tool/mod.rs", "etcetera"),
];

/// Crates of the terminal and the command line.
const SHELL_CRATES: &[&str] = &["ratatui", "crossterm", "clap"];

/// Names of files and modules that say nothing.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "manager", "common", "misc"];

/// Most lines of code in a file, its tests not counted.
const MAX_LINES: usize = 500;

/// Files that are mostly a table of data; they may be longer.
const TABLES: &[&str] = &["src/slash.rs"];

/// Texts that belong to one machine and to no repository.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/tmp/", "brief")];

struct Source {
    /// Relative to the repository, with `/`.
    path: String,
    text: String,
}

impl Source {
    /// The module's path: `src/a/b.rs` and `src/a/b/mod.rs` are both `a::b`.
    fn module(&self) -> String {
        let path = self.path.trim_start_matches("src/").trim_end_matches(".rs");
        path.trim_end_matches("/mod").replace('/', "::")
    }

    /// The lines that are not tests, with their numbers; comments stay.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        code_lines(&self.text)
    }
}

/// Everything before the tests: by this project's habit they are the last item of a file.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let end = lines
        .windows(2)
        .position(|pair| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        })
        .unwrap_or(lines.len());
    lines.into_iter().take(end).enumerate().map(|(index, line)| (index + 1, line))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All files below `folder` whose name ends in one of `endings`, in order.
fn files(folder: &str, endings: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
                let text = fs::read_to_string(&path).unwrap();
                found.push(Source { path: relative(&path), text });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")
}

/// The code of the crate; modules that are only compiled for tests are left out.
fn sources() -> Vec<Source> {
    let mut found = files("src", &[".rs"]);
    assert!(found.len() > 20, "the source folder was not found");
    let tests: BTreeSet<String> = found.iter().flat_map(test_modules).collect();
    found.retain(|source| {
        let module = source.module();
        let is_inside = |test: &String| module.starts_with(&format!("{test}::"));
        !tests.contains(&module) && !tests.iter().any(is_inside)
    });
    found
}

/// The modules in files of their own that a file declares for tests only.
fn test_modules(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let declared = lines.windows(2).filter(|pair| pair[0].trim() == "#[cfg(test)]");
    let named = declared.filter_map(|pair| pair[1].trim().strip_suffix(';')?.split("mod ").nth(1));
    named.map(|name| format!("{}::{name}", source.module())).collect()
}

#[track_caller]
fn report(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// The layer of a module: its own line, else `parent::*`, else its parent's.
fn layer_of(module: &str) -> Option<u8> {
    let exact = |name: &str| LAYERS.iter().find(|(known, _)| *known == name).map(|(_, n)| *n);
    if let Some(layer) = exact(module) {
        return Some(layer);
    }
    let parts: Vec<&str> = module.split("::").collect();
    if let [first, _, rest @ ..] = parts.as_slice() {
        for end in (0..=rest.len()).rev() {
            let tail: String = rest[..end].iter().map(|part| format!("::{part}")).collect();
            if let Some(layer) = exact(&format!("{first}::*{tail}")) {
                return Some(layer);
            }
        }
    }
    module.rsplit_once("::").and_then(|(parent, _)| layer_of(parent))
}

/// The paths inside the crate that a line of code names, absolute from the crate's root.
fn crate_paths(module: &str, is_folder: bool, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(start) = ["crate::", "super::"].iter().filter_map(|key| rest.find(key)).min() {
        let before = rest[..start].chars().next_back();
        let mut path = &rest[start..];
        let chain = path.len() - path.trim_start_matches("super::").len();
        rest = &rest[start + chain.max("crate::".len())..];
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let mut base: Vec<&str> = module.split("::").collect();
        if path.starts_with("crate::") {
            base.clear();
            path = &path["crate::".len()..];
        } else {
            // `super` of `a/mod.rs` is the crate, of `a/b.rs` it is `a`: both are one step up.
            debug_assert!(is_folder || !base.is_empty());
            while let Some(up) = path.strip_prefix("super::") {
                base.pop();
                path = up;
            }
        }
        let base = base.join("::");
        let prefix = if base.is_empty() { String::new() } else { format!("{base}::") };
        expand(&prefix, path, &mut found);
    }
    found
}

/// Expands the beginning of a use tree: `a::{b, c::d}` gives `a::b` and `a::c::d`.
fn expand(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let end = tree
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':' || c == '#'))
        .unwrap_or(tree.len());
    let path = format!("{prefix}{}", &tree[..end]);
    if !tree[end..].starts_with('{') {
        found.push(path.trim_end_matches(':').to_owned());
        return;
    }
    let mut depth = 0;
    let mut start = end + 1;
    for (at, character) in tree.char_indices().skip_while(|(at, _)| *at < end) {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => {
                if !tree[start..at].trim().is_empty() {
                    expand(&path, tree[start..at].trim(), found);
                }
                return;
            }
            '}' => depth -= 1,
            ',' if depth == 1 => {
                expand(&path, tree[start..at].trim(), found);
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The module that holds the item at `path`: the longest prefix that is a module.
fn owner<'a>(modules: &'a BTreeSet<String>, path: &str) -> Option<&'a str> {
    let mut prefix = path;
    loop {
        if let Some(module) = modules.get(prefix) {
            return Some(module);
        }
        prefix = prefix.rsplit_once("::")?.0;
    }
}

/// Code without its comments, joined, so that a `use` over several lines is one text. The line
/// number of every piece is kept beside it.
fn statements(source: &Source) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in source.code() {
        let line = line.trim();
        if line.starts_with("//") {
            continue;
        }
        let line = line.split(" // ").next().unwrap_or(line);
        match found.last_mut() {
            Some((_, text)) if open => text.push_str(line),
            _ => found.push((number, line.to_owned())),
        }
        let starts = line.starts_with("use ") || line.starts_with("pub use ");
        open = (open || starts) && !line.ends_with(';');
    }
    found
}

#[test]
fn imports_go_down_the_layers() {
    let sources = sources();
    let modules: BTreeSet<String> = sources.iter().map(Source::module).collect();
    let mut problems = Vec::new();
    for source in &sources {
        let module = source.module();
        if module == "lib" {
            continue;
        }
        let Some(layer) = layer_of(&module) else {
            problems.push(format!("{}: has no layer; add it to LAYERS", source.path));
            continue;
        };
        for (number, code) in statements(source) {
            for path in crate_paths(&module, source.path.ends_with("/mod.rs"), &code) {
                let Some(target) = owner(&modules, &path) else { continue };
                let parent_of_ours = module.starts_with(&format!("{target}::"));
                let Some(below) = layer_of(target) else { continue };
                if below > layer && !parent_of_ours {
                    problems.push(format!(
                        "{}:{number}: layer {layer} names `{path}` of layer {below}",
                        source.path
                    ));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn the_world_and_the_terminal_stay_in_their_layers() {
    let mut problems = Vec::new();
    for source in sources() {
        let Some(layer) = layer_of(&source.module()) else { continue };
        for (number, code) in statements(&source) {
            let mut forbid = |words: &[&str], from: u8| {
                for word in words.iter().filter(|word| layer < from && names(&code, word)) {
                    if EXCEPTIONS.contains(&(&source.path, word)) {
                        continue;
                    }
                    problems.push(format!(
                        "{}:{number}: layer {layer} names `{word}`, which starts at layer {from}",
                        source.path
                    ));
                }
            };
            forbid(WORLD, ADAPTERS);
            forbid(SHELL_CRATES, SHELLS);
        }
    }
    report(&problems);
}

/// Whether `code` names the path `word`, as a whole, also inside a use tree such as `std::{env, fs}`.
fn names(code: &str, word: &str) -> bool {
    let whole = |text: &str, word: &str| {
        text.match_indices(word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !part(before) && !part(after)
        })
    };
    if whole(code, word) {
        return true;
    }
    let mut paths = Vec::new();
    if let Some(tree) = code.strip_prefix("use ").or_else(|| code.strip_prefix("pub use ")) {
        expand("", tree, &mut paths);
    }
    paths.iter().any(|path| path == word || path.starts_with(&format!("{word}::")))
}

#[test]
fn files_say_what_they_are_for() {
    let mut problems = Vec::new();
    for source in
        sources().iter().chain(&files("tests", &[".rs"])).chain(&files("benches", &[".rs"]))
    {
        let lines = source.text.lines().count();
        let first = source.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if lines > 1 && !first.starts_with("//! ") {
            problems.push(format!("{}: does not open with `//!`", source.path));
        }
        let name = source.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if EMPTY_NAMES.contains(&name) {
            problems.push(format!("{}: `{name}` says nothing about the content", source.path));
        }
    }
    report(&problems);
}

#[test]
fn files_and_functions_stay_readable() {
    let mut problems = Vec::new();
    for source in sources() {
        let lines = source.code().count();
        if lines > MAX_LINES && !TABLES.contains(&source.path.as_str()) {
            problems.push(format!(
                "{}: {lines} lines without tests, {MAX_LINES} is the limit",
                source.path
            ));
        }
        // Clippy counts the lines of functions; nobody may turn that off for code.
        for (number, line) in source.code().filter(|_| source.path != "src/lib.rs") {
            if line.contains("allow(") && line.contains("too_many_lines") {
                problems.push(format!("{}:{number}: allows functions of any length", source.path));
            }
        }
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for lint in ["too_many_lines", "unwrap_used", "expect_used", "panic", "print_stdout"] {
        if !manifest.contains(&format!("{lint} = \"deny\"")) {
            problems.push(format!("Cargo.toml: the lint {lint} is not denied any more"));
        }
    }
    report(&problems);
}

#[test]
fn nothing_names_the_machine_it_was_made_on() {
    let mut problems = Vec::new();
    let endings =
        [".rs", ".md", ".toml", ".json", ".jsonl", ".yaml", ".snap", ".css", ".html", ".js"];
    let mut all = Vec::new();
    for folder in ["src", "tests", "benches", "examples", "prompts", "assets", "docs"] {
        all.extend(files(folder, &endings));
    }
    for name in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Cargo.toml", ".ci/run"] {
        let text = fs::read_to_string(root().join(name)).unwrap_or_default();
        all.push(Source { path: name.to_owned(), text });
    }
    for source in &all {
        for (index, line) in source.text.lines().enumerate() {
            for word in MACHINE_PATHS.iter().filter(|word| line.contains(**word)) {
                problems.push(format!("{}:{}: names `{word}`", source.path, index + 1));
            }
        }
    }
    report(&problems);
}

#[test]
fn prompts_exist_and_are_used() {
    let prompts: BTreeMap<String, usize> = files("prompts", &[".md"])
        .into_iter()
        .map(|prompt| (prompt.path, prompt.text.trim().len()))
        .collect();
    let mut problems = Vec::new();
    let mut used = BTreeSet::new();
    for source in sources() {
        for (number, line) in source.code() {
            for (at, _) in line.match_indices("prompts/") {
                let rest = &line[at..];
                let Some(end) = rest.find(".md") else { continue };
                let path = &rest[..end + ".md".len()];
                if path.contains(|c: char| !(c.is_ascii_alphanumeric() || "/-_.".contains(c))) {
                    continue;
                }
                let is_comment = line.trim_start().starts_with("//");
                if !prompts.contains_key(path) {
                    problems.push(format!("{}:{number}: {path} does not exist", source.path));
                } else if !is_comment {
                    used.insert(path.to_owned());
                }
            }
        }
    }
    for (path, length) in &prompts {
        if *length == 0 {
            problems.push(format!("{path}: is empty"));
        }
        if !used.contains(path) {
            problems.push(format!("{path}: no code includes it"));
        }
    }
    report(&problems);
}

mod the_checker_itself {
    use super::*;

    #[test]
    fn expands_use_trees() {
        let paths = |code: &str| crate_paths("a::b", false, code);
        assert_eq!(paths("use crate::x::{y, z::{W, self}};"), ["x::y", "x::z::W", "x::z::self"]);
        assert_eq!(paths("use super::c::D;"), ["a::c::D"]);
        assert_eq!(paths("use super::super::ids;"), ["ids"]);
        assert_eq!(paths("let x = crate::tool::resolve_path(p);"), ["tool::resolve_path"]);
        assert!(paths("use other_crate::x;").is_empty());
    }

    #[test]
    fn knows_the_layer_of_a_module() {
        assert_eq!(layer_of("provider"), Some(3));
        assert_eq!(layer_of("provider::gemini"), Some(4));
        assert_eq!(layer_of("provider::gemini::wire"), Some(3));
        assert_eq!(layer_of("provider::model"), Some(2));
        assert_eq!(layer_of("tui::overlay::tree"), Some(7));
        assert_eq!(layer_of("new_module"), None);
    }

    #[test]
    fn finds_forbidden_names() {
        assert!(names("use std::{env, fs::File};", "std::fs"));
        assert!(names("let now = std::time::Instant::now();", "Instant::now"));
        assert!(!names("use std::fs_extra;", "std::fs"));
        assert!(!names("use tokio::sync::mpsc;", "tokio::task"));
    }

    #[test]
    fn leaves_tests_out() {
        let text = "a\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(code_lines(text).count(), 1);
    }
}
