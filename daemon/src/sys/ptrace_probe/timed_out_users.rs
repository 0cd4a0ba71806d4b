//! Whose children answer late: the effective user of one may set its priority
//! and CPUs, and so delay its answer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// So long after the last of a user's children that was late has been buried,
/// none is made for them.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// Users whose children are not waited for again just now.
#[derive(Debug, Default)]
pub(super) struct TimedOutUsers {
    running: Vec<LateChild>,
    /// When a user was late, or buried last.
    since: HashMap<u32, Instant>,
}

#[derive(Debug)]
struct LateChild {
    child: Pid,
    uid: u32,
}

impl TimedOutUsers {
    /// Whether no child is to be made for that user.
    pub(super) fn has(&self, uid: u32) -> bool {
        self.since.contains_key(&uid)
    }

    /// A child of that user's was late. It is killed, and buried when it has
    /// ended.
    pub(super) fn add(&mut self, child: Pid, uid: u32, now: Instant) {
        self.since.insert(uid, now);
        if !is_reaped(child) {
            // It is not buried: the number is its own.
            let _ending = kill_process(child, Signal::KILL);
            self.running.push(LateChild { child, uid });
        }
    }

    /// Buries children that have ended, and forgives after a while.
    pub(super) fn reap(&mut self, now: Instant) {
        for late in self.running.extract_if(.., |late| is_reaped(late.child)) {
            self.since.insert(late.uid, now);
        }
        let running = &self.running;
        self.since.retain(|uid, since| {
            now.saturating_duration_since(*since) < RETRY_AFTER
                || running.iter().any(|late| late.uid == *uid)
        });
    }
}

/// Whether a child has ended and is reaped.
pub(super) fn is_reaped(child: Pid) -> bool {
    !matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[expect(clippy::zombie_processes, reason = "it is buried by what is tested")]
    #[test]
    fn who_was_late_is_not_waited_for_again_for_a_while() {
        let mut timed_out_users = TimedOutUsers::default();
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let child = Pid::from_raw(child.id().cast_signed()).unwrap();
        let start = Instant::now();
        timed_out_users.running.push(LateChild { child, uid: 4001 });
        timed_out_users.since.insert(4001, start);
        // For as long as it runs.
        timed_out_users.reap(start + 10 * RETRY_AFTER);
        assert!(timed_out_users.has(4001) && !timed_out_users.has(4002));
        assert_eq!(timed_out_users.running.len(), 1);
        timed_out_users.running.clear();
        timed_out_users.add(child, 4001, start);
        let mut buried = start + 10 * RETRY_AFTER;
        while !timed_out_users.running.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
            buried += Duration::from_millis(1);
            timed_out_users.reap(buried);
        }
        timed_out_users.reap(buried + RETRY_AFTER / 2);
        assert!(timed_out_users.has(4001));
        timed_out_users.reap(buried + RETRY_AFTER);
        assert!(!timed_out_users.has(4001));
    }
}
