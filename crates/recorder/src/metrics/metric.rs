//! The table of metrics.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use super::Formula;
use crate::catalogue::table::{self, rows};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetricGroup {
    Software,
    Core,
    Cache,
    Tlb,
    Memory,
    /// Requests to the L2, by origin and result.
    L2Rqsts,
    Branches,
    Topdown,
}

impl MetricGroup {
    /// Each, in the order of tables.
    pub const ALL: [MetricGroup; 8] = [
        MetricGroup::Software,
        MetricGroup::Core,
        MetricGroup::Cache,
        MetricGroup::Tlb,
        MetricGroup::Memory,
        MetricGroup::L2Rqsts,
        MetricGroup::Branches,
        MetricGroup::Topdown,
    ];

    pub fn name(self) -> &'static str {
        match self {
            MetricGroup::Software => "software",
            MetricGroup::Core => "core",
            MetricGroup::Cache => "cache",
            MetricGroup::Tlb => "tlb",
            MetricGroup::Memory => "memory",
            MetricGroup::L2Rqsts => "l2_rqsts",
            MetricGroup::Branches => "branches",
            MetricGroup::Topdown => "topdown",
        }
    }
}

impl fmt::Display for MetricGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for MetricGroup {
    type Err = ();

    fn from_str(word: &str) -> Result<MetricGroup, ()> {
        MetricGroup::ALL.into_iter().find(|group| group.name() == word).ok_or(())
    }
}

/// A row of the table: a metric as some cores have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub group: MetricGroup,
    pub name: &'static str,
    /// Of its value: `%`, `per 1000` instructions, `cycles`.
    pub unit: &'static str,
    pub formula: Formula,
    pub text: &'static str,
    pub meaning: &'static str,
    /// The cores that it is for, with commas; empty: any that has its events.
    pub cores: &'static str,
}

fn metric(row: [&'static str; 6]) -> Option<Metric> {
    let [group, name, unit, text, meaning, cores] = row;
    let formula = Formula::parse(text).ok()?;
    Some(Metric { group: group.parse().ok()?, name, unit, formula, text, meaning, cores })
}

static METRICS: LazyLock<Vec<Metric>> =
    LazyLock::new(|| rows(table::METRICS).filter_map(metric).collect());

/// Every row, in the table's order: of those of one name, the first that a
/// core has is meant.
pub fn metrics() -> &'static [Metric] {
    &METRICS
}
