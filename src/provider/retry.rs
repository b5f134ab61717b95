//! Whether a failed request is sent again, and when (A1, F70). Pure: the caller waits, counts
//! down, and stops on Escape.

use std::time::Duration;

use super::{ErrorKind, ProviderError};

/// How often and how patiently a request is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most repetitions of one request; the first sending does not count.
    pub max_retries: u32,
    /// Before the first repetition; doubled for each further one.
    pub first_delay: Duration,
    /// The doubling ends here.
    pub longest_backoff: Duration,
    /// A server that wants more than this is not waited for: the person is told instead.
    pub longest_wait: Duration,
    /// See [`RetryPolicy::nothing_executed`].
    repeat_broken_answers: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 5,
            first_delay: Duration::from_secs(1),
            longest_backoff: Duration::from_secs(30),
            longest_wait: Duration::from_secs(60),
            repeat_broken_answers: false,
        }
    }
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Send the same request again after this long.
    After(Duration),
    /// Report the error; [`ProviderError::retry_after`] says so if time would help.
    Stop,
}

impl RetryPolicy {
    /// The policy for an answer of which nothing was executed or stored: then one that broke off
    /// ([`ErrorKind::Cut`], [`ErrorKind::Timeout`]) may be asked for again (F60).
    #[must_use]
    pub fn nothing_executed(mut self) -> Self {
        self.repeat_broken_answers = true;
        self
    }

    /// Decides about `error`, which followed `attempt` earlier repetitions (0 for the first sending).
    #[must_use]
    pub fn decide(&self, error: &ProviderError, attempt: u32) -> RetryDecision {
        let worth_it = match error.kind {
            ErrorKind::Transient | ErrorKind::RateLimit => true,
            ErrorKind::Cut | ErrorKind::Timeout => self.repeat_broken_answers,
            ErrorKind::Quota
            | ErrorKind::Overflow
            | ErrorKind::Auth
            | ErrorKind::BadRequest
            | ErrorKind::Refused
            | ErrorKind::Cancelled => false,
        };
        if !worth_it || attempt >= self.max_retries {
            return RetryDecision::Stop;
        }
        match error.retry_after {
            Some(wait) if wait > self.longest_wait => RetryDecision::Stop,
            Some(wait) => RetryDecision::After(wait),
            None => RetryDecision::After(self.backoff(attempt)),
        }
    }

    fn backoff(&self, attempt: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempt);
        self.first_delay.saturating_mul(factor).min(self.longest_backoff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ErrorKind, retry_after: Option<u64>) -> ProviderError {
        let retry_after = retry_after.map(Duration::from_secs);
        ProviderError { retry_after, ..ProviderError::new(kind, "x") }
    }

    fn after(seconds: u64) -> RetryDecision {
        RetryDecision::After(Duration::from_secs(seconds))
    }

    #[test]
    fn a1_only_what_time_can_heal_is_repeated() {
        let policy = RetryPolicy::default();
        for (kind, expected) in [
            (ErrorKind::Transient, after(1)),
            (ErrorKind::RateLimit, after(1)),
            (ErrorKind::Quota, RetryDecision::Stop),
            (ErrorKind::Overflow, RetryDecision::Stop),
            (ErrorKind::Auth, RetryDecision::Stop),
            (ErrorKind::BadRequest, RetryDecision::Stop),
            (ErrorKind::Refused, RetryDecision::Stop),
            (ErrorKind::Cut, RetryDecision::Stop),
            (ErrorKind::Timeout, RetryDecision::Stop),
            (ErrorKind::Cancelled, RetryDecision::Stop),
        ] {
            assert_eq!(policy.decide(&error(kind, None), 0), expected, "{kind:?}");
        }
    }

    #[test]
    fn f60_a_broken_answer_is_repeated_only_when_nothing_was_executed() {
        let policy = RetryPolicy::default().nothing_executed();
        assert_eq!(policy.decide(&error(ErrorKind::Cut, None), 0), after(1));
        assert_eq!(policy.decide(&error(ErrorKind::Timeout, None), 0), after(1));
        assert_eq!(policy.decide(&error(ErrorKind::Cancelled, None), 0), RetryDecision::Stop);
    }

    #[test]
    fn a1_the_delay_doubles_and_the_attempts_end() {
        let policy = RetryPolicy { max_retries: 7, ..RetryPolicy::default() };
        let delays: Vec<_> = (0..8)
            .map(|attempt| policy.decide(&error(ErrorKind::Transient, None), attempt))
            .collect();
        let expected = [after(1), after(2), after(4), after(8), after(16), after(30), after(30)];
        assert_eq!(delays[..7], expected);
        assert_eq!(delays[7], RetryDecision::Stop);
    }

    #[test]
    fn f70_the_servers_wish_is_honoured_up_to_a_minute() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.decide(&error(ErrorKind::RateLimit, Some(0)), 3), after(0));
        assert_eq!(policy.decide(&error(ErrorKind::RateLimit, Some(60)), 3), after(60));
        assert_eq!(policy.decide(&error(ErrorKind::RateLimit, Some(61)), 0), RetryDecision::Stop);
    }
}
