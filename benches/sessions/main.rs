//! What opening and appending cost (SPEC section 13), beside a plain reading of the same bytes.
//!
//! `REGROW_BENCH_HUGE=1` adds a session of 500 MB that ends in a line of 12 MB.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod generate;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use generate::Shape;
use regrow::compaction::tokens::Estimator;
use regrow::ids::{Stamper, Timestamp};
use regrow::message::{Content, Message, UserMessage};
use regrow::session::context::build_session_context;
use regrow::session::entry::EntryBody;
use regrow::session::store::{Access, SessionStore};

fn shapes() -> Vec<(&'static str, Shape)> {
    let branches = Shape { branch_every: 20, ..Shape::chain(100_000, 1_000) };
    let compacted = Shape { compact_every: 500, ..Shape::chain(100_000, 1_000) };
    let mut shapes = vec![
        ("chain 1 000", Shape::chain(1_000, 1_000)),
        ("chain 10 000", Shape::chain(10_000, 1_000)),
        ("chain 100 000", Shape::chain(100_000, 1_000)),
        ("branches 100 000", branches),
        ("compacted 100 000", compacted),
        ("chain 100 000, 250 MB", Shape::chain(100_000, 5_500)),
    ];
    if std::env::var_os("REGROW_BENCH_HUGE").is_some() {
        let huge = Shape { giant: 12 << 20, ..Shape::chain(100_000, 14_500) };
        shapes.push(("chain 100 000, 500 MB, a line of 12 MB", huge));
    }
    shapes
}

fn open(path: &Path) -> SessionStore {
    SessionStore::open(path, Access::ReadOnly, Estimator::default()).unwrap().store
}

/// The median of some runs.
fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..9)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Kilobytes that this process alone occupies.
fn pss() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

fn opening(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("open");
    group.sample_size(10);
    for (number, (name, shape)) in shapes().into_iter().enumerate() {
        let path: PathBuf = dir.path().join(format!("{number}.jsonl"));
        generate::write(&path, shape).unwrap();
        let plain = median(|| {
            let counted = Command::new("wc").arg("-l").arg(&path).output().unwrap();
            assert!(counted.status.success());
        });
        let before = pss();
        let store = open(&path);
        let memory = pss().saturating_sub(before);
        let ours = median(|| drop(open(&path)));
        let context = median(|| {
            let tree = store.reader().tree();
            std::hint::black_box(build_session_context(&tree, tree.leaf()));
        });
        eprintln!(
            "{name}: {} MB, open {ours:.1?}, wc -l {plain:.1?}, ratio {:.1}, {} MB PSS, context {context:.1?}",
            std::fs::metadata(&path).unwrap().len() >> 20,
            ours.as_secs_f64() / plain.as_secs_f64(),
            memory >> 10,
        );
        group.bench_function(name, |bencher| bencher.iter(|| open(&path)));
        std::fs::remove_file(&path).unwrap();
    }
}

struct Ids(AtomicU32);

impl Stamper for Ids {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }
    fn entry_bits(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
    fn session_id(&self) -> String {
        "s".to_owned()
    }
}

fn appending(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let mut group = criterion.benchmark_group("append");
    for entries in [10, 100_000] {
        let path = dir.path().join(format!("{entries}.jsonl"));
        generate::write(&path, Shape::chain(entries, 200)).unwrap();
        let opened = SessionStore::open(&path, Access::Write, Estimator::default()).unwrap();
        let mut store = opened.store;
        let ids = Ids(AtomicU32::new(0x8000_0000));
        let content = Content::Text("a message of the usual length, ".repeat(10));
        let message = Message::User(UserMessage { content, timestamp: 1 });
        group.bench_function(format!("to {entries} entries"), |bencher| {
            bencher.iter(|| {
                store.append(EntryBody::Message { message: message.clone() }, &ids).unwrap()
            });
        });
    }
}

criterion_group!(benches, opening, appending);
criterion_main!(benches);
