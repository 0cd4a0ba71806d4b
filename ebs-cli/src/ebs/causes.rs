//! `ebs causes`: why a recording's misses came about, and what to change.

mod sampled_command;
mod trial;
pub(in crate::ebs) mod tried_change;

use crate::ebs::accesses::AccessQuestion;
use crate::ebs::arguments::CausesArguments;
use crate::ebs::exit_status::SUCCESS;
use analysis::causes::{CacheShape, MissedLevel};
use analysis::report::{CauseReport, CurveReport};
use analysis::{CauseQuery, Pipeline, QueriedCache, Query, cause_cards, curves};
use anyhow::Result;
use emulator::{CacheGeometry, Geometry, TlbGeometry};
use sampled_command::SampledCommand;
use std::io::Write;
use std::path::Path;

/// Bytes of a line of every cache of an x86 CPU, and of its smallest page.
const LINE: u64 = 64;
const PAGE: u64 = 4096;

/// Reads, counts, and prints the causes even when the recording is damaged.
///
/// The status is that of a command that was sampled.
///
/// # Errors
///
/// A command that cannot be sampled, sizes that are none, a recording without misses, damage of the recording,
/// those of `out`.
pub fn run(arguments: &CausesArguments, out: &mut dyn Write) -> Result<u8> {
    if arguments.command.is_empty() {
        tell(arguments, arguments.file.as_deref(), out)?;
        return Ok(SUCCESS);
    }
    if !arguments.tries.is_empty() {
        return trial::run(arguments, out);
    }
    let sampled = SampledCommand::run(arguments)?;
    tell(arguments, Some(&sampled.file()), out)?;
    Ok(sampled.status)
}

fn tell(arguments: &CausesArguments, file: Option<&Path>, out: &mut dyn Write) -> Result<()> {
    match arguments.curve {
        true => curve_question().put(file, &arguments.accesses, out),
        false => question(arguments)?.put(file, &arguments.accesses, out),
    }
}

fn curve_question() -> AccessQuestion<CurveReport> {
    AccessQuestion {
        query: Query { curves: true, ..Query::default() },
        answer: Pipeline::curves,
        text: curves::render,
    }
}

fn question(arguments: &CausesArguments) -> Result<AccessQuestion<CauseReport>> {
    let causes = Some(CauseQuery { shapes: shapes(&arguments.cache)? });
    Ok(AccessQuestion {
        query: Query { causes, ..Query::default() },
        answer: Pipeline::causes,
        text: cause_cards::render,
    })
}

/// The caches that were typed, and those of this machine.
pub(in crate::ebs) fn shapes(typed: &[String]) -> Result<Vec<QueriedCache>> {
    let machine = Geometry::of_machine(Path::new("/"));
    let mut all = Vec::new();
    if !typed.is_empty() {
        // Levels that were not typed are not taken for typed ones.
        let nothing = Geometry { l1d: None, l1i: None, l2: None, l3: None, ..machine.clone() };
        let geometry = typed.iter().try_fold(nothing.without_tlbs(), |all, text| all.with(text))?;
        all.extend(queried(&geometry, true));
    }
    all.extend(queried(&machine, false));
    Ok(all)
}

fn queried(geometry: &Geometry, is_typed: bool) -> Vec<QueriedCache> {
    let cache =
        |CacheGeometry { bytes, ways }| CacheShape { entries: bytes / LINE, ways, unit: LINE };
    let tlb = |TlbGeometry { entries, ways }| CacheShape { entries, ways, unit: PAGE };
    let of = |level, shape: Option<CacheShape>| {
        shape.filter(|shape| shape.entries > 0).map(|shape| QueriedCache { level, shape, is_typed })
    };
    // A walk is made where no level of the TLB has the page.
    let walked = geometry.stlb.or(geometry.dtlb).map(tlb);
    let all = [
        of(MissedLevel::L1d, geometry.l1d.map(cache)),
        of(MissedLevel::L2, geometry.l2.map(cache)),
        of(MissedLevel::L3, geometry.l3.map(cache)),
        of(MissedLevel::Dtlb, geometry.dtlb.map(tlb)),
        of(MissedLevel::Stlb, walked),
    ];
    all.into_iter().flatten().collect()
}
