//! Starting, typing, waiting, streaming, stopping.

use std::time::{Duration, Instant};

use super::generate::{self, Shape};
use super::model_server::{Gate, Reply};
use super::process::{Use, pss};
use super::pty::{Home, Pty};
use super::server::Host;
use super::{Table, median};

/// Words in a long answer; each is a delta of its own.
const TOKENS: usize = 5_000;

fn pid(screen: &Pty) -> i32 {
    screen.pid().as_raw_nonzero().get()
}

/// An answer of [`TOKENS`] words: Markdown with lists and code, as models write it.
fn long_answer() -> String {
    let paragraph =
        "The parser reads a line at a time and keeps what it has not understood for later. ";
    let list = "- a point of the list that names `one` thing\n";
    let code = "```rust\nfn main() { println!(\"{}\", sum(1, 2)); }\n```\n\n";
    let block = format!("{}\n\n{}\n{code}", paragraph.repeat(3), list.repeat(4));
    let mut words = block.split_inclusive(' ').cycle();
    let text: String = words.by_ref().take(TOKENS).collect();
    format!("{text}\n\nthe very end")
}

pub fn start(table: &mut Table) {
    let mut first = Vec::new();
    let mut cpu = Vec::new();
    let mut echo = Vec::new();
    let mut size = 0.0_f64;
    for _ in 0..9 {
        let home = Home::new();
        let began = Instant::now();
        let mut screen = Pty::start(home.command(&[]), 120, 40);
        screen.until_shows("ctx");
        first.push(began.elapsed());
        cpu.push(Use::of(pid(&screen)).cpu);
        let began = Instant::now();
        screen.send("q");
        screen.until_shows("q");
        echo.push(began.elapsed());
        size = size.max(pss(pid(&screen)));
    }
    table.time("start: first frame", median(&mut first), Duration::from_millis(62));
    table.time("start: CPU to the first frame", median(&mut cpu), Duration::from_millis(20));
    table.time("start: first key echoed", median(&mut echo), Duration::from_millis(16));
    table.row("start: PSS", size, 20.0, "MB");
}

pub fn idle(table: &mut Table) {
    let home = Home::new();
    let screen = Pty::start(home.command(&[]), 120, 40);
    screen.until_shows("ctx");
    // What the start still does in the background.
    std::thread::sleep(Duration::from_secs(3));
    let (before, written) = (Use::of(pid(&screen)), screen.written());
    std::thread::sleep(Duration::from_secs(10));
    let used = Use::of(pid(&screen)).since(before);
    table.row("10 s idle: wake-ups", used.wakes as f64, 0.0, "");
    table.row("10 s idle: bytes to the terminal", (screen.written() - written) as f64, 0.0, "");
}

pub fn streaming(table: &mut Table, host: &Host) {
    let quick = Reply::says(&long_answer());
    let slow = Reply::says(&long_answer()).drip(Duration::from_millis(5));
    for (name, reply, budget) in [
        ("5 000 tokens at full speed", quick, Duration::from_millis(100)),
        ("5 000 tokens at 200 a second", slow, Duration::from_secs(1)),
    ] {
        let home = Home::new();
        host.configure(&home);
        let mut screen = Pty::start(host.command(&home, &[]), 120, 40);
        screen.until_shows("ctx");
        host.server.push(reply);
        let (before, written) = (Use::of(pid(&screen)), screen.written());
        let began = Instant::now();
        screen.send("write much\r");
        screen.until_within("the end", Duration::from_secs(120), |screen| {
            screen.contents().contains("the very end")
        });
        let used = Use::of(pid(&screen)).since(before);
        table.time(&format!("{name}: CPU"), used.cpu, budget);
        table.time(&format!("{name}: until it is shown"), began.elapsed(), Duration::ZERO);
        let kilobytes = (screen.written() - written) as f64 / 1024.0;
        table.row(&format!("{name}: to the terminal"), kilobytes, 0.0, "KB");
    }
}

/// Streams into a transcript of 10 000 messages.
pub fn frames(table: &mut Table, host: &Host) {
    let home = Home::new();
    let file = home.project().join("session.jsonl");
    generate::write(&file, Shape::chain(10_000, 1_000)).unwrap();
    host.configure(&home);
    let arguments = ["--session", file.to_str().unwrap()];
    let mut screen = Pty::start(host.command(&home, &arguments), 120, 40);
    screen.until_shows("ctx");
    let words: String = long_answer().split_inclusive(' ').take(1_000).collect();
    host.server
        .push(Reply::says(&format!("{words}\n\nthe last word")).drip(Duration::from_millis(5)));
    let (before, frames) = (Use::of(pid(&screen)), screen.count_written("\u{1b}[?2026l"));
    screen.send("write\r");
    screen.until_within("the end", Duration::from_secs(60), |screen| {
        screen.contents().contains("the last word")
    });
    let drawn = screen.count_written("\u{1b}[?2026l") - frames;
    let used = Use::of(pid(&screen)).since(before).cpu;
    let each = used / u32::try_from(drawn.max(1)).unwrap();
    let name = format!("streaming into 10 000 messages: CPU a frame ({drawn} frames)");
    table.time(&name, each, Duration::from_millis(4));
}

pub fn escape(table: &mut Table, host: &Host) {
    let home = Home::new();
    host.configure(&home);
    let mut screen = Pty::start(host.command(&home, &[]), 120, 40);
    screen.until_shows("ctx");
    let mut times = Vec::new();
    for number in 0..9 {
        let gate = Gate::default();
        let said = format!("half{number} ");
        host.server.push(Reply::default().text(&said).hold(&gate).finish("stop"));
        screen.send("go\r");
        screen.until_shows(said.trim());
        screen.until_shows("esc");
        let began = Instant::now();
        screen.send("\u{1b}");
        screen.until_gone("esc to");
        times.push(began.elapsed());
    }
    table.time("Escape to idle", median(&mut times), Duration::from_millis(100));
}

pub fn print(table: &mut Table, host: &Host) {
    let home = Home::new();
    host.configure(&home);
    let mut times = Vec::new();
    for _ in 0..9 {
        let began = Instant::now();
        let mut run = Pty::start(host.command(&home, &["-p", "say done"]), 80, 24);
        assert_eq!(run.wait(), 0, "{}", run.screen());
        times.push(began.elapsed());
    }
    table.time("-p, the model instant: total", median(&mut times), Duration::ZERO);
}
