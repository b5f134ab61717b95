//! What the extractive summariser makes of believable sessions.

use super::super::transcript::serialize_conversation;
use super::*;
use crate::session::view::convert_to_llm;
use serde_json::{Value, json};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn say(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
}

/// A call and its result.
fn did(tool: &str, arguments: Value, result: &str, is_error: bool) -> [Value; 2] {
    [
        json!({"role": "assistant", "stopReason": "toolUse", "content": [
            {"type": "toolCall", "id": "c", "name": tool, "arguments": arguments}
        ]}),
        json!({"role": "toolResult", "toolCallId": "c", "toolName": tool, "content": result, "isError": is_error}),
    ]
}

fn messages(values: Vec<Value>) -> Vec<Arc<Message>> {
    serde_json::from_value(Value::Array(values)).unwrap()
}

/// A day's work on a Rust crate: a bug, a failing test, a change of mind, a request called off.
fn day_of_work() -> Vec<Arc<Message>> {
    let mut day = vec![user(
        "The HTTP client gives up after the first 503. Add retries with exponential backoff to src/client.rs. \
         It must stay async, and don't add new dependencies. Run `cargo test -p fetch` after every change.",
    )];
    day.extend(did("read", json!({"path": "src/client.rs"}), "pub struct Client {}\n", false));
    day.extend(did("bash", json!({"command": "rg 503 src"}), "src/client.rs:42: 503", false));
    day.push(say(
        "The client returns on any status >= 500. I'll use a small RetryPolicy struct instead of a crate, \
         because you asked for no new dependencies.",
    ));
    day.extend(did(
        "write",
        json!({"path": "src/retry.rs", "content": "x"}),
        "Wrote 61 lines",
        false,
    ));
    day.extend(did(
        "edit",
        json!({"path": "src/client.rs", "edits": []}),
        "Edited src/client.rs",
        false,
    ));
    day.extend(did(
        "bash",
        json!({"command": "cargo test -p fetch"}),
        "error[E0308]: mismatched types\n --> src/retry.rs:17:9\nerror: could not compile `fetch`\n\n\
         Command exited with code 101",
        true,
    ));
    day.extend(did(
        "edit",
        json!({"path": "src/retry.rs", "edits": []}),
        "Edited src/retry.rs",
        false,
    ));
    day.extend(did(
        "bash",
        json!({"command": "cargo test -p fetch"}),
        "running 14 tests\ntest result: ok. 14 passed; 0 failed",
        false,
    ));
    day.push(say(
        "Retries are in: `RetryPolicy::delay` doubles from 200 ms up to 5 s. All 14 tests pass.\n\n\
         Next steps:\n1. Honour the `Retry-After` header in `RetryPolicy::delay`\n2. Document the policy in README.md",
    ));
    day.push(user(
        "Good. Also write a changelog entry. Never touch Cargo.lock. The metrics idea from before: forget it.",
    ));
    day.extend(did(
        "edit",
        json!({"path": "CHANGELOG.md", "edits": []}),
        "no match for oldText",
        true,
    ));
    day.extend(did(
        "bash",
        json!({"command": "cargo publish --dry-run"}),
        "error: no token found\n\nCommand exited with code 1",
        true,
    ));
    day.push(say("The dry run needs a token. Should I use the one in ~/.cargo/credentials.toml?"));
    messages(day)
}

fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(heading).unwrap_or_else(|| panic!("{heading} is missing in:\n{text}"));
    let body = &text[start + heading.len()..];
    let end = body.find("\n#").unwrap_or(body.len());
    body[..end].trim()
}

#[test]
fn s9_a_day_of_work_leaves_a_checkpoint_that_one_can_go_on_from() {
    let history = day_of_work();
    let input = CompactionInput { history, ..CompactionInput::default() };
    let summary = extract_compaction(&input);
    println!("{}\n\n[{}]", summary.text, summary.short.as_deref().unwrap());
    let has = |heading: &str, wanted: &[&str]| {
        let body = section(&summary.text, heading);
        for part in wanted {
            assert!(body.contains(part), "{heading} lacks {part:?}:\n{body}");
        }
    };
    has(
        "## Goal",
        &["gives up after the first 503", "Latest request: Good. Also write a changelog"],
    );
    has(
        "## Constraints",
        &["must stay async", "don't add new dependencies", "Never touch Cargo.lock"],
    );
    has(
        "### Done",
        &[
            "`src/retry.rs`: written, edited",
            "`src/client.rs`: edited",
            "14 passed",
            "Retries are in",
        ],
    );
    has(
        "### Blocked",
        &["`edit CHANGELOG.md`: no match", "no token found", "NOT", "forget it"]
            .map(|s| if s == "NOT" { "not to be resumed" } else { s }),
    );
    has("## Key Decisions", &["RetryPolicy struct instead of a crate"]);
    has("## Next Steps", &["1. Honour the `Retry-After` header", "2. Document the policy"]);
    has(
        "## Critical Context",
        &["`cargo test -p fetch`", "E0308", "Should I use the one", "RetryPolicy"],
    );
    let blocked = section(&summary.text, "### Blocked");
    assert!(!blocked.contains("E0308"), "what was mended is not blocked: {blocked}");
    assert!(
        summary.text.ends_with("<read-files>\nCHANGELOG.md\n</read-files>")
            || summary.text.contains(
                "<modified-files>\nCHANGELOG.md\nsrc/client.rs\nsrc/retry.rs\n</modified-files>"
            )
    );
    assert!(summary.extractive);
}

#[test]
fn s9_the_serialised_conversation_gives_the_same_checkpoint() {
    let history = day_of_work();
    let transcript = serialize_conversation(&convert_to_llm(&history));
    let text = extract_transcript(&transcript, None, Shape::Checkpoint, 10_000);
    let direct = extract_compaction(&CompactionInput { history, ..CompactionInput::default() });
    // The flag of a failed edit is not in the text.
    let differs = |line: &&str| !line.contains("CHANGELOG.md");
    let lines = |text: &str| {
        let text = super::super::file_ops::without_file_blocks(text);
        text.lines().filter(differs).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines(&text), lines(&direct.text));
}

fn korean_session() -> Vec<Arc<Message>> {
    let mut day = vec![user(
        "로그인 페이지가 모바일에서 깨져요. src/pages/login.tsx를 고쳐 주세요. 디자인 토큰만 사용하고, 반드시 기존 테스트를 통과해야 합니다.",
    )];
    day.extend(did("read", json!({"path": "src/pages/login.tsx"}), "export default …", false));
    day.extend(did("edit", json!({"path": "src/pages/login.tsx", "edits": []}), "수정됨", false));
    day.extend(did(
        "bash",
        json!({"command": "npm test -- login"}),
        "FAIL login.test.tsx\nTypeError: width is undefined\n\nCommand exited with code 1",
        true,
    ));
    day.push(say("고정 너비 대신 flex를 쓰기로 했습니다. 테스트는 아직 실패합니다.\n\n남은 일:\n- useViewport 훅 고치기\n- 스냅샷 갱신"));
    day.push(user("좋아요. 다크 모드는 취소해 주세요. 배포는 절대 하지 마세요."));
    day.push(say("알겠습니다. 스냅샷을 지금 갱신할까요?"));
    messages(day)
}

#[test]
fn s9_a_korean_session_reads_as_korean() {
    let input = CompactionInput { history: korean_session(), ..CompactionInput::default() };
    let summary = extract_compaction(&input);
    println!("{}\n\n[{}]", summary.text, summary.short.as_deref().unwrap());
    let has = |heading: &str, wanted: &str| {
        let body = section(&summary.text, heading);
        assert!(body.contains(wanted), "{heading} lacks {wanted:?}:\n{body}");
    };
    has("## Goal", "로그인 페이지가 모바일에서 깨져요");
    has("## Goal", "가장 최근 요청: 좋아요.");
    has("## Constraints", "반드시 기존 테스트를 통과해야");
    has("## Constraints", "배포는 절대 하지 마세요");
    has("### Done", "`src/pages/login.tsx`: 고침");
    has("### Blocked", "`npm test -- login`: FAIL login.test.tsx / TypeError: width is undefined");
    has("### Blocked", "취소됨, 다시 시작하지 말 것: 다크 모드는 취소해 주세요.");
    has("## Key Decisions", "고정 너비 대신 flex를 쓰기로");
    has("## Next Steps", "1. useViewport 훅 고치기");
    has("## Critical Context", "스냅샷을 지금 갱신할까요?");
    assert!(summary.short.unwrap().contains("요청을 처리했습니다"));
}

#[test]
fn c17_a_second_checkpoint_keeps_what_still_holds_and_drops_what_was_mended() {
    let first = extract_compaction(&CompactionInput {
        history: day_of_work(),
        ..CompactionInput::default()
    });
    let mut more = vec![user("Use the token from CI. Then publish.")];
    more.extend(did("edit", json!({"path": "CHANGELOG.md", "edits": []}), "Edited", false));
    more.extend(did(
        "bash",
        json!({"command": "cargo publish --dry-run"}),
        "Finished; success",
        false,
    ));
    more.push(say("The dry run is green and the changelog entry is written."));
    let second = extract_compaction(&CompactionInput {
        history: messages(more),
        previous_summary: Some(first.text.clone()),
        earlier_details: vec![first.details.clone()],
        ..CompactionInput::default()
    });
    println!("{}", second.text);
    let text = &second.text;
    assert!(
        section(text, "## Goal").contains("gives up after the first 503"),
        "the first goal stays"
    );
    assert!(section(text, "## Goal").contains("Latest request: Use the token from CI"));
    assert!(section(text, "## Constraints").contains("Never touch Cargo.lock"));
    assert!(section(text, "### Done").contains("`src/retry.rs`"), "older work stays");
    let blocked = section(text, "### Blocked");
    assert!(
        blocked.contains("forget it")
            && !blocked.contains("CHANGELOG")
            && !blocked.contains("no token")
    );
    assert_eq!(text.matches("- Files:").count(), 1, "lists of names are one list");
    assert!(section(text, "## Critical Context").contains("RetryPolicy"));
    let modified = &second.details["modifiedFiles"];
    assert_eq!(*modified, json!(["CHANGELOG.md", "src/client.rs", "src/retry.rs"]));
}

#[test]
fn c14_a_split_turn_keeps_the_request_and_the_first_steps() {
    let turn = day_of_work()[..9].to_vec();
    let summary = extract_compaction(&CompactionInput {
        turn_prefix: turn,
        previous_summary: Some("## Goal\nOlder work".into()),
        ..CompactionInput::default()
    });
    assert!(
        summary
            .text
            .starts_with("## Goal\nOlder work\n\n---\n\n**Turn Context (split turn):**\n\n")
    );
    let request = section(&summary.text, "## Original Request");
    assert!(
        request.starts_with("The HTTP client gives up") && request.ends_with("after every change.")
    );
    assert!(section(&summary.text, "## Early Progress").contains("`src/retry.rs`: written"));
}

#[test]
fn c19_the_summary_shrinks_with_what_it_replaces() {
    let history = day_of_work();
    let generous = extract_compaction(&CompactionInput {
        history: history.clone(),
        ..CompactionInput::default()
    });
    let tight = extract_compaction(&CompactionInput {
        history,
        replaces_tokens: 450,
        ..CompactionInput::default()
    });
    let tokens = |summary: &Summary| Estimator::default().text(&summary.text);
    assert!(tokens(&tight) < 450 && tokens(&tight) < tokens(&generous), "{}", tight.text);
    assert!(
        tight.text.contains("<modified-files>\nCHANGELOG.md\nsrc/client.rs"),
        "files are never left out"
    );
}

#[test]
fn b7_a_branch_is_summarised_from_all_its_entries() {
    let all = day_of_work();
    let summary = extract_branch(&BranchInput { all, ..BranchInput::default() });
    assert!(summary.text.starts_with(&format!("{}\n\n## Goal\n", prompts::branch_preamble())));
    assert!(section(&summary.text, "### Done").contains("src/retry.rs"));
    assert!(summary.short.is_none());
}

#[test]
fn s9_nothing_in_gives_a_frame_and_no_panic() {
    let summary = extract_compaction(&CompactionInput::default());
    assert_eq!(summary.text, "No prior history.");
    let odd = extract_transcript(
        "no labels at all\n\n[Tool result]: stray",
        None,
        Shape::Checkpoint,
        500,
    );
    assert!(odd.starts_with("## Goal\n(none)"), "{odd}");
}

#[test]
fn c17_work_that_was_finished_in_between_is_no_longer_in_progress() {
    let previous = "## Goal\nPort the parser\n\n### In Progress\n- [ ] Port the parser\n- [ ] `read a`: started";
    let after = |texts: Vec<Value>| {
        let input = CompactionInput {
            history: messages(texts),
            previous_summary: Some(previous.into()),
            ..CompactionInput::default()
        };
        section(&extract_compaction(&input).text, "### In Progress").to_owned()
    };
    assert_eq!(
        after(vec![say("The parser is ported."), user("Thanks. Now the printer.")]),
        "- [ ] Thanks. Now the printer."
    );
    assert_eq!(after(vec![say("All of it is ported and works.")]), "(none)");
    let going_on = did("bash", json!({"command": "cargo test"}), "ok", false);
    assert!(after(going_on.to_vec()).starts_with("- [ ] Port the parser"));
}

#[test]
fn s9_what_was_stopped_or_merely_not_found_is_no_failure() {
    let mut day = vec![user("Find the caller and fix it, please, before noon.")];
    day.extend(did(
        "bash",
        json!({"command": "cd src && grep -n foo"}),
        "\n\n[Command exited with code 1]",
        true,
    ));
    day.extend(did(
        "bash",
        json!({"command": "npm start"}),
        "listening\n\n[Command was stopped by the user]",
        true,
    ));
    day.extend(did(
        "bash",
        json!({"command": "make all"}),
        "make: *** [all] Error 2\n\n[Command exited with code 2]",
        true,
    ));
    let text = extract_compaction(&CompactionInput {
        history: messages(day),
        ..CompactionInput::default()
    })
    .text;
    assert_eq!(section(&text, "### Blocked"), "- `make all`: make: *** [all] Error 2");
    assert!(
        section(&text, "### In Progress").contains("`bash npm start`: started, no result recorded")
    );
}

#[test]
fn i10_a_very_long_session_stays_within_its_bounds() {
    let mut day = Vec::new();
    for n in 0..2_000 {
        day.push(user(&format!("Change number {n}: you must keep `name_{n}` in src/file_{n}.rs")));
        day.extend(did(
            "bash",
            json!({"command": format!("cargo test t{n}")}),
            "error: broken",
            true,
        ));
        day.push(say("I decided to use the other way instead of this one."));
    }
    let history = messages(day);
    let summary = extract_compaction(&CompactionInput { history, ..CompactionInput::default() });
    assert!(Estimator::default().text(&summary.text) <= 1_700);
}
