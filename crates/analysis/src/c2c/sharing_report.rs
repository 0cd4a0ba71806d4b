//! What was counted of lines that threads share becomes words.

use crate::c2c::access_totals::AccessTotals;
use crate::c2c::collect::{LineOfProcess, LineUses, SharedLines, SiteUse};
use crate::c2c::line_sharing::LineSharing;
use crate::c2c::line_use::{ByteMask, ThreadUse};
use crate::collect::sum::Sum;
use crate::name::cell::{SiteCell, as_cell, hex};
use crate::name::lookup::Lookup;
use crate::name::place_names::{PlaceKind, PlaceNames};
use crate::report::{Counted, Report};
use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};

/// Sites that wait for others, of all lines.
const MOST_WAITS: usize = 100;

/// Lines that more than one thread used.
#[derive(Clone, Debug, Serialize)]
pub struct SharingReport {
    /// Version of this shape: [`SharingReport::VERSION`].
    pub hardmeter_c2c: u32,
    /// Bytes of a line, or of a pair of them.
    pub line_size: u64,
    /// Samples that were looked at, and those without a data address.
    pub samples: u64,
    /// See `samples`.
    pub without_address: u64,
    /// What those did whose data source is known.
    pub totals: AccessTotals,
    /// Most cycles, then most transfers, then most use, first.
    pub lines: Vec<SharedLine>,
    /// Which site waits for which, of all lines, most first.
    pub waits: Vec<SiteWait>,
    /// What the reader must know to read it right, in sentences.
    pub notes: Vec<String>,
    /// What was counted in all.
    pub report: Report,
}

impl SharingReport {
    /// Counts up when a field changes its meaning or goes; new fields do
    /// not count.
    pub const VERSION: u32 = 1;
}

/// A line and who uses it.
#[derive(Clone, Debug, Serialize)]
pub struct SharedLine {
    /// Process.
    pub pid: i32,
    /// Its first byte.
    #[serde(serialize_with = "as_hex")]
    pub address: u64,
    /// How it is shared.
    pub sharing: LineSharing,
    /// Variables, or memory, in it.
    pub data: Vec<String>,
    /// Sampled accesses for which it came from a core that had modified it.
    pub transfers: u64,
    /// Events that those stand for.
    pub transfer_events: u64,
    /// Cycles that those took; None: nobody said.
    pub cycles: Option<u64>,
    /// One a thread.
    pub threads: Vec<LineThread>,
    /// One an instruction and object, most transfers first.
    pub sites: Vec<LineSite>,
    /// What to change.
    pub remedy: Option<String>,
}

/// What a thread did to a line.
#[derive(Clone, Debug, Serialize)]
pub struct LineThread {
    /// Its number.
    pub tid: i32,
    /// A character a byte: `r` read, `w` written, `b` both, `.` neither.
    pub bytes: String,
}

/// What an instruction did to a line.
#[derive(Clone, Debug, Serialize)]
pub struct LineSite {
    /// The instruction.
    #[serde(serialize_with = "as_cell")]
    pub site: SiteCell,
    /// The variable, or memory.
    pub data: String,
    /// As of a thread.
    pub bytes: String,
    /// Threads that ran it, of those sampled.
    pub threads: usize,
    /// Sampled transfers, and events that they stand for.
    pub transfers: u64,
    /// See `transfers`.
    pub transfer_events: u64,
    /// Cycles that those took.
    pub cycles: u64,
    /// Other samples.
    pub others: u64,
}

/// An instruction that waits for lines which another one wrote.
#[derive(Clone, Debug, Serialize)]
pub struct SiteWait {
    /// Who waits.
    #[serde(serialize_with = "as_cell")]
    pub site: SiteCell,
    /// Who wrote; shares of a wait go by how often each was sampled writing.
    #[serde(serialize_with = "as_cell")]
    pub writer: SiteCell,
    /// Transfers, as events.
    pub transfers: f64,
    /// Cycles.
    pub cycles: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn as_hex<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(*address))
}

pub(crate) fn sharing(shared: SharedLines, counted: Counted<'_>) -> SharingReport {
    let Counted { report, lookup, .. } = counted;
    let mut notes = Vec::new();
    if shared.left_out > 0 {
        notes.push(format!(
            "{} samples are left out: there is room for so many lines, threads and sites; -f counts \
             fewer",
            shared.left_out
        ));
    }
    let line_size = shared.line();
    let (samples, without_address) = (shared.samples, shared.without_address);
    let totals = shared.totals;
    let mut waits = Waits::default();
    let mut lines: Vec<SharedLine> = Vec::new();
    let mut keys: Vec<LineOfProcess> = shared.lines.keys().copied().collect();
    keys.sort_unstable();
    for key in keys {
        let Some(uses) = shared.lines.get(&key) else { continue };
        let transfers = uses.sites.iter().map(|site| site.transfers.count).sum();
        let Some(sharing) = LineSharing::of(&uses.threads, transfers) else { continue };
        waits.add(uses, &mut lookup.places);
        lines.push(shared_line(key, uses, sharing, line_size, lookup));
    }
    let use_of = |line: &SharedLine| line.sites.iter().map(|site| site.others).sum::<u64>();
    lines.sort_by_key(|line| {
        let is_contended = line.sharing.is_contended();
        std::cmp::Reverse((is_contended, line.cycles, line.transfer_events, use_of(line)))
    });
    if lines.iter().all(|line| line.transfers == 0) {
        notes.push(
            "no sample tells that a line came from another core: lines go by use; -t hitm with \
             memory_stores tells what it costs"
                .to_owned(),
        );
    }
    SharingReport {
        hardmeter_c2c: SharingReport::VERSION,
        line_size,
        samples,
        without_address,
        totals,
        lines,
        waits: waits.finish(),
        notes,
        report,
    }
}

fn shared_line(
    key: LineOfProcess,
    uses: &LineUses,
    sharing: LineSharing,
    line_size: u64,
    lookup: &mut Lookup,
) -> SharedLine {
    let mut transfers = Sum::default();
    uses.sites.iter().for_each(|site| transfers.join(site.transfers));
    let cycles = uses.sites.iter().fold(0_u64, |sum, site| sum.saturating_add(site.cycles));
    let mut sites: Vec<LineSite> = uses
        .sites
        .iter()
        .map(|site| LineSite {
            site: lookup.places.site_cell(PlaceKind::Code, site.site),
            data: site.holder.name(lookup),
            bytes: map(site.read, site.written, line_size),
            threads: site.threads.len(),
            transfers: site.transfers.count,
            transfer_events: site.transfers.period,
            cycles: site.cycles,
            others: site.others.count,
        })
        .collect();
    sites.sort_by(|a, b| {
        let weight = |it: &LineSite| (it.cycles, it.transfer_events, it.others);
        weight(b).cmp(&weight(a)).then_with(|| a.site.cmp(&b.site))
    });
    let mut data: Vec<String> = sites.iter().map(|site| site.data.clone()).collect();
    data.sort_unstable();
    data.dedup();
    let thread = |of: &ThreadUse| LineThread {
        tid: of.tid.0,
        bytes: map(of.read(), of.written(), line_size),
    };
    SharedLine {
        pid: key.pid.0,
        address: key.address,
        sharing,
        remedy: remedy(sharing, &data, line_size),
        data,
        transfers: transfers.count,
        transfer_events: transfers.period,
        cycles: Some(cycles).filter(|cycles| *cycles > 0),
        threads: uses.threads.iter().map(thread).collect(),
        sites,
    }
}

fn remedy(sharing: LineSharing, data: &[String], line: u64) -> Option<String> {
    match sharing {
        LineSharing::False | LineSharing::Both if data.len() > 1 => Some(format!(
            "{} are neighbours in the line: align each to {line} bytes, or allocate them apart",
            data.join(" and ")
        )),
        LineSharing::False | LineSharing::Both => Some(format!(
            "keep the members that different threads use {line} bytes apart, or one object a thread"
        )),
        LineSharing::True => Some(
            "write it less often: gather per thread, and add up at the end; nothing in the line \
             can be moved apart"
                .to_owned(),
        ),
        LineSharing::WriterUnknown => {
            Some("sample the writes, too: -t hitm,memory_stores".to_owned())
        }
        LineSharing::Initialised | LineSharing::InTurn => None,
    }
}

/// A character a byte.
fn map(read: ByteMask, written: ByteMask, line: u64) -> String {
    let of = |bit: u64| match (read >> bit & 1, written >> bit & 1) {
        (0, 0) => '.',
        (1, 0) => 'r',
        (0, _) => 'w',
        _ => 'b',
    };
    (0..line.min(128)).map(of).collect()
}

/// Who waits for whom, by the numbers of sites.
#[derive(Debug, Default)]
struct Waits {
    sums: FxHashMap<(SiteCell, SiteCell), WaitSum>,
}

#[derive(Clone, Copy, Debug, Default)]
struct WaitSum {
    transfers: f64,
    cycles: f64,
}

impl Waits {
    /// Parts each wait for a line among those that write it on other threads.
    #[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^53")]
    fn add(&mut self, uses: &LineUses, places: &mut PlaceNames) {
        for waiting in uses.sites.iter().filter(|site| site.transfers.count > 0) {
            let others = |site: &&SiteUse| {
                let is_alone = |threads: &[perfdata::Tid]| threads == waiting.threads.as_slice();
                site.written != 0 && !(site.threads.len() == 1 && is_alone(&site.threads))
            };
            let writes = |site: &SiteUse| (site.others.period + site.transfers.period) as f64;
            let all: f64 = uses.sites.iter().filter(others).map(writes).sum();
            let waiter = places.site_cell(PlaceKind::Code, waiting.site);
            for writer in uses.sites.iter().filter(others) {
                let part = writes(writer) / all.max(1.0);
                let writer = places.site_cell(PlaceKind::Code, writer.site);
                let sum = self.sums.entry((waiter.clone(), writer)).or_default();
                sum.transfers += waiting.transfers.period as f64 * part;
                sum.cycles += waiting.cycles as f64 * part;
            }
        }
    }

    fn finish(self) -> Vec<SiteWait> {
        let wait = |((site, writer), sum): ((SiteCell, SiteCell), WaitSum)| SiteWait {
            site,
            writer,
            transfers: sum.transfers,
            cycles: sum.cycles,
        };
        let mut waits: Vec<SiteWait> = self.sums.into_iter().map(wait).collect();
        waits.sort_by(|a, b| {
            let by = b.cycles.total_cmp(&a.cycles).then(b.transfers.total_cmp(&a.transfers));
            by.then_with(|| (&a.site, &a.writer).cmp(&(&b.site, &b.writer)))
        });
        waits.truncate(MOST_WAITS);
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_drawn() {
        let text = map(0b0111, 0b0110, 64);
        assert_eq!(&text[..5], "rbb..");
        assert_eq!(text.len(), 64);
        assert_eq!(map(0, ByteMask::MAX, 128).matches('w').count(), 128);
    }
}
