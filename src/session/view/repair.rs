//! Messages made valid for one provider (X4, I2): positional, view-only, idempotent.

use std::sync::Arc;

use super::call_ids::{CallIdRule, CallIds};
use super::clean::clean;
use super::pairs::{Group, group};
use crate::message::{
    AssistantMessage, Block, Content, Message, ToolCall, ToolResultMessage, UserMessage,
};
use crate::provider::model::Model;
use crate::session::tree::ModelRef;

/// The result of a call whose own result was never recorded.
const NO_RESULT: &str = "no result recorded";

/// What stands first where a conversation would begin with an answer.
const LOST_BEGINNING: &str = "(The beginning of this conversation is not available.)";

/// Whom the messages are for, and what is valid there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The model that will read them.
    pub model: ModelRef,
    /// The wire protocol, as [`crate::provider::model::Model::api`] names it.
    pub api: String,
    /// Whether images can be sent.
    pub images: bool,
    /// Whether user and assistant must alternate, so that neighbours are merged.
    pub merge_users: bool,
    /// What ids of tool calls are taken.
    pub call_ids: CallIdRule,
}

impl Target {
    /// What the model's protocol and provider take.
    #[must_use]
    pub fn for_model(model: &Model) -> Self {
        let strict = matches!(model.api.as_str(), "anthropic-messages" | "google-generative-ai");
        let call_ids = match (model.api.as_str(), model.provider.as_str()) {
            (_, "mistral") => CallIdRule::Exactly { len: 9 },
            ("anthropic-messages" | "openai-responses", _) => CallIdRule::Word { max: 64 },
            ("openai-completions", _) => CallIdRule::Word { max: 40 },
            _ => CallIdRule::Any,
        };
        Self {
            model: model.model_ref(),
            api: model.api.clone(),
            images: model.images,
            // Templates of local servers demand that roles alternate (F69); nobody minds if they do.
            merge_users: strict || model.api == "openai-completions",
            call_ids,
        }
    }

    /// Whether the target made this answer, so that its signatures are good there.
    pub(super) fn made(&self, answer: &AssistantMessage) -> bool {
        answer.provider == *self.model.provider
            && answer.model == *self.model.id
            && (answer.api.is_empty() || answer.api == self.api)
    }

    /// Whether a conversation has to begin with the person.
    fn wants_user_first(&self) -> bool {
        self.merge_users
            || matches!(self.api.as_str(), "anthropic-messages" | "google-generative-ai")
    }
}

/// Makes messages valid for `target`, whatever the file holds (X4).
///
/// Each call is followed by exactly one result, each result follows its call, nothing is empty,
/// nothing is foreign. Takes what [`super::convert_to_llm`] gives; other roles are left out.
#[must_use]
pub fn repair(messages: Vec<Arc<Message>>, target: &Target) -> Vec<Arc<Message>> {
    let clean = messages.into_iter().filter_map(|message| clean(message, target)).collect();
    let mut ids = CallIds::new(target.call_ids);
    let mut repaired = Vec::new();
    for group in group(clean) {
        match group {
            Group::Plain(message) => {
                if repaired.is_empty()
                    && target.wants_user_first()
                    && matches!(*message, Message::Assistant(_))
                {
                    repaired.push(lost_beginning(timestamp(&message)));
                }
                push(&mut repaired, message, target);
            }
            Group::Calls { answer, results } => {
                if repaired.is_empty() && target.wants_user_first() {
                    repaired.push(lost_beginning(timestamp(&answer)));
                }
                push_calls(&mut repaired, &answer, results, &mut ids, target);
            }
        }
    }
    repaired
}

fn lost_beginning(timestamp: i64) -> Arc<Message> {
    let content = Content::from_text(LOST_BEGINNING);
    Arc::new(Message::User(UserMessage { content, timestamp }))
}

fn timestamp(message: &Message) -> i64 {
    match message {
        Message::Assistant(answer) => answer.timestamp,
        _ => 0,
    }
}

/// Adds a message, into the one before it where roles must alternate.
fn push(repaired: &mut Vec<Arc<Message>>, message: Arc<Message>, target: &Target) {
    if target.merge_users
        && let Some(merged) = repaired.last().and_then(|last| merge(last, &message, target))
    {
        repaired.pop();
        repaired.push(merged);
    } else {
        repaired.push(message);
    }
}

/// Two neighbours of the same role as one; `None` when they may stand as they are.
fn merge(one: &Message, other: &Message, target: &Target) -> Option<Arc<Message>> {
    match (one, other) {
        (Message::User(one), Message::User(other)) => {
            let mut blocks = blocks_of(&one.content);
            blocks.extend(blocks_of(&other.content));
            let content = Content::Blocks(blocks);
            Some(Arc::new(Message::User(UserMessage { content, timestamp: one.timestamp })))
        }
        (Message::Assistant(one), Message::Assistant(other)) => {
            let content = one.content.iter().chain(&other.content).cloned().collect();
            // Signatures that are left belong to the target, so the whole must name it as origin.
            let (api, provider, model) = if target.made(one) {
                (one.api.clone(), one.provider.clone(), one.model.clone())
            } else {
                (other.api.clone(), other.provider.clone(), other.model.clone())
            };
            let merged = AssistantMessage { content, api, provider, model, ..other.clone() };
            Some(Arc::new(Message::Assistant(merged)))
        }
        _ => None,
    }
}

fn blocks_of(content: &Content) -> Vec<Block> {
    match content {
        Content::Text(text) => vec![Block::text(text)],
        Content::Blocks(blocks) => blocks.clone(),
    }
}

/// Adds an answer and one result per call, ids replaced in both.
fn push_calls(
    repaired: &mut Vec<Arc<Message>>,
    answer: &Arc<Message>,
    results: Vec<Option<Arc<Message>>>,
    ids: &mut CallIds,
    target: &Target,
) {
    let Message::Assistant(body) = &**answer else { return };
    let assigned: Vec<_> = body.tool_calls().map(|call| ids.assign(&call.id)).collect();
    let kept = body.tool_calls().zip(&assigned).all(|(call, id)| call.id == *id);
    let answer = if kept { answer.clone() } else { Arc::new(with_call_ids(body, &assigned)) };
    push(repaired, answer, target);
    for ((call, id), result) in body.tool_calls().zip(assigned).zip(results) {
        repaired.push(result_for(call, id, result, body.timestamp));
    }
}

fn with_call_ids(answer: &AssistantMessage, ids: &[String]) -> Message {
    let mut answer = answer.clone();
    let calls = answer.content.iter_mut().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        _ => None,
    });
    for (call, id) in calls.zip(ids) {
        call.id.clone_from(id);
    }
    Message::Assistant(answer)
}

/// The recorded result under the call's id and tool name, or an error in its place.
fn result_for(
    call: &ToolCall,
    id: String,
    recorded: Option<Arc<Message>>,
    timestamp: i64,
) -> Arc<Message> {
    match recorded {
        Some(recorded) => match &*recorded {
            Message::ToolResult(result)
                if result.tool_call_id != id || result.tool_name != call.name =>
            {
                Arc::new(Message::ToolResult(ToolResultMessage {
                    tool_call_id: id,
                    tool_name: call.name.clone(),
                    ..result.clone()
                }))
            }
            _ => recorded,
        },
        None => Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: id,
            tool_name: call.name.clone(),
            content: Content::from_text(NO_RESULT),
            is_error: true,
            timestamp,
            ..ToolResultMessage::default()
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn target(api: &str, merge_users: bool, call_ids: CallIdRule) -> Target {
        let model = ModelRef::new("p", "m");
        Target { model, api: api.to_owned(), images: true, merge_users, call_ids }
    }

    fn plain() -> Target {
        target("openai-completions", false, CallIdRule::Any)
    }

    fn messages(list: Value) -> Vec<Arc<Message>> {
        serde_json::from_value(list).unwrap()
    }

    /// One word a message: `u:text`, `a:text[call ids]`, `r:id=text`.
    fn notation(messages: &[Arc<Message>]) -> String {
        let words = messages.iter().map(|message| match &**message {
            Message::User(user) => format!("u:{}", user.content.text()),
            Message::Assistant(answer) => {
                let calls: Vec<_> = answer.tool_calls().map(|call| &*call.id).collect();
                format!("a:{}{calls:?}", answer.text())
            }
            Message::ToolResult(result) => {
                format!("r:{}={}", result.tool_call_id, result.content.text())
            }
            other => format!("{other:?}"),
        });
        words.collect::<Vec<_>>().join(" ").replace(['"', '\n'], "")
    }

    #[track_caller]
    fn check(target: &Target, list: Value, expect: &str) {
        let once = repair(messages(list), target);
        assert_eq!(notation(&once), expect);
        assert_eq!(repair(once.clone(), target), once);
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    fn answer(text: &str, calls: &[&str]) -> Value {
        let mut content = vec![json!({"type": "text", "text": text})];
        content.extend(calls.iter().map(
            |id| json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "f"}}),
        ));
        json!({"role": "assistant", "content": content, "provider": "p", "model": "m"})
    }

    fn result(id: &str, text: &str) -> Value {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "content": text})
    }

    #[test]
    fn f20_f21_f22_calls_and_results_are_paired_where_the_call_stands() {
        let here = plain();
        check(
            &here,
            json!([answer("x", &["c", "d"]), user("now"), result("d", "late")]),
            "a:x[c, d] r:c=no result recorded r:d=late u:now",
        );
        check(&here, json!([result("c", "stray"), user("hi"), result("e", "stray")]), "u:hi");
        check(
            &here,
            json!([answer("x", &["c"]), result("c", "1"), result("c", "again")]),
            "a:x[c] r:c=1",
        );
    }

    #[test]
    fn f26_equal_ids_are_told_apart_by_position() {
        check(
            &plain(),
            json!([
                answer("x", &["c", "c"]),
                result("c", "1"),
                result("c", "2"),
                answer("y", &["c"]),
                answer("z", &["c"]),
                result("c", "3")
            ]),
            "a:x[c, c-2] r:c=1 r:c-2=2 a:y[c-3] r:c-3=no result recorded a:z[c-4] r:c-4=3",
        );
    }

    #[test]
    fn f67_nothing_empty_is_sent() {
        check(
            &plain(),
            json!([
                user(" "),
                {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "hi"}]},
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}],
                 "provider": "p", "model": "m", "stopReason": "aborted"},
                answer("", &["c"]),
                result("c", "")
            ]),
            "u:hi a:[c] r:c=(no output)",
        );
    }

    #[test]
    fn f65_f66_signatures_go_back_only_to_their_maker() {
        let signed = |provider: &str| {
            json!([{"role": "user", "content": "q"},
                {"role": "assistant", "provider": provider, "model": "m", "content": [
                {"type": "thinking", "thinking": "t", "thinkingSignature": "s"},
                {"type": "text", "text": "x", "textSignature": "s"},
                {"type": "toolCall", "id": "c", "name": "n", "arguments": {}, "thoughtSignature": "s"}]}])
        };
        let here = target("anthropic-messages", false, CallIdRule::Any);
        let signatures = |provider: &str| {
            let sent = repair(messages(signed(provider)), &here);
            serde_json::to_string(&sent).unwrap().matches("ignature\":\"s\"").count()
        };
        assert_eq!(signatures("p"), 3);
        assert_eq!(signatures("other"), 0);
    }

    #[test]
    fn f41_f69_roles_alternate_where_they_must() {
        let strict = target("openai-completions", true, CallIdRule::Any);
        check(
            &strict,
            json!([answer("a", &[]), user("x"), user("y"), answer("b", &[]), answer("c", &["d"])]),
            &format!("u:{LOST_BEGINNING} a:a[] u:xy a:bc[d] r:d=no result recorded"),
        );
    }

    #[test]
    fn f68_an_image_that_cannot_be_sent_becomes_a_placeholder() {
        let image = json!([{"role": "user", "content": [
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "image", "data": "AAAA", "mimeType": "image/tiff"}]}]);
        check(&plain(), image.clone(), "u:[image left out]");
        let blind = Target { images: false, ..plain() };
        check(&blind, image, "u:[image left out][image left out]");
    }

    #[test]
    fn i12_arguments_are_always_an_object() {
        let list = json!([user("q"), {"role": "assistant", "content": [
            {"type": "toolCall", "id": "c", "name": "n", "arguments": "{\"path\": \"a"}]}]);
        let sent = repair(messages(list), &plain());
        let Message::Assistant(answer) = &*sent[1] else { panic!() };
        assert_eq!(
            answer.tool_calls().next().unwrap().arguments,
            json!({"unparsed": "{\"path\": \"a"})
        );
    }

    fn any_message() -> impl Strategy<Value = Value> {
        let id = prop::sample::select(vec!["", "c", "c-2", "call|x", "long-long-id"]);
        let text = prop::sample::select(vec!["", " ", "x"]);
        let block = prop_oneof![
            text.clone().prop_map(|text| json!({"type": "text", "text": text})),
            (text.clone(), any::<bool>()).prop_map(|(text, signed)| {
                let mut block = json!({"type": "thinking", "thinking": text});
                if signed {
                    block["thinkingSignature"] = json!("s");
                }
                block
            }),
            (id.clone(), any::<bool>()).prop_map(|(id, broken)| {
                let arguments = if broken { json!("{") } else { json!({}) };
                json!({"type": "toolCall", "id": id, "name": "n", "arguments": arguments,
                       "thoughtSignature": "s"})
            }),
            any::<bool>().prop_map(|known| {
                let mime = if known { "image/png" } else { "image/x" };
                json!({"type": "image", "data": "AA", "mimeType": mime})
            }),
            Just(json!({"type": "video"})),
        ];
        let blocks = prop::collection::vec(block, 0..4);
        let maker = prop::sample::select(vec!["p", "q"]);
        prop_oneof![
            text.prop_map(|text| json!({"role": "user", "content": text})),
            blocks.clone().prop_map(|content| json!({"role": "user", "content": content})),
            (blocks.clone(), maker).prop_map(|(content, provider)| json!({"role": "assistant",
                "content": content, "provider": provider, "model": "m"})),
            (id, blocks, any::<bool>()).prop_map(|(id, content, failed)| json!({
                "role": "toolResult", "toolCallId": id, "toolName": "n", "content": content,
                "isError": failed})),
            Just(json!({"role": "custom", "customType": "t", "content": "never sent raw"})),
        ]
    }

    fn any_target() -> impl Strategy<Value = Target> {
        let api = prop::sample::select(vec!["anthropic-messages", "openai-completions"]);
        let rule = prop::sample::select(vec![
            CallIdRule::Any,
            CallIdRule::Word { max: 8 },
            CallIdRule::Exactly { len: 9 },
        ]);
        (api, any::<bool>(), any::<bool>(), rule).prop_map(|(api, images, merge_users, rule)| {
            Target { images, ..target(api, merge_users, rule) }
        })
    }

    /// What every provider demands, said as plainly as possible.
    fn assert_valid(sent: &[Arc<Message>], target: &Target) {
        let mut due: std::collections::VecDeque<String> = std::collections::VecDeque::new();
        let mut seen = std::collections::HashSet::new();
        let mut last = "";
        for message in sent {
            match &**message {
                Message::ToolResult(result) => {
                    assert_eq!(due.pop_front().as_ref(), Some(&result.tool_call_id));
                    assert!(!matches!(&result.content, Content::Blocks(list) if list.is_empty()));
                    last = "toolResult";
                }
                Message::User(user) => {
                    assert!(due.is_empty());
                    assert!(!(target.merge_users && last == "user"));
                    assert!(user.content.images().count() > 0 || !user.content.text().is_empty());
                    last = "user";
                }
                Message::Assistant(answer) => {
                    assert!(due.is_empty());
                    assert!(!(target.merge_users && last == "assistant"));
                    assert!(!(target.wants_user_first() && last.is_empty()));
                    for call in answer.tool_calls() {
                        assert!(seen.insert(call.id.clone()), "{} twice", call.id);
                        assert!(call.arguments.is_object());
                        due.push_back(call.id.clone());
                    }
                    for block in &answer.content {
                        assert!(!block.as_text().is_some_and(|text| text.trim().is_empty()));
                    }
                    last = "assistant";
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(due.is_empty());
    }

    proptest! {
        #[test]
        fn i2_whatever_the_file_holds_the_request_is_valid(
            list in prop::collection::vec(any_message(), 0..24), target in any_target(),
        ) {
            let once = repair(messages(Value::Array(list)), &target);
            assert_valid(&once, &target);
            prop_assert_eq!(repair(once.clone(), &target), once);
        }
    }
}
