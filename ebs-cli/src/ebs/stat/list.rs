//! `ebs stat --list`: the metrics of this machine.

use anyhow::{Context, Result};
use recorder::Facts;
use recorder::catalogue::identify;
use recorder::metrics::{MetricCore, on_core};
use std::io::Write;

/// A line of each metric, by who counts it.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(facts: &Facts, out: &mut dyn Write) -> Result<()> {
    let mut kinds = vec![("software", MetricCore::Kernel)];
    for pmu in facts.pmus.iter().flatten().filter(|pmu| pmu.counts_events()) {
        let uarch = identify(&facts.cpus, pmu).core();
        kinds.push((pmu.name.as_str(), MetricCore::Pmu { pmu, uarch }));
    }
    kinds.push(("emulated", MetricCore::Emulated));
    for (name, core) in kinds {
        for found in on_core(core) {
            let metric = found.metric;
            writeln!(
                out,
                "{name:9} {:9} {:22} {:11} {} = {}",
                metric.group, metric.name, metric.unit, metric.meaning, metric.text
            )
            .context("cannot write the list")?;
        }
    }
    Ok(())
}
