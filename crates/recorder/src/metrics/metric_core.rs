//! A metric's names as events of one core.

use std::collections::BTreeMap;

use super::{Metric, metrics};
use crate::EventSpec;
use crate::catalogue::table::{self, hex, lists, rows};
use crate::catalogue::{self, EventKind, Microarchitecture};
use crate::machine::facts::Pmu;

/// The name in formulas of the time that was counted.
const WALL: &str = "wall_ns";

#[derive(Clone, Copy, Debug)]
pub enum MetricCore<'p> {
    Kernel,
    Pmu {
        pmu: &'p Pmu,
        /// The core; None: not in the tables.
        uarch: Option<Microarchitecture>,
    },
    Emulated,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricEvent {
    pub name: String,
    /// As `-t` takes it.
    pub spec: EventSpec,
}

/// A metric on a core: what stands for each name of its formula is added up.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreMetric {
    pub metric: &'static Metric,
    /// Events for each name but that of the time.
    pub events: BTreeMap<&'static str, Vec<MetricEvent>>,
}

/// The metrics that a core has, each name once, in the table's order.
pub fn on_core(core: MetricCore<'_>) -> Vec<CoreMetric> {
    let mut found: Vec<CoreMetric> = Vec::new();
    for metric in metrics() {
        let same =
            |one: &CoreMetric| (one.metric.group, one.metric.name) == (metric.group, metric.name);
        if found.iter().any(same) {
            continue;
        }
        found.extend(resolved(metric, core));
    }
    found
}

fn resolved(metric: &'static Metric, core: MetricCore<'_>) -> Option<CoreMetric> {
    let is_for = |uarch: Microarchitecture| lists(metric.cores, uarch.0);
    let has = match core {
        _ if metric.cores.is_empty() => true,
        MetricCore::Pmu { uarch, .. } => uarch.is_some_and(is_for),
        MetricCore::Kernel | MetricCore::Emulated => false,
    };
    if !has {
        return None;
    }
    let names = metric.formula.names().into_iter().filter(|name| *name != WALL);
    let events = names.map(|name| Some((name, events(name, core)?)));
    Some(CoreMetric { metric, events: events.collect::<Option<_>>()? })
}

fn events(name: &str, core: MetricCore<'_>) -> Option<Vec<MetricEvent>> {
    let of_type = |is_meant: fn(EventKind) -> bool| {
        let entry = catalogue::find(name).filter(|entry| is_meant(entry.kind))?;
        Some(vec![MetricEvent { name: entry.name.to_owned(), spec: entry.name.into() }])
    };
    match core {
        MetricCore::Kernel => of_type(|kind| matches!(kind, EventKind::Software(_))),
        MetricCore::Emulated => {
            of_type(|kind| matches!(kind, EventKind::Hardware(_))).filter(|_| {
                catalogue::find(name).is_some_and(|it| catalogue::emulated::kind(it).is_ok())
            })
        }
        MetricCore::Pmu { pmu, uarch } => uarch
            .and_then(|uarch| quantity(name, pmu, uarch).or_else(|| named(name, pmu, uarch)))
            .or_else(|| alias(name, pmu)),
    }
}

/// A row of quantities.tsv.
fn quantity(name: &str, pmu: &Pmu, uarch: Microarchitecture) -> Option<Vec<MetricEvent>> {
    let mut rows = rows(table::QUANTITIES);
    let [_, _, of, codes, names, _] =
        rows.find(|row: &[&str; 6]| row[0] == name && lists(row[1], uarch.0))?;
    let pmu = if of == "core" { pmu.name.as_str() } else { of };
    let codes: Vec<&str> = codes.split(',').collect();
    let names: Vec<&str> = names.split(',').collect();
    let event = |(at, code): (usize, &&str)| {
        // Masks that were or'ed have all of their names in one event.
        let label = if codes.len() == names.len() { names.get(at)? } else { &name };
        let label = if codes.len() == 1 { names.join(",") } else { (*label).to_owned() };
        coded(label, pmu, [hex(code)?, 0])
    };
    codes.iter().enumerate().map(event).collect()
}

fn named(name: &str, pmu: &Pmu, uarch: Microarchitecture) -> Option<Vec<MetricEvent>> {
    let found = catalogue::named(uarch, uarch.pmu()?, name)?;
    let words = [found.config, found.config1];
    Some(vec![coded(found.name.to_owned(), &pmu.name, words)?])
}

/// An alias of the PMU, such as topdown-retiring.
fn alias(name: &str, pmu: &Pmu) -> Option<Vec<MetricEvent>> {
    let name = name.replace('_', "-");
    let (alias, _) = pmu.description.as_ref()?.alias(&name)?;
    let spec = format!("{}/{alias}/", pmu.name).into();
    Some(vec![MetricEvent { name: alias.to_owned(), spec }])
}

fn coded(name: String, pmu: &str, words: [u64; 2]) -> Option<MetricEvent> {
    let [config, config1] = words;
    let spec = match config1 {
        0 => format!("{pmu}/config={config:#x}/"),
        _ => format!("{pmu}/config={config:#x},config1={config1:#x}/"),
    };
    Some(MetricEvent { name, spec: spec.into() })
}
