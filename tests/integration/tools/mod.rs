//! The built-in tools as the agent calls them: JSON in, result out, on real files and processes.

use std::path::Path;
use std::sync::{Arc, Mutex};

use regrow::message::Block;
use regrow::tool::builtin::builtin;
use regrow::tool::{Effect, ToolContext, ToolError, ToolOutput, ToolRegistry};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

mod bash;
mod files;
mod leftovers;
mod search;

/// A folder of its own and the tools of one session in it.
struct Bench {
    folder: TempDir,
    tools: ToolRegistry,
    cancel: CancellationToken,
    progress: Arc<Mutex<Vec<String>>>,
    max_result_tokens: u64,
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            tools: builtin(),
            cancel: CancellationToken::new(),
            progress: Arc::default(),
            max_result_tokens: 1_000_000,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    fn cx(&self) -> ToolContext {
        let progress = Arc::clone(&self.progress);
        ToolContext {
            cwd: self.path().to_path_buf(),
            cancel: self.cancel.clone(),
            progress: Arc::new(move |text| progress.lock().unwrap().push(text)),
            max_result_tokens: self.max_result_tokens,
        }
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.tools.get(tool).unwrap().run(arguments, self.cx()).await
    }

    async fn ok(&self, tool: &str, arguments: Value) -> Shown {
        let output = self.call(tool, arguments).await.unwrap();
        let text = output.content.iter().filter_map(Block::as_text).collect();
        shown(text, output.details)
    }

    async fn failed(&self, tool: &str, arguments: Value) -> Shown {
        match self.call(tool, arguments).await {
            Ok(output) => panic!("expected a failure, got {output:?}"),
            Err(error) => shown(error.message, error.details),
        }
    }

    fn effect(&self, tool: &str, arguments: Value) -> Result<Effect, ToolError> {
        self.tools.get(tool).unwrap().effect(&arguments, &self.cx())
    }
}

/// A result as tests look at it.
#[derive(Debug)]
struct Shown {
    text: String,
    details: Value,
    summary: String,
}

fn shown(text: String, details: Option<Value>) -> Shown {
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!text.contains(control), "I13: control characters in {text:?}");
    let details = details.unwrap_or_default();
    let summary = details["summary"].as_str().unwrap_or_default().to_owned();
    Shown { text, details, summary }
}

#[test]
fn a2_the_seven_tools_are_on_offer_with_descriptions_and_schemas() {
    let specs = builtin().specs();
    let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["read", "write", "edit", "bash", "grep", "find", "ls"]);
    for spec in specs {
        assert!(spec.description.len() > 80, "{}", spec.name);
        assert_eq!(spec.parameters["type"], "object");
        for field in spec.parameters["required"].as_array().unwrap_or(&Vec::new()) {
            assert!(spec.parameters["properties"][field.as_str().unwrap()].is_object());
        }
    }
}

#[tokio::test]
async fn a2_bad_arguments_name_the_field_and_what_was_expected() {
    use serde_json::json;
    let bench = Bench::new();
    for (tool, arguments, expected) in [
        (
            "read",
            json!({"file": "a"}),
            "read: `path` is missing: expected a string; the call gave `file`",
        ),
        ("read", json!({"path": ""}), "read: `path` must not be empty"),
        (
            "read",
            json!({"path": "a", "offset": -1}),
            "read: `offset` must be a whole number of at least 1, not -1",
        ),
        (
            "read",
            json!({"path": "a", "encoding": "klingon"}),
            "read: `encoding` klingon is not known",
        ),
        (
            "write",
            json!({"path": "a"}),
            "write: `content` is missing: expected a string; the call gave `path`",
        ),
        (
            "write",
            json!({"path": ["a"], "content": ""}),
            "write: `path` must be a string, not [\"a\"]",
        ),
        (
            "edit",
            json!({"path": "a"}),
            "edit: `edits` is missing: expected a list of {oldText, newText}",
        ),
        ("edit", json!({"path": "a", "edits": []}), "edit: `edits` is empty"),
        (
            "edit",
            json!({"path": "a", "edits": [{"oldText": "x"}]}),
            "edit: edits[0]: `newText` is missing",
        ),
        (
            "edit",
            json!({"path": "a", "edits": [7]}),
            "edit: edits[0]: the arguments must be a JSON object, not 7",
        ),
        ("bash", json!({}), "bash: `command` is missing: expected a string; the call gave nothing"),
        (
            "bash",
            json!({"command": "ls", "timeout": 0}),
            "bash: `timeout` must be a number of seconds above 0",
        ),
        ("bash", json!({"command": "a\0b"}), "bash: `command` must not hold NUL"),
        ("grep", json!({"pattern": 5}), "grep: `pattern` must be a string, not 5"),
        ("grep", json!({"pattern": "a("}), "grep: `pattern` is not a regular expression"),
        ("grep", json!({"pattern": "a", "path": "nowhere"}), "nowhere does not exist"),
        ("find", json!({"pattern": "a[b"}), "find: `pattern` is not a glob"),
        (
            "find",
            json!({"pattern": "a", "limit": 0}),
            "find: `limit` must be a whole number of at least 1, not 0",
        ),
        ("ls", json!("{\"path\": "), "ls: the arguments must be a JSON object"),
    ] {
        let error = bench.failed(tool, arguments.clone()).await.text;
        assert!(error.contains(expected), "{tool} {arguments}: {error}");
    }
}
