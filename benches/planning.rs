//! What deciding costs on a conversation of 100 000 entries: context and plan of a compaction
//! (SPEC section 13: at most 20 ms), and what a branch leaves behind.
#![allow(missing_docs)]

use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use regrow::compaction::branch::{collect_entries_for_branch_summary, prepare_branch_entries};
use regrow::compaction::calibration::calibrate;
use regrow::compaction::plan::prepare_compaction;
use regrow::compaction::prune::{PrunePolicy, plan_prune};
use regrow::compaction::trigger::context_tokens;
use regrow::ids::{EntryId, Timestamp};
use regrow::message::{StopReason, Usage};
use regrow::session::context::build_session_context;
use regrow::session::tree::{
    AnswerFacts, LineSpan, ModelRef, Node, NodeIndex, NodeKind, SessionTree,
};
use regrow::settings::Settings;

const ENTRIES: usize = 100_000;

/// A chain of turns: request, call, result, answer; compacted once in the middle if wanted.
fn conversation(compacted: bool) -> SessionTree {
    let model = ModelRef::new("provider", "model");
    let tool: Arc<str> = Arc::from("bash");
    let mut tree = SessionTree::new();
    for number in 0..ENTRIES {
        let answer = |tool_calls| {
            let usage = Usage { input: 100_000, output: 50, ..Usage::default() };
            let stop = StopReason::Stop;
            NodeKind::Assistant(Box::new(AnswerFacts {
                model: model.clone(),
                usage,
                stop,
                tool_calls,
            }))
        };
        let kind = match number % 4 {
            0 if compacted && number == ENTRIES / 2 => NodeKind::Compaction {
                first_kept: EntryId::new(format!("{:08x}", number - 100)),
                tokens_before: 0,
            },
            0 => NodeKind::User,
            1 => answer(1),
            2 => NodeKind::ToolResult { tool: tool.clone(), is_error: false, pruned_at: None },
            _ => answer(0),
        };
        tree.append(Node {
            id: EntryId::new(format!("{number:08x}")),
            kind,
            timestamp: Timestamp::from_millis(number as i64),
            tokens: 150,
            preview: "a preview of what the entry says".into(),
            span: LineSpan::default(),
        });
    }
    tree
}

fn planning(criterion: &mut Criterion) {
    let settings = Settings::default();
    for (name, compacted) in [("first", false), ("repeated", true)] {
        let tree = conversation(compacted);
        criterion.bench_function(
            &format!("plan of a {name} compaction, 100 000 entries"),
            |bencher| {
                bencher.iter(|| prepare_compaction(&tree, tree.leaf(), &settings, 200_000));
            },
        );
    }
    let tree = conversation(false);
    let outline = build_session_context(&tree, tree.leaf());
    criterion.bench_function("context outline, 100 000 entries", |bencher| {
        bencher.iter(|| build_session_context(&tree, tree.leaf()));
    });
    criterion.bench_function("context tokens and calibration, 100 000 entries", |bencher| {
        bencher.iter(|| context_tokens(&tree, &outline).calibrated(calibrate(&tree, &outline)));
    });
    criterion.bench_function("plan of a pruning, 100 000 entries", |bencher| {
        bencher.iter(|| plan_prune(&tree, &outline.nodes, &PrunePolicy::default()));
    });
    criterion.bench_function("entries of a branch of 100 000", |bencher| {
        bencher.iter(|| {
            let root = Some(NodeIndex::new(0));
            let left = collect_entries_for_branch_summary(&tree, tree.leaf(), root);
            prepare_branch_entries(&tree, &left.entries, 180_000)
        });
    });
}

criterion_group!(benches, planning);
criterion_main!(benches);
