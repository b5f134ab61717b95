//! The provider adapters against a real socket (P2, F58–F62, F70, F71): delivery, cancellation,
//! clocks, errors. What the bytes mean is tested beside the wire modules.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use regrow::ids::Timestamp;
use regrow::message::{AssistantMessage, Content, Message, StopReason, UserMessage};
use regrow::provider::assemble::Assembler;
use regrow::provider::catalogue::guessed_model;
use regrow::provider::model::Model;
use regrow::provider::registry::{ProviderRegistry, RegistryFiles};
use regrow::provider::{
    ErrorKind, ProviderError, Providers, Purpose, Request, StreamEvent, ThinkingLevel,
};
use regrow::settings::{EndpointSettings, Settings, Timeouts};
use tokio_util::sync::CancellationToken;

use crate::support::server::{Gate, ModelServer, Overflow, Reply, Rules};

/// Every protocol: its name, and where its base URL ends.
const PROTOCOLS: &[(&str, &str)] = &[
    ("openai-completions", "/v1"),
    ("anthropic-messages", ""),
    ("openai-responses", "/v1"),
    ("google-generative-ai", "/v1beta"),
];

struct Bench {
    server: ModelServer,
    registry: ProviderRegistry,
    model: Arc<Model>,
}

impl Bench {
    async fn start(protocol: (&str, &str), rules: Rules) -> Self {
        Self::with(protocol, rules, Timeouts::default()).await
    }

    async fn with((api, path): (&str, &str), rules: Rules, timeouts: Timeouts) -> Self {
        let server = ModelServer::start(rules).await;
        let settings = Settings { timeouts, ..Settings::default() };
        let folder = tempfile::tempdir().unwrap();
        let models = folder.path().join("models.json");
        let config = serde_json::json!({"providers": {"test": {
            "baseUrl": format!("{}{path}", server.origin()), "api": api, "apiKey": "sk-test-1234567890",
            "models": [{"id": "m", "contextWindow": 100_000, "maxTokens": 1_000, "images": true}]}}});
        std::fs::write(&models, config.to_string()).unwrap();
        let files = RegistryFiles { models: Some(models), keys: None };
        let registry = ProviderRegistry::new(&settings, HashMap::new(), files);
        let model = registry.choose_model(Some("test"), None).unwrap();
        Self { server, registry, model }
    }

    fn request(&self, text: &str) -> Request {
        let content = Content::from_text(text);
        Request {
            purpose: Purpose::Turn,
            model: self.model.clone(),
            system: "be good".into(),
            messages: vec![Arc::new(Message::User(UserMessage { content, timestamp: 0 }))],
            tools: Vec::new(),
            max_tokens: 100,
            thinking: ThinkingLevel::Off,
            parameters: serde_json::Map::new(),
            session_id: "s".into(),
            cache: true,
        }
    }

    async fn ask(&self) -> Result<AssistantMessage, (ProviderError, AssistantMessage)> {
        self.ask_with(CancellationToken::new()).await
    }

    /// The answer, or the error and what had come before it.
    async fn ask_with(
        &self,
        cancel: CancellationToken,
    ) -> Result<AssistantMessage, (ProviderError, AssistantMessage)> {
        let provider = self.registry.provider_for(&self.model).unwrap();
        let mut stream = provider.stream(self.request("hello"), cancel);
        let mut assembler = Assembler::new(&self.model, Timestamp::from_millis(0));
        let mut finish = None;
        while let Some(event) = stream.next().await {
            assert!(finish.is_none(), "nothing follows the end");
            match event {
                Ok(StreamEvent::Finish { reason }) => finish = Some(reason),
                Ok(event) => assembler.apply(&event),
                Err(error) => {
                    assert!(stream.next().await.is_none(), "nothing follows an error");
                    return Err((error, assembler.finish(StopReason::Error, &self.model)));
                }
            }
        }
        Ok(assembler.finish(finish.expect("a terminal signal"), &self.model))
    }

    async fn error(&self) -> ProviderError {
        self.ask().await.expect_err("an error").0
    }
}

fn timeouts(first_byte: u64, idle: u64) -> Timeouts {
    Timeouts { connect: 1, first_byte, first_byte_local: first_byte, idle }
}

#[tokio::test]
async fn p2_answers_arrive_whole_however_they_are_delivered() {
    let text = "안녕하세요 👩‍👩‍👧 — naïve façade, ok";
    for protocol in PROTOCOLS {
        let bench = Bench::start(*protocol, Rules::default()).await;
        for (split, end) in [(1, "\n"), (3, "\r\n"), (1, "\r"), (100_000, "\n")] {
            let reply = Reply::default()
                .thinking("hm, 생각")
                .text(text)
                .call("c1", "read", r#"{"path":"가.txt"}"#)
                .call("c2", "ls", "{}")
                .usage(50, 7)
                .cached(20)
                .finish("tool_calls");
            bench.server.push(reply.split(split).line_end(end));
            let answer = bench.ask().await.unwrap();
            assert_eq!(answer.text(), text, "{protocol:?} {split}");
            let calls: Vec<_> =
                answer.tool_calls().map(|call| (&*call.id, call.arguments.to_string())).collect();
            assert_eq!(calls, [("c1", r#"{"path":"가.txt"}"#.to_owned()), ("c2", "{}".to_owned())]);
            assert_eq!(answer.stop_reason, StopReason::ToolUse);
            let usage = answer.usage;
            assert_eq!((usage.input, usage.cache_read, usage.output), (30, 20, 7), "{protocol:?}");
        }
        assert_eq!(bench.server.rejections(), [""; 0]);
    }
}

#[tokio::test]
async fn f60_a_cut_answer_is_an_error_and_keeps_what_came() {
    for protocol in PROTOCOLS {
        let bench = Bench::start(*protocol, Rules::default()).await;
        // Gemini's answers may end with the body, unless that ends in the middle of an event.
        bench.server.push(Reply::default().text("half an").raw_tail("data: {\"candidates\""));
        let (error, partial) = bench.ask().await.unwrap_err();
        assert_eq!((error.kind, partial.text().as_str()), (ErrorKind::Cut, "half an"));
        bench.server.push(Reply::default());
        assert_eq!(bench.error().await.kind, ErrorKind::Transient, "nothing was said yet");
    }
}

#[tokio::test]
async fn f62_an_error_after_two_deltas_is_an_error() {
    for protocol in PROTOCOLS {
        let bench = Bench::start(*protocol, Rules::default()).await;
        bench.server.push(Reply::default().text("two words").error("Overloaded"));
        let (error, partial) = bench.ask().await.unwrap_err();
        assert_eq!((error.kind, partial.text().as_str()), (ErrorKind::Transient, "two words"));
        assert!(error.message.contains("Overloaded"), "{error}");
    }
}

#[tokio::test]
async fn i7_escape_closes_the_connection_at_once() {
    for protocol in PROTOCOLS {
        for before in [false, true] {
            let bench = Bench::start(*protocol, Rules::default()).await;
            let gate = Gate::default();
            let reply = Reply::default();
            let reply = if before { reply.hold(&gate) } else { reply.text("some").hold(&gate) };
            bench.server.push(reply.finish("stop"));
            let cancel = CancellationToken::new();
            let asked = bench.ask_with(cancel.clone());
            let escape = async {
                gate.reached().await;
                cancel.cancel();
                let pressed = Instant::now();
                gate.closed().await;
                pressed.elapsed()
            };
            let (answer, took) = tokio::join!(asked, escape);
            assert_eq!(answer.unwrap_err().0.kind, ErrorKind::Cancelled);
            assert!(took < Duration::from_millis(100), "{took:?}");
        }
    }
}

#[tokio::test]
async fn p2_dropping_the_stream_closes_the_connection() {
    let bench = Bench::start(PROTOCOLS[0], Rules::default()).await;
    let gate = Gate::default();
    bench.server.push(Reply::default().text("some").hold(&gate));
    let provider = bench.registry.provider_for(&bench.model).unwrap();
    let mut stream = provider.stream(bench.request("hello"), CancellationToken::new());
    assert!(matches!(stream.next().await, Some(Ok(StreamEvent::BlockStart { .. }))));
    drop(stream);
    gate.closed().await;
}

#[tokio::test]
async fn f60_an_answer_is_complete_although_the_socket_stays_open() {
    let bench = Bench::start(PROTOCOLS[0], Rules::default()).await;
    let done = Gate::default();
    bench.server.push(Reply::says("done").hold(&done));
    assert_eq!(bench.ask().await.unwrap().text(), "done");
    done.closed().await;
    // Without [DONE] the figures are waited for, but not for long.
    let gate = Gate::default();
    let end =
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
    bench.server.push(Reply::raw(end).hold(&gate));
    let begun = Instant::now();
    assert_eq!(bench.ask().await.unwrap().text(), "x");
    assert!(begun.elapsed() < Duration::from_secs(5));
    // Figures or an end that is torn off, and trouble after the fact, are no reason to ask again.
    for rest in
        ["data: {\"choices\":[],\"usa", "data: [DON", "data: {\"error\":{\"message\":\"x\"}}\n\n"]
    {
        bench.server.push(Reply::raw(&format!("{end}{rest}")));
        assert_eq!(bench.ask().await.unwrap().text(), "x", "{rest}");
    }
}

#[tokio::test]
async fn f71_any_byte_resets_the_idle_clock_and_silence_ends_the_answer() {
    let bench = Bench::with(PROTOCOLS[0], Rules::default(), timeouts(1, 1)).await;
    // Comments alone for longer than the limit: fourteen pieces, 100 ms apart.
    let body = ": still thinking\n\n".repeat(14);
    bench.server.push(
        Reply::raw(&body).split(18).drip(Duration::from_millis(100)).text("ok").finish("stop"),
    );
    assert_eq!(bench.ask().await.unwrap().text(), "ok");
    for (reply, before) in [
        (Reply::default().hold(&Gate::default()), "the first delta"),
        (Reply::default().text("a").hold(&Gate::default()), "the second"),
    ] {
        bench.server.push(reply.finish("stop"));
        let error = bench.error().await;
        assert_eq!(error.kind, ErrorKind::Timeout, "before {before}");
        assert!(error.message.contains("1 s"), "{error}");
    }
}

#[tokio::test]
async fn f39_overflow_is_told_in_everybodys_words() {
    for whose in [
        Overflow::OpenAi,
        Overflow::LlamaCpp,
        Overflow::Anthropic,
        Overflow::Gemini,
        Overflow::Bare,
    ] {
        let rules = Rules { window: Some(10), overflow: whose, ..Rules::default() };
        let bench = Bench::start(PROTOCOLS[0], rules).await;
        assert_eq!(bench.error().await.kind, ErrorKind::Overflow, "{whose:?}");
    }
}

#[tokio::test]
async fn p3_a_key_that_the_server_echoes_is_not_shown() {
    for protocol in PROTOCOLS {
        let rules = Rules { key: Some("another".into()), ..Rules::default() };
        let error = Bench::start(*protocol, rules).await.error().await;
        assert_eq!((error.kind, error.status), (ErrorKind::Auth, Some(401)));
        assert!(
            !error.message.contains("1234567890") && error.message.contains("[key]"),
            "{error}"
        );
    }
    let bench = Bench::start(PROTOCOLS[0], Rules::default()).await;
    bench.server.push(Reply::default().text("a").error("bad key sk-test-1234567890"));
    assert!(!bench.error().await.message.contains("1234567890"));
}

#[tokio::test]
async fn f70_statuses_carry_their_waiting_time() {
    let bench = Bench::start(PROTOCOLS[0], Rules::default()).await;
    let limit = r#"{"error":{"message":"Rate limit reached"}}"#;
    bench.server.push(Reply::status(429, limit).header("retry-after", "7"));
    let error = bench.error().await;
    assert_eq!(
        (error.kind, error.retry_after),
        (ErrorKind::RateLimit, Some(Duration::from_secs(7)))
    );
    bench.server.push(Reply::status(429, limit).header("retry-after", "7200"));
    assert!(bench.error().await.message.contains("2 h 0 min"));
    bench.server.push(Reply::status(503, "<html><title>Service Unavailable</title>"));
    assert_eq!(bench.error().await.kind, ErrorKind::Transient);
    bench.server.push(Reply::status(307, "").header("location", "https://elsewhere.example/v1"));
    let error = bench.error().await;
    assert!(error.message.contains("https://elsewhere.example/v1"), "{error}");
    assert_eq!(bench.server.requests().len(), 4, "nothing is repeated or followed in secret");
}

#[tokio::test]
async fn p2_answers_that_are_no_stream() {
    let bench = Bench::start(PROTOCOLS[0], Rules::default()).await;
    let page = Reply::raw("<html>log in</html>").header("content-type", "text/html; charset=utf-8");
    bench.server.push(page);
    let error = bench.error().await;
    assert!(error.kind == ErrorKind::BadRequest && error.message.contains("web page"), "{error}");
    let whole = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    bench.server.push(Reply::status(200, whole).header("content-type", "application/json"));
    assert_eq!(bench.ask().await.unwrap().text(), "hi");
    let failed = r#"{"error":{"message":"out of memory"}}"#;
    bench.server.push(Reply::status(200, failed).header("content-type", "application/json"));
    assert!(bench.error().await.message.contains("out of memory"));
}

#[tokio::test]
async fn p1_a_server_that_is_not_there_is_named() {
    let bench = Bench::start(PROTOCOLS[0], Rules::default()).await;
    let origin = bench.server.origin();
    let Bench { server, registry, model } = bench;
    drop(server);
    // The port is free once the server's task has seen that it should stop.
    while tokio::net::TcpStream::connect(origin.trim_start_matches("http://")).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let bench = Bench { server: ModelServer::start(Rules::default()).await, registry, model };
    let error = bench.error().await;
    assert_eq!(error.kind, ErrorKind::Transient);
    assert!(error.message.contains(&origin) && error.message.contains("refused"), "{error}");
}

#[tokio::test]
async fn p1_azure_has_its_own_addresses_and_key_header() {
    let server = ModelServer::start(Rules::default()).await;
    let environment = [
        ("AZURE_OPENAI_API_KEY", "azure-key-123"),
        ("AZURE_OPENAI_ENDPOINT", &server.origin()),
        ("AZURE_OPENAI_API_VERSION", "preview"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let files = RegistryFiles::default();
    let registry = ProviderRegistry::new(&Settings::default(), environment.into(), files);
    let model = registry.choose_model(Some("azure"), Some("gpt-5.1")).unwrap();
    let bench = Bench { server, registry, model };
    bench.server.push(Reply::says("hi"));
    assert_eq!(bench.ask().await.unwrap().text(), "hi");
    let request = bench.server.requests().pop().unwrap();
    assert_eq!(request.path, "/openai/v1/responses");
    assert_eq!(request.headers["api-key"], "azure-key-123");
    assert!(request.headers.get("authorization").is_none());
}

/// G2, section 7: a server of the settings is a provider; its group says whether it is Azure's.
#[tokio::test]
async fn p1_servers_of_the_settings_are_asked_with_their_own_key() {
    let server = ModelServer::start(Rules::default()).await;
    let endpoint = |name: &str, key: &str, azure| EndpointSettings {
        name: name.into(),
        base_url: Some(server.origin()),
        api_key_env: Some(key.into()),
        api: None,
        azure,
    };
    let nowhere = EndpointSettings { base_url: None, ..endpoint("nowhere", "NO_KEY", false) };
    let known = EndpointSettings { base_url: None, ..endpoint("anthropic", "WORK_KEY", false) };
    let endpoints = vec![
        endpoint("my server", "MY_KEY", false),
        endpoint("work", "WORK_KEY", true),
        nowhere,
        known,
    ];
    let settings = Settings { endpoints, ..Settings::default() };
    let environment = [("MY_KEY", "key-of-mine-123"), ("WORK_KEY", "key-of-work-123")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut registry =
        ProviderRegistry::new(&settings, environment.into(), RegistryFiles::default());
    assert_eq!(
        registry.warnings(),
        ["the endpoint `nowhere` has no `baseUrl` and is no known provider"]
    );
    assert_eq!(registry.key_variables("anthropic"), ["WORK_KEY"]);
    let mut server = server;
    for (provider, path, header, value) in [
        ("My Server", "/chat/completions", "authorization", "Bearer key-of-mine-123"),
        ("work", "/openai/v1/responses", "api-key", "key-of-work-123"),
    ] {
        let model = registry.choose_model(Some(provider), Some("gpt-5.1")).unwrap();
        let bench = Bench { server, registry, model };
        bench.server.push(Reply::says("hi"));
        assert_eq!(bench.ask().await.unwrap().text(), "hi");
        let request = bench.server.requests().pop().unwrap();
        assert_eq!(request.path, path);
        assert_eq!(request.headers[header], value);
        Bench { server, registry, .. } = bench;
    }
}

#[tokio::test]
async fn p1_local_servers_are_found_and_asked_for_their_window() {
    use regrow::provider::http::Http;
    use regrow::provider::local::{self, LocalServer};
    let server = ModelServer::start(Rules::default()).await;
    server
        .serve("/v1/models", serde_json::json!({"data": [{"id": "qwen", "owned_by": "llamacpp"}]}));
    server.serve("/props", serde_json::json!({"default_generation_settings": {"n_ctx": 4_096}}));
    let places = [
        LocalServer { provider: "vllm".into(), origin: "http://127.0.0.1:1".into() },
        LocalServer { provider: "vllm".into(), origin: server.origin() },
    ];
    let models = local::find(&Http::new(Timeouts::default()), &places).await;
    let mut expected = guessed_model("llama.cpp", "qwen", None, 4_096);
    expected.base_url = server.v1();
    expected.window_is_guess = false;
    assert_eq!(models, [expected]);
}
