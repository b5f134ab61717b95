//! What a person does, at random.

use regrow::agent_session::command::{
    Delivery, Navigation, SessionCommand, SummaryChoice, SwitchTo,
};
use regrow::agent_session::event::{ActivityKind, SessionEvent};
use regrow::ids::EntryId;
use regrow::provider::ThinkingLevel;
use regrow::provider::scripted::Hold;
use regrow::session::tree::ModelRef;

use super::driver::Soak;

impl Soak {
    /// One thing.
    pub(super) async fn act(&mut self) {
        match self.dice.below(100) {
            0..=5 => self.stop_in_the_middle().await,
            6..=10 => self.speak_in_between().await,
            11..=13 => self.compact().await,
            14 => self.undo().await,
            15 => {
                self.doing("unprune");
                self.send(SessionCommand::Unprune);
            }
            16..=21 => self.go_somewhere(),
            22..=23 => self.name_something(),
            24..=25 => self.change_model(),
            26 => {
                self.doing("a command");
                let excluded = self.dice.percent(30);
                self.send(SessionCommand::Shell { command: "echo shared".into(), excluded });
            }
            27..=28 => self.switch().await,
            29 => {
                self.doing("reopening");
                self.settle().await;
                if self.entries_open() > 0 {
                    self.reopen().await;
                }
            }
            _ => {
                self.doing("a prompt");
                self.say(Delivery::FollowUp);
            }
        }
    }

    fn say(&mut self, delivery: Delivery) {
        self.questions += 1;
        self.counts.turns += 1;
        let longest = if self.dice.percent(3) { 2_000 } else { 60 };
        let words = "does it hold? 그래도 ".repeat(1 + self.dice.below(longest));
        let text = format!("Q{}: {words}", self.questions);
        self.send(SessionCommand::Prompt { text, images: Vec::new(), delivery });
    }

    /// Waits until the held answer has come that far; `false` when nothing asks any more.
    async fn until_held(&mut self, hold: &Hold) -> bool {
        // What was sent is begun when this is answered.
        self.send(SessionCommand::PlanCompaction);
        while !matches!(self.hear().await, SessionEvent::CompactionPlanned { .. }) {}
        loop {
            if self.activity == ActivityKind::Idle {
                return false;
            }
            tokio::select! {
                () = hold.reached() => return true,
                _ = self.hear() => {}
            }
        }
    }

    async fn stop_in_the_middle(&mut self) {
        self.doing("stopping in the middle");
        self.counts.aborts += 1;
        let held = self.dice.percent(60).then(|| self.actor.hold_next());
        match self.dice.below(6) {
            0 => self.send(SessionCommand::Compact { instructions: None }),
            1 => self.go_somewhere(),
            _ => self.say(Delivery::FollowUp),
        }
        if self.dice.percent(30) {
            self.say(Delivery::FollowUp);
        }
        match held {
            Some(hold) => {
                self.until_held(&hold).await;
            }
            // Anywhere: between rounds, in a tool, in a wait.
            None => {
                for _ in 0..self.dice.below(120) {
                    tokio::task::yield_now().await;
                }
            }
        }
        self.send(SessionCommand::Abort);
        if self.dice.percent(30) {
            self.send(SessionCommand::Abort);
        }
    }

    async fn speak_in_between(&mut self) {
        self.doing("steering and queueing");
        self.counts.steered += 1;
        let hold = self.actor.hold_next();
        self.say(Delivery::FollowUp);
        self.until_held(&hold).await;
        for _ in 0..=self.dice.below(3) {
            let delivery = self.dice.pick(&[Delivery::Steer, Delivery::FollowUp]);
            self.say(delivery);
        }
        match self.dice.below(12) {
            0 => self.send(SessionCommand::TakeQueue),
            1 => self.name_something(),
            2 => self.change_model(),
            3 => self.go_somewhere(),
            4 => self.send(SessionCommand::Compact { instructions: Some("steering".into()) }),
            5 => self.send(SessionCommand::Unprune),
            _ => {}
        }
        hold.release();
    }

    async fn compact(&mut self) {
        self.doing("compacting");
        let instructions = self.dice.percent(30).then(|| "mind the tests".to_owned());
        self.send(SessionCommand::Compact { instructions });
        if self.dice.percent(20) {
            self.say(Delivery::FollowUp);
        }
        if self.dice.percent(20) {
            // Twice in a row makes one.
            self.settle().await;
            self.send(SessionCommand::Compact { instructions: None });
        }
    }

    async fn undo(&mut self) {
        self.doing("undoing a compaction");
        self.send(SessionCommand::Compact { instructions: None });
        self.settle().await;
        let moves = self.counts.moves;
        self.send(SessionCommand::UndoCompaction);
        self.settle().await;
        self.counts.undone += self.counts.moves - moves;
    }

    fn go_somewhere(&mut self) {
        self.doing("moving");
        let Some(target) = self.somewhere() else { return };
        let summary = match self.dice.below(8) {
            0 => SummaryChoice::Default,
            1 => SummaryChoice::Focus("what failed".into()),
            2 => SummaryChoice::OwnPrompt("Say what was done.".into()),
            3 => SummaryChoice::Extractive,
            _ => SummaryChoice::None,
        };
        let label = self.dice.percent(15).then(|| "a place".to_owned());
        self.send(SessionCommand::Navigate(Navigation { target, summary, label }));
    }

    /// An entry: mostly one of the last, now and then any.
    fn somewhere(&mut self) -> Option<EntryId> {
        let count = self.entries_open();
        let back = if self.dice.percent(80) { count.min(40) } else { count };
        let place = count.checked_sub(1 + self.dice.below(back))?;
        Some(EntryId::new(self.book.lock().unwrap().id(place)))
    }

    fn name_something(&mut self) {
        self.doing("naming");
        self.counts.labels += 1;
        match self.somewhere() {
            Some(target) if self.dice.percent(70) => {
                let label = self.dice.percent(80).then(|| "named".to_owned());
                self.send(SessionCommand::Label { target, label });
            }
            _ => self.send(SessionCommand::Name(format!("soak {}", self.counts.steps))),
        }
    }

    fn change_model(&mut self) {
        self.doing("changing the model");
        self.counts.models += 1;
        if self.dice.percent(30) {
            let level = self.dice.pick(&[ThinkingLevel::Off, ThinkingLevel::High]);
            self.send(SessionCommand::SetThinking(level));
        } else {
            let id = if self.dice.percent(60) { "large" } else { "small" };
            self.send(SessionCommand::SetModel(ModelRef::new("soak", id)));
        }
    }

    /// To a fork, a clone or a new session, some steps there, and back.
    async fn switch(&mut self) {
        self.doing("switching");
        self.settle().await;
        if self.entries_open() == 0 {
            return;
        }
        self.counts.switches += 1;
        let before = self.fingerprint();
        let to = match self.dice.below(4) {
            0 => SwitchTo::New,
            1 => SwitchTo::Fork(None),
            2 => SwitchTo::Fork(self.somewhere()),
            _ => SwitchTo::Clone,
        };
        let whole = matches!(to, SwitchTo::Fork(None) | SwitchTo::Clone);
        self.counts.rewrites += self.book.lock().unwrap().rewrites as u64;
        self.send(SessionCommand::Switch(to));
        self.settle().await;
        let here = self.fingerprint();
        if whole {
            self.must(if here == before { Ok(()) } else { Err("a fork differs".into()) });
        }
        let side = self.book.lock().unwrap().path().to_owned();
        assert!(side != self.main, "the switch did not happen");
        for _ in 0..self.dice.below(4) {
            self.say(Delivery::FollowUp);
            self.settle().await;
            self.fingerprint();
        }
        self.doing("switching back");
        self.send(SessionCommand::Switch(SwitchTo::Open(self.main.clone())));
        self.settle().await;
        assert_eq!(self.fingerprint(), before, "the session that was left has changed");
        for name in [side.clone(), side.with_extension("originals.jsonl")] {
            // A new session in which nothing was said has no file.
            let _ = std::fs::remove_file(name);
        }
    }

    /// The ids in context, as the file says it now.
    fn fingerprint(&mut self) -> Vec<u32> {
        let mut book = self.book.lock().unwrap();
        let ids = book.catch_up(true).and_then(|()| book.fingerprint());
        drop(book);
        self.must(ids)
    }
}
