//! A count that ended sampling before its target ended: what part of the run
//! was seen.

use recorder::Target;
use recorder::session::ledger::Ledger;
use std::fmt;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// The count, in records.
    count: u64,
    /// From the start of sampling to its end.
    sampled: Duration,
    rest: Rest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rest {
    /// The command ran so long in all.
    Ran { whole: Duration, is_over: bool },
    /// It ran on natively, where it had been emulated.
    RanNatively { more: Duration, is_over: bool },
    /// The process, or the system, runs on.
    RunsOn(Target),
    /// The target had ended, too, but so many records were kept of these.
    Records { kept: u64, of: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    Ended,
    /// The command ran on natively, where it had been emulated, and up to its end,
    /// which came so soon.
    RanNatively(Duration),
    /// So long, when nobody waited for it any more.
    StillRanNatively(Duration),
    /// The command ran so much longer, up to its end.
    Ran(Duration),
    /// So much longer, when nobody waited for it any more.
    StillRan(Duration),
    /// It runs on, and nobody waits for it.
    RunsOn,
}

impl CutShort {
    /// What a count that was reached left unseen of a target; None: nothing.
    pub fn new(
        count: u64,
        ledger: &Ledger,
        target: Target,
        afterwards: Afterwards,
    ) -> Option<CutShort> {
        let (sampled, kept) = (ledger.wall, ledger.delivered);
        let ran = |more, is_over| Rest::Ran { whole: sampled.saturating_add(more), is_over };
        let rest = match afterwards {
            Afterwards::Ran(more) => ran(more, true),
            Afterwards::StillRan(more) => ran(more, false),
            Afterwards::RanNatively(more) => Rest::RanNatively { more, is_over: true },
            Afterwards::StillRanNatively(more) => Rest::RanNatively { more, is_over: false },
            Afterwards::RunsOn => Rest::RunsOn(target),
            Afterwards::Ended => match ledger.lost.beyond_count {
                0 => return None,
                beyond => Rest::Records { kept, of: kept.saturating_add(beyond) },
            },
        };
        Some(CutShort { count, sampled, rest })
    }
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.sampled.as_secs_f64();
        match &self.rest {
            Rest::Ran { whole, is_over } => {
                let share = 100.0 * seconds / whole.as_secs_f64().max(f64::MIN_POSITIVE);
                let so_far = if *is_over { "" } else { " so far" };
                write!(
                    f,
                    "the count of {} ended sampling {seconds:.3} seconds into a run of {:.3}{so_far} \
                     ({share:.1} % of the time), later events were not counted; -c all samples all \
                     of it",
                    self.count,
                    whole.as_secs_f64(),
                )
            }
            Rest::RanNatively { more, is_over } => {
                let (verb, so_far) = if *is_over { ("ran", "") } else { ("runs", " so far") };
                write!(
                    f,
                    "the count of {} ended sampling after {seconds:.3} seconds, and the command {verb} \
                     on natively, for {:.3} seconds{so_far}, where no event was counted; -c all \
                     samples all of it",
                    self.count,
                    more.as_secs_f64(),
                )
            }
            Rest::RunsOn(target) => {
                let (who, until) = match target {
                    Target::System => ("the system", "until SIGINT"),
                    _ => ("the target", "to its end, or until SIGINT"),
                };
                write!(
                    f,
                    "the count of {} ended sampling after {seconds:.3} seconds, {who} runs on; -c all \
                     samples {until}",
                    self.count
                )
            }
            Rest::Records { kept, of } => write!(
                f,
                "the count of {} was reached before the end: {kept} of {of} records were kept; -c all \
                 keeps all",
                self.count
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recorder::session::ledger::Lost;

    fn told(target: Target, afterwards: Afterwards, beyond_count: u64) -> Option<String> {
        let ledger = Ledger {
            delivered: 2000,
            lost: Lost { beyond_count, ..Lost::default() },
            wall: Duration::from_millis(80),
            ..Ledger::default()
        };
        CutShort::new(2000, &ledger, target, afterwards).map(|cut| cut.to_string())
    }

    #[test]
    fn what_part_was_seen_is_said() {
        let more = Duration::from_millis(7920);
        for (target, afterwards, beyond, said) in [
            (
                Target::Command,
                Afterwards::Ran(more),
                5,
                "the count of 2000 ended sampling 0.080 seconds into a run of 8.000 (1.0 % of the \
                 time), later events were not counted; -c all samples all of it",
            ),
            (
                Target::Command,
                Afterwards::StillRan(more),
                5,
                "the count of 2000 ended sampling 0.080 seconds into a run of 8.000 so far (1.0 % \
                 of the time), later events were not counted; -c all samples all of it",
            ),
            (
                Target::Command,
                Afterwards::RanNatively(more),
                0,
                "the count of 2000 ended sampling after 0.080 seconds, and the command ran on \
                 natively, for 7.920 seconds, where no event was counted; -c all samples all of it",
            ),
            (
                Target::Command,
                Afterwards::StillRanNatively(more),
                0,
                "the count of 2000 ended sampling after 0.080 seconds, and the command runs on \
                 natively, for 7.920 seconds so far, where no event was counted; -c all samples all of \
                 it",
            ),
            (
                Target::Process(perfdata::Pid(7)),
                Afterwards::RunsOn,
                0,
                "the count of 2000 ended sampling after 0.080 seconds, the target runs on; -c all \
                 samples to its end, or until SIGINT",
            ),
            (
                Target::System,
                Afterwards::RunsOn,
                0,
                "the count of 2000 ended sampling after 0.080 seconds, the system runs on; -c all \
                 samples until SIGINT",
            ),
            (
                Target::Command,
                Afterwards::Ended,
                500,
                "the count of 2000 was reached before the end: 2000 of 2500 records were kept; -c all \
                 keeps all",
            ),
        ] {
            assert_eq!(told(target, afterwards, beyond).as_deref(), Some(said));
        }
        assert_eq!(told(Target::Command, Afterwards::Ended, 0), None, "all was seen");
    }
}
