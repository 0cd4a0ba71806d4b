//! `ebs causes`: why a recording's misses came about, and what to change.

mod sampled_command;
mod trial;
pub(in crate::ebs) mod tried_change;

use crate::ebs::accesses::AccessQuestion;
use crate::ebs::arguments::{AccessArguments, UsageError};
use crate::ebs::causes::tried_change::TriedChanges;
use crate::ebs::exit_status::SUCCESS;
use crate::terminal::number;
use analysis::causes::CauseReport;
use analysis::causes::has_causes;
use analysis::curve::CurveReport;
use analysis::{CacheShape, MissedLevel};
use analysis::{KnownCache, KnownCaches, Pipeline, Query, View, causes, curve};
use anyhow::Result;
use clap::Args;
use emulator::{CacheGeometry, Geometry, TlbGeometry};
use recorder::catalogue;
use sampled_command::SampledCommand;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// `ebs causes`.
#[derive(Clone, Debug, Args)]
pub struct CausesArguments {
    /// Recording of misses: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// A command to sample first, behind `--`: its first million misses where there is no PMU
    /// (emulated, each with its class), else the first 200,000; with -i above 1 all of it.
    #[arg(last = true, value_name = "EXE", conflicts_with_all = ["file", "standing"])]
    pub command: Vec<OsString>,
    /// Of a command: what is sampled.
    #[arg(short, long = "type", value_name = "TYPE", value_delimiter = ',')]
    #[arg(default_value = "l1_cache_miss", conflicts_with_all = ["file", "standing"])]
    pub types: Vec<String>,
    /// Of a command: one miss of so many is sampled [default: 1, each].
    #[arg(short, long, value_name = "N", value_parser = number::<u64>)]
    #[arg(conflicts_with_all = ["file", "standing"])]
    pub interval: Option<u64>,
    /// The caches to judge by, as the emulated PMU takes them: l1d=32k,8. Not said: those of the
    /// model that made the misses, else those of this machine.
    #[arg(long, value_name = "SPEC")]
    pub cache: Vec<String>,
    /// Of a command: tells blocks of the heap, too, so that what is missed on is called by who asked
    /// for it; see `ebs --help`. A recording that tells them needs nothing.
    #[arg(long, conflicts_with_all = ["file", "standing"])]
    pub heap: bool,
    /// Of a command: runs it as it is, and once more with an object in another layout, in the caches of
    /// the emulated PMU alone, and shows the misses of both: pad=BYTES, rows=STRIDE+BYTES, align=BYTES,
    /// colour, split=FROM..TO, order=STRIDE:FROM..TO/..., pages=2m or apart, of the object that is missed
    /// most or of @NAME or @START+SIZE, as in pad=64@grid. Changes with commas between them are made at once; --try may be
    /// repeated, and has a run each.
    #[arg(long = "try", value_name = "CHANGE[@OBJECT],...", requires = "command")]
    #[arg(conflicts_with_all = ["file", "standing"])]
    pub tries: Vec<TriedChanges>,
    /// Tells what caches of other sizes would miss instead, of a recording with each miss, or each
    /// load and store, of the emulated PMU: -t l1_cache_miss -i 1, -t memory_moves -i 1.
    #[arg(long, conflicts_with_all = ["tries"])]
    pub curve: bool,
    /// Which misses, and their form.
    #[command(flatten)]
    pub accesses: AccessArguments,
}

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
    let without = arguments
        .types
        .iter()
        .find(|name| catalogue::find(name).is_some_and(|entry| !has_causes(entry.name)));
    if let Some(name) = without.filter(|_| !arguments.curve) {
        return Err(UsageError::NoCauses(name.clone()).into());
    }
    if !arguments.tries.is_empty() {
        if arguments.interval.is_some_and(|interval| interval > 1) {
            return Err(UsageError::SampledTrial.into());
        }
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
        query: Query { views: vec![View::Curves], ..Query::default() },
        answer: Pipeline::curves,
        text: curve::render,
    }
}

fn question(arguments: &CausesArguments) -> Result<AccessQuestion<CauseReport>> {
    let views = vec![View::Causes(caches(&arguments.cache)?)];
    Ok(AccessQuestion {
        query: Query { views, ..Query::default() },
        answer: Pipeline::causes,
        text: causes::render,
    })
}

/// The caches that were typed, and those of this machine.
pub(in crate::ebs) fn caches(typed: &[String]) -> Result<KnownCaches> {
    let machine = Geometry::of_machine(Path::new("/"));
    let mut all = Vec::new();
    if !typed.is_empty() {
        // Levels that were not typed are not taken for typed ones.
        let nothing = Geometry { l1d: None, l1i: None, l2: None, l3: None, ..machine.clone() };
        let geometry = typed.iter().try_fold(nothing.without_tlbs(), |all, text| all.with(text))?;
        all.extend(known(&geometry, true));
    }
    all.extend(known(&machine, false));
    Ok(KnownCaches(all))
}

fn known(geometry: &Geometry, is_typed: bool) -> Vec<KnownCache> {
    let cache =
        |CacheGeometry { bytes, ways }| CacheShape { entries: bytes / LINE, ways, unit: LINE };
    let tlb = |TlbGeometry { entries, ways }| CacheShape { entries, ways, unit: PAGE };
    let of = |level, shape: Option<CacheShape>| {
        shape.filter(|shape| shape.entries > 0).map(|shape| KnownCache { level, shape, is_typed })
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
