//! What a stream says before its first record.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perfdata::kernel_list::PackedKernelList;
use perfdata::stream::{CacheDescription, EventName, Feature, NumaNode, write};
use perfdata::{Attr, AttrFlags, Pid, SampleFilter, SampleType};
use rustc_hash::FxHashMap;

use super::attrs::SessionAttrs;
use super::{Session, SessionError, SessionSettings, Sink};
use crate::machine::facts::{CacheKind, Facts, Pmu};
use crate::session::synthesize::{
    self, ProcVisibility, Processes, Synthesizer, kernel, needed_symbols,
};
use crate::sys::event::NATIVE_ORDER;
use crate::{Cgroup, Fallback, Plan, PlannedEvent, Target};

/// Bytes kept of a word whose command line does not fit a record.
const LONG_WORD: usize = 4096;
/// The side event's name in streams, as perf calls its own.
pub const SIDE_NAME: &str = "dummy:HG";

impl Session {
    /// What a sideband record of the stream ends in, all zeros; and whether its
    /// samples begin with their event's id.
    pub fn trailer(&self) -> (Vec<u8>, bool) {
        let identified = SampleType::IDENTIFIER;
        let mut events = self.attrs.sampled();
        let all = events.all(|(_, event)| event.attr.sample_type.contains(identified));
        (Synthesizer::trailer(&self.attrs.side), all)
    }

    /// Places of the sampled events in the ledger, by the ids of their
    /// samples.
    pub fn places(&self) -> FxHashMap<u64, usize> {
        self.event_ids.places().clone()
    }

    /// Writes what comes before the first record: header, events, promises,
    /// machine, the kernel's mappings. `command_line` is this program's.
    ///
    /// # Errors
    /// The sink failed, or a text is too long for a record.
    pub fn preamble(
        &mut self,
        facts: &Facts,
        command_line: &[String],
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        // An event without ids, its CPUs offline, has no records.
        let open = self.attrs.sampled().filter(|(index, _)| !self.ids.of(*index).is_empty());
        let open = open.filter_map(|(index, event)| {
            let asked = self.plan.events.get(index)?;
            let mut note = promises_note(event, asked, &self.given_up);
            note.push_str(&self.programs.delivery_mode.note());
            note.push_str(&super::heap::note(self.heap.as_ref(), event));
            let (attr, ids, name) = (&event.attr, self.ids.of(index), event.name.as_str());
            Some(EventAnnouncement { attr, ids, name, note: Some(note) })
        });
        let side = EventAnnouncement {
            attr: &self.attrs.side,
            ids: &self.ids.side,
            name: SIDE_NAME,
            note: None,
        };
        let announced: Vec<_> = open.chain([side]).collect();
        announce(&announced, facts, command_line, &mut self.output_buffer.bytes)?;
        let out = &mut self.output_buffer.bytes;
        let proc = self.settings.root.join("proc");
        let mut synthesizer =
            Synthesizer::new(&proc, &self.attrs.side).seeing(&self.settings.proc_visibility);
        kernel(&mut synthesizer, out);
        let first = announced.first().and_then(|event| event.ids.first());
        if let (Some(list), Some(&id)) = (self.kernel_list.take(), first) {
            for part in list.parts() {
                write::kernel_list_part(id, &part, NATIVE_ORDER, out)
                    .map_err(|error| SessionError::Preamble(error.to_string()))?;
            }
        }
        self.output_buffer.side += synthesizer.records;
        self.output_buffer.flush(sink, &mut self.ledger).map_err(SessionError::Sink)
    }

    /// What describes the session's processes for a reader who comes later.
    pub fn describer(&self) -> ProcessDescriber {
        ProcessDescriber::new(self.plan.target, &self.settings, &self.attrs.side)
    }

    /// Writes names and mappings of processes that were there before
    /// sampling began, then says that this is all.
    pub(super) fn describe_processes(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError> {
        let mut synthesized = std::mem::take(&mut self.synthesized);
        let mut result = self.describe(&mut synthesized, sink);
        if self.plan.target.is_of_cpus() {
            let describer = self.describer();
            let proc = describer.root.join("proc");
            let mut synthesizer = describer.synthesizer(&proc);
            let mut processes = describer.processes(&proc);
            while processes.next(&mut synthesizer, &mut synthesized.bytes) {
                synthesized.take_counts(&mut synthesizer);
                result = result.and(self.describe(&mut synthesized, sink));
            }
        }
        write::finished_init(NATIVE_ORDER, &mut self.output_buffer.bytes);
        let flushed = self.output_buffer.flush(sink, &mut self.ledger);
        result.and(flushed).map_err(SessionError::Sink)
    }

    fn describe(
        &mut self,
        synthesized: &mut SynthesizedRecords,
        sink: &mut dyn Sink,
    ) -> io::Result<()> {
        self.output_buffer.bytes.append(&mut synthesized.bytes);
        self.output_buffer.side += std::mem::take(&mut synthesized.records);
        self.ledger.side_lost += std::mem::take(&mut synthesized.left_out);
        self.output_buffer.flush_full(sink, &mut self.ledger)
    }
}

#[derive(Debug)]
pub(crate) struct EventAnnouncement<'a> {
    pub(crate) attr: &'a Attr,
    pub(crate) ids: &'a [u64],
    pub(crate) name: &'a str,
    pub(crate) note: Option<String>,
}

/// Appends a stream's header, its events and the machine.
pub(crate) fn announce(
    events: &[EventAnnouncement<'_>],
    facts: &Facts,
    command_line: &[String],
    out: &mut Vec<u8>,
) -> Result<(), SessionError> {
    let wrong = |e: write::WriteError| SessionError::Preamble(e.to_string());
    write::file_header(NATIVE_ORDER, out);
    for EventAnnouncement { attr, ids, .. } in events {
        // More ids than a record holds: the event is described again.
        for ids in ids.chunks(write::IDS_A_RECORD) {
            write::attr(attr, ids, NATIVE_ORDER, out).map_err(wrong)?;
        }
    }
    for EventAnnouncement { ids, name, .. } in events {
        for id in ids.chunks(write::IDS_A_RECORD).filter_map(<[u64]>::first) {
            write::event_name(*id, name, NATIVE_ORDER, out).map_err(wrong)?;
        }
    }
    for event in events {
        if let (Some(note), Some(&first)) = (&event.note, event.ids.first()) {
            write::event_unit(first, note, NATIVE_ORDER, out).map_err(wrong)?;
        }
    }
    let names = descriptions(events).map_err(wrong)?;
    for feature in features(facts, command_line).into_iter().chain([names]) {
        fitting(feature, out).map_err(wrong)?;
    }
    Ok(())
}

/// Records of names and mappings, made but not handed on.
#[derive(Debug, Default)]
pub struct SynthesizedRecords {
    pub bytes: Vec<u8>,
    pub records: u64,
    pub(crate) left_out: u64,
}

/// Describes the processes of a target as they are when it is asked.
#[derive(Clone, Debug)]
pub struct ProcessDescriber {
    target: Target,
    /// The process to begin with, where it is one and what it started.
    first: Option<Pid>,
    cgroup: Option<Arc<Cgroup>>,
    side: Attr,
    proc_visibility: ProcVisibility,
    root: PathBuf,
}

impl ProcessDescriber {
    pub(super) fn new(target: Target, settings: &SessionSettings, side: &Attr) -> ProcessDescriber {
        let first = match target {
            Target::Process(pid) => Some(pid),
            Target::Command => settings.held.as_ref().map(|(pid, _)| *pid),
            Target::System | Target::Cgroup => None,
        };
        ProcessDescriber {
            target,
            first,
            cgroup: settings.cgroup.clone(),
            side: side.clone(),
            proc_visibility: settings.proc_visibility.clone(),
            root: settings.root.clone(),
        }
    }

    fn synthesizer<'p>(&self, proc: &'p Path) -> Synthesizer<'p> {
        Synthesizer::new(proc, &self.side).seeing(&self.proc_visibility)
    }

    fn processes(&self, proc: &Path) -> Processes {
        match (&self.cgroup, self.first) {
            (Some(cgroup), _) if self.target == Target::Cgroup => Processes::of(cgroup),
            (_, Some(pid)) => Processes::tree(proc, pid),
            _ => Processes::all(proc),
        }
    }

    /// Names and mappings.
    pub(crate) fn describe(&self) -> SynthesizedRecords {
        let proc = self.root.join("proc");
        let mut synthesized = SynthesizedRecords::default();
        let mut synthesizer = self.synthesizer(&proc);
        let mut processes = self.processes(&proc);
        while processes.next(&mut synthesizer, &mut synthesized.bytes) {}
        synthesized.take_counts(&mut synthesizer);
        synthesized
    }

    /// The same, and that this is all.
    pub fn describe_whole(&self) -> SynthesizedRecords {
        let mut synthesized = self.describe();
        write::finished_init(NATIVE_ORDER, &mut synthesized.bytes);
        synthesized
    }
}

impl SynthesizedRecords {
    /// `pid` and what descends from it, as they are now, but for what is mapped from the
    /// path `foreign`.
    pub(crate) fn tree(
        proc: &Path,
        side: &Attr,
        pid: Pid,
        foreign: &'static str,
    ) -> SynthesizedRecords {
        let mut synthesized = SynthesizedRecords::default();
        let mut synthesizer = Synthesizer::new(proc, side).without(foreign);
        let mut processes = Processes::tree(proc, pid);
        while processes.next(&mut synthesizer, &mut synthesized.bytes) {}
        synthesized.take_counts(&mut synthesizer);
        synthesized
    }

    fn take_counts(&mut self, synthesizer: &mut Synthesizer<'_>) {
        self.records += std::mem::take(&mut synthesizer.records);
        self.left_out += std::mem::take(&mut synthesizer.left_out);
    }
}

/// The kernel's symbols, where they are wanted and of use. Read before
/// anything is sampled: it would be, and rings would fill.
pub fn kernel_list(
    plan: &Plan,
    settings: &SessionSettings,
    notes: &mut Vec<String>,
) -> Option<PackedKernelList> {
    if !settings.kernel_symbols {
        return None;
    }
    let data_mappings = plan.side.flags.contains(AttrFlags::MMAP_DATA);
    let needed_symbols =
        needed_symbols(plan.events.iter().filter(|event| !event.carrier), data_mappings)?;
    synthesize::kernel_list(&settings.proc_visibility, &settings.root, needed_symbols)
        .unwrap_or_else(|why| {
            notes.push(format!("the kernel's symbols are not in the recording: {why}"));
            None
        })
}

impl SessionAttrs {
    /// A trailer of zeros but for IDENTIFIER, its last word.
    pub(super) fn zero_trailer_with(&self, id: u64) -> Vec<u8> {
        let mut trailer = Synthesizer::trailer(&self.side);
        if self.side.sample_type.contains(SampleType::IDENTIFIER)
            && let Some(last) = trailer.last_chunk_mut()
        {
            *last = id.to_ne_bytes();
        }
        trailer
    }
}

/// Appends a feature, of a list as much as a record holds: of a command line
/// the first words and `...`, of the caches and PMUs of a large machine the
/// first.
fn fitting(mut feature: Feature, out: &mut Vec<u8>) -> Result<(), write::WriteError> {
    loop {
        let result = write::feature(&feature, NATIVE_ORDER, out);
        let shorter = result.is_err() && shorten(&mut feature);
        if !shorter {
            return result;
        }
    }
}

/// Halves what can be halved; false: there is nothing left to leave out.
fn shorten(feature: &mut Feature) -> bool {
    match feature {
        Feature::CommandLine(words) if words.len() > 2 => {
            words.truncate(words.len() / 2);
            words.push("...".into());
            true
        }
        Feature::CommandLine(words) => words.iter_mut().fold(false, |any, word| {
            let cut = word.floor_char_boundary(LONG_WORD);
            let long = cut < word.len();
            word.truncate(cut);
            any || long
        }),
        Feature::Caches(caches) if caches.len() > 1 => {
            caches.truncate(caches.len() / 2);
            true
        }
        Feature::NumaNodes(nodes) if nodes.len() > 1 => {
            nodes.truncate(nodes.len() / 2);
            true
        }
        Feature::PmuMappings(pmus) if pmus.len() > 1 => {
            pmus.truncate(pmus.len() / 2);
            true
        }
        _ => false,
    }
}

/// What the samples of an event as opened are worth, which of them are meant,
/// and what of the event as planned had to be given up.
fn promises_note(event: &PlannedEvent, asked: &PlannedEvent, given_up: &[Fallback]) -> String {
    let mut note = event.promises.to_string();
    if !event.filter.is_all() {
        note.push_str(&format!(";{}={}", SampleFilter::KEY, event.filter));
    }
    let (got, wanted) = (event.attr.precise_ip(), asked.attr.precise_ip());
    if got < wanted {
        note.push_str(&format!(";precise_ip={got} of {wanted}"));
    }
    if !given_up.is_empty() {
        let keys: Vec<&str> = given_up.iter().map(|fallback| fallback.key()).collect();
        note.push_str(&format!(";given_up={}", keys.join("+")));
    }
    note.push_str(";served=embedded");
    note
}

fn descriptions(events: &[EventAnnouncement<'_>]) -> Result<Feature, write::WriteError> {
    let names = events.iter().map(|EventAnnouncement { attr, ids, name, .. }| {
        let ids = &ids[..ids.len().min(write::IDS_A_RECORD / 4)];
        EventName::new(attr, ids, name, NATIVE_ORDER)
    });
    Ok(Feature::EventDescriptions(names.collect::<Result<_, _>>()?))
}

fn features(facts: &Facts, command_line: &[String]) -> Vec<Feature> {
    let kernel = &facts.kernel;
    let online = facts.cpus.online.as_ref().and_then(|cpus| {
        // Numbers may have gaps, and perf has room for as many as it says.
        let available = cpus.last()?.0.saturating_add(1);
        Some(Feature::NrCpus { available, online: u32::try_from(cpus.len()).ok()? })
    });
    let cpus = &facts.cpus;
    let model = cpus.vendor.as_ref().zip(cpus.family).zip(cpus.model).zip(cpus.stepping);
    [
        kernel.hostname.clone().map(Feature::Hostname),
        kernel.release.clone().map(Feature::OsRelease),
        Some(Feature::Version(concat!("hardmeter ", env!("CARGO_PKG_VERSION")).into())),
        kernel.machine.clone().map(Feature::Arch),
        online,
        cpus.name.clone().map(Feature::CpuDescription),
        model.map(|(((vendor, family), model), stepping)| {
            Feature::CpuId(format!("{vendor},{family},{model},{stepping}"))
        }),
        facts.memory_kib.map(Feature::TotalMemory),
        Some(Feature::CommandLine(command_line.to_vec())),
        facts.pmus.as_deref().map(|pmus| Feature::PmuMappings(mappings(pmus))),
        (!facts.caches.is_empty()).then(|| Feature::Caches(caches(facts))),
        // perf c2c opens no recording that does not say.
        (!facts.nodes.is_empty()).then(|| Feature::NumaNodes(nodes(facts))),
        capabilities(facts),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn mappings(pmus: &[Pmu]) -> Vec<(u32, String)> {
    pmus.iter().filter_map(|pmu| Some((pmu.kind?.0, pmu.name.clone()))).collect()
}

/// What the PMUs of the cores can do, as perf writes it: of one that is called
/// "cpu" in a feature of its own. Readers take from it how many branches a
/// sample can have.
fn capabilities(facts: &Facts) -> Option<Feature> {
    let described = facts.pmus.iter().flatten().filter(|pmu| pmu.is_core());
    let pairs = |pmu: &Pmu| -> Option<Vec<(String, String)>> {
        let caps = &pmu.description.as_ref()?.caps;
        let pairs = caps.iter().map(|(name, value)| (name.clone(), value.clone()));
        Some(pairs.collect()).filter(|pairs: &Vec<_>| !pairs.is_empty())
    };
    let all: Vec<_> = described.filter_map(|pmu| Some((pmu.name.clone(), pairs(pmu)?))).collect();
    match all.iter().find(|(name, _)| name == "cpu") {
        Some((_, pairs)) => Some(Feature::CpuPmuCaps(pairs.clone())),
        None if all.is_empty() => None,
        None => Some(Feature::PmuCaps(all)),
    }
}

fn nodes(facts: &Facts) -> Vec<NumaNode> {
    let nodes = facts.nodes.iter().map(|node| NumaNode {
        node: node.number,
        total: node.total_kib,
        free: node.free_kib,
        cpus: node.cpus.clone(),
    });
    nodes.collect()
}

/// Fields that sysfs leaves out are 0, as in perf.
fn caches(facts: &Facts) -> Vec<CacheDescription> {
    let caches = facts.caches.iter().map(|cache| CacheDescription {
        level: cache.level,
        line_size: cache.line_bytes.unwrap_or(0),
        sets: cache.sets.unwrap_or(0),
        ways: cache.ways.unwrap_or(0),
        kind: match cache.kind {
            CacheKind::Data => "Data",
            CacheKind::Instruction => "Instruction",
            CacheKind::Unified => "Unified",
        }
        .into(),
        size: cache.bytes.map_or_else(String::new, |bytes| format!("{}K", bytes / 1024)),
        cpus: cache.shared_by.clone().unwrap_or_default(),
    });
    caches.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::facts::FixtureTrees;

    fn written(feature: Feature) -> Result<usize, write::WriteError> {
        let mut out = Vec::new();
        fitting(feature, &mut out).map(|()| out.len())
    }

    #[test]
    fn long_command_lines_and_large_machines_fit() {
        let words = |count: usize, bytes: usize| {
            Feature::CommandLine((0..count).map(|_| "\u{e9}".repeat(bytes / 2)).collect())
        };
        for (count, bytes) in [(10_000, 2), (1, 200_000), (2, 70_000), (100_000, 3_000), (3, 9)] {
            let size = written(words(count, bytes)).unwrap();
            assert!(size <= 65_535, "{count} words of {bytes} bytes: {size}");
        }
        let cache = CacheDescription {
            level: 1,
            line_size: 64,
            sets: 64,
            ways: 8,
            kind: "Data".into(),
            size: "32K".into(),
            cpus: "0-1".into(),
        };
        let size = written(Feature::Caches(vec![cache; 5000])).unwrap();
        assert!((20_000..=65_535).contains(&size), "{size}");
    }

    #[test]
    fn what_the_pmus_of_cores_can_do_is_told_as_perf_tells_it() {
        let of = |fixture| {
            let facts = FixtureTrees::of(&[fixture]).facts(fixture);
            capabilities(&facts)
        };
        let Some(Feature::CpuPmuCaps(pairs)) = of("skylake-client") else {
            panic!("one kind of core");
        };
        assert!(pairs.contains(&("max_precise".into(), "3".into())), "{pairs:?}");
        let Some(Feature::PmuCaps(pmus)) = of("alderlake-hybrid") else {
            panic!("two kinds of core");
        };
        let names: Vec<&str> = pmus.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["cpu_atom", "cpu_core"]);
    }

    #[test]
    fn what_is_no_list_is_refused_when_too_long() {
        written(Feature::Hostname("x".repeat(70_000))).unwrap_err();
    }
}
