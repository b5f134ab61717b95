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
            let asked = request.body["messages"].to_string();
            if request.body.get("tools").is_some() {
                Reply::says("Done.").usage(1_000, 3)
            } else if asked.contains("<previous-summary>") && !asked.contains("## ") {
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
        let config = json!({"providers": {"bench": {
            "baseUrl": self.server.v1(), "api": "openai-completions", "apiKey": "none",
            "models": [{"id": "m", "contextWindow": 200_000, "maxTokens": 8_000}]}}});
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
