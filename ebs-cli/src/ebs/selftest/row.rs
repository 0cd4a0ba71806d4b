//! One line of the result.

use super::judge::Judgement;
use super::observed::{Account, Opened};
use super::program::Program;
use recorder::Modes;
use recorder::catalogue::CatalogueType;
use recorder::catalogue::promises::SampleSource;
use std::time::Duration;

/// A type on a program, or a type that was not sampled.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) entry: &'static CatalogueType,
    /// The program, and whose events; None: no program excites it.
    pub(super) on: Option<(Program, Modes)>,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Judged(Box<Judged>),
    /// It was opened, and then something failed that never should.
    Broken(String),
    /// It was not sampled: what is refused, and what to do.
    WhyNot(String),
}

#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) opened: Vec<Opened>,
    pub(super) served: String,
    pub(super) samples: u64,
    pub(super) account: Account,
    pub(super) judgement: Judgement,
    /// How long the loop took without sampling, and with it.
    pub(super) took: [Duration; 2],
}

impl Judged {
    /// How many times as long the loop took as without sampling; None where
    /// it took no time to speak of.
    pub(super) fn slower(&self) -> Option<f64> {
        let [native, sampled] = self.took.map(|took| took.as_secs_f64());
        (native > 0.0).then(|| sampled / native)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    Hardware,
    /// The kernel; of breakpoints a debug register tells it.
    Kernel,
    Emulated,
}

impl By {
    pub(super) fn word(self) -> &'static str {
        match self {
            By::Hardware => "hardware",
            By::Kernel => "kernel",
            By::Emulated => "emulated",
        }
    }

    pub(super) fn of(source: SampleSource) -> By {
        match source {
            SampleSource::Pebs | SampleSource::Ibs | SampleSource::Counter => By::Hardware,
            SampleSource::Emulated | SampleSource::Preloaded => By::Emulated,
            SampleSource::KernelSoftware
            | SampleSource::KernelTimer
            | SampleSource::Breakpoint
            | SampleSource::Tracepoint => By::Kernel,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    Fail,
    WhyNot,
}

impl Row {
    /// The type with its modes, as the last line of a session has it.
    pub(super) fn name(&self) -> String {
        let name = super::cases::event(self.entry).to_string();
        match self.on {
            Some((_, Modes { user, kernel })) => {
                format!("{name}:{}{}", if user { "u" } else { "" }, if kernel { "k" } else { "" })
            }
            None => self.entry.name.to_owned(),
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        match &self.outcome {
            Outcome::Judged(judged) if judged.judgement.wrong.is_empty() => Verdict::Pass,
            Outcome::Judged(_) | Outcome::Broken(_) => Verdict::Fail,
            Outcome::WhyNot(_) => Verdict::WhyNot,
        }
    }

    pub(super) fn by(&self) -> Option<By> {
        match &self.outcome {
            Outcome::Judged(judged) => {
                judged.opened.first().map(|opened| By::of(opened.promises.source))
            }
            _ => None,
        }
    }

    pub(super) fn reasons(&self) -> &[String] {
        match &self.outcome {
            Outcome::Judged(judged) => &judged.judgement.wrong,
            Outcome::Broken(why) | Outcome::WhyNot(why) => std::slice::from_ref(why),
        }
    }
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::WhyNot => "why not",
        }
    }
}
