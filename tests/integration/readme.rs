//! The tables of the README, checked against the code that they speak of. To write them anew:
//! `README_UPDATE=1 cargo test --test integration readme`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use regrow::settings::check::expected;
use regrow::settings::schema::leaves;
use regrow::slash::COMMANDS;

/// Compares the lines between two marks with what they should be, or writes them.
fn check(mark: &str, table: &str) {
    // Both tests write the same file.
    static PAGE: Mutex<()> = Mutex::new(());
    let _page = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let start = page.find(&format!("<!-- {mark}:")).expect("the mark is there");
    let start = start + page[start..].find("-->\n").unwrap() + "-->\n".len();
    let end = start + page[start..].find("<!-- end -->").expect("the table ends");
    if std::env::var_os("README_UPDATE").is_some() {
        let page = format!("{}{table}{}", &page[..start], &page[end..]);
        std::fs::write(&path, page).unwrap();
        return;
    }
    assert_eq!(&page[start..end], table, "README_UPDATE=1 writes the table anew");
}

#[test]
fn u4_the_readme_lists_every_command() {
    let mut table = "| command | what it does |\n| --- | --- |\n".to_owned();
    for command in COMMANDS {
        writeln!(table, "| `{}` | {} |", command.usage().replace('|', "\\|"), command.help)
            .unwrap();
    }
    check("commands", &table);
}

#[test]
fn g1_the_readme_lists_every_setting() {
    let mut table =
        "| key | what it is | value | default |\n| --- | --- | --- | --- |\n".to_owned();
    for leaf in leaves() {
        let default =
            leaf.schema.get("default").map_or(String::new(), |value| format!("`{value}`"));
        let help = leaf.schema["description"].as_str().unwrap();
        let trust = if leaf.marks.needs_trust { " **t**" } else { "" };
        let values = expected(leaf.schema);
        writeln!(table, "| `{}`{trust} | {help} | {values} | {default} |", leaf.key).unwrap();
    }
    check("settings", &table);
}
