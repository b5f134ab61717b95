//! What a person feels (SPEC section 13): the real program in a pseudo-terminal, with a model server
//! that answers at once. `cargo bench --bench felt` prints each figure beside its budget; nothing is
//! asserted, because times belong to machines.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

#[path = "../sessions/generate.rs"]
mod generate;
#[path = "../../tests/integration/support/server/mod.rs"]
mod model_server;
mod picker;
mod process;
#[path = "../../tests/integration/support/pty.rs"]
mod pty;
mod resume;
mod server;
mod stream;

use std::time::Duration;

/// The table, printed row by row.
pub struct Table;

impl Table {
    fn head() -> Self {
        println!("{:<64} {:>12} {:>10} {:>7}", "what", "figure", "budget", "ratio");
        Self
    }

    /// A figure; a budget of 0 means that there is none but 0 itself.
    fn row(&mut self, what: &str, figure: f64, budget: f64, unit: &str) {
        let (budget, ratio) = if budget > 0.0 {
            (format!("{budget:.0} {unit}"), format!("{:.2}", figure / budget))
        } else {
            Default::default()
        };
        println!("{what:<64} {:>12} {budget:>10} {ratio:>7}", format!("{figure:.1} {unit}"));
    }

    fn time(&mut self, what: &str, time: Duration, budget: Duration) {
        self.row(what, millis(time), millis(budget), "ms");
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() {
    // `cargo bench --bench felt -- stream` measures one part.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut table = Table::head();
    let host = server::Host::start();
    type Part = fn(&mut Table, &server::Host);
    let parts: [(&str, Part); 8] = [
        ("start", |table, _| stream::start(table)),
        ("idle", |table, _| stream::idle(table)),
        ("stream", stream::streaming),
        ("frames", stream::frames),
        ("escape", stream::escape),
        ("print", stream::print),
        ("resume", resume::measure),
        ("picker", |table, _| picker::measure(table)),
    ];
    for (name, measure) in parts {
        if wanted.as_deref().is_none_or(|wanted| wanted == name) {
            measure(&mut table, &host);
        }
    }
}
