//! What follows a round: one pure function for every end (SPEC A1, C2, C3, I4).

use std::time::Duration;

/// How a round ended, seen from outside.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RoundOutcome {
    /// The answer is complete.
    Answered {
        /// Whether it asked for tools, whose results the model now waits for.
        has_calls: bool,
    },
    /// The input did not fit (C2, C6).
    Overflowed,
    /// Something else went wrong.
    Failed {
        /// How long to wait before trying again; `None` when that would not help.
        retry_in: Option<Duration>,
    },
    /// The person stopped it.
    Stopped,
}

/// What the decision depends on besides the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Circumstances {
    /// The context is over the trigger, and a compaction now would have something to do.
    pub compaction_due: bool,
    /// The person wants to steer.
    pub steering: bool,
    /// Anything waits in the queue, steering or not.
    pub queued: bool,
    /// `compaction.enabled`.
    pub automatic: bool,
    /// This turn has already recovered from an overflow (I4).
    pub recovered_before: bool,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NextStep {
    /// Ask the model again.
    Continue,
    /// Say what steers, then ask the model again.
    Steer,
    /// Compact, then go on with the turn (C3).
    CompactThenContinue,
    /// The turn is over: compact, then deliver the queue or continue by synthetic prompt (C3).
    CompactAtTurnEnd,
    /// Make room and ask again (C2).
    RecoverFromOverflow,
    /// Report that the window overflowed and nothing more is tried (C2).
    ReportOverflow,
    /// Wait, then ask again.
    Retry(Duration),
    /// Say what is queued.
    DeliverQueue,
    /// Report the failure and wait for the person.
    ReportFailure,
    /// Wait for the person.
    Idle,
}

/// Decides what follows a round.
#[must_use]
pub(super) const fn next_step(outcome: &RoundOutcome, now: Circumstances) -> NextStep {
    match outcome {
        RoundOutcome::Answered { has_calls: true } => {
            if now.steering {
                NextStep::Steer
            } else if now.compaction_due {
                NextStep::CompactThenContinue
            } else {
                NextStep::Continue
            }
        }
        RoundOutcome::Answered { has_calls: false } => {
            if now.compaction_due {
                NextStep::CompactAtTurnEnd
            } else if now.queued {
                NextStep::DeliverQueue
            } else {
                NextStep::Idle
            }
        }
        RoundOutcome::Overflowed => {
            if now.automatic && !now.recovered_before {
                NextStep::RecoverFromOverflow
            } else {
                NextStep::ReportOverflow
            }
        }
        RoundOutcome::Failed { retry_in: Some(delay) } => NextStep::Retry(*delay),
        RoundOutcome::Failed { retry_in: None } => NextStep::ReportFailure,
        // F28: stop is a fence; nothing starts on its own until the person acts.
        RoundOutcome::Stopped => NextStep::Idle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i4_every_end_has_one_successor() {
        let calm = Circumstances { automatic: true, ..Circumstances::default() };
        let due = Circumstances { compaction_due: true, ..calm };
        let queued = Circumstances { queued: true, ..calm };
        let steering = Circumstances { steering: true, queued: true, ..due };
        let again = Circumstances { recovered_before: true, ..calm };
        let off = Circumstances { automatic: false, ..calm };
        let delay = Duration::from_secs(2);
        let with_calls = RoundOutcome::Answered { has_calls: true };
        let without = RoundOutcome::Answered { has_calls: false };
        for (outcome, now, expected) in [
            (&with_calls, calm, NextStep::Continue),
            (&with_calls, due, NextStep::CompactThenContinue),
            (&with_calls, steering, NextStep::Steer),
            (&with_calls, queued, NextStep::Continue),
            (&without, calm, NextStep::Idle),
            (&without, due, NextStep::CompactAtTurnEnd),
            (&without, steering, NextStep::CompactAtTurnEnd),
            (&without, queued, NextStep::DeliverQueue),
            (&RoundOutcome::Overflowed, due, NextStep::RecoverFromOverflow),
            (&RoundOutcome::Overflowed, again, NextStep::ReportOverflow),
            (&RoundOutcome::Overflowed, off, NextStep::ReportOverflow),
            (&RoundOutcome::Failed { retry_in: Some(delay) }, calm, NextStep::Retry(delay)),
            (&RoundOutcome::Failed { retry_in: None }, queued, NextStep::ReportFailure),
            (&RoundOutcome::Stopped, steering, NextStep::Idle),
        ] {
            assert_eq!(next_step(outcome, now), expected, "{outcome:?} {now:?}");
        }
    }
}
