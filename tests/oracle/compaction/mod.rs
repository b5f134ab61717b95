//! Planning of compactions against what the systems of the seeds compute: kinds `session`
//! (entryTokens, cutPoints, prepare, prune, branch, branchPrepared), `estimateTokens`, `usage`,
//! `shouldCompact`, `trigger`, `pruneToBudget`, `overflow`, `contextPruning`.

mod figures;
mod overflow;
mod plans;
mod scene;
mod tally;
mod view;

use std::path::PathBuf;

use serde_json::Value;

/// The cases of a kind; empty, with a word about it, where the folder is not there.
fn cases(kind: &str) -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/cases");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: no cases in {}", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &PathBuf| -> Value {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    paths.iter().map(read).filter(|case| case["kind"] == kind).collect()
}

const OMP: &str = "omp-13.19.0";
const PI: &str = "pi-0.73.1";

/// The rows of a case.
fn rows(case: &Value) -> &[Value] {
    case["expected"]["rows"].as_array().map(Vec::as_slice).unwrap_or_default()
}
