//! Types that a CPU counts, on each kind of core of the machine.

use perfdata::{EventType, SampleType};

use super::event_draft::{EventDraft, Precision};
use super::{ibs, large_pebs, precision};
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use crate::catalogue::{
    self, Availability, CatalogueType, ComposedMasks, Encoding, Latency, MaskError,
    Microarchitecture, OnCore, OnMachine,
};
use crate::machine::facts::{Facts, Pmu};
use crate::machine::pmu_format::ConfigWords;
use crate::{Promises, Refusal, Request};

/// The device of AMD's instruction-based sampling of ops.
pub(super) const IBS: &str = "ibs_op";
/// The term of load latency's threshold.
const LDLAT: &str = "ldlat";
/// PERF_PMU_TYPE_SHIFT: where a generic event names its PMU (trap 11).
const PERF_PMU_TYPE_SHIFT: u32 = 32;

#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineCore<'f> {
    pub(crate) pmu: &'f Pmu,
    pub(crate) uarch: Option<Microarchitecture>,
}

pub(crate) fn cores(facts: &Facts) -> Vec<MachineCore<'_>> {
    let cores = facts.pmus.iter().flatten().filter(|pmu| pmu.counts_events());
    let core = |pmu| MachineCore { pmu, uarch: catalogue::identify(&facts.cpus, pmu).core() };
    let mut cores: Vec<_> = cores.map(core).collect();
    // The large cores' PMU has the lowest number: users know it best.
    cores.sort_by_key(|core| core.pmu.kind.map(|kind| kind.0));
    cores
}

/// Refuses a type that this machine does not have; gives what its cores
/// have for one of a CPU's.
pub(super) fn look_up(
    entry: &CatalogueType,
    request: &Request,
    facts: &Facts,
) -> Result<Option<OnMachine>, Refusal> {
    if let Ok(found) = catalogue::on_machine(entry, facts) {
        // With skid more is to be had than is called available.
        if request.allow_skid {
            return Ok(Some(found));
        }
        // What is wrong on any machine is said first.
        let composed = found.cores.iter().map(|core| masks(entry, core, request));
        composed.reduce(Result::or).transpose()?;
    }
    match catalogue::availability(entry, facts) {
        Availability::Available { hardware, .. } => Ok(hardware),
        Availability::Unavailable { why, nearest, advice } => {
            let nearest = nearest.into_iter().map(str::to_owned).collect();
            Err(Refusal::Unavailable { event: request.event.to_string(), why, nearest, advice })
        }
    }
}

pub(super) fn open(
    entry: &'static CatalogueType,
    found: &OnMachine,
    request: &Request,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<Vec<EventDraft>, Refusal> {
    let hybrid = found.cores.len() + found.unavailable.len() > 1;
    let mut drafts = Vec::new();
    let mut refused = None;
    let order = cores(facts);
    let place = |core: &&OnCore| order.iter().position(|other| other.pmu.name == core.pmu);
    let mut on_cores: Vec<_> = found.cores.iter().collect();
    on_cores.sort_by_key(place);
    for core in on_cores {
        match on_core(entry, core, request, facts, notes) {
            Ok((pmu, found)) => {
                let first = drafts.len();
                for mut draft in found {
                    if hybrid {
                        draft.name = format!("{}/{}/", pmu.name, draft.name);
                    }
                    // Also where it is the only kind: the other one's CPUs
                    // may be there without a PMU, and refuse the event.
                    if pmu.name != "cpu" {
                        draft.cpus.clone_from(&pmu.cpus);
                    }
                    draft.leader = draft.leader.map(|leader| first + leader);
                    drafts.push(draft);
                }
            }
            Err(refusal) if hybrid => {
                notes.push(format!("{} is not sampled: {refusal}", core.pmu));
                refused.get_or_insert(refusal);
            }
            Err(refusal) => return Err(refusal),
        }
    }
    for (pmu, why) in &found.unavailable {
        notes.push(format!("{pmu} is not sampled: {why}"));
    }
    match refused {
        Some(refusal) if drafts.is_empty() => Err(refusal),
        _ => Ok(drafts),
    }
}

fn on_core<'f>(
    entry: &'static CatalogueType,
    found: &OnCore,
    request: &Request,
    facts: &'f Facts,
    notes: &mut Vec<String>,
) -> Result<(&'f Pmu, Vec<EventDraft>), Refusal> {
    let missing = || Refusal::NoDevice { event: request.event.to_string(), pmu: found.pmu.clone() };
    let pmu = facts.pmu(&found.pmu).ok_or_else(missing)?;
    let core = MachineCore { pmu, uarch: found.core };
    let masks = masks(entry, found, request)?;
    if core.uarch.is_none() {
        notes.push(unknown_cpu(entry, &found.encodings));
    }
    let mut drafts = Vec::new();
    for encoding in &found.encodings {
        let asked = CoreRequest { entry, request, facts, core, masks };
        let mut draft = asked.draft(encoding, notes)?;
        if let Some(leader) = latency_leader(&draft, pmu)? {
            draft.leader = Some(drafts.len());
            drafts.push(leader);
        }
        drafts.push(draft);
    }
    Ok((pmu, drafts))
}

fn masks(
    entry: &CatalogueType,
    core: &OnCore,
    request: &Request,
) -> Result<ComposedMasks, MaskError> {
    match core.core {
        Some(uarch) => catalogue::compose(uarch, entry, &request.masks),
        None if request.masks.is_empty() => Ok(ComposedMasks::default()),
        None => Err(MaskError::None { name: entry.name }),
    }
}

fn unknown_cpu(entry: &CatalogueType, encodings: &[Encoding]) -> String {
    let name = entry.name;
    match encodings.first() {
        Some(encoding) if encoding.pmu == IBS => format!(
            "{name}: this CPU is in no table of hardmeter's: IBS is taken to work as on AMD's CPUs \
             before it"
        ),
        Some(encoding) => format!(
            "{name}: this CPU is in no table of hardmeter's: the kernel's own event {} is used, whose \
             IP has skid",
            encoding.event
        ),
        None => format!("{name}: this CPU is in no table of hardmeter's"),
    }
}

#[derive(Clone, Copy)]
struct CoreRequest<'a> {
    entry: &'static CatalogueType,
    request: &'a Request,
    facts: &'a Facts,
    core: MachineCore<'a>,
    masks: ComposedMasks,
}

impl CoreRequest<'_> {
    fn draft(&self, encoding: &Encoding, notes: &mut Vec<String>) -> Result<EventDraft, Refusal> {
        let CoreRequest { entry, request, facts, core, masks } = *self;
        let (pmu, kind) = self.device(encoding, notes)?;
        let mut draft = EventDraft::new(&pmu.name, kind, request, promises(encoding));
        entry.name.clone_into(&mut draft.name);
        encoding.event.clone_into(&mut draft.event);
        draft.words[0] = encoding.config | masks.bits;
        draft.words[1] = encoding.config1;
        draft.interval = request.interval.unwrap_or(encoding.default_interval);
        draft.registers = perfdata::registers::general(facts.kernel.arch());
        draft.fields = fields(encoding);
        draft.filter = encoding.filter;
        draft.uarch = core.uarch;
        draft.equivalence = encoding.equivalence;
        if encoding.pmu == IBS {
            ibs::fill(
                &mut draft,
                &ibs::IbsRequest {
                    entry,
                    request,
                    pmu,
                    ldlat: masks.ldlat,
                    version: facts.kernel.version,
                },
                notes,
            )?;
        } else {
            if let Some(ldlat) = masks.ldlat {
                draft.words[1] = ldlat.into();
            }
            draft.excludes.guest = is_intel(core.uarch, facts);
            precision::fill(&mut draft, encoding.precise, request, core.pmu, notes)?;
        }
        self.note_encoding(encoding, &draft, notes);
        if matches!(kind, EventType::HARDWARE | EventType::HW_CACHE) {
            name_core(&mut draft, core.pmu);
        } else {
            check_format(&draft, encoding, pmu)?;
        }
        Ok(draft)
    }

    /// What the table has to say of the event, and whether the CPU may write
    /// several records before it interrupts.
    fn note_encoding(&self, encoding: &Encoding, draft: &EventDraft, notes: &mut Vec<String>) {
        let event = encoding.event;
        if !encoding.note.is_empty() {
            notes.push(format!("{event}: {}", encoding.note));
        }
        if !encoding.errata.is_empty() {
            notes.push(format!("{event}: see the maker's errata {}", encoding.errata));
        }
        large_pebs::note(draft, self.request.target, notes);
    }

    fn device(
        &self,
        encoding: &Encoding,
        notes: &mut Vec<String>,
    ) -> Result<(&Pmu, EventType), Refusal> {
        let core = self.core.pmu;
        match encoding.pmu {
            "hardware" => return Ok((core, EventType::HARDWARE)),
            "hw_cache" => return Ok((core, EventType::HW_CACHE)),
            _ => {}
        }
        let event = || self.request.event.to_string();
        let found = self.facts.pmu(encoding.pmu);
        let pmu = found
            .ok_or_else(|| Refusal::NoDevice { event: event(), pmu: encoding.pmu.to_owned() })?;
        let kind = pmu_type(pmu, notes)
            .ok_or_else(|| Refusal::NoPmuType { event: event(), pmu: pmu.name.clone() })?;
        Ok((pmu, kind))
    }
}

/// A generic event of a hybrid's core names its PMU (trap 11). Of Arm's
/// kinds of cores the CPU decides, on older kernels alone.
pub(super) fn name_core(draft: &mut EventDraft, pmu: &Pmu) {
    if let Some(kind) = pmu.kind
        && pmu.name.starts_with("cpu_")
    {
        draft.words[0] |= u64::from(kind.0) << PERF_PMU_TYPE_SHIFT;
    }
}

/// A PMU's number for `perf_event_attr.type`. `cpu` and `cpu_core` have had
/// the same one in every kernel.
pub(super) fn pmu_type(pmu: &Pmu, notes: &mut Vec<String>) -> Option<EventType> {
    if pmu.kind.is_none() && matches!(pmu.name.as_str(), "cpu" | "cpu_core") {
        notes.push(format!(
            "{} has no file `type`: {} is assumed, PERF_TYPE_RAW",
            pmu.name,
            EventType::RAW.0
        ));
        return Some(EventType::RAW);
    }
    pmu.kind
}

fn check_format(draft: &EventDraft, encoding: &Encoding, pmu: &Pmu) -> Result<(), Refusal> {
    let Some(description) = &pmu.description else { return Ok(()) };
    if description.formats.is_empty() {
        return Ok(());
    }
    // Other fields lie over the threshold's bits, so that the bits alone do
    // not tell.
    if encoding.latency == Some(Latency::UseLatency)
        && pmu.name != IBS
        && description.formats.bits(LDLAT).is_none()
    {
        return Err(Refusal::NoTerm {
            event: encoding.event.to_owned(),
            pmu: pmu.name.clone(),
            term: LDLAT,
        });
    }
    check_bits(draft, pmu)
}

/// Bits that the PMU's `format` has no field for are bits that this kernel
/// or CPU does not take: some PMUs leave them out without a word.
pub(super) fn check_bits(draft: &EventDraft, pmu: &Pmu) -> Result<(), Refusal> {
    let Some(description) = &pmu.description else { return Ok(()) };
    if !description.formats.are_known() {
        return Ok(());
    }
    let uncovered = description.formats.uncovered(&ConfigWords { words: draft.words });
    match uncovered.words.iter().position(|&word| word != 0) {
        None => Ok(()),
        Some(word) => Err(Refusal::FormatLacks {
            event: draft.event.clone(),
            pmu: pmu.name.clone(),
            word: if word == 0 { "config".to_owned() } else { format!("config{word}") },
            bits: uncovered.words[word],
        }),
    }
}

/// Fields beside those of every record.
fn fields(encoding: &Encoding) -> SampleType {
    let mut fields = SampleType::empty();
    if encoding.data_address && encoding.is_exact_ip() {
        fields |= SampleType::DATA_SRC;
    }
    if encoding.latency.is_some() {
        fields |= SampleType::WEIGHT_STRUCT;
    }
    fields
}

fn promises(encoding: &Encoding) -> Promises {
    let (source, ip, registers) = if encoding.pmu == IBS {
        (SampleSource::Ibs, IpPromise::Exact, RegistersPromise::AtInterrupt)
    } else if encoding.precise > 0 {
        (SampleSource::Pebs, IpPromise::Exact, RegistersPromise::AfterRetirement)
    } else {
        (SampleSource::Counter, IpPromise::Skid, RegistersPromise::AtInterrupt)
    };
    let has_address = encoding.data_address && source != SampleSource::Counter;
    let address = if has_address { AddressPromise::Data } else { AddressPromise::None };
    let weight = match encoding.latency {
        None => WeightPromise::None,
        Some(Latency::UseLatency) => WeightPromise::LoadLatency,
        Some(Latency::StoreLatency) => WeightPromise::StoreLatency,
        Some(Latency::DataCacheMiss) => WeightPromise::MissLatency,
    };
    Promises { source, ip, address, registers, weight }
}

/// Guests keep their IPs to themselves on Intel (trap 8); IBS refuses the
/// bit (trap 7), and AMD's counters are the host's.
pub(super) fn is_intel(uarch: Option<Microarchitecture>, facts: &Facts) -> bool {
    let vendor = facts.cpus.vendor.as_deref();
    uarch.map_or(vendor == Some("GenuineIntel"), |uarch| !uarch.is_amd())
}

/// Load latency, event and umask.
const LOAD_LATENCY: u64 = 0x1cd;
/// The kernel's name of the helper, there on the cores that need it.
const HELPER: &str = "mem-loads-aux";

pub(super) fn latency_leader(draft: &EventDraft, pmu: &Pmu) -> Result<Option<EventDraft>, Refusal> {
    let Some(description) = &pmu.description else { return Ok(None) };
    let is_load_latency = draft.words[0] & 0xffff == LOAD_LATENCY
        && draft.precision.wanted > 0
        && draft.fields.contains(SampleType::DATA_SRC);
    if !is_load_latency {
        return Ok(None);
    }
    let Some(packed) = description.alias_config(HELPER) else { return Ok(None) };
    let packed = packed.map_err(|error| Refusal::Terms {
        event: HELPER.to_owned(),
        pmu: pmu.name.clone(),
        error: error.to_string(),
    })?;
    Ok(Some(EventDraft {
        name: HELPER.to_owned(),
        event: HELPER.to_owned(),
        words: packed.words,
        interval: 0,
        fields: SampleType::empty(),
        precision: Precision::default(),
        carrier: true,
        ..draft.clone()
    }))
}
