//! What a server's error means (A1, C6, F39, F62, F70): status and body, or an error inside a
//! stream, to a [`ProviderError`] that says it in one sentence. Pure; the overflow texts are in
//! [`crate::compaction::overflow`], everything else that is told apart is told apart here.

use std::time::Duration;

use serde_json::Value;

use super::{ErrorKind, ProviderError};
use crate::compaction::overflow::is_overflow;

/// Waits above this are told in the message, since nobody will sit them out (F70).
const LONGEST_SILENT_WAIT: Duration = Duration::from_secs(60);

/// Most characters of a server's text that are shown.
const LONGEST_TEXT: usize = 600;

/// How deep errors nest: proxies put the upstream's JSON into a string of their own.
const DEEPEST: usize = 9;

/// What a server said when it failed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failure<'a> {
    /// The provider's name, for the message.
    pub provider: &'a str,
    /// The HTTP status; `None` for an error inside a stream that names none.
    pub status: Option<u16>,
    /// The `Retry-After` header, as a duration.
    pub retry_after: Option<Duration>,
    /// The body, or the JSON of the error inside the stream.
    pub body: &'a str,
}

/// The parts of an error body that matter.
#[derive(Debug, Default)]
struct Told {
    text: String,
    /// Machine-readable names: `type`, `code`, `status`, lower case.
    codes: Vec<String>,
    status: Option<u16>,
    retry_after: Option<Duration>,
}

/// Tells what went wrong. Keys in the text are the caller's business ([`super::secret`]).
#[must_use]
pub fn classify(failure: Failure<'_>) -> ProviderError {
    let told = read(failure.body);
    // A proxy may wrap an upstream's error in a status of its own; an error inside a stream has
    // only the one it names.
    let status = failure.status.or(told.status);
    let retry_after = failure
        .retry_after
        .or(told.retry_after)
        .or_else(|| wait_in_text(&told.text.to_ascii_lowercase()));
    let kind = kind_of(status, &told, failure.body, retry_after);
    let retry_after = match kind {
        ErrorKind::Transient | ErrorKind::RateLimit | ErrorKind::Quota => retry_after,
        _ => None,
    };
    let message = sentence(failure, status, &shorten(&told.text), kind, retry_after);
    ProviderError { kind, message, status, retry_after }
}

/// Whether a server rejects the request for a picture in it (F68): the same request with
/// placeholders in place of its pictures may then succeed.
#[must_use]
pub fn blames_an_image(error: &ProviderError) -> bool {
    error.kind == ErrorKind::BadRequest && error.message.to_ascii_lowercase().contains("image")
}

fn sentence(
    failure: Failure<'_>,
    status: Option<u16>,
    text: &str,
    kind: ErrorKind,
    retry_after: Option<Duration>,
) -> String {
    let who = if failure.provider.is_empty() { "the server" } else { failure.provider };
    let mut sentence = match (status, text) {
        (Some(status), "") => format!("{who} answered {status} without a reason"),
        (Some(status), text) => format!("{who} answered {status}: {text}"),
        (None, "") => format!("{who} reported an error without a reason"),
        (None, text) => format!("{who} reported: {text}"),
    };
    if kind == ErrorKind::Auth {
        sentence.push_str(&format!(
            " (check the key of {who}: `regrow login`, or its environment variable)"
        ));
    }
    if let Some(wait) = retry_after.filter(|wait| *wait > LONGEST_SILENT_WAIT) {
        sentence.push_str(&format!(" (try again in {})", describe_wait(wait)));
    }
    sentence
}

/// Such as `2 h 5 min`.
fn describe_wait(wait: Duration) -> String {
    let minutes = wait.as_secs().div_ceil(60);
    let (days, hours, rest) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    match (days, hours) {
        (0, 0) => format!("{rest} min"),
        (0, _) => format!("{hours} h {rest} min"),
        _ => format!("{days} d {hours} h"),
    }
}

fn kind_of(
    status: Option<u16>,
    told: &Told,
    body: &str,
    retry_after: Option<Duration>,
) -> ErrorKind {
    let text = told.text.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let coded = |codes: &[&str]| told.codes.iter().any(|code| codes.contains(&code.as_str()));

    if is_overflow(status, &words(told, body)) {
        return ErrorKind::Overflow;
    }
    if coded(REFUSED_CODES) {
        return ErrorKind::Refused;
    }
    // A limit per minute heals by waiting, also where the text speaks of a quota (Gemini).
    let heals =
        retry_after.is_some() || says(&["per minute", "per day", "rate limit", "rate_limit"]);
    if coded(QUOTA_CODES) || status == Some(402) || (says(QUOTA_WORDS) && !heals) {
        return ErrorKind::Quota;
    }
    if status == Some(429) || coded(RATE_LIMIT_CODES) {
        return ErrorKind::RateLimit;
    }
    match status {
        Some(401 | 403 | 407) => ErrorKind::Auth,
        Some(408 | 409 | 425) | Some(500..=599) => ErrorKind::Transient,
        _ if coded(AUTH_CODES) => ErrorKind::Auth,
        _ if coded(TRANSIENT_CODES) || says(TRANSIENT_WORDS) => ErrorKind::Transient,
        Some(_) => ErrorKind::BadRequest,
        None if coded(BAD_REQUEST_CODES) => ErrorKind::BadRequest,
        None if says(&["rate limit", "too many requests"]) => ErrorKind::RateLimit,
        // An error in mid-stream that nobody knows is the server's trouble: the request itself
        // was accepted.
        None => ErrorKind::Transient,
    }
}

const REFUSED_CODES: &[&str] =
    &["content_filter", "content_policy_violation", "responsibleaipolicyviolation", "cyber_policy"];
const QUOTA_CODES: &[&str] = &[
    "insufficient_quota",
    "insufficient_balance",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "usage_limit_reached",
];
const QUOTA_WORDS: &[&str] = &[
    "credit balance is too low",
    "exceeded your current quota",
    "insufficient balance",
    "insufficient credits",
    "more credits",
    "billing hard limit",
    "spending limit",
    "usage limit",
    "payment required",
];
const RATE_LIMIT_CODES: &[&str] = &[
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate_limit_reached",
    "too_many_requests",
    "resource_exhausted",
    "throttlingexception",
    "throttling_exception",
    "tokens_limit_reached",
];
const AUTH_CODES: &[&str] = &[
    "authentication_error",
    "invalid_api_key",
    "permission_error",
    "permission_denied",
    "unauthenticated",
    "unauthorized",
    "invalid_authentication_error",
];
const TRANSIENT_CODES: &[&str] = &[
    "overloaded_error",
    "overloaded",
    "api_error",
    "server_error",
    "internal_error",
    "internal_server_error",
    "internal",
    "unavailable",
    "service_unavailable",
    "timeout_error",
    "deadline_exceeded",
];
const TRANSIENT_WORDS: &[&str] =
    &["overloaded", "temporarily unavailable", "upstream connect error", "connection reset"];
const BAD_REQUEST_CODES: &[&str] = &[
    "invalid_request_error",
    "invalid_request",
    "invalid_argument",
    "not_found_error",
    "not_found",
    "model_not_found",
    "invalid_prompt",
    "invalid_image",
];

/// What an error says of itself. Not the whole body where its shape is known: some servers echo the
/// request, and a conversation may speak of anything.
fn words(told: &Told, body: &str) -> String {
    if told.text.is_empty() && told.codes.is_empty() {
        return body.trim().to_owned();
    }
    format!("{} {}", told.text, told.codes.join(" "))
}

/// Reads an error body of any of the known shapes.
fn read(body: &str) -> Told {
    let mut told = Told::default();
    match serde_json::from_str::<Value>(body) {
        Ok(value) => read_value(&value, &mut told, DEEPEST),
        Err(_) => told.text = plain(body),
    }
    told
}

/// Takes what `value` tells; the innermost text wins, codes add up.
fn read_value(value: &Value, told: &mut Told, depth: usize) {
    if depth == 0 {
        return;
    }
    match value {
        Value::String(text) => match nested(text) {
            Some(inner) => read_value(&inner, told, depth - 1),
            None => told.text.clone_from(text),
        },
        // Gemini wraps its errors in a list, FastAPI lists what is wrong with each field.
        Value::Array(list) => {
            if let Some(first) = list.first() {
                read_value(first, told, depth - 1);
            }
        }
        Value::Object(object) => {
            for name in ["type", "code", "status", "reason"] {
                match object.get(name) {
                    Some(Value::String(code)) => told.codes.push(code.to_ascii_lowercase()),
                    Some(Value::Number(number)) => {
                        told.status = number
                            .as_u64()
                            .and_then(|code| u16::try_from(code).ok())
                            .filter(|code| (400..600).contains(code))
                            .or(told.status);
                    }
                    _ => {}
                }
            }
            for name in ["message", "msg", "detail", "error_description", "errors", "error"] {
                if let Some(inner) = object.get(name).filter(|inner| !inner.is_null()) {
                    read_value(inner, told, depth - 1);
                }
            }
            // OpenRouter: what the upstream said.
            if let Some(raw) = object.get("metadata").and_then(|metadata| metadata.get("raw")) {
                read_value(raw, told, depth - 1);
            }
            read_details(object.get("details"), told);
        }
        _ => {}
    }
}

/// Google's details: `RetryInfo {retryDelay: "34s"}`.
fn read_details(details: Option<&Value>, told: &mut Told) {
    for detail in details.and_then(Value::as_array).into_iter().flatten() {
        if let Some(delay) = detail.get("retryDelay").and_then(Value::as_str) {
            told.retry_after = parse_seconds(delay.trim_end_matches('s')).or(told.retry_after);
        }
    }
}

/// JSON inside a text, possibly after some words of a proxy's own.
fn nested(text: &str) -> Option<Value> {
    let start = text.find('{')?;
    let end = text.rfind('}')?;
    let value: Value = serde_json::from_str(text.get(start..=end)?).ok()?;
    ["error", "message", "detail"].iter().any(|name| value.get(name).is_some()).then_some(value)
}

/// A body that is no JSON: white space folded; of a web page only its title.
fn plain(body: &str) -> String {
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title>").zip(lower.find("</title>"));
    let text = match title {
        Some((start, end)) if start + 7 <= end => body.get(start + 7..end).unwrap_or_default(),
        _ if lower.trim_start().starts_with('<') => "a web page instead of an answer",
        _ => body,
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shorten(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A wait that is told in words: `try again in 6m0s`, `retry after 20 seconds`. Lower case.
fn wait_in_text(text: &str) -> Option<Duration> {
    let after = ["try again in ", "retry in ", "retry after "]
        .iter()
        .find_map(|words| text.find(words).map(|at| &text[at + words.len()..]))?;
    parse_wait(after)
}

/// `1h2m3.5s`, `350ms`, `20 seconds`, `2 minutes`.
fn parse_wait(text: &str) -> Option<Duration> {
    let mut total = None;
    let mut rest = text.trim_start();
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else { break };
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let factor = match &after[..letters] {
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3_600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        let seconds = total.map_or(0.0, |total: Duration| total.as_secs_f64()) + number * factor;
        total = Duration::try_from_secs_f64(seconds).ok();
        rest = &after[letters..];
    }
    total
}

/// A number of seconds, as `Retry-After` and `retryDelay` write it.
#[must_use]
pub fn parse_seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: impl Into<Option<u16>>, body: &str) -> ProviderError {
        classify(Failure { provider: "acme", status: status.into(), retry_after: None, body })
    }

    #[track_caller]
    fn check(status: impl Into<Option<u16>>, body: &str, kind: ErrorKind) {
        let error = failure(status, body);
        assert_eq!(error.kind, kind, "{error:?}");
    }

    #[test]
    fn a1_statuses_and_bodies_are_told_apart() {
        use ErrorKind::*;
        check(401, r#"{"error":{"message":"Incorrect API key provided"}}"#, Auth);
        check(403, "", Auth);
        check(402, "", Quota);
        check(
            404,
            r#"{"error":{"message":"model not found","code":"model_not_found"}}"#,
            BadRequest,
        );
        check(422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, BadRequest);
        check(429, r#"{"error":{"message":"Rate limit reached for requests"}}"#, RateLimit);
        check(
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan","code":"insufficient_quota"}}"#,
            Quota,
        );
        check(
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
            Quota,
        );
        check(500, "oops", Transient);
        check(
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Transient,
        );
        check(503, "<html><title>503 Service Unavailable</title></html>", Transient);
        check(400, r#"{"error":{"code":"content_policy_violation","message":"no"}}"#, Refused);
        check(400, "", Overflow);
        check(413, r#"{"error":{"message":"Request too large"}}"#, Overflow);
        check(
            400,
            r#"{"error":{"message":"too much","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            Overflow,
        );
        check(
            None,
            r#"{"error":{"message":"prompt is too long: 2 tokens > 1 maximum"}}"#,
            Overflow,
        );
    }

    #[test]
    fn c6_words_of_the_conversation_in_an_echoed_request_are_no_overflow() {
        let body =
            r#"{"detail":[{"msg":"field required","input":{"content":"prompt is too long"}}]}"#;
        check(422, body, ErrorKind::BadRequest);
    }

    #[test]
    fn f62_errors_inside_a_stream_have_the_same_classes() {
        use ErrorKind::*;
        check(
            None,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Transient,
        );
        check(None, r#"{"error":{"code":503,"message":"upstream"}}"#, Transient);
        check(None, r#"{"error":{"code":429,"message":"slow down"}}"#, RateLimit);
        check(None, r#"{"error":{"type":"invalid_request_error","message":"bad"}}"#, BadRequest);
        check(None, r#"{"error":"whatever"}"#, Transient);
        check(None, r#"{"error":{"type":"authentication_error","message":"x"}}"#, Auth);
    }

    #[test]
    fn f39_the_innermost_text_of_nested_errors_is_shown() {
        let body = r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"tools.0 is wrong\"}}"}}}"#;
        assert_eq!(failure(400, body).message, "acme answered 400: tools.0 is wrong");
        let body =
            r#"[{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}]"#;
        assert_eq!(failure(400, body).message, "acme answered 400: API key not valid");
        let body = r#"{"message":"litellm.BadRequestError: {\"error\":{\"message\":\"inner\"}}"}"#;
        assert_eq!(failure(400, body).message, "acme answered 400: inner");
        assert_eq!(failure(400, "").message, "acme answered 400 without a reason");
        assert_eq!(
            failure(502, "<html>\n<head><title>502 Bad\nGateway</title>").message,
            "acme answered 502: 502 Bad Gateway"
        );
        assert!(failure(400, &"한".repeat(10_000)).message.chars().count() < 650);
    }

    #[test]
    fn f68_a_rejected_picture_is_told_from_other_mistakes() {
        for (status, message, expected) in [
            (400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum", true),
            (400, "Could not process image", true),
            (400, "Unable to process input image. Please retry", true),
            (404, "No endpoints found that support image input", true),
            (400, "tools.0: schema is invalid", false),
            (503, "image service unavailable", false),
        ] {
            let error =
                failure(status, &serde_json::json!({"error": {"message": message}}).to_string());
            assert_eq!(blames_an_image(&error), expected, "{error:?}");
        }
    }

    #[test]
    fn f70_the_wait_is_found_in_headers_bodies_and_words() {
        let wait = |body: &str| failure(429, body).retry_after.map(|wait| wait.as_secs_f64());
        assert_eq!(wait(r#"{"error":{"message":"Please try again in 1.5s."}}"#), Some(1.5));
        assert_eq!(wait(r#"{"error":{"message":"Please try again in 6m30s."}}"#), Some(390.0));
        assert_eq!(wait(r#"{"error":{"message":"Please retry after 20 seconds"}}"#), Some(20.0));
        assert_eq!(wait(r#"{"error":{"message":"try again in 350ms"}}"#), Some(0.35));
        assert_eq!(wait(r#"{"error":{"message":"try again in a while"}}"#), None);
        let gemini = r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}"#;
        assert_eq!(wait(gemini), Some(34.07));
        assert_eq!(failure(429, gemini).kind, ErrorKind::RateLimit);
        let long = Failure { retry_after: Some(Duration::from_secs(7_500)), ..Failure::default() };
        let error = classify(Failure { status: Some(429), provider: "acme", ..long });
        assert!(error.message.ends_with("(try again in 2 h 5 min)"), "{error}");
        let never = classify(Failure { status: Some(400), retry_after: long.retry_after, ..long });
        assert_eq!(never.retry_after, None);
    }
}
