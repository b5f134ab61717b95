//! Where the cases are, and reading them.

use std::path::PathBuf;

use serde_json::Value;

pub(crate) const OMP: &str = "omp-13.19.0";
pub(crate) const PI: &str = "pi-0.73.1";

/// The folder of the cases: `REGROW_ORACLE_DIR`, else the usual place beside the repository.
fn folder() -> PathBuf {
    let usual = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/cases");
    std::env::var_os("REGROW_ORACLE_DIR").map_or_else(usual, PathBuf::from)
}

/// The cases of a kind; empty, with a word about it, where the folder is not there.
pub(crate) fn cases(kind: &str) -> Vec<Value> {
    let folder = folder();
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("SKIPPED {kind}: no cases in {}", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    let mark = format!("\"kind\":\"{kind}\"");
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).unwrap());
    let cases: Vec<Value> = texts
        .filter(|text| text.contains(&mark))
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect();
    cases.into_iter().filter(|case| case["kind"] == kind).collect()
}

/// The rows of a case.
pub(crate) fn rows(case: &Value) -> &[Value] {
    case["expected"]["rows"].as_array().map(Vec::as_slice).unwrap_or_default()
}
