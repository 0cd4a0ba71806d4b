//! What counts are divided by, so that runs of different length compare.

use super::{DiffError, DiffRun};
use crate::collect::event::request;
use crate::report::{EventReport, Report};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Names of events that count instructions.
const INSTRUCTIONS: [&str; 3] = ["instr_retired", "instructions", "inst_retired.any"];

/// What rates are by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffPer {
    /// Executed instructions.
    Instructions,
    /// Seconds.
    Seconds,
    /// Runs: each is one.
    Run,
    /// The user's units, so many in each run.
    Units {
        /// The user's word.
        name: String,
        /// In each run of A.
        a: u64,
        /// In each run of B.
        b: u64,
    },
}

/// A word given to `--per` names nothing that rates can be by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--per {0:?} is none of instructions, seconds and run, and no NAME=N or NAME=N,M, such as \
     requests=10000, with N and M above 0"
)]
pub struct DiffPerError(String);

impl FromStr for DiffPer {
    type Err = DiffPerError;

    fn from_str(text: &str) -> Result<DiffPer, DiffPerError> {
        match text {
            "instructions" => return Ok(DiffPer::Instructions),
            "seconds" => return Ok(DiffPer::Seconds),
            "run" => return Ok(DiffPer::Run),
            _ => {}
        }
        let wrong = || DiffPerError(text.to_owned());
        let (name, numbers) = text.split_once('=').ok_or_else(wrong)?;
        let (a, b) = numbers.split_once(',').unwrap_or((numbers, numbers));
        let number = |text: &str| text.parse().ok().filter(|number: &u64| *number > 0);
        let is_word = |c: char| c.is_alphanumeric() || "_-".contains(c);
        match (number(a), number(b)) {
            (Some(a), Some(b)) if !name.is_empty() && name.chars().all(is_word) => {
                Ok(DiffPer::Units { name: name.to_owned(), a, b })
            }
            _ => Err(wrong()),
        }
    }
}

/// What rates are told by: as many of a unit at once as makes numbers short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffUnit(DiffPer);

impl DiffUnit {
    /// So many of it make one of the unit that rates are told by.
    fn size(&self) -> f64 {
        if self.0 == DiffPer::Instructions { 1000.0 } else { 1.0 }
    }
}

impl fmt::Display for DiffUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            DiffPer::Instructions => "1000 instructions",
            DiffPer::Seconds => "second",
            DiffPer::Run => "run",
            // `--per requests=N` is by each of them.
            DiffPer::Units { name, .. } => name.strip_suffix('s').unwrap_or(name),
        })
    }
}

impl Serialize for DiffUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Exposures {
    pub(super) unit: DiffUnit,
    pub(super) because: String,
    /// Of each run of A, in units.
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
}

impl Exposures {
    /// As asked for; else instructions where all recordings tell how many there were,
    /// else what is `usual`, else seconds, but not of emulated runs.
    pub(super) fn new(
        a: &[DiffRun],
        b: &[DiffRun],
        asked: Option<&DiffPer>,
        usual: Option<&DiffPer>,
    ) -> Result<Exposures, DiffError> {
        let all = || a.iter().chain(b);
        let is_emulated = all().any(|run| run.report.events.iter().any(is_emulated));
        let (per, because) = if let Some(per) = asked {
            (per.clone(), "as --per says".to_owned())
        } else if all().all(|run| instructions(&run.report).is_some()) {
            (DiffPer::Instructions, "every recording tells how many it executed".to_owned())
        } else {
            let none = "not every recording tells how many instructions it executed (sample \
                        instr_retired, too)";
            match usual {
                Some(per) => (per.clone(), format!("each ran its command to the end; {none}")),
                None if is_emulated => {
                    let per = DiffPer::Run;
                    (per, format!("emulated programs take any time; {none}"))
                }
                None => (DiffPer::Seconds, none.to_owned()),
            }
        };
        let unit = DiffUnit(per);
        let of = |runs: &[DiffRun], is_a: bool| -> Result<Vec<f64>, DiffError> {
            runs.iter().map(|run| Ok(unit.of_run(run, is_a)? / unit.size())).collect()
        };
        let (a, b) = (of(a, true)?, of(b, false)?);
        Ok(Exposures { unit, because, a, b })
    }
}

impl DiffUnit {
    fn of_run(&self, run: &DiffRun, is_a: bool) -> Result<f64, DiffError> {
        let (known, what, instead) = match &self.0 {
            DiffPer::Instructions => (
                instructions(&run.report),
                "instructions",
                "record instr_retired beside the other events, or say --per seconds or --per run",
            ),
            DiffPer::Seconds => {
                (seconds(run), "seconds", "say --per run, or --per NAME=N with your own units")
            }
            DiffPer::Run => return Ok(1.0),
            DiffPer::Units { a, b, .. } => return Ok(float(if is_a { *a } else { *b })),
        };
        let known = known.filter(|exposure| exposure.is_finite() && *exposure > 0.0);
        known.ok_or_else(|| DiffError::Exposure { run: run.name.clone(), what, instead })
    }

    /// Whether events of the bursts alone are to be divided by it: it is of these, too.
    pub(super) fn is_of_bursts(&self) -> bool {
        self.0 == DiffPer::Instructions
    }
}

#[expect(clippy::cast_precision_loss, reason = "rates need no more than 53 bits")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

fn is_emulated(event: &EventReport) -> bool {
    event.promises.get("source").is_some_and(|source| source == "emulated")
}

/// Instructions that a recording tells of: its recorder's count, else what samples
/// stand for; of bursts those in them.
fn instructions(report: &Report) -> Option<f64> {
    let names = |event: &&EventReport| INSTRUCTIONS.contains(&plain(request(&event.name)));
    let counted = report.events.iter().find(names).and_then(|event| {
        let ledger = event.ledger.as_ref().and_then(|ledger| ledger.events);
        ledger.or((event.totals.filtered == 0).then_some(event.totals.period))
    });
    let bursts = || {
        let ledgers = report.events.iter().filter_map(|event| event.ledger.as_ref());
        ledgers.filter_map(|ledger| ledger.bursts).map(|bursts| bursts.counted).next()
    };
    counted.or_else(bursts).map(float).filter(|count| *count > 0.0)
}

/// A name of perf's without its modifiers: `instructions` of `instructions:u`.
pub(super) fn plain(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((plain, modifiers)) if modifiers.chars().all(|it| "ukhHGpPSDWe".contains(it)) => plain,
        _ => name,
    }
}

/// How long a recording took, by its recorder's ledger.
fn seconds(run: &DiffRun) -> Option<f64> {
    let ledgers = run.report.events.iter().filter_map(|event| event.ledger.as_ref());
    ledgers.filter_map(|ledger| ledger.seconds).reduce(f64::max).or(run.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_and_misread_ones_quoted() {
        let of = |text: &str| text.parse::<DiffPer>();
        assert_eq!(of("run"), Ok(DiffPer::Run));
        let units = |a, b| DiffPer::Units { name: "requests".into(), a, b };
        assert_eq!(of("requests=10"), Ok(units(10, 10)));
        assert_eq!(of("requests=10,12"), Ok(units(10, 12)));
        assert_eq!(DiffUnit(units(1, 1)).to_string(), "request");
        for wrong in ["", "x", "=5", "x=0", "x=1,0", "x=1,", "x=-1", "a b=1"] {
            assert!(of(wrong).unwrap_err().to_string().contains(&format!("{wrong:?}")));
        }
    }

    #[test]
    fn modifiers_are_no_part_of_a_name() {
        assert_eq!(plain("instructions:u"), "instructions");
        assert_eq!(plain("mem:0x40/8:w"), "mem:0x40/8:w");
        assert_eq!(plain("instr_retired"), "instr_retired");
        assert_eq!(plain("syscalls:sys_enter"), "syscalls:sys_enter");
    }
}
