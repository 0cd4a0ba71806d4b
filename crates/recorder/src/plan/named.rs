//! Events named by terms, codes, perf's generic names and their makers'.

use std::cmp::Reverse;

use perfdata::{Arch, EventType, SampleType};

use super::event_draft::{EventDraft, Precision};
use super::hardware::{self, MachineCore};
use super::{ibs, large_pebs, precision};
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use crate::catalogue::{self, CatalogueType, Microarchitecture, NamedEvent};
use crate::machine::facts::{Facts, NamedTerm, Pmu, PmuDescription};
use crate::machine::pmu_format::{ConfigWords, Term, TermValue, Terms};
use crate::request::event_spec::{
    EventSpecError, GenericEvent, Modifiers, Precise, RequestedEvent, generic, generic_names,
};
use crate::spelling::{best_three, likeness, suggestion};
use crate::{Modes, Promises, Refusal, Request};

/// Umask and event code: what the tables know an event by.
const CODE: u64 = 0xff00_0000_ffff;

pub(super) fn open(
    event: &RequestedEvent,
    request: &Request,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<Vec<EventDraft>, Refusal> {
    let mut asked = NamedRequest { request, facts, notes };
    match event {
        RequestedEvent::Pmu { pmu, terms, modifiers } => asked.terms(pmu, terms, modifiers),
        RequestedEvent::Raw { config, modifiers, .. } => asked.raw(*config, modifiers),
        RequestedEvent::Generic { kind, config, name, modifiers } => {
            asked.generic(NumberedEvent { kind: *kind, config: *config, name }, modifiers)
        }
        RequestedEvent::Named { name, modifiers } => asked.named(name, modifiers),
        RequestedEvent::Type(_)
        | RequestedEvent::Breakpoint(_)
        | RequestedEvent::NamedBreakpoint(_)
        | RequestedEvent::Tracepoint(_) => Ok(Vec::new()),
    }
}

struct NamedRequest<'a> {
    request: &'a Request,
    facts: &'a Facts,
    notes: &'a mut Vec<String>,
}

#[derive(Clone, Copy)]
struct NumberedEvent<'n> {
    kind: EventType,
    config: u64,
    name: &'n str,
}

struct ResolvedEvent {
    config: ConfigWords,
    /// As its maker, the kernel or the user calls it.
    event: String,
    known: Option<NamedEvent>,
    interval: Option<u64>,
    /// `name=TEXT`.
    label: Option<String>,
}

impl<'a> NamedRequest<'a> {
    fn terms(
        &mut self,
        name: &str,
        terms: &Terms,
        modifiers: &Modifiers,
    ) -> Result<Vec<EventDraft>, Refusal> {
        let facts = self.facts;
        let pmus = || facts.pmus.iter().flatten();
        let core = hardware::cores(facts).into_iter().find(|core| core.pmu.name == name);
        let Some(pmu) = facts.pmu(name) else {
            if name.starts_with("cpu") {
                // Without any core's PMU the reason is the machine's.
                self.cores()?;
            }
            let scored = pmus().map(|pmu| (likeness(name, &pmu.name), pmu.name.as_str()));
            let nearest: Vec<_> = best_three(scored).into_iter().map(str::to_owned).collect();
            return Err(Refusal::NoPmu {
                event: self.request.event.to_string(),
                pmu: name.to_owned(),
                suggestion: suggestion(&nearest),
            });
        };
        let uarch = catalogue::identify(&facts.cpus, pmu).core();
        let core = core.unwrap_or(MachineCore { pmu, uarch });
        let description = self.describe(pmu)?;
        if let Some(why) = unsampled(pmu) {
            let (event, pmu) = (self.request.event.to_string(), name.to_owned());
            return Err(Refusal::Unsampled { event, pmu, why });
        }
        if !is_ibs(pmu)
            && pmu.is_core()
            && let [Term { name: event, value: TermValue::Bare }] = terms.0.as_slice()
            && description.formats.get(event).is_none()
            && description.alias(event).is_none()
            && let Some(GenericEvent { kind, config, name }) = generic(event)
        {
            let event = NumberedEvent { kind, config, name: &name };
            return self.generic_on(&[core], event, modifiers);
        }
        let look_up = |event: &str| {
            let named = catalogue::named(core.uarch?, &pmu.name, event)?;
            Some(ConfigWords { words: [named.config, named.config1, 0, 0, 0] })
        };
        let packed = description.pack(terms, look_up).map_err(|error| Refusal::Terms {
            event: self.request.event.to_string(),
            pmu: name.to_owned(),
            error: error.to_string(),
        })?;
        let event = match packed.event {
            Some(NamedTerm::Alias(alias)) => alias,
            Some(NamedTerm::Event(event)) => event,
            None => format!("{name}/{terms}/"),
        };
        let found = ResolvedEvent {
            config: packed.config,
            event,
            known: known(core, &packed.config),
            interval: packed.period,
            label: packed.label,
        };
        self.on(core, found, modifiers)
    }

    fn raw(&mut self, config: u64, modifiers: &Modifiers) -> Result<Vec<EventDraft>, Refusal> {
        let cores = self.cores()?;
        let [core] = cores.as_slice() else {
            return Err(Refusal::CodeOfManyCores {
                event: self.request.event.to_string(),
                config,
                pmus: cores
                    .iter()
                    .map(|core| core.pmu.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            });
        };
        let config = ConfigWords { words: [config, 0, 0, 0, 0] };
        let known = known(*core, &config);
        let event = self.request.event.to_string();
        let same = known.as_ref().filter(|known| known.config1 == 0);
        let named = same.map(|known| format!("{event} is {}", known.name));
        let found = ResolvedEvent { config, event, known, interval: None, label: None };
        let core = *core;
        self.notes.extend(named);
        self.on(core, found, modifiers)
    }

    fn generic(
        &mut self,
        event: NumberedEvent<'_>,
        modifiers: &Modifiers,
    ) -> Result<Vec<EventDraft>, Refusal> {
        let cores = self.cores()?;
        self.generic_on(&cores, event, modifiers)
    }

    fn generic_on(
        &mut self,
        cores: &[MachineCore<'_>],
        event: NumberedEvent<'_>,
        modifiers: &Modifiers,
    ) -> Result<Vec<EventDraft>, Refusal> {
        let NumberedEvent { kind, config, name } = event;
        let drafts = cores.iter().map(|core| {
            let mut draft = EventDraft::new(&core.pmu.name, kind, self.request, counter());
            draft.words[0] = config;
            name.clone_into(&mut draft.name);
            name.clone_into(&mut draft.event);
            draft.uarch = core.uarch;
            draft.excludes.guest = hardware::is_intel(core.uarch, self.facts);
            hardware::name_core(&mut draft, core.pmu);
            if core.pmu.name != "cpu" {
                draft.name = format!("{}/{name}/", core.pmu.name);
                draft.cpus.clone_from(&core.pmu.cpus);
            }
            self.finish(&mut draft, None, modifiers, core.pmu)?;
            large_pebs::note(&draft, self.request.target, self.notes);
            Ok(draft)
        });
        drafts.collect()
    }

    fn named(&mut self, name: &str, modifiers: &Modifiers) -> Result<Vec<EventDraft>, Refusal> {
        if hardware::cores(self.facts).is_empty() && !is_of_some_core(name) {
            let nearest = self.nearest(name, &[]);
            return Err(EventSpecError::Unknown { typed: name.to_owned(), nearest }.into());
        }
        let cores = self.cores()?;
        let hybrid = cores.len() > 1;
        let mut drafts = Vec::new();
        let mut unavailable = Vec::new();
        for core in &cores {
            let Some(found) = self.find(name, *core)? else {
                unavailable.push(core.pmu.name.as_str());
                continue;
            };
            let first = drafts.len();
            for mut draft in self.on(*core, found, modifiers)? {
                draft.leader = draft.leader.map(|leader| first + leader);
                if hybrid {
                    draft.name = format!("{}/{}/", core.pmu.name, draft.name);
                    draft.cpus.clone_from(&core.pmu.cpus);
                }
                drafts.push(draft);
            }
        }
        if drafts.is_empty() {
            let nearest = self.nearest(name, &cores);
            return Err(EventSpecError::Unknown { typed: name.to_owned(), nearest }.into());
        }
        if !unavailable.is_empty() {
            self.notes.push(format!("{} has no {name}: not sampled there", unavailable.join(", ")));
        }
        Ok(drafts)
    }

    fn find(&self, name: &str, core: MachineCore<'_>) -> Result<Option<ResolvedEvent>, Refusal> {
        let alias = core.pmu.description.as_ref().and_then(|description| {
            let (alias, _) = description.alias(name)?;
            Some((alias, description.alias_config(alias)?))
        });
        if let Some((alias, packed)) = alias {
            let config = packed.map_err(|error| Refusal::Terms {
                event: alias.to_owned(),
                pmu: core.pmu.name.clone(),
                error: error.to_string(),
            })?;
            let (event, known) = (alias.to_owned(), known(core, &config));
            return Ok(Some(ResolvedEvent { config, event, known, interval: None, label: None }));
        }
        let named = core.uarch.and_then(|uarch| catalogue::named(uarch, &core.pmu.name, name));
        Ok(named.map(|named| ResolvedEvent {
            config: ConfigWords { words: [named.config, named.config1, 0, 0, 0] },
            event: named.name.to_owned(),
            known: Some(named),
            interval: None,
            label: None,
        }))
    }

    fn on(
        &mut self,
        core: MachineCore<'_>,
        found: ResolvedEvent,
        modifiers: &Modifiers,
    ) -> Result<Vec<EventDraft>, Refusal> {
        let event = || self.request.event.to_string();
        let kind = hardware::pmu_type(core.pmu, self.notes)
            .ok_or_else(|| Refusal::NoPmuType { event: event(), pmu: core.pmu.name.clone() })?;
        let mut draft = EventDraft::new(&core.pmu.name, kind, self.request, counter());
        draft.words = found.config.words;
        draft.name = found.label.unwrap_or_else(|| found.event.clone());
        draft.event = found.event;
        draft.uarch = core.uarch;
        draft.interval = found.interval.unwrap_or_default();
        draft.excludes.guest = hardware::is_intel(core.uarch, self.facts);
        if core.pmu.cpus.is_some() && core.pmu.name != "cpu" {
            draft.cpus.clone_from(&core.pmu.cpus);
        }
        if is_ibs(core.pmu) {
            draft.promises =
                Promises { source: SampleSource::Ibs, ip: IpPromise::Exact, ..draft.promises };
            if core.pmu.name == hardware::IBS {
                draft.promises.address = AddressPromise::Data;
                draft.promises.weight = WeightPromise::MissLatency;
                draft.fields = SampleType::DATA_SRC | SampleType::WEIGHT_STRUCT;
            }
            draft.interval = self.request.interval.or(found.interval).unwrap_or(INTERVAL);
            draft.registers = perfdata::registers::general(self.facts.kernel.arch());
            ibs::fit_memory_fields(&mut draft, self.facts.kernel.version, self.notes)?;
            ibs::choose_modes(&mut draft, core.pmu, self.request.modes, self.notes)?;
            ibs::round_interval(&mut draft, self.notes);
            return Ok(vec![draft]);
        }
        if core.pmu.is_core() {
            hardware::check_bits(&draft, core.pmu)?;
        }
        self.finish(&mut draft, found.known.as_ref(), modifiers, core.pmu)?;
        large_pebs::note(&draft, self.request.target, self.notes);
        let leader = hardware::latency_leader(&draft, core.pmu)?;
        if leader.is_some() {
            draft.leader = Some(0);
        }
        Ok(leader.into_iter().chain([draft]).collect())
    }

    /// The kinds of cores; refused when there is none.
    fn cores(&self) -> Result<Vec<MachineCore<'a>>, Refusal> {
        let cores = hardware::cores(self.facts);
        if cores.is_empty()
            && let Some(entry) = catalogue::find("instr_retired")
        {
            hardware::look_up(entry, self.request, self.facts)?;
        }
        Ok(cores)
    }

    fn describe<'p>(&self, pmu: &'p Pmu) -> Result<&'p PmuDescription, Refusal> {
        pmu.description.as_ref().ok_or_else(|| Refusal::Terms {
            event: self.request.event.to_string(),
            pmu: pmu.name.clone(),
            error: "its description in sysfs was not read".to_owned(),
        })
    }

    fn nearest(&self, name: &str, cores: &[MachineCore<'_>]) -> Vec<String> {
        let mut scored: Vec<(f64, String)> = Vec::new();
        for core in cores {
            let aliases = core.pmu.description.iter().flat_map(|pmu| pmu.aliases.keys());
            scored.extend(aliases.map(|alias| (likeness(name, alias), alias.clone())));
            if let Some(uarch) = core.uarch {
                let names = catalogue::nearest_names(uarch, &core.pmu.name, name);
                scored.extend(
                    names.into_iter().map(|near: &str| (likeness(name, near), near.to_owned())),
                );
            }
        }
        // What cannot be had here is no way out.
        let generic = generic_names().filter(|_| !cores.is_empty());
        scored.extend(generic.map(|near| (likeness(name, &near), near)));
        let types = catalogue::all().filter(|entry| is_available(entry, self.request, self.facts));
        scored.extend(types.flat_map(|entry| {
            let spellings = std::iter::once(&entry.name).chain(entry.aliases);
            spellings.map(|near| (likeness(name, near), entry.name.to_owned()))
        }));
        let scored = scored.iter().map(|(score, name)| (*score, name.as_str()));
        best_three(scored).into_iter().map(str::to_owned).collect()
    }
}

fn is_of_some_core(name: &str) -> bool {
    let mut cores = Microarchitecture::all().into_iter();
    cores.any(|core| catalogue::named(core, core.pmu().unwrap_or("cpu"), name).is_some())
}

fn known(core: MachineCore<'_>, config: &ConfigWords) -> Option<NamedEvent> {
    let [code, second, ..] = config.words;
    if code & !CODE != 0 {
        return None;
    }
    let named = || {
        let names = catalogue::names(core.uarch?, &core.pmu.name);
        Some(names.filter(|named| named.config == code && !named.deprecated))
    };
    // Latencies have names for some thresholds only.
    let below = named()?.filter(|named| named.config1 <= second);
    below
        .min_by_key(|named| Reverse(named.config1))
        .or_else(|| named()?.min_by_key(|named| named.config1))
}

fn is_ibs(pmu: &Pmu) -> bool {
    pmu.name.starts_with("ibs_")
}

/// Why a PMU's events give no records that can be read here; None: they do,
/// as far as is known.
fn unsampled(pmu: &Pmu) -> Option<&'static str> {
    let starts = |names: &[&str]| names.iter().any(|name| pmu.name.starts_with(name));
    if starts(&["arm_spe", "intel_pt", "intel_bts", "cs_etm", "hisi_ptt"]) {
        Some(
            "its records come as packets of their own kind, which this version does not read \
             (perf record does)",
        )
    } else if starts(&["software", "tracepoint", "breakpoint"]) {
        Some("its events have names here: ebs -h lists them")
    } else if starts(&["msr"]) {
        Some("its counters never interrupt (perf stat reads them)")
    } else if !pmu.is_core() && pmu.cpus.is_some() {
        Some(
            "it counts for many CPUs at once and cannot say which instruction caused an event: it \
             has no samples (perf stat counts with it)",
        )
    } else {
        None
    }
}

fn counter() -> Promises {
    Promises {
        source: SampleSource::Counter,
        ip: IpPromise::Skid,
        address: AddressPromise::None,
        registers: RegistersPromise::AtInterrupt,
        weight: WeightPromise::None,
    }
}

/// Whether a request can have the type here, from either source.
fn is_available(entry: &CatalogueType, request: &Request, facts: &Facts) -> bool {
    let is_emulated = request.modes == Modes::USER && !request.target.is_of_cpus();
    matches!(catalogue::availability(entry, facts), catalogue::Availability::Available { .. })
        || is_emulated && catalogue::emulable(entry, facts).is_some()
}

/// Of the makers' intervals for rare events some are so short that kernels
/// refuse them (trap 6).
const SHORTEST_USUAL: u64 = 128;

/// Events between samples where nothing says better: the original's.
const INTERVAL: u64 = 10_000;

impl NamedRequest<'_> {
    fn finish(
        &mut self,
        draft: &mut EventDraft,
        known: Option<&NamedEvent>,
        modifiers: &Modifiers,
        pmu: &Pmu,
    ) -> Result<(), Refusal> {
        let own = Some(draft.interval).filter(|&interval| interval > 0);
        let table = known.map(|known| known.default_interval.max(SHORTEST_USUAL));
        draft.interval = self.request.interval.or(own).or(table).unwrap_or(INTERVAL);
        if draft.interval > i64::MAX.cast_unsigned() {
            return Err(Refusal::IntervalTooLarge { interval: draft.interval });
        }
        draft.registers = perfdata::registers::general(self.facts.kernel.arch());
        draft.excludes.hypervisor &= !modifiers.hypervisor;
        let is_x86 = self.facts.kernel.arch() == Arch::X86_64;
        let most = pmu.most_precise();
        let table = known.map_or(0, |known| known.most_precise);
        let (wanted, least) = match modifiers.precise {
            // Other architectures' kernels take precise_ip and ignore it (trap 4).
            Some(Precise::Level(_)) if !is_x86 && !self.request.allow_skid => {
                let (event, pmu) = (draft.event.clone(), pmu.name.clone());
                return Err(Refusal::NoPrecision { event, pmu });
            }
            Some(_) if !is_x86 => (0, 0),
            Some(Precise::Level(level)) => (level, if self.request.allow_skid { 0 } else { level }),
            // AMD's caps/max_precise is 0 with IBS too.
            Some(Precise::Highest) if self.is_amd(draft) => {
                (if self.may_forward(draft) { 2 } else { 0 }, 0)
            }
            Some(Precise::Highest) => {
                let known = if table > 0 { table } else { 3 };
                (most.map_or(known, |most| most.min(known)), 0)
            }
            None => (table.min(most.unwrap_or(3)), u8::from(!self.request.allow_skid)),
        };
        draft.precision = Precision { wanted, least: least.min(wanted) };
        if wanted > 0 && self.is_amd(draft) {
            return self.forward(draft, wanted);
        }
        if table > 0 && wanted > table {
            return Err(Refusal::TooPrecise {
                event: draft.event.clone(),
                asked: wanted,
                most: table,
            });
        }
        precision::fit_interval(draft, self.notes)?;
        if wanted == 0 {
            if modifiers.precise.is_some() {
                self.notes.push(format!("{}: nothing precise here, IPs have skid", draft.event));
            }
            return Ok(());
        }
        draft.promises.source = SampleSource::Pebs;
        draft.promises.registers = RegistersPromise::AfterRetirement;
        draft.promises.ip = match table {
            0 => IpPromise::AsEachRecordSays,
            _ if wanted < precision::MIN_EXACT_LEVEL => IpPromise::AfterCausing,
            _ => IpPromise::Exact,
        };
        if known.is_some_and(|known| known.data_address) {
            draft.promises.address = AddressPromise::Data;
            draft.fields |= SampleType::DATA_SRC;
        }
        if is_load_latency(draft) {
            draft.promises.address = AddressPromise::Data;
            draft.promises.weight = WeightPromise::LoadLatency;
            draft.fields |= SampleType::DATA_SRC | SampleType::WEIGHT_STRUCT;
        }
        Ok(())
    }

    fn is_amd(&self, draft: &EventDraft) -> bool {
        let vendor = self.facts.cpus.vendor.as_deref();
        draft.uarch.map_or(vendor == Some("AuthenticAMD"), Microarchitecture::is_amd)
    }

    /// Whether this user gets the event from IBS, which has both modes.
    fn may_forward(&self, draft: &EventDraft) -> bool {
        is_forwarded(draft)
            && self.facts.pmu(hardware::IBS).is_some()
            && !self.facts.access.kernel_denied()
    }

    /// AMD's kernel hands precise cycles and micro-operations on to IBS, and
    /// refuses all else (forward_event_to_ibs(), trap 7).
    fn forward(&mut self, draft: &mut EventDraft, wanted: u8) -> Result<(), Refusal> {
        let event = || draft.event.clone();
        if !is_forwarded(draft) {
            return Err(Refusal::NotForwarded { event: event() });
        }
        if wanted > 2 {
            return Err(Refusal::TooPrecise { event: event(), asked: wanted, most: 2 });
        }
        if self.facts.pmu(hardware::IBS).is_none() {
            return Err(Refusal::NoDevice { event: event(), pmu: hardware::IBS.to_owned() });
        }
        draft.promises.source = SampleSource::Ibs;
        draft.promises.ip = IpPromise::Exact;
        // IBS's own filter of modes has no bit in the event handed on.
        ibs::keep_modes(draft, self.request.modes, self.notes)?;
        ibs::round_interval(draft, self.notes);
        Ok(())
    }
}

fn is_load_latency(draft: &EventDraft) -> bool {
    // Nehalem, Sandy Bridge on, E-cores (trap 10).
    matches!((draft.words[0] & 0xffff, draft.words[1]), (0x100b | 0x1cd | 0x5d0, 1..))
}

/// Cycles and micro-operations, with no bit more: core_pmu_ibs_config().
fn is_forwarded(draft: &EventDraft) -> bool {
    match draft.kind {
        EventType::HARDWARE => draft.words[0] == 0,
        EventType::HW_CACHE => false,
        _ => matches!(draft.words[0], 0x76 | 0xc1),
    }
}
