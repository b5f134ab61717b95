//! What follows when a model breaks, stalls, declines, runs out, or the person stops it.

use super::*;

#[tokio::test]
async fn i5_a_window_that_is_smaller_than_it_says_is_met_with_smaller_pieces() {
    let stage = Stage::new(|request, at| {
        if prompt_of(request).len() > 40_000 {
            return Act::Fail(ErrorKind::Overflow, None);
        }
        by_template(request, at)
    });
    let long = "word ".repeat(20_000);
    let summary = stage.compact(history(&[&long])).await.unwrap();
    assert!(summary.text.contains("UPDATED") && !summary.extractive);
    let stage = Stage::new(|_, _| Act::Fail(ErrorKind::Overflow, None));
    let summary = stage.compact(history(&["x"])).await.unwrap();
    assert!(summary.extractive, "never a loop");
    assert!(stage.asked.lock().unwrap().len() <= 8);
}

#[tokio::test]
async fn c19_an_empty_answer_is_asked_for_again_and_then_given_up() {
    let stage =
        Stage::new(|request, at| if at == 0 { say(" \n") } else { by_template(request, at) });
    assert!(stage.compact(history(&["x"])).await.unwrap().text.contains("HISTORY"));
    let stage = Stage::new(|_, _| say(""));
    let summary = stage.compact(history(&["x"])).await.unwrap();
    assert!(summary.extractive);
    assert_eq!(stage.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn f13_thinking_that_used_up_the_limit_gets_more_room() {
    let stage = Stage::new(|request, at| match at {
        0 => Act::Say("<think>hm, let me".into(), StopReason::Length),
        _ => by_template(request, at),
    });
    stage.compact(history(&["x"])).await.unwrap();
    let asked = stage.asked.lock().unwrap();
    assert_eq!((asked[0].max_tokens, asked[1].max_tokens), (13_107, 26_214));
}

#[tokio::test]
async fn c19_a_cut_off_summary_is_continued_once_then_asked_for_in_fewer_words() {
    let cut = |text: &str| Act::Say(text.into(), StopReason::Length);
    let stage = Stage::new(move |request, at| match at {
        0 => cut("## Goal\nthe par"),
        1 => say("ser"),
        _ => by_template(request, at),
    });
    let summary = stage.compact(history(&["x"])).await.unwrap();
    assert_eq!(summary.text, "## Goal\nthe parser");
    let roles: Vec<_> = stage.asked.lock().unwrap()[1]
        .messages
        .iter()
        .map(|message| match &**message {
            Message::User(_) => "user",
            Message::Assistant(_) => "assistant",
            _ => "other",
        })
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"], "F41: roles alternate");

    let stage = Stage::new(move |request, at| match at {
        0 | 1 => cut("## Goal\nx"),
        _ => by_template(request, at),
    });
    assert!(stage.compact(history(&["x"])).await.unwrap().text.contains("HISTORY"));
    assert!(stage.prompts()[2].contains("under 5242 words"), "{}", stage.prompts()[2]);

    let stage = Stage::new(move |_, _| cut("## Goal\nx"));
    let summary = stage.compact(history(&["x"])).await.unwrap();
    assert!(summary.extractive, "never a half summary");
    assert_eq!(stage.asked.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn c19_a_summary_that_is_not_smaller_is_written_again_and_else_refused() {
    let long = "long words ".repeat(400);
    let answer = long.clone();
    let stage = Stage::new(
        move |request, at| if at == 0 { say(&answer) } else { by_template(request, at) },
    );
    let input = CompactionInput { replaces_tokens: 500, ..history(&["x"]) };
    assert!(stage.compact(input.clone()).await.unwrap().text.contains("HISTORY"));
    assert!(stage.prompts()[1].contains("under 125 words"));

    let answer = long.clone();
    let stage = Stage::new(move |_, _| say(&answer));
    let summary = stage.compact(input.clone()).await.unwrap();
    assert!(summary.extractive && Estimator::ScriptAware.text(&summary.text) < 500);

    let stage = Stage::new(move |_, _| say(&long));
    let tiny = CompactionInput { replaces_tokens: 5, ..input };
    let error = stage.compact(tiny).await.unwrap_err();
    assert!(matches!(error, SummaryError::NotSmaller { replaced: 5, .. }), "F04 {error}");
}

/// Three candidates: the configured, the session's, and the largest.
fn three() -> (Settings, Vec<Arc<Model>>) {
    let mut settings = Settings::default();
    settings.summarization.provider = Some("Cheap".into());
    settings.summarization.model = Some("small".into());
    let models =
        ["own/session", "cheap/small", "big/large"].into_iter().zip([200_000, 100_000, 900_000]);
    (settings, models.map(|(name, window)| model(name, window)).collect())
}

#[tokio::test]
async fn c22_the_configured_model_first_then_the_session_s_then_the_largest() {
    let (settings, models) = three();
    let stage = Stage::with(settings.clone(), models.clone(), |request, at| {
        if request.model.id == "large" {
            by_template(request, at)
        } else {
            Act::Fail(ErrorKind::Quota, None)
        }
    });
    assert!(!stage.compact(history(&["x"])).await.unwrap().extractive);
    assert_eq!(
        stage.asked_models(),
        ["small", "session", "large", "large"],
        "the dead are not asked again"
    );

    let stage = Stage::with(settings.clone(), models, |_, _| Act::Fail(ErrorKind::Auth, None));
    let summary = stage.compact(history(&["x"])).await.unwrap();
    assert!(summary.extractive && summary.text.starts_with("## Goal\nx"));

    let mut none = settings;
    none.compaction.fallback = Fallback::None;
    none.summarization.model = Some("unheard".into());
    let stage = Stage::with(none, vec![model("keyless/m", 1_000)], by_template);
    let error = stage.compact(history(&["x"])).await.unwrap_err().to_string();
    assert!(error.contains("Cheap/unheard") && error.contains("KEYLESS_API_KEY"), "{error}");
    assert!(stage.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn c22_transient_failures_are_tried_again_and_long_waits_go_to_the_next() {
    let stage = Stage::new(|request, at| match at {
        0 => Act::Fail(ErrorKind::Transient, None),
        1 => Act::Break("## Goal\nhalf"),
        2 => Act::Fail(ErrorKind::RateLimit, Some(Duration::from_millis(2))),
        _ => by_template(request, at),
    });
    let summary = stage.compact(history(&["x"])).await.unwrap();
    assert_eq!(summary.text, "## Goal\nHISTORY", "nothing of the broken answer is left");
    assert!(
        stage
            .reports
            .lock()
            .unwrap()
            .iter()
            .any(|r| r.note.as_deref().is_some_and(|n| n.contains("mock trouble")))
    );

    let (settings, models) = three();
    let long = Some(Duration::from_secs(1_209_600));
    let stage = Stage::with(settings, models, move |request, at| {
        if request.model.id == "session" {
            by_template(request, at)
        } else {
            Act::Fail(ErrorKind::RateLimit, long)
        }
    });
    assert!(!stage.compact(history(&["x"])).await.unwrap().extractive);
    assert_eq!(stage.asked_models(), ["small", "session", "session"]);

    let stage = Stage::new(move |_, _| Act::Fail(ErrorKind::RateLimit, long));
    assert!(
        stage.compact(history(&["x"])).await.unwrap().extractive,
        "F70: nobody waits for weeks"
    );
    let stage = Stage::new(|_, _| Act::Fail(ErrorKind::Transient, None));
    assert!(stage.compact(history(&["x"])).await.unwrap().extractive);
    assert_eq!(stage.asked.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn f33_a_stalled_model_is_left_for_the_next() {
    let (mut settings, models) = three();
    settings.timeouts.idle = 1;
    let stage = Stage::with(settings, models, |request, at| {
        if request.model.id == "small" { Act::Stall("## Go") } else { by_template(request, at) }
    });
    let summary = stage.compact(history(&["x"])).await.unwrap();
    assert_eq!(summary.text, "## Goal\nHISTORY");
    assert_eq!(stage.asked_models(), ["small", "session", "session"]);
}

#[tokio::test]
async fn c19_a_refusal_goes_to_the_next_candidate() {
    let (settings, models) = three();
    let stage = Stage::with(settings, models, |request, at| {
        if request.model.id == "small" {
            say("I'm sorry, but I can't help with that.")
        } else {
            by_template(request, at)
        }
    });
    assert_eq!(stage.compact(history(&["x"])).await.unwrap().text, "## Goal\nHISTORY");
}

#[tokio::test]
async fn i7_c24_escape_ends_everything_at_once() {
    for act in
        [Act::Stall("## Goal"), Act::Fail(ErrorKind::RateLimit, Some(Duration::from_secs(20)))]
    {
        let stage = Arc::new(Stage::new(move |_, _| act.clone()));
        let running = {
            let stage = stage.clone();
            tokio::spawn(async move {
                let input = CompactionInput { turn_prefix: talk(&["p"]), ..history(&["h"]) };
                stage.compact(input).await
            })
        };
        while stage.asked.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        let began = std::time::Instant::now();
        stage.cancel.cancel();
        assert_eq!(running.await.unwrap(), Err(SummaryError::Cancelled));
        assert!(began.elapsed() < Duration::from_millis(100));
        assert_eq!(stage.open.load(Ordering::SeqCst), 0, "the connections are closed");
        assert_eq!(stage.asked.lock().unwrap().len(), 2, "F28: nothing is asked afterwards");
    }
}

#[tokio::test]
async fn c17_a_short_summary_that_fails_is_made_from_the_text() {
    let stage = Stage::new(|request, at| match template_of(&prompt_of(request)) {
        Some(Template::ShortSummary) => Act::Fail(ErrorKind::BadRequest, None),
        _ => by_template(request, at),
    });
    let summary = stage.compact(history(&["fix the parser"])).await.unwrap();
    assert!(!summary.extractive && summary.short.unwrap().contains("fix the parser"));
}
