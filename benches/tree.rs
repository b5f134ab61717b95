//! `/tree` on 100 000 entries: one chain, 5 000 forks, 46 levels of forks, a circle in the file
//! (SPEC section 13: first frame at most 50 ms, a key 5 ms, a search key 30 ms). Each figure holds
//! the key and the frame that shows it.
#![allow(missing_docs)]

use std::io;
use std::sync::{Arc, RwLock};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use regrow::ids::{EntryId, Timestamp};
use regrow::message::{StopReason, Usage};
use regrow::session::reader::{Lines, SessionReader};
use regrow::session::tree::{
    AnswerFacts, LineSpan, ModelRef, Node, NodeIndex, NodeKind, Parent, SessionTree,
};
use regrow::settings::BranchSummarySettings;
use regrow::tui::overlay::Overlay;
use regrow::tui::overlay::tree::TreeOverlay;
use regrow::tui::theme::Theme;

const ENTRIES: usize = 100_000;
const NOW: Timestamp = Timestamp::from_millis(1_768_402_800_000);

/// Bodies are loaded beside the keys, so nobody waits for them here.
struct NoLines;

impl Lines for NoLines {
    fn read(&self, _span: LineSpan) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// Requests, answers with a call, results, answers: every preview another one, a few in Korean.
fn node(number: usize) -> Node {
    let model = ModelRef::new("provider", "model");
    let answer = |tool_calls| {
        let (model, usage) = (model.clone(), Usage::default());
        NodeKind::Assistant(Box::new(AnswerFacts {
            model,
            usage,
            stop: StopReason::Stop,
            tool_calls,
        }))
    };
    let tool = Arc::from("read");
    let (kind, preview) = match number % 4 {
        0 => (NodeKind::User, format!("로그인 폼 {number} 의 오류를 항목별로 보여 주세요")),
        1 => (answer(1), format!("read src/module_{number}/validate.rs")),
        2 => (
            NodeKind::ToolResult { tool, is_error: false, pruned_at: None },
            format!("//! Module {number} checks what was typed and says which field is wrong."),
        ),
        _ => {
            (answer(0), format!("Form {number} now names the field; 31 tests pass and one waits."))
        }
    };
    Node {
        id: EntryId::new(format!("{number:08x}")),
        kind,
        timestamp: Timestamp::from_millis(NOW.as_millis() - (ENTRIES - number) as i64 * 1_000),
        tokens: 150,
        preview: preview.into_boxed_str(),
        span: LineSpan::default(),
    }
}

/// A tree whose entry `number` hangs below what `parent` says.
fn grow(parent: impl Fn(usize) -> Option<usize>) -> SessionTree {
    let mut tree = SessionTree::new();
    for number in 0..ENTRIES {
        let index = tree.insert(node(number), parent(number).map(NodeIndex::new));
        tree.set_leaf(Some(index));
    }
    tree
}

fn chain() -> SessionTree {
    grow(|number| number.checked_sub(1))
}

/// After every 20 entries the conversation goes back 10 and on from there.
fn forks() -> SessionTree {
    grow(|number| match number % 20 {
        0 if number > 0 => Some(number - 10),
        _ => number.checked_sub(1),
    })
}

/// 46 forks, each inside a branch of the one before.
fn levels() -> SessionTree {
    let run = ENTRIES / 46;
    grow(|number| match number % run {
        0 if number > 0 => Some(number - run / 2),
        _ => number.checked_sub(1),
    })
}

/// A chain whose first entry names its last as parent.
fn circle() -> SessionTree {
    let nodes = (0..ENTRIES).map(node).collect();
    let above = |number: usize| NodeIndex::new(number.checked_sub(1).unwrap_or(ENTRIES - 1));
    SessionTree::from_entries(nodes, (0..ENTRIES).map(above).map(Parent::Entry).collect())
}

struct Stage {
    overlay: TreeOverlay,
    terminal: Terminal<TestBackend>,
    theme: Theme,
}

impl Stage {
    fn open(reader: &SessionReader) -> Self {
        let settings = BranchSummarySettings::default();
        let overlay = TreeOverlay::new(reader.clone(), settings, NOW, false);
        let terminal = Terminal::new(TestBackend::new(120, 40)).expect("a test backend opens");
        let mut stage = Self { overlay, terminal, theme: Theme::dark() };
        stage.draw();
        stage
    }

    fn draw(&mut self) {
        let (overlay, theme) = (&mut self.overlay, &self.theme);
        let frame = |frame: &mut ratatui::Frame<'_>| {
            let area = frame.area();
            overlay.draw(frame, area, theme);
        };
        self.terminal.draw(frame).expect("a test backend draws");
        self.overlay.wants();
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.overlay.key(KeyEvent::new(code, modifiers));
        self.draw();
    }
}

fn tree(criterion: &mut Criterion) {
    for (name, tree) in [
        ("one chain", chain()),
        ("5 000 forks", forks()),
        ("46 levels of forks", levels()),
        ("a circle", circle()),
    ] {
        let reader = SessionReader::new(Arc::new(RwLock::new(tree)), Arc::new(NoLines));
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        group.bench_function("open to first frame", |bencher| {
            bencher.iter(|| Stage::open(&reader));
        });
        let plain = KeyModifiers::NONE;
        for (key, there, back) in [
            ("up", (KeyCode::Up, plain), (KeyCode::Down, plain)),
            ("page up", (KeyCode::PageUp, plain), (KeyCode::PageDown, plain)),
            ("home", (KeyCode::Home, plain), (KeyCode::End, plain)),
            ("fold", (KeyCode::Left, plain), (KeyCode::Right, plain)),
            (
                "branch",
                (KeyCode::Left, KeyModifiers::CONTROL),
                (KeyCode::Right, KeyModifiers::CONTROL),
            ),
            ("root", (KeyCode::Char('r'), plain), (KeyCode::Char('a'), plain)),
            ("filter", (KeyCode::Char('f'), plain), (KeyCode::Char('f'), plain)),
        ] {
            let mut stage = Stage::open(&reader);
            group.bench_function(format!("two keys: {key} and back"), |bencher| {
                bencher.iter(|| {
                    stage.press(there.0, there.1);
                    stage.press(back.0, back.1);
                });
            });
        }
        group.bench_function("first key of a search", |bencher| {
            let searching = || {
                let mut stage = Stage::open(&reader);
                stage.press(KeyCode::Char('/'), plain);
                stage
            };
            let search = |mut stage: Stage| {
                stage.press(KeyCode::Char('e'), plain);
                stage
            };
            bencher.iter_batched(searching, search, BatchSize::PerIteration);
        });
        let mut stage = Stage::open(&reader);
        for character in ['/', 'f', 'o', 'r', 'm'] {
            stage.press(KeyCode::Char(character), plain);
        }
        group.bench_function("two keys of a search: a letter and back", |bencher| {
            bencher.iter(|| {
                stage.press(KeyCode::Char(' '), plain);
                stage.press(KeyCode::Backspace, plain);
            });
        });
        stage.press(KeyCode::Enter, plain);
        group.bench_function("two keys: next hit and back", |bencher| {
            bencher.iter(|| {
                stage.press(KeyCode::Char('n'), plain);
                stage.press(KeyCode::Char('N'), plain);
            });
        });
        group.finish();
    }
}

criterion_group!(benches, tree);
criterion_main!(benches);
