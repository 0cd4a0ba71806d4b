//! What is to be counted, and why it cannot be.

use std::path::Path;

use crate::machine::facts::{Facts, FactsError};
use crate::metrics::{Metric, MetricGroup, metrics};
use crate::request::EventRequest;
use crate::spelling::{best_three, likeness};
use crate::{EventSpec, Modes, Refusal, Request, Target};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountingRequest {
    /// Metrics, in no order.
    pub metrics: Vec<MetricChoice>,
    /// Events as `-t` takes them.
    pub events: Vec<EventSpec>,
    pub modes: Modes,
    pub target: Target,
}

impl CountingRequest {
    /// What of the machine it asks about; `root` holds `proc` and `sys`.
    ///
    /// # Errors
    /// A file of these that makes no sense.
    pub fn facts(&self, root: &Path) -> Result<Facts, FactsError> {
        let mut asked = Request::new("task_clock", self.modes, self.target);
        let other =
            |event: &EventSpec| EventRequest { event: event.clone(), interval: None, seed: None };
        asked.also = self.events.iter().map(other).collect();
        let mut facts = Facts::read_for(root, &asked)?;
        facts.describe_pmu(root, AMD_L3)?;
        Ok(facts)
    }
}

/// Counters outside of the cores that metrics are of.
const AMD_L3: &str = "amd_l3";

/// One word after `-m`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricChoice {
    Group(MetricGroup),
    Named(String),
}

impl MetricChoice {
    /// What a word means: a group, a metric, or `GROUP.METRIC`.
    ///
    /// # Errors
    /// It is none; those like it are named.
    pub fn parse(word: &str) -> Result<MetricChoice, CountingRefusal> {
        if let Ok(group) = word.parse() {
            return Ok(MetricChoice::Group(group));
        }
        let choice = MetricChoice::Named(word.to_owned());
        if metrics().iter().any(|metric| choice.is_of(metric)) {
            return Ok(choice);
        }
        let names = metrics().iter().map(|metric| metric.name);
        let names = names.chain(MetricGroup::ALL.map(MetricGroup::name));
        let nearest = best_three(names.map(|name| (likeness(word, name), name)));
        let nearest = nearest.into_iter().map(str::to_owned).collect();
        Err(CountingRefusal::Unknown { word: word.to_owned(), nearest })
    }

    pub fn is_of(&self, metric: &Metric) -> bool {
        match self {
            MetricChoice::Group(group) => metric.group == *group,
            MetricChoice::Named(name) => match name.split_once('.') {
                Some((group, name)) => metric.group.name() == group && metric.name == name,
                None => metric.name == name,
            },
        }
    }

    /// Whether it is of the kernel's own counters alone.
    pub fn is_of_kernel(&self) -> bool {
        let mut meant = metrics().iter().filter(|metric| self.is_of(metric));
        meant.all(|metric| metric.group == MetricGroup::Software)
    }
}

/// Why something is not counted. Every text says what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountingRefusal {
    #[error(
        "no metric or group is called {word:?}: groups are software, core, cache, tlb, memory, \
         l2_rqsts, branches and topdown, and `ebs stat --list` has the metrics{}", nearest_suffix(.nearest)
    )]
    Unknown { word: String, nearest: Vec<String> },
    #[error(transparent)]
    Event(#[from] Refusal),
    #[error(
        "{event} is not counted here: its samples alone tell which of them are meant ({how}); \
         `ebs -t {event}` samples it, `ebs stat -m cache` has what counters count"
    )]
    OfSamples { event: String, how: String },
    /// Counters of the socket belong to no task.
    #[error("{event} is counted for whole CPUs alone, by {pmu}: say -a")]
    OfCpus { event: String, pmu: String },
    #[error("{events} events at a time are more than the emulated PMU's {most}: ask for fewer")]
    TooMany { events: usize, most: usize },
    #[error("nothing is counted: {why}")]
    Nothing { why: String },
}

impl CountingRefusal {
    pub fn is_usage(&self) -> bool {
        match self {
            CountingRefusal::Unknown { .. } => true,
            CountingRefusal::Event(refusal) => refusal.is_usage(),
            _ => false,
        }
    }
}

fn nearest_suffix(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        _ => format!(". Nearest: {}", nearest.join(", ")),
    }
}
