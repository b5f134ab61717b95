//! A model server for the real program, in a thread of its own.

use portable_pty::CommandBuilder;
use serde_json::json;

use super::model_server::{ModelServer, Reply, Rules};
use super::pty::Home;

/// What the server writes as a short summary.
pub const SHORT_SUMMARY: &str = "Worked through the list.";

/// The server and what drives it.
pub struct Host {
    pub server: ModelServer,
    _runtime: tokio::runtime::Runtime,
}

impl Host {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let rules = Rules { forgetful: true, ..Rules::default() };
        let server = runtime.block_on(ModelServer::start(rules));
        server.otherwise(|request| {
            // The short summary is the one that may take little (C17).
            let limits = ["max_tokens", "max_completion_tokens"].map(|name| &request.body[name]);
            let most = limits.iter().find_map(|limit| limit.as_u64()).unwrap_or(0);
            if request.body.get("tools").is_some() {
                Reply::says("Done.")
            } else if most <= 512 {
                Reply::says(SHORT_SUMMARY)
            } else {
                let done = "- [x] a step of the list\n".repeat(40);
                Reply::says(&format!("## Goal\nThe list.\n\n## Progress\n### Done\n{done}"))
            }
        });
        Self { server, _runtime: runtime }
    }

    /// Makes the server a home's model.
    pub fn configure(&self, home: &Home) {
        // A window that holds the largest session: what is measured is the program, not its model.
        let config = json!({"providers": {"bench": {
            "baseUrl": self.server.v1(), "api": "openai-completions", "apiKey": "none",
            "models": [{"id": "m", "contextWindow": 1_000_000_000, "maxTokens": 8_000}]}}});
        home.configure("models.json", &config.to_string());
    }

    /// The program on this server's model.
    pub fn command(&self, home: &Home, arguments: &[&str]) -> CommandBuilder {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_regrow"));
        command.args(["--provider", "bench", "--model", "m"]);
        command.args(arguments);
        home.settle(&mut command);
        command
    }
}
