//! What is fed.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use regrow::compaction::tokens::Estimator;
use regrow::provider::StreamEvent;
use regrow::provider::anthropic::wire::MessagesDecoder;
use regrow::provider::assemble::Assembler;
use regrow::provider::catalogue::guessed_model;
use regrow::provider::decode::{Decode, Progress};
use regrow::provider::gemini::wire::GeminiDecoder;
use regrow::provider::openai_chat::wire::ChatDecoder;
use regrow::provider::openai_responses::wire::ResponsesDecoder;
use regrow::provider::sse;
use regrow::session::context::build_session_context;
use regrow::session::store::{Access, SessionStore};
use regrow::settings::layers::Layer;
use regrow::settings::node::Format;
use regrow::settings::{PermissionMode, PermissionSettings};
use regrow::tool::Effect;
use regrow::tool::permission::{Judgement, SessionGrants, judge};
use regrow::tool::replacement::{Edit, apply};
use regrow::tool::sanitize;
use regrow::tui::highlight::Highlights;
use regrow::tui::markdown::{Growing, Page, render};
use regrow::tui::text;
use regrow::tui::theme::Theme;

use super::fuzz;

#[test]
fn i13_the_session_scanner() {
    let tour = include_bytes!("../../../assets/sessions/tour.jsonl");
    let start: Vec<u8> =
        tour.split_inclusive(|byte| *byte == b'\n').take(14).flatten().copied().collect();
    let old = b"{\"type\":\"session\",\"id\":\"x\",\"timestamp\":\"2025-01-01T00:00:00Z\",\"cwd\":\"/\"}\n\
        {\"type\":\"message\",\"timestamp\":\"2025-01-01T00:00:01Z\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n\
        {\"type\":\"compaction\",\"timestamp\":\"2025-01-01T00:00:02Z\",\"summary\":\"s\",\"firstKeptEntryIndex\":1,\"tokensBefore\":9}\n";
    let circle = b"{\"type\":\"session\",\"version\":3,\"id\":\"x\",\"timestamp\":\"2025-01-01T00:00:00Z\",\"cwd\":\"/\"}\n\
        {\"type\":\"message\",\"id\":\"a\",\"parentId\":\"b\",\"timestamp\":\"x\",\"message\":{\"role\":\"user\",\"content\":[]}}\n\
        {\"type\":\"branch_summary\",\"id\":\"b\",\"parentId\":\"a\",\"fromId\":\"a\",\"summary\":\"s\"}\n\
        {\"type\":\"label\",\"id\":\"c\",\"parentId\":\"b\",\"targetId\":\"a\",\"label\":null}\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    fuzz("session scanner", &[&start, old, circle], |input| {
        std::fs::write(&file, input).unwrap();
        if let Ok(opened) = SessionStore::open(&file, Access::ReadOnly, Estimator::default()) {
            let reader = opened.store.reader();
            let outline = {
                let tree = reader.tree();
                build_session_context(&tree, tree.leaf())
            };
            let (messages, _) = reader.messages(&outline.nodes);
            let bodies: Vec<_> = messages.into_iter().map(|(_, message)| message).collect();
            let _view = regrow::session::view::convert_to_llm(&bodies);
        }
        assert_eq!(std::fs::read(&file).unwrap(), input, "reading changes nothing");
    });
}

/// Feeds a decoder whole and torn; both must come to the same.
fn decode(input: &[u8], decoder: impl Fn() -> Box<dyn Decode>) {
    let run = |size: usize| {
        let pieces: Vec<Result<Bytes, std::convert::Infallible>> =
            input.chunks(size.max(1)).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let frames = sse::frames(stream::iter(pieces)).collect::<Vec<_>>();
        let mut events: Vec<StreamEvent> = Vec::new();
        let mut decoder = decoder();
        let mut error = None;
        let mut done = false;
        for frame in futures::executor::block_on(frames) {
            let Ok(frame) = frame else {
                error = Some("not UTF-8".to_owned());
                break;
            };
            match decoder.frame(&frame, &mut events) {
                Ok(Progress::Done) => done = true,
                Ok(_) => {}
                Err(problem) => error = Some(problem.message),
            }
            if done || error.is_some() {
                break;
            }
        }
        if !done && error.is_none() {
            error = decoder.end(&mut events).err().map(|problem| problem.message);
        }
        (events, error)
    };
    let (events, error) = run(input.len());
    let finishes =
        events.iter().filter(|event| matches!(event, StreamEvent::Finish { .. })).count();
    assert_eq!(finishes, usize::from(error.is_none()), "F60: an end, or an error, never both");
    let model = guessed_model("acme", "m", None, 1_000);
    let mut assembler = Assembler::new(&model, regrow::ids::Timestamp::from_millis(0));
    events.iter().for_each(|event| assembler.apply(event));
    if !input.is_ascii() || input.len() < 200 {
        assert_eq!(run(1), (events, error), "byte by byte");
    }
}

#[test]
fn f58_f60_events_and_chat_completions() {
    let good = "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"안녕\"}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"ls\",\"arguments\":\"{\\\"p\\\"\"}}]}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
    let error = "data: {\"error\":{\"message\":\"overloaded\",\"code\":529}}\n\n: ping\n\n";
    fuzz("chat completions", &[good.as_bytes(), error.as_bytes()], |input| {
        decode(input, || Box::new(ChatDecoder::new("acme")));
    });
}

#[test]
fn f58_f60_messages() {
    let good = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5}}}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"ls\",\"input\":{}}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n\
        data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":4}}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let thinking = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"s\"}}\n\n";
    fuzz("messages", &[good.as_bytes(), thinking.as_bytes()], |input| {
        decode(input, || Box::new(MessagesDecoder::new("acme")));
    });
}

#[test]
fn f58_f60_responses() {
    let good = "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\"}}\n\n\
        data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"하나\"}\n\n\
        data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"ls\"}}\n\n\
        data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":1,\"delta\":\"{}\"}\n\n\
        data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}}\n\n";
    let failed = "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"x\"}}}\n\n";
    fuzz("responses", &[good.as_bytes(), failed.as_bytes()], |input| {
        decode(input, || Box::new(ResponsesDecoder::new("acme", 100)));
    });
}

#[test]
fn f58_f60_gemini() {
    let good = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hm\",\"thought\":true},{\"text\":\"셋\"},{\"functionCall\":{\"name\":\"ls\",\"args\":{}},\"thoughtSignature\":\"s\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":4}}\n\n";
    let blocked = "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n";
    fuzz("gemini", &[good.as_bytes(), blocked.as_bytes()], |input| {
        decode(input, || Box::new(GeminiDecoder::new("acme")));
    });
}

#[test]
fn f98_the_settings_loaders() {
    let json = br#"{ // a comment
        "model": "m", "compaction": {"enabled": true, "reserveTokens": 16384},
        "permissions": {"mode": "ask", "allow": ["bash(git status)"]}, "unknown": [1, {"a": null}], }"#;
    let yaml = b"model: m\nsummarization:\n  trigger:\n    type: token_ratio\n    value: 0.8\npermissions:\n  deny: ['bash(rm *)', \"write(/etc/**)\"]\n# end\n";
    fuzz("settings", &[json, yaml], |input| {
        let text = String::from_utf8_lossy(input);
        for format in [Format::Json, Format::Yaml] {
            if let Err(mistakes) = Layer::from_file(Path::new("settings"), &text, format) {
                assert!(!mistakes.is_empty());
                mistakes.iter().for_each(|mistake| assert!(!mistake.to_string().is_empty()));
            }
        }
    });
}

#[test]
fn f77_f97_edit_matching() {
    let text = "fn main() {\r\n    let a = 1;\r\n    let b = 2;\n}\r\n\u{feff}끝\n";
    let both = "fn main() {\n    let a = 1;\0    let a = 1;\n\0let b\0let c";
    fuzz("edit", &[text.as_bytes(), both.as_bytes()], |input| {
        let input = String::from_utf8_lossy(input);
        let mut parts = input.split('\0').map(str::to_owned);
        let whole = parts.next().unwrap_or_default();
        let parts: Vec<String> = parts.collect();
        let edits: Vec<Edit> = parts
            .chunks(2)
            .map(|pair| Edit {
                old: pair[0].clone(),
                new: pair.get(1).cloned().unwrap_or_default(),
            })
            .collect();
        if let Ok(changed) = apply(&whole, &edits)
            && let [edit] = edits.as_slice()
        {
            // Line ends become the file's own.
            let bare = |text: &str| text.replace('\r', "");
            assert!(bare(&changed).contains(&bare(&edit.new)), "what was to be there is there");
        }
    });
}

#[test]
fn f85_markdown_and_its_wrapping() {
    let source = "# Title\n\n- a *list* of `code`\n  1. nested\n\n| a | b |\n|---|---|\n| 한글 | x |\n\n```rust\nfn x() {}\n```\n\n> quote [link](http://x.y) ![i](data:x)\n\n<b>html</b> &amp; \\* text\n";
    let theme = Theme::dark();
    let highlights = Highlights::off();
    fuzz("markdown", &[source.as_bytes()], |input| {
        // As the transcript does before it renders.
        let source = text::sanitize(&String::from_utf8_lossy(input)).into_owned();
        for width in [12, 40, 80] {
            let page = Page { theme: &theme, width, highlights: &highlights };
            let lines = render(&source, page);
            for line in &lines {
                let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
                assert!(!text.chars().any(char::is_control), "F86: {text:?}");
                assert!(text::width(&text) <= width, "{width}: {text:?}");
            }
            // The same comes out however it comes in.
            let mut growing = Growing::default();
            let cut = text::head(&source, source.len() / 3).len();
            for piece in [&source[..cut], &source[cut..]] {
                growing.push(piece);
                growing.update(page);
            }
            if width == 80 {
                assert_eq!(growing.lines(), lines.as_slice(), "streamed and whole");
            }
        }
    });
}

#[test]
fn f86_cleaning_of_output() {
    let output = "\u{1b}[1;31mred\u{1b}[0m\r\nprogress 10%\rprogress 99%\n\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{7}\n\u{8}\u{8}back\tTab 한글\u{9b}2J";
    fuzz("cleaning", &[output.as_bytes()], |input| {
        let whole = {
            let mut cleaner = sanitize::Cleaner::default();
            let mut out = String::new();
            cleaner.push(input, &mut out);
            cleaner.finish(&mut out);
            out
        };
        let mut cleaner = sanitize::Cleaner::default();
        let mut torn = String::new();
        input.iter().for_each(|byte| cleaner.push(&[*byte], &mut torn));
        cleaner.finish(&mut torn);
        assert_eq!(whole, torn, "byte by byte");
        let is_bad = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
        assert!(!whole.chars().any(is_bad), "{whole:?}");
        let shown = sanitize::for_screen(&whole);
        assert!(!shown.chars().any(|character| character.is_control() && character != '\n'));
        let text = String::from_utf8_lossy(input);
        for shown in [
            sanitize::for_screen(&text),
            sanitize::with_visible_controls(&text).0,
            text::sanitize(&text),
            text::one_line(&text).into(),
        ] {
            assert!(!shown.chars().any(is_bad), "{shown:?}");
        }
    });
}

#[test]
fn f73_what_a_command_may_do() {
    let commands: &[&str] = &[
        "git status && rm -rf x",
        "cat <<EOF > out\n$(rm x)\nEOF\n",
        "bash -c 'curl x | sh' ; FOO=1 env -i ls",
        "for f in *; do rm \"$f\"; done | tee >(cat)",
        "git log --oneline | head -5 2>/dev/null",
        "find . -name '*.rs' -exec rm {} \\;",
    ];
    let corpus: Vec<&[u8]> = commands.iter().map(|command| command.as_bytes()).collect();
    let settings = PermissionSettings {
        mode: PermissionMode::Ask,
        allow: vec!["bash(git status)".into(), "bash(git log *)".into(), "bash(ls *)".into()],
        deny: vec!["bash(rm *)".into()],
    };
    let grants = SessionGrants::default();
    fuzz("permissions", &corpus, |input| {
        let command = String::from_utf8_lossy(input).into_owned();
        let effect = Effect::Command { command: command.clone() };
        let judgement = judge(&effect, "bash", Path::new("/work"), &settings, &grants);
        if matches!(judgement, Judgement::Allow) {
            // Only what the rules name runs unasked; nothing that writes or nests is among it.
            for sign in ["$(", "`", ">(", "; rm ", "&& rm ", "| rm ", "\nrm ", "(rm ", "; exec "] {
                let quoted =
                    command.contains('\'') || command.contains('\\') || command.contains('#');
                assert!(quoted || !command.contains(sign), "allowed: {command:?}");
            }
        }
    });
}

#[test]
fn i5_texts_are_counted_and_cut() {
    let texts = ["plain words and 한글 mixed 日本語", "👩‍👩‍👧 e\u{301} \u{202e}rtl"];
    let corpus: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    fuzz("texts", &corpus, |input| {
        let text = text::one_line(&String::from_utf8_lossy(input));
        let estimator = Estimator::default();
        assert!(u64::from(estimator.text(&text)) <= text.len() as u64 + 1);
        for columns in [0, 1, 5, 40] {
            assert!(text::width(text::head(&text, columns)) <= columns);
            assert!(text::width(text::tail(&text, columns)) <= columns);
        }
        if let Some(cut) = regrow::compaction::ends::ends(&text, 50) {
            assert!(text.starts_with(cut.head) && text.ends_with(cut.tail));
        }
        regrow::slash::parse(&text).ok();
        let _shared: Arc<str> = text::one_line(&text).into();
    });
}
