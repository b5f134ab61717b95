//! What is asked: prompts, limits, pieces, branches.

use super::*;

#[tokio::test]
async fn c17_each_summary_has_its_prompt_its_limit_and_no_tools() {
    let stage = Stage::new(by_template);
    let input = CompactionInput {
        turn_prefix: talk(&["first steps"]),
        kept: talk(&["kept words"]),
        instructions: Some("the parser".into()),
        hook_context: vec!["a line".into()],
        earlier_details: vec![json!({"readFiles": ["a"], "modifiedFiles": ["b"]})],
        ..history(&["old words"])
    };
    let summary = stage.compact(input).await.unwrap();
    assert_eq!(
        summary.text,
        "## Goal\nHISTORY\n\n---\n\n**Turn Context (split turn):**\n\n## Original Request\nPREFIX\n\n\
         <read-files>\na\n</read-files>\n<modified-files>\nb\n</modified-files>"
    );
    assert_eq!(summary.short.as_deref(), Some("I did things."));
    assert_eq!(summary.details, json!({"readFiles": ["a"], "modifiedFiles": ["b"]}));
    assert_eq!(
        (summary.usage.input, summary.usage.output),
        (300, 30),
        "the bill of all three calls"
    );
    assert!((summary.usage.cost.total - 0.0036).abs() < 1e-9);

    let asked = stage.asked.lock().unwrap();
    assert_eq!(asked.iter().map(|r| r.max_tokens).collect::<Vec<_>>(), [13_107, 8_192, 512]);
    for request in asked.iter() {
        assert_eq!(request.thinking, ThinkingLevel::Off);
        assert_eq!((request.purpose, request.tools.len()), (Purpose::Compaction, 0), "F15");
        assert_eq!(request.system, prompts::summarization_system());
    }
    let prompts: Vec<_> = asked.iter().map(prompt_of).collect();
    assert!(prompts[0].starts_with(
        "<conversation>\n[User]: old words\n</conversation>\n\n<additional-context>\n- a line\n"
    ));
    assert!(prompts[0].ends_with("\n\nAdditional focus: the parser"));
    assert!(prompts[1].starts_with("<conversation>\n[User]: first steps\n</conversation>\n\n"));
    assert!(!prompts[1].contains("additional-context") && !prompts[1].contains("Additional focus"));
    assert!(prompts[2].contains("<previous-summary>\n## Goal\nHISTORY\n\n---"));
    assert!(prompts[2].contains("- a line") && !prompts[2].contains("Additional focus"));
}

#[tokio::test]
async fn c14_history_and_prefix_are_asked_for_at_the_same_time() {
    let stage = Stage::new(|request, at| match template_of(&prompt_of(request)) {
        Some(Template::Summary) => Act::Stall("## Goal"),
        _ => by_template(request, at),
    });
    let input = CompactionInput { turn_prefix: talk(&["p"]), ..history(&["h"]) };
    let both_asked = async {
        while stage.asked.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ended = stage.compact(input) => panic!("{ended:?}"),
        () = both_asked => {}
    }
    let whats: Vec<_> = stage.reports.lock().unwrap().iter().map(|r| r.what.clone()).collect();
    assert_eq!(whats[..2], ["history", "turn prefix"], "though the history gives no answer");
}

#[tokio::test]
async fn c14_a_previous_summary_survives_a_split_without_newer_history() {
    let stage = Stage::new(by_template);
    let input = CompactionInput {
        turn_prefix: talk(&["p"]),
        previous_summary: Some("## Goal\nOLD".into()),
        ..CompactionInput::default()
    };
    let summary = stage.compact(input).await.unwrap();
    assert!(summary.text.starts_with("## Goal\nOLD\n\n---\n\n**Turn Context"), "{}", summary.text);
}

#[tokio::test]
async fn s3_own_prompts_replace_ours_and_a_hook_s_replaces_both() {
    let mut settings = Settings::default();
    settings.summarization.prompt = Some("FIRST {{ x }}".into());
    settings.summarization.update_prompt = Some("UPDATE".into());
    let stage = Stage::with(settings, vec![model("p/m", 200_000)], |_, _| say("fine"));
    let again = CompactionInput { previous_summary: Some("old".into()), ..history(&["x"]) };
    let hook = CompactionInput { prompt: Some("HOOK".into()), ..again.clone() };
    for input in [history(&["x"]), again, hook] {
        stage.compact(input).await.unwrap();
    }
    let prompts = stage.prompts();
    assert!(prompts[0].ends_with("</conversation>\n\nFIRST {{ x }}"), "{}", prompts[0]);
    assert!(prompts[2].ends_with("<previous-summary>\nold\n</previous-summary>\n\nUPDATE"));
    assert!(prompts[4].ends_with("\n\nHOOK"));
}

#[tokio::test]
async fn c17_limits_follow_the_settings_and_the_model() {
    let mut settings = Settings::default();
    settings.summarization.max_summary_tokens = Some(1_000);
    let stage = Stage::with(settings, vec![model("p/m", 200_000)], by_template);
    stage.compact(history(&["x"])).await.unwrap();
    assert_eq!(stage.asked.lock().unwrap()[0].max_tokens, 1_000, "S4");

    let tiny = Arc::new(Model { max_tokens: 300, ..(*model("p/m", 200_000)).clone() });
    let stage = Stage::with(Settings::default(), vec![tiny], by_template);
    stage.compact(history(&["x"])).await.unwrap();
    assert_eq!(stage.asked.lock().unwrap()[0].max_tokens, 300, "F40");

    let stage = Stage::with(Settings::default(), vec![model("p/m", 8_192)], by_template);
    stage.compact(history(&["x"])).await.unwrap();
    assert_eq!(stage.asked.lock().unwrap()[0].max_tokens, 1_638, "C4: 0.8 of a quarter");
}

#[tokio::test]
async fn c18_f12_a_long_history_is_read_in_pieces_and_every_request_fits() {
    for window in [4_096, 8_192, 32_768] {
        let stage = Stage::with(Settings::default(), vec![model("p/m", window)], by_template);
        let texts: Vec<String> =
            (0..400).map(|n| format!("message {n}: {}", "words and 낱말 ".repeat(20))).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let summary = stage.compact(history(&texts)).await.unwrap();
        assert!(summary.text.contains("UPDATED"));
        let asked = stage.asked.lock().unwrap();
        for request in asked.iter() {
            assert!(size_of(request) <= window, "{} > {window}", size_of(request));
        }
        let pieces: Vec<_> = asked[..asked.len() - 1].iter().map(prompt_of).collect();
        assert!(pieces.len() > 1);
        let all = pieces.concat();
        assert!((0..400).all(|n| all.contains(&format!("message {n}:"))), "nothing is left out");
        assert_eq!(template_of(&pieces[0]), Some(Template::Summary));
        assert_eq!(template_of(&pieces[1]), Some(Template::UpdateSummary));
        assert!(pieces[1].contains("<previous-summary>\n## Goal\nHISTORY\n</previous-summary>"));
        let reports = stage.reports.lock().unwrap();
        let count = u32::try_from(pieces.len()).unwrap();
        assert!((1..=count).all(|n| reports.iter().any(|r| (r.piece, r.pieces) == (n, count))));
        assert!(reports.last().unwrap().tokens > 0);
    }
}

#[tokio::test]
async fn c18_a_previous_summary_that_is_too_large_becomes_a_piece_itself() {
    let stage = Stage::with(Settings::default(), vec![model("p/m", 4_096)], by_template);
    let previous = "an old fact about the parser. ".repeat(600);
    let input = CompactionInput { previous_summary: Some(previous), ..history(&["new"]) };
    stage.compact(input).await.unwrap();
    let asked = stage.asked.lock().unwrap();
    assert!(asked.iter().all(|request| size_of(request) <= 4_096));
    let first = prompt_of(&asked[0]);
    assert!(first.contains("[Earlier checkpoint]: an old fact"));
    assert_eq!(template_of(&first), Some(Template::Summary), "there is no summary before it");
}

#[tokio::test]
async fn c20_modified_files_are_named_whatever_the_model_wrote() {
    let stage = Stage::new(|_, _| say("done\n\n<modified-files>\nwrong.rs\n</modified-files>"));
    let mut input = history(&["x"]);
    input.history.push(Arc::new(
        serde_json::from_value(json!({"role": "assistant", "content": [
            {"type": "toolCall", "id": "1", "name": "edit", "arguments": {"path": "right.rs"}}
        ]}))
        .unwrap(),
    ));
    let text = stage.compact(input).await.unwrap().text;
    assert_eq!(text, "done\n\n<modified-files>\nright.rs\n</modified-files>");
}

#[tokio::test]
async fn b4_a_branch_is_summarised_with_its_own_prompt_and_preamble() {
    let stage = Stage::new(by_template);
    let input =
        BranchInput { messages: talk(&["try"]), all: talk(&["try"]), ..BranchInput::default() };
    let summary = stage.branch(input.clone()).await.unwrap().unwrap();
    assert_eq!(summary.text, format!("{}\n\n## Goal\nBRANCH", prompts::branch_preamble()));
    assert_eq!(summary.details, json!({"readFiles": [], "modifiedFiles": []}));
    let focus = BranchInput {
        instructions: Some(BranchInstructions::Focus("the macro".into())),
        ..input.clone()
    };
    stage.branch(focus).await.unwrap();
    let own =
        BranchInput { instructions: Some(BranchInstructions::Replace("MINE".into())), ..input };
    stage.branch(own).await.unwrap();
    let asked = stage.asked.lock().unwrap();
    assert!(asked.iter().all(|r| r.max_tokens == 2_048 && r.purpose == Purpose::BranchSummary));
    assert!(prompt_of(&asked[1]).ends_with("\n\nAdditional focus: the macro"));
    assert_eq!(prompt_of(&asked[2]), "<conversation>\n[User]: try\n</conversation>\n\nMINE");
}

#[tokio::test]
async fn b4_b7_nothing_to_summarise_asks_nobody_and_a_failure_is_the_person_s_to_settle() {
    let stage = Stage::new(by_template);
    assert_eq!(stage.branch(BranchInput::default()).await, Ok(None));
    assert!(stage.asked.lock().unwrap().is_empty());
    let stage = Stage::new(|_, _| Act::Fail(ErrorKind::Auth, None));
    let input = BranchInput { messages: talk(&["try"]), ..BranchInput::default() };
    let error = stage.branch(input).await.unwrap_err();
    assert_eq!(error, SummaryError::Failed("no summary of the branch: p/m: mock trouble".into()));
}

/// A text of about this many tokens, part of it Korean.
fn text_of(tokens: usize) -> String {
    "words 낱말 ".repeat(tokens / 4 + 1)
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(60))]

    #[test]
    fn i5_f12_every_request_fits_whatever_the_window_and_the_texts(
        window in 2_048_u64..60_000,
        sizes in proptest::collection::vec(1_usize..3_000, 1..40),
        prefix in proptest::collection::vec(1_usize..3_000, 0..6),
        previous in proptest::option::of(1_usize..20_000),
        cuts_off in proptest::bool::ANY,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stage = Stage::with(Settings::default(), vec![model("p/m", window)], move |request, at| {
            // As long as it may be, and sometimes longer.
            let text = text_of(usize::try_from(request.max_tokens).unwrap() - 12);
            let ended = if cuts_off && at % 3 == 0 { StopReason::Length } else { StopReason::Stop };
            Act::Say(format!("## Goal\n{text}"), ended)
        });
        let talk_of = |sizes: &[usize]| {
            let texts: Vec<String> = sizes.iter().map(|size| text_of(*size)).collect();
            talk(&texts.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let input = CompactionInput {
            history: talk_of(&sizes),
            turn_prefix: talk_of(&prefix),
            kept: talk_of(&sizes),
            previous_summary: previous.map(text_of),
            ..CompactionInput::default()
        };
        let summary = runtime.block_on(stage.compact(input)).unwrap();
        proptest::prop_assert!(!summary.extractive);
        for request in stage.asked.lock().unwrap().iter() {
            proptest::prop_assert!(size_of(request) <= window, "{} > {window}", size_of(request));
        }
    }
}
