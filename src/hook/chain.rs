//! Running hooks: in configured order, later ones see what earlier ones changed, the first cancel ends
//! the chain (SPEC section 6). The one place that knows what a failure means (F81).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{EventName, Hook, HookAnswer, HookEvent, SessionFacts};

/// What an event is about: it says it as JSON, and takes answers.
pub trait Occasion: Send {
    /// Which event.
    fn event(&self) -> EventName;

    /// The tool whose call it is about, if any.
    fn tool(&self) -> Option<&str> {
        None
    }

    /// The event's own fields, earlier answers included.
    fn data(&self) -> Map<String, Value>;

    /// Takes the fields of an answer that does not cancel, all or none of them. `hook` is the name of
    /// the one that gave it.
    ///
    /// # Errors
    /// The answer cannot be used; the sentence says why.
    fn take(&mut self, hook: &str, fields: Map<String, Value>) -> Result<Taken, String>;

    /// What was changed so far, in words; `None` when nothing was.
    fn effect(&self) -> Option<String> {
        None
    }
}

/// What an answer came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is part of the occasion now.
    Accepted,
    /// By the event's own word for it, it cancels.
    Cancels,
}

/// How a chain ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainEnd {
    /// What the event speaks of happens, as the occasion now says.
    Passed,
    /// It does not happen.
    Cancelled(Cancelled),
    /// The person stopped it.
    Stopped,
}

/// Who cancelled, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancelled {
    /// The hook's name.
    pub hook: String,
    /// Its reason.
    pub reason: String,
}

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the hook `{}` stopped it: {}", self.hook, self.reason)
    }
}

/// Takes what is to be told of hooks that failed, a sentence each.
pub type Report<'a> = &'a (dyn Fn(String) + Send + Sync);

/// The hooks of a session, in configured order. Cheap to clone.
#[derive(Clone, Default)]
pub struct Hooks {
    hooks: Arc<[Arc<dyn Hook>]>,
}

impl Hooks {
    /// Takes hooks in their order.
    #[must_use]
    pub fn new(hooks: Vec<Arc<dyn Hook>>) -> Self {
        Self { hooks: hooks.into() }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Whether any hook wants such an event.
    #[must_use]
    pub fn want(&self, event: EventName, tool: Option<&str>) -> bool {
        self.hooks.iter().any(|hook| hook.wants(event, tool))
    }

    /// Runs the chain. Ends soon after `cancel` fires, whatever a hook does.
    pub async fn run(
        &self,
        occasion: &mut dyn Occasion,
        session: &SessionFacts,
        cancel: &CancellationToken,
        report: Report<'_>,
    ) -> ChainEnd {
        let name = occasion.event();
        // Gathering the data may be dear; it is done anew only when an answer has changed it.
        let mut event = None;
        for hook in self.hooks.iter() {
            if !hook.wants(name, occasion.tool()) {
                continue;
            }
            let event_now = event.get_or_insert_with(|| HookEvent {
                event: name,
                session: session.clone(),
                data: occasion.data(),
            });
            let answer = tokio::select! {
                biased;
                () = cancel.cancelled() => return ChainEnd::Stopped,
                answer = ask(hook.as_ref(), event_now, cancel) => answer,
            };
            let outcome = answer.and_then(|answer| settle(occasion, hook.name(), answer));
            match outcome {
                Ok(Outcome::NoOpinion) => {}
                Ok(Outcome::Accepted) => event = None,
                Ok(Outcome::Cancels(reason)) => {
                    return ChainEnd::Cancelled(Cancelled { hook: hook.name().to_owned(), reason });
                }
                // A hook that was stopped may say so as a failure.
                Err(_) if cancel.is_cancelled() => return ChainEnd::Stopped,
                Err(problem) if hook.required() && name.can_cancel() => {
                    let reason = format!("it is required and failed: {problem}");
                    return ChainEnd::Cancelled(Cancelled { hook: hook.name().to_owned(), reason });
                }
                Err(problem) => {
                    report(format!("the hook `{}` failed at {name}: {problem}", hook.name()));
                }
            }
        }
        ChainEnd::Passed
    }
}

/// What an answer means for the chain.
enum Outcome {
    NoOpinion,
    Accepted,
    Cancels(String),
}

/// Asks a hook; one that panics has failed.
async fn ask(
    hook: &dyn Hook,
    event: &HookEvent,
    cancel: &CancellationToken,
) -> Result<Option<HookAnswer>, String> {
    let asked = AssertUnwindSafe(async { hook.on_event(event, cancel).await });
    asked.catch_unwind().await.unwrap_or_else(|_| Err("it panicked".to_owned()))
}

fn settle(
    occasion: &mut dyn Occasion,
    hook: &str,
    answer: Option<HookAnswer>,
) -> Result<Outcome, String> {
    let Some(HookAnswer { cancel, reason, rest }) = answer else {
        return Ok(Outcome::NoOpinion);
    };
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|words| !words.is_empty());
    let why = || reason.clone().unwrap_or_else(|| "it gave no reason".to_owned());
    let name = occasion.event();
    if cancel {
        return if name.can_cancel() {
            Ok(Outcome::Cancels(why()))
        } else {
            Err(format!("it wants to cancel ({}), which this event does not allow", why()))
        };
    }
    if rest.is_empty() {
        return Ok(Outcome::NoOpinion);
    }
    match occasion.take(hook, rest)? {
        Taken::Accepted => Ok(Outcome::Accepted),
        Taken::Cancels => Ok(Outcome::Cancels(why())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::hook::conversation::BeforePrompt;

    type Reaction = Box<dyn Fn(&HookEvent) -> Result<Option<HookAnswer>, String> + Send + Sync>;

    struct Scripted {
        name: &'static str,
        required: bool,
        reaction: Reaction,
    }

    impl Hook for Scripted {
        fn name(&self) -> &str {
            self.name
        }

        fn on_event<'a>(
            &'a self,
            event: &'a HookEvent,
            _cancel: &'a CancellationToken,
        ) -> BoxFuture<'a, Result<Option<HookAnswer>, String>> {
            Box::pin(async move { (self.reaction)(event) })
        }

        fn required(&self) -> bool {
            self.required
        }
    }

    fn hook(
        name: &'static str,
        reaction: impl Fn(&HookEvent) -> Result<Option<HookAnswer>, String> + Send + Sync + 'static,
    ) -> Arc<dyn Hook> {
        Arc::new(Scripted { name, required: false, reaction: Box::new(reaction) })
    }

    fn adds(text: &'static str) -> impl Fn(&HookEvent) -> Result<Option<HookAnswer>, String> {
        move |_| HookAnswer::read(json!({"context": [text]}).to_string().as_bytes())
    }

    /// Runs hooks on a prompt: how it ended, the added lines, what was reported.
    async fn run(hooks: Vec<Arc<dyn Hook>>) -> (ChainEnd, Vec<String>, Vec<String>) {
        let reported = Mutex::new(Vec::new());
        let mut occasion = BeforePrompt::new("go", Vec::new());
        let report = |problem| reported.lock().unwrap().push(problem);
        let cancel = CancellationToken::new();
        let facts = SessionFacts::default();
        let end = Hooks::new(hooks).run(&mut occasion, &facts, &cancel, &report).await;
        (end, occasion.context, reported.into_inner().unwrap())
    }

    #[tokio::test]
    async fn later_hooks_see_what_earlier_ones_changed() {
        let second = hook("second", |event| {
            assert_eq!(event.data["context"], json!(["one"]));
            adds("two")(event)
        });
        let (end, context, reported) = run(vec![hook("first", adds("one")), second]).await;
        assert_eq!((end, context.join(" ").as_str()), (ChainEnd::Passed, "one two"));
        assert_eq!(reported, [""; 0]);
    }

    #[tokio::test]
    async fn the_first_cancel_ends_the_chain() {
        let guard = hook("guard", |_| Ok(Some(HookAnswer::cancel("no\n"))));
        let never = hook("never", |_| panic!("it must not be asked"));
        let (end, ..) = run(vec![guard, never]).await;
        let cancelled = Cancelled { hook: "guard".into(), reason: "no".into() };
        assert_eq!(cancelled.to_string(), "the hook `guard` stopped it: no");
        assert_eq!(end, ChainEnd::Cancelled(cancelled));
    }

    #[tokio::test]
    async fn f81_a_failure_is_told_and_ignored_unless_the_hook_is_required() {
        let broken = || hook("broken", |_| Err("it broke".into()));
        let wrong = hook("wrong", |_| HookAnswer::read(br#"{"context": 5}"#));
        let panics = hook("panics", |_| panic!("on purpose"));
        let (end, context, reported) =
            run(vec![broken(), wrong, panics, hook("last", adds("one"))]).await;
        assert_eq!((end, context.len()), (ChainEnd::Passed, 1));
        assert_eq!(reported.len(), 3, "{reported:?}");
        assert_eq!(reported[0], "the hook `broken` failed at before_prompt: it broke");
        let required = Scripted {
            name: "guard",
            required: true,
            reaction: Box::new(|_| HookAnswer::read(br#"{"contxt": "a"}"#)),
        };
        let (end, ..) = run(vec![Arc::new(required)]).await;
        let ChainEnd::Cancelled(cancelled) = end else { panic!("{end:?}") };
        assert!(cancelled.reason.contains("required") && cancelled.reason.contains("`context`"));
    }

    #[tokio::test]
    async fn f81_a_hook_that_hangs_ends_with_the_stop() {
        struct Hangs;
        impl Hook for Hangs {
            fn name(&self) -> &'static str {
                "hangs"
            }
            fn on_event<'a>(
                &'a self,
                _: &'a HookEvent,
                cancel: &'a CancellationToken,
            ) -> BoxFuture<'a, Result<Option<HookAnswer>, String>> {
                cancel.cancel();
                Box::pin(std::future::pending())
            }
        }
        let (end, ..) = run(vec![Arc::new(Hangs)]).await;
        assert_eq!(end, ChainEnd::Stopped);
    }
}
