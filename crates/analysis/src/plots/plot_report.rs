//! Histograms of a report's samples: by cache set, and by latency.

use crate::collect::sum::Sum;
use crate::plots::collect::{EventPlotCounts, LatencyKind, PlotCounts, SetOrigin};
use crate::query::Weighting;
use crate::report::{Counted, EventReport, Report};
use perfdata::data_src::DataSrcAspect;
use std::collections::BTreeMap;

/// A report with its histograms.
#[derive(Clone, Debug)]
pub struct PlotReport {
    /// The tables.
    pub report: Report,
    /// One an event of the report, in its order.
    pub plots: Vec<EventPlots>,
}

/// The histograms of an event: of the samples that its table counts.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPlots {
    /// The event's.
    pub name: String,
    /// What shares, and lengths of bars, are of.
    pub weighting: Weighting,
    /// Samples that went into the table.
    pub counted: u64,
    /// Those of them that the kernel counted, of which neither addresses nor
    /// latencies are known one by one.
    pub in_kernel: u64,
    /// By set.
    pub sets: SetPlot,
    /// By latency.
    pub latencies: LatencyPlot,
}

/// Samples by the set of a first cache that the line of their data address
/// falls into.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPlot {
    /// Bytes of a line.
    pub line: u64,
    /// Who says how many sets there are.
    pub origin: SetOrigin,
    /// One a set, in their order.
    pub bars: Vec<PlotBar>,
}

/// Samples by latency.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyPlot {
    /// One a power of two, from the least that has samples to the greatest.
    pub bars: Vec<PlotBar>,
}

/// Samples that are shown as one bar.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotBar {
    /// The set, or the least and the greatest latency in cycles.
    pub label: String,
    /// Samples.
    pub count: u64,
    /// Sum of their periods.
    pub period: u64,
    /// Part of the event's counted samples or periods, 0 to 1.
    pub share: f64,
    /// Samples by what served them, most first; empty where nothing says.
    pub levels: Vec<PlotLevel>,
}

/// Samples of a bar that one level served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotLevel {
    /// As the key `level` has it.
    pub name: String,
    /// Samples.
    pub count: u64,
}

impl PlotBar {
    fn of(label: String, sum: Sum, event: &EventReport) -> PlotBar {
        let Sum { count, period, .. } = sum;
        PlotBar { label, count, period, share: event.share_of(sum), levels: Vec::new() }
    }

    /// Samples, or events that they stand for.
    pub fn weight(&self, weighting: Weighting) -> u64 {
        match weighting {
            Weighting::Count => self.count,
            Weighting::Period => self.period,
        }
    }
}

/// The histograms of every event; `leaders` are the numbers that their rows
/// are counted under.
pub(crate) fn plot_report(counts: PlotCounts, counted: Counted<'_>) -> PlotReport {
    let plots = counted
        .events()
        .filter_map(|(event, leader)| {
            let counts = counts.of(leader)?;
            let in_kernel = event.in_kernel.as_ref().map_or(0, |kernel| kernel.counted);
            Some(EventPlots {
                name: event.name.clone(),
                weighting: event.weighting,
                counted: event.totals.counted,
                in_kernel,
                sets: sets(event, counts),
                latencies: LatencyPlot { bars: latencies(event, counts) },
            })
        })
        .collect();
    PlotReport { report: counted.report, plots }
}

fn sets(event: &EventReport, counts: &EventPlotCounts) -> SetPlot {
    let sets = counts.sets.iter().enumerate();
    let bars = sets.map(|(set, sum)| PlotBar::of(set.to_string(), *sum, event)).collect();
    SetPlot { line: counts.line, origin: counts.origin, bars }
}

fn latencies(event: &EventReport, counts: &EventPlotCounts) -> Vec<PlotBar> {
    let mut by_power: BTreeMap<u32, (Sum, BTreeMap<String, u64>)> = BTreeMap::new();
    for (LatencyKind { power, source }, sum) in &counts.latencies {
        let (all, levels) = by_power.entry(*power).or_default();
        all.join(*sum);
        if let Some(level) = source.and_then(|source| source.aspect(DataSrcAspect::Level)) {
            *levels.entry(level).or_default() += sum.count;
        }
    }
    let (Some(first), Some(last)) = (by_power.keys().next(), by_power.keys().next_back()) else {
        return Vec::new();
    };
    let bar = |power: u32| {
        let (sum, levels) = by_power.get(&power).cloned().unwrap_or_default();
        let mut levels: Vec<PlotLevel> =
            levels.into_iter().map(|(name, count)| PlotLevel { name, count }).collect();
        levels.sort_by_key(|level| std::cmp::Reverse(level.count));
        PlotBar { levels, ..PlotBar::of(cycles(power), sum, event) }
    };
    (*first..=*last).map(bar).collect()
}

fn cycles(power: u32) -> String {
    let least = 1_u64.checked_shl(power).unwrap_or(u64::MAX);
    match least {
        1 => "1".to_owned(),
        least => format!("{least}-{}", least + (least - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::cycles;

    #[test]
    fn bars_are_named_by_their_ends() {
        assert_eq!([0, 1, 5].map(cycles), ["1", "2-3", "32-63"]);
        assert_eq!(cycles(63), "9223372036854775808-18446744073709551615");
    }
}
