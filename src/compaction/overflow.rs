//! Tells whether a model's window overflowed (SPEC C2, C6; F37–F39): by the words and the status of
//! an error, or by signs in an answer that claims success. Pure; the one place that knows the words.

use crate::message::{AssistantMessage, Block, StopReason};

/// What servers say when the input does not fit, in lower case. `#` stands for a number, `*` for
/// anything. Grouped by who says it; many share a wording.
const OVERFLOW: &[(&str, &[&str])] = &[
    (
        "Anthropic",
        &[
            "prompt is too long",
            "request_too_large",
            "request exceeds the maximum size",
            "input length and `max_tokens` exceed context limit",
            "input length and max_tokens exceed context limit",
        ],
    ),
    (
        "OpenAI, Azure, DeepSeek, OpenRouter, Together, vLLM",
        &[
            "maximum context length is #",
            "context_length_exceeded",
            "context length exceeded",
            "exceeds the context window",
            "input tokens exceed the configured limit",
            "exceeds the model's context window",
        ],
    ),
    ("Gemini", &["input token count*exceeds the maximum"]),
    (
        "Bedrock",
        &[
            "input is too long for requested model",
            "too many input tokens for requested model",
            "number of input tokens exceeds",
        ],
    ),
    ("xAI", &["maximum prompt length is #"]),
    ("Groq, Cerebras", &["reduce the length of the messages"]),
    (
        "Copilot",
        &["prompt token count of #*exceeds the limit of #", "model_max_prompt_tokens_exceeded"],
    ),
    ("Mistral", &["too large for model with # maximum context length"]),
    ("Kimi", &["exceeded model token limit"]),
    ("MiniMax", &["context window exceeds limit"]),
    ("z.ai", &["model_context_window_exceeded", "prompt exceeds max length"]),
    ("Qwen", &["range of input length should be"]),
    ("Cohere", &["too many tokens: total number of tokens"]),
    (
        "llama.cpp",
        &[
            "exceeds the available context size",
            "exceed_context_size_error",
            "exceeds context size",
            "exceed context window of #",
            "context size too small",
            "tokens exceed n_ctx",
            "input is too large to process",
            "prompt is too big compared to kv size",
        ],
    ),
    (
        "LM Studio",
        &[
            "greater than the context length",
            "loaded with context length of only #",
            "reached context length of #",
        ],
    ),
    (
        "Ollama",
        &[
            "prompt too long; exceeded*context length",
            "input length exceeds*context length",
            "input exceeds maximum context length",
        ],
    ),
    (
        "vLLM, SGLang, TGI",
        &[
            "longer than the maximum model length of #",
            "longer than the model's context length",
            "exceeds the model's maximum context length",
            "`inputs` tokens + `max_new_tokens` must be <=",
            "`inputs` must have less than # tokens",
        ],
    ),
    (
        "others",
        &[
            "token limit exceeded",
            "too many tokens",
            "context window is exceeded",
            "context limit exceeded",
            "exceeds the maximum context length",
            "exceeds the model's context limit",
            "payload too large",
            "request entity too large",
        ],
    ),
];

/// What rules an overflow out, whatever else a text says: limits of rate, of quota, of a service, of
/// the answer's length or of an image. Compacting helps with none of them.
const NOT_OVERFLOW: &[&str] = &[
    "rate limit",
    "rate_limit",
    "rate-limit",
    "ratelimit",
    "too many requests",
    "throttl",
    "quota",
    "service unavailable",
    "overloaded",
    "tokens per min",
    "tokens per day",
    "tokens per hour",
    "tokens per second",
    "(tpm)",
    "(tpd)",
    "token-per-",
    "resource_exhausted",
    "resource has been exhausted",
    "please wait",
    "retry after",
    "insufficient",
    "billing",
    "maximum allowed number of output tokens",
    "max_tokens is too large*completion tokens",
    "max_output_tokens",
    "maxoutputtokens",
    "image exceeds",
    "image dimensions",
    "could not process image",
    "invalid image",
    "tools*string too long",
];

/// Statuses that say something else, whatever the text: keys, payment, rights, rate, overload.
const OTHER_STATUS: &[u16] = &[401, 402, 403, 404, 408, 409, 429, 503, 529];

/// A context is near its window from this many percent of it on.
const NEAR_PERCENT: u64 = 95;
/// An answer without any content is taken for an overflow from this many percent on: a bare
/// estimate can be somewhat low.
const EMPTY_ANSWER_PERCENT: u64 = 90;
/// An answer that was cut off before its first token, although the prompt nearly filled the window.
const FULL_PERCENT: u64 = 99;
/// Protocols whose services refuse what does not fit and never leave a part out.
const STRICT_PROTOCOLS: &[&str] =
    &["anthropic-messages", "openai-responses", "google-generative-ai", "offline"];
/// Below this an estimate is too coarse to accuse a server of truncating.
const LARGE_ESTIMATE: u64 = 4_000;

/// Whether an error says that the context overflowed (C6).
#[must_use]
pub fn is_overflow(status: Option<u16>, text: &str) -> bool {
    if status.is_some_and(|status| OTHER_STATUS.contains(&status)) {
        return false;
    }
    let text = flatten(text);
    if NOT_OVERFLOW.iter().any(|pattern| contains(&text, pattern)) {
        return false;
    }
    status == Some(413)
        || is_bare_status(&text)
        || (matches!(status, Some(400)) && is_without_body(&text))
        || OVERFLOW.iter().flat_map(|(_, texts)| *texts).any(|pattern| contains(&text, pattern))
}

/// Whether a text names another cause than an overflow, so that it is not taken for one even near
/// the window.
#[must_use]
pub fn names_another_cause(text: &str) -> bool {
    let text = flatten(text);
    NOT_OVERFLOW.iter().any(|pattern| contains(&text, pattern))
}

/// Whether a rejection that no table knows is taken for an overflow, once: a client error with the
/// estimate above 95 % of the window (C2).
#[must_use]
pub fn unknown_client_error_is_overflow(status: Option<u16>, estimate: u64, window: u64) -> bool {
    let is_rejection = status
        .is_some_and(|status| (400..500).contains(&status) && !OTHER_STATUS.contains(&status));
    is_rejection && is_at_least(estimate, NEAR_PERCENT, window)
}

/// Where errors name the window, in the wordings of [`OVERFLOW`]; `#` is the window.
const NAMED_WINDOW: &[&str] = &[
    "> # maximum",
    "+ * > #",
    "maximum context length is #",
    "maximum context length of #",
    "with # maximum context length",
    "configured limit of #",
    "tokens allowed (#)",
    "maximum prompt length is #",
    "exceeds the limit of #",
    "model token limit: #",
    "context size (# tokens)",
    "exceed context window of #",
    "n_ctx: #",
    "\"n_ctx\":#",
    "context length of only #",
    "reached context length of #",
    "maximum model length of #",
    "context length (# tokens)",
    "must be <= #",
    "must have less than # tokens",
    "while limit is #",
];

/// No window is smaller; a smaller number in an error means something else.
const SMALLEST_WINDOW: u64 = 512;

/// The window to plan with after an overflow: the one that the error names, if it is smaller than
/// the one that we believed in; else a little less than what did not fit. So room can be made even
/// where a server's window is a fraction of the configured one (F37).
#[must_use]
pub fn window_after_overflow(text: &str, estimate: u64, window: u64) -> u64 {
    let flat = flatten(text);
    let named = NAMED_WINDOW
        .iter()
        .find_map(|pattern| find_number(&flat, pattern))
        .filter(|named| *named >= SMALLEST_WINDOW);
    let fitting = named.unwrap_or(estimate - estimate / 10).max(SMALLEST_WINDOW);
    if window == 0 { fitting } else { window.min(fitting) }
}

/// The number that stands where a pattern has its last `#`.
fn find_number(text: &str, pattern: &str) -> Option<u64> {
    let (before, after) = pattern.rsplit_once('#')?;
    let (start, before) = match before.rsplit_once('*') {
        Some((first, rest)) => (find_part(text, first)?, rest),
        None => (0, before),
    };
    text[start..].match_indices(before).find_map(|(at, _)| {
        let rest = &text[start + at + before.len()..];
        let length = digits(rest);
        let number = rest[..length].replace(',', "").parse().ok()?;
        rest[length..].starts_with(after).then_some(number)
    })
}

/// How much of the beginning of a text is a number.
fn digits(text: &str) -> usize {
    text.find(|character: char| !(character.is_ascii_digit() || character == ','))
        .unwrap_or(text.len())
}

/// Cerebras answers `400` or `413` without a body; its client says so in words.
fn is_bare_status(text: &str) -> bool {
    ["400", "413"].iter().any(|status| {
        text.strip_prefix(status).is_some_and(|rest| {
            let rest = rest.trim_start();
            let rest = rest.strip_prefix("status code").unwrap_or(rest).trim_start();
            rest.starts_with("(no body)")
        })
    })
}

fn is_without_body(text: &str) -> bool {
    text.trim().is_empty() || text.trim() == "(no body)"
}

/// Lower case, and JSON strings in JSON strings unwrapped: proxies quote the body of the server
/// behind them, sometimes several layers deep (F39).
fn flatten(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\\' {
            match characters.peek() {
                Some('n' | 'r' | 't') => {
                    characters.next();
                    flat.push(' ');
                }
                Some('u') => flat.extend(unescape(&mut characters)),
                // A backslash before a quote or another backslash only quotes it.
                _ => {}
            }
        } else if character.is_whitespace() {
            flat.push(' ');
        } else {
            flat.extend(character.to_lowercase());
        }
    }
    flat
}

/// The character of `\u0027`, which stands at its `u`.
fn unescape(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    characters.next();
    let mut code = 0;
    for _ in 0..4 {
        code = code * 16 + characters.next_if(char::is_ascii_hexdigit)?.to_digit(16)?;
    }
    char::from_u32(code)
}

/// Whether `text` contains `pattern`; both are lower case.
fn contains(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    pattern.split('*').all(|part| match find_part(rest, part) {
        Some(end) => {
            rest = &rest[end..];
            true
        }
        None => false,
    })
}

/// Where the first occurrence of a part ends.
fn find_part(text: &str, part: &str) -> Option<usize> {
    let head = part.split('#').next().unwrap_or(part);
    text.match_indices(head).find_map(|(start, _)| Some(start + match_part(&text[start..], part)?))
}

/// How much of the beginning of `text` a part matches: literal pieces with numbers between them.
fn match_part(text: &str, part: &str) -> Option<usize> {
    let mut end = 0;
    for (position, piece) in part.split('#').enumerate() {
        if position > 0 {
            match digits(&text[end..]) {
                0 => return None,
                length => end += length,
            }
        }
        end += text[end..].strip_prefix(piece).map(|_| piece.len())?;
    }
    Some(end)
}

/// Signs of an overflow in an answer without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilentSign {
    /// The server counted more than the window and answered as if nothing were.
    OverWindow,
    /// The window was full before the first token.
    NoRoomForOutput,
    /// Nothing came, and the context nearly fills the window.
    EmptyAnswer,
    /// The server counted far less than was sent: it has left out a part of the prompt. The answer
    /// stands, the person is warned, and nothing is calibrated on its figures (F37).
    TruncatedPrompt {
        /// The window that the server seems to have, in tokens.
        seems: u64,
    },
}

impl std::fmt::Display for SilentSign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OverWindow => f.write_str("the server counted more tokens than the window holds"),
            Self::NoRoomForOutput => f.write_str("the window was full before the first token"),
            Self::EmptyAnswer => f.write_str("nothing came back, and the window is nearly full"),
            Self::TruncatedPrompt { seems } => write!(
                f,
                "the server left out a part of the prompt; its window seems to be about {seems} tokens \
                 (set `contextWindow` of the model, or start the server with a larger one)"
            ),
        }
    }
}

impl SilentSign {
    /// Whether the answer is worth nothing and room must be made; else it is only to be reported.
    #[must_use]
    pub const fn is_overflow(self) -> bool {
        !matches!(self, Self::TruncatedPrompt { .. })
    }
}

/// Looks for signs of an overflow in an answer that claims success (C6). `estimate` is that of the
/// request, system prompt and tools included; thinking that the provider does not get back must not
/// be in it, or it looks as if the server had left something out.
#[must_use]
pub fn silent_overflow(
    answer: &AssistantMessage,
    window: u64,
    estimate: u64,
) -> Option<SilentSign> {
    if !answer.succeeded() {
        return None;
    }
    let prompt = answer.usage.prompt_tokens();
    if window > 0 {
        if answer.stop_reason == StopReason::Stop && prompt > window {
            return Some(SilentSign::OverWindow);
        }
        if answer.stop_reason == StopReason::Length
            && answer.usage.output == 0
            && is_at_least(prompt, FULL_PERCENT, window)
        {
            return Some(SilentSign::NoRoomForOutput);
        }
        if is_empty(answer) && is_at_least(estimate.max(prompt), EMPTY_ANSWER_PERCENT, window) {
            return Some(SilentSign::EmptyAnswer);
        }
    }
    let may_truncate = !STRICT_PROTOCOLS.contains(&answer.api.as_str());
    (may_truncate && is_truncated(prompt, estimate))
        .then(|| SilentSign::TruncatedPrompt { seems: seeming_window(prompt) })
}

/// Whether a server counted so much less than was sent that it must have left something out.
#[must_use]
pub const fn is_truncated(counted: u64, estimate: u64) -> bool {
    counted > 0 && estimate >= LARGE_ESTIMATE && counted.saturating_mul(2) < estimate
}

/// Windows are set in steps of 1 024; servers fill them to the brim, give or take a template.
const fn seeming_window(prompt: u64) -> u64 {
    let below = prompt / 1024 * 1024;
    if below > 0 && (prompt - below) * 50 <= below { below } else { below + 1024 }
}

fn is_empty(answer: &AssistantMessage) -> bool {
    !answer.content.iter().any(|block| match block {
        Block::Text { text, .. } => !text.trim().is_empty(),
        Block::Thinking { .. } => false,
        Block::ToolCall(_) | Block::Image(_) | Block::Other(_) => true,
    })
}

const fn is_at_least(tokens: u64, percent: u64, window: u64) -> bool {
    window > 0 && tokens.saturating_mul(100) >= window.saturating_mul(percent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;

    #[track_caller]
    fn check(status: Option<u16>, text: &str, expect: bool) {
        assert_eq!(is_overflow(status, text), expect, "{status:?} {text}");
    }

    #[test]
    fn c6_every_provider_is_recognised() {
        let texts = [
            ("Anthropic", "prompt is too long: 213462 tokens > 200000 maximum"),
            (
                "Anthropic",
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
            ),
            (
                "Anthropic",
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            (
                "OpenAI",
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
            ),
            (
                "OpenAI",
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
            ),
            (
                "OpenAI",
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
            ),
            (
                "Azure",
                r#"{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens."}}"#,
            ),
            (
                "Gemini",
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
            ),
            ("Bedrock", "ValidationException: Input is too long for requested model."),
            (
                "xAI",
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            ),
            ("Groq", "Please reduce the length of the messages or completion."),
            (
                "OpenRouter",
                "This endpoint's maximum context length is 131,072 tokens. However, you requested about 150000 tokens.",
            ),
            (
                "Mistral",
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            ),
            ("Cerebras", "400 status code (no body)"),
            ("Cerebras", "413 (no body)"),
            (
                "llama.cpp",
                "request (5021 tokens) exceeds the available context size (4096 tokens), try increasing it",
            ),
            ("llama.cpp", "Requested tokens exceed n_ctx"),
            (
                "LM Studio",
                "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000>= n_ctx: 4096).",
            ),
            (
                "LM Studio",
                "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
            ),
            ("Ollama", "prompt too long; exceeded max context length by 1200 tokens"),
            ("Ollama", "the input length exceeds the context length"),
            (
                "vLLM",
                "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller.",
            ),
            (
                "vLLM",
                "'max_tokens' or 'max_completion_tokens' is too large: 30000. This model's maximum context length is 32768 tokens and your request has 10000 input tokens",
            ),
            (
                "SGLang",
                "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            ),
            (
                "TGI",
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
            ),
            (
                "Kimi",
                "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
            ),
            ("MiniMax", "invalid params, context window exceeds limit (2013)"),
            ("Copilot", "prompt token count of 140000 exceeds the limit of 128000"),
            ("z.ai", "finish_reason: model_context_window_exceeded"),
            ("z.ai", r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#),
            (
                "Qwen",
                "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
            ),
            (
                "Cohere",
                "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.",
            ),
        ];
        for (_, text) in texts {
            check(None, text, true);
            check(Some(400), text, true);
        }
        for status in [400, 413] {
            check(Some(status), "", true);
            check(Some(status), "(no body)", true);
        }
    }

    #[test]
    fn c6_limits_of_other_things_are_no_overflow() {
        let texts = [
            "429 rate_limit_error: This request would exceed your organization's rate limit of 40,000 input tokens per minute",
            "ThrottlingException: Too many tokens, please wait before trying again.",
            "too many requests: token limit exceeded",
            "Service unavailable: too many tokens",
            "Request too large for model `llama-3.1-8b` on tokens per minute (TPM): Limit 6000, Requested 8000, please reduce the length of the messages",
            "You exceeded your current quota. Quota exceeded for metric: input_token_count, limit: 250000",
            "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for this model",
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
            "Unable to submit request because it has a maxOutputTokens value of 339835 but the supported range is from 1 to 65537",
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
            "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
            "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024",
            "exceeds the limit of requests",
            "500 Internal server error",
            "Context-length-exceeded",
            "the maximum context length is not known",
            "429 status code (no body)",
            "Error: 400 status code (no body)",
            "",
        ];
        for text in texts {
            check(None, text, false);
            check(Some(429), text, false);
        }
        check(Some(413), "image exceeds 5 MB maximum", false);
        check(Some(429), "prompt is too long: 213462 tokens > 200000 maximum", false);
        assert!(names_another_cause(texts[0]) && !names_another_cause("invalid argument"));
    }

    #[test]
    fn f39_bodies_quoted_in_bodies_are_read() {
        let inner = r#"{"error":{"message":"input length and `max_tokens` exceed\ncontext limit: 1 + 2 > 2"}}"#;
        let mut text = inner.to_owned();
        for _ in 0..3 {
            check(Some(400), &text, true);
            text = serde_json::json!({ "error": { "message": text } }).to_string();
        }
        check(Some(400), r#"{"message":"model\u0027s maximum context length is 4096"}"#, true);
    }

    #[test]
    fn f37_the_window_that_an_error_names_is_planned_with() {
        let texts = [
            ("prompt is too long: 213462 tokens > 200000 maximum", 200_000),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 100000, decrease",
                100_000,
            ),
            (
                "This model's maximum context length is 8,192 tokens. However, you requested 9000 tokens",
                8_192,
            ),
            (
                "The input token count (1196265) exceeds the maximum number of tokens allowed (104857).",
                104_857,
            ),
            (
                "request (5021 tokens) exceeds the available context size (4096 tokens), try increasing it",
                4_096,
            ),
            ("greater than the context length (n_keep: 9000>= n_ctx: 4096)", 4_096),
            (
                r#"{"error":{"message":"{\"type\":\"exceed_context_size_error\",\"n_ctx\":2048}"}}"#,
                2_048,
            ),
            ("too large for model with 32768 maximum context length", 32_768),
            ("prompt token count of 140000 exceeds the limit of 128000", 128_000),
            ("Your request exceeded model token limit: 131072 (requested: 300000)", 131_072),
            ("loaded with context length of only 4096 tokens, which is not enough", 4_096),
            // None is named, or it makes no sense: a little less than what did not fit.
            ("prompt too long; exceeded max context length by 1200 tokens", 9_000),
            ("maximum context length is 3", 9_000),
            ("", 9_000),
        ];
        for (text, window) in texts {
            assert_eq!(window_after_overflow(text, 10_000, 250_000), window, "{text}");
        }
        assert_eq!(
            window_after_overflow("maximum context length is 900000", 10_000, 250_000),
            250_000
        );
        assert_eq!(window_after_overflow("", 100, 0), SMALLEST_WINDOW);
    }

    #[test]
    fn c2_an_unknown_rejection_near_the_window_is_taken_for_an_overflow() {
        let check = unknown_client_error_is_overflow;
        assert!(check(Some(400), 9_500, 10_000) && check(Some(422), 11_300, 10_000));
        assert!(!check(Some(400), 9_499, 10_000) && !check(Some(400), 9_999, 0));
        assert!(!check(Some(500), 9_999, 10_000) && !check(None, 9_999, 10_000));
        assert!(!check(Some(401), 9_999, 10_000) && !check(Some(429), 9_999, 10_000));
    }

    fn answer(stop_reason: StopReason, input: u64, output: u64, text: &str) -> AssistantMessage {
        AssistantMessage {
            content: vec![Block::text(text)],
            usage: Usage { input, output, ..Usage::default() },
            stop_reason,
            ..AssistantMessage::default()
        }
    }

    #[test]
    fn c6_silent_signs() {
        use StopReason::{Error, Length, Stop, ToolUse};
        let sign = |answer: &AssistantMessage, estimate| silent_overflow(answer, 10_000, estimate);
        assert_eq!(sign(&answer(Stop, 10_001, 5, "x"), 9_000), Some(SilentSign::OverWindow));
        assert_eq!(sign(&answer(Stop, 10_000, 5, "x"), 9_000), None);
        assert_eq!(sign(&answer(Error, 10_001, 5, "x"), 9_000), None);
        assert_eq!(sign(&answer(Length, 9_900, 0, ""), 9_000), Some(SilentSign::NoRoomForOutput));
        assert_eq!(sign(&answer(Length, 8_899, 0, ""), 8_000), None);
        // F38: nothing at all came, with or without a count.
        assert_eq!(sign(&answer(Stop, 0, 0, " "), 9_000), Some(SilentSign::EmptyAnswer));
        assert_eq!(sign(&answer(ToolUse, 9_100, 0, ""), 5_000), Some(SilentSign::EmptyAnswer));
        assert_eq!(sign(&answer(Stop, 0, 0, ""), 5_000), None);
    }

    #[test]
    fn f37_a_truncated_prompt_shows_the_real_window() {
        let sign = |input, estimate| {
            silent_overflow(&answer(StopReason::Stop, input, 9, "x"), 131_072, estimate)
        };
        let seems = |seems| Some(SilentSign::TruncatedPrompt { seems });
        assert_eq!(sign(2_051, 22_000), seems(2_048));
        assert_eq!(sign(4_090, 22_000), seems(4_096));
        assert_eq!(sign(700, 22_000), seems(1_024));
        assert_eq!(sign(11_000, 22_000), None);
        assert_eq!(sign(900, 3_000), None);
        let strict = AssistantMessage {
            api: "anthropic-messages".into(),
            ..answer(StopReason::Stop, 2_051, 9, "x")
        };
        assert_eq!(silent_overflow(&strict, 131_072, 22_000), None);
        assert_eq!(sign(0, 22_000), None);
        assert!(!SilentSign::TruncatedPrompt { seems: 1 }.is_overflow());
        assert!(SilentSign::EmptyAnswer.is_overflow());
    }
}
