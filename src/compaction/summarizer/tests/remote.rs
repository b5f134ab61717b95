//! The summary server of the person's own.

use super::*;

/// A summary server that answers with a status and a body.
async fn server(status: u16, body: &'static str) -> (String, Arc<Mutex<Vec<Value>>>) {
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = asked.clone();
    let answer = move |axum::Json(request): axum::Json<Value>| async move {
        seen.lock().unwrap().push(request);
        if body == "stall" {
            std::future::pending::<()>().await;
        }
        (axum::http::StatusCode::from_u16(status).unwrap(), body)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = axum::Router::new().route("/sum", axum::routing::post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (format!("http://user:secret@{address}/sum?key=secret"), asked)
}

fn remote_stage(endpoint: String) -> Stage {
    let mut settings = Settings::default();
    settings.compaction.remote_endpoint = Some(endpoint);
    settings.timeouts.first_byte_local = 1;
    Stage::with(settings, vec![model("p/m", 200_000)], by_template)
}

#[tokio::test]
async fn c21_the_remote_endpoint_makes_all_three_summaries() {
    let (endpoint, asked) = server(200, r#"{"summary": "REMOTE", "more": 1}"#).await;
    let stage = remote_stage(endpoint);
    let input = CompactionInput { turn_prefix: talk(&["p"]), ..history(&["h"]) };
    let summary = stage.compact(input).await.unwrap();
    assert!(summary.text.starts_with("REMOTE\n\n---\n\n"));
    assert_eq!(summary.short.as_deref(), Some("REMOTE"));
    assert!(stage.asked.lock().unwrap().is_empty(), "no model is asked");
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 3);
    for body in asked.iter() {
        let keys: Vec<_> = body.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["systemPrompt", "prompt"]);
        assert_eq!(body["systemPrompt"], prompts::summarization_system());
    }
}

#[tokio::test]
async fn c21_whatever_else_comes_is_an_error_that_names_the_endpoint() {
    for (status, body, wanted) in [
        (500, "boom", "answered 500 Internal Server Error: boom"),
        (200, "not json", "did not answer with JSON"),
        (200, "null", "did not answer with JSON"),
        (200, r#"{"text": "x"}"#, "`summary`"),
        (200, r#"{"summary": " "}"#, "empty summary"),
        (200, "stall", "did not answer within 1 s"),
    ] {
        let (endpoint, _) = server(status, body).await;
        let error = remote_stage(endpoint).compact(history(&["h"])).await.unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("127.0.0.1:"), "{body}: {error}");
        assert!(!error.contains("secret"), "P3: {error}");
    }
    let stage = remote_stage("http://127.0.0.1:9/sum".into());
    let error = stage.compact(history(&["h"])).await.unwrap_err().to_string();
    assert!(error.contains("http://127.0.0.1:9/sum cannot be reached"), "{error}");
}
