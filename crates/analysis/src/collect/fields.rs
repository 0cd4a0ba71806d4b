//! What a query needs of each sample, and how it is got at least cost.

use crate::collect::memory_change::MemoryChange;
use crate::collect::pending::{PendingParts, PendingSample, SampleBatch};
use crate::collect::weight;
use crate::name::call_chains::tells_callers;
use crate::name::chain_words::{self, ChainWords, KeptCalls};
use crate::name::key_value::TIMELESS;
use crate::sieve::Doubt;
use perfdata::attr::BranchSampleType;
use perfdata::ibs::{IbsErrata, IbsOp};
use perfdata::registers::{RegsAbi, name};
use perfdata::sample::Weight;
use perfdata::stream::{EventDescription, Features, note};
use perfdata::{
    Arch, AttrFlags, ByteOrder, ClassifiedMiss, DataSrc, Misc, MissClass, Sample, SampleLayout,
    SampleType, SoftwareEvent,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) event: u32,
    pub(crate) misc: Misc,
    pub(crate) doubt: Option<Doubt>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WantedFields {
    /// Registers, by number.
    pub(crate) registers: u64,
    pub(crate) access: bool,
    pub(crate) class: bool,
    pub(crate) heap: bool,
    /// Call chain, or registers of user space and stack.
    pub(crate) callers: bool,
}

/// What waits with a sample besides its fields, in the order of its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleWords<'w> {
    pub(crate) data_src: Option<DataSrc>,
    pub(crate) weight: Option<u64>,
    pub(crate) class: Option<MissClass>,
    pub(crate) heap: Option<MemoryChange>,
    pub(crate) callers: Option<ChainWords<'w>>,
    /// Registers as [`FieldReader::registers`] lists them, or none at all.
    pub(crate) registers: &'w [u64],
}

#[derive(Clone, Debug)]
pub(crate) struct FieldReader {
    layout: SampleLayout,
    has: SampleType,
    zero_is_address: bool,
    is_interrupted: bool,
    /// No hardware made them: registers are those that the instruction found.
    is_emulated: bool,
    /// Registers to keep, ascending.
    kept: Vec<u32>,
    /// Whether the data source, and the weight, wait with each sample.
    /// Without them and registers no sample is decoded in full.
    keeps_source: bool,
    keeps_weight: bool,
    /// Whether samples have the class of a miss, and whether that waits.
    has_class: bool,
    keeps_class: bool,
    /// Whether what an allocator, or a mapping call, did waits, in four words.
    keeps_heap: bool,
    /// Whether its callers wait with it, and may be told later.
    keeps_callers: bool,
    is_deferred: bool,
    /// Calls of their branch stacks, if that is what these hold.
    kept_calls: Option<KeptCalls>,
    /// Registers of user space that samples have, a bit each.
    of_user: u64,
    ibs: Option<Ibs>,
}

/// Where IBS registers stand in for a data source and a latency: kernels
/// before 6.1 give nothing else.
#[derive(Clone, Debug)]
struct Ibs {
    cpu_id: Option<String>,
}

impl FieldReader {
    pub(crate) fn new(
        event: &EventDescription,
        features: &Features,
        wanted: WantedFields,
    ) -> FieldReader {
        let attr = &event.attr;
        let lacks = !attr.sample_type.intersects(WEIGHTS.union(SampleType::DATA_SRC));
        let ibs = (lacks && weight::is_ibs_raw(event, features))
            .then(|| Ibs { cpu_id: features.cpu_id.clone() });
        let has = match ibs {
            Some(_) => attr.sample_type | SampleType::DATA_SRC | SampleType::WEIGHT,
            None => attr.sample_type,
        };
        let mask = if attr.sample_type.contains(SampleType::REGS_INTR) {
            attr.sample_regs_intr
        } else if attr.sample_type.contains(SampleType::REGS_USER) {
            attr.sample_regs_user
        } else {
            0
        };
        let kept = (0..64).filter(|bit| mask & wanted.registers & (1 << bit) != 0).collect();
        let says = |key| event.notes.iter().find_map(|text| note::value(text, key));
        let has_class =
            has.contains(SampleType::RAW) && says("classes").is_some_and(|how| how == "exact");
        FieldReader {
            layout: event.layout.clone(),
            has,
            zero_is_address: attr.means_address_zero(),
            is_emulated: says("source") == Some("emulated"),
            is_interrupted: attr.software().is_some_and(SoftwareEvent::is_clock),
            kept,
            keeps_source: wanted.access && has.contains(SampleType::DATA_SRC),
            keeps_weight: wanted.access && has.intersects(WEIGHTS),
            has_class,
            keeps_class: wanted.class && has_class,
            keeps_heap: wanted.heap && has.contains(SampleType::RAW),
            keeps_callers: wanted.callers && tells_callers(attr.sample_type),
            is_deferred: attr.flags.contains(AttrFlags::DEFER_CALLCHAIN),
            kept_calls: attr
                .branch_sample_type
                .contains(BranchSampleType::CALL_STACK)
                .then(|| KeptCalls { most: features.branches_kept(attr.kind) }),
            of_user: attr.sample_regs_user,
            ibs,
        }
    }

    /// What a site has that was counted in the kernel, whatever the event's
    /// samples would have.
    pub(crate) fn of_sites(&self) -> FieldReader {
        let own = SampleType::IP | SampleType::TID | SampleType::TIME | SampleType::PERIOD;
        FieldReader {
            has: own | self.has & SampleType::CALLCHAIN,
            kept: Vec::new(),
            keeps_source: false,
            keeps_weight: false,
            keeps_class: false,
            keeps_heap: false,
            keeps_callers: false,
            ..self.clone()
        }
    }

    pub(crate) fn has(&self, field: SampleType) -> bool {
        self.has.contains(field)
    }

    pub(crate) fn has_weight(&self) -> bool {
        self.has.intersects(WEIGHTS)
    }

    /// The number that perf calls the weight: all of the word, or the first
    /// of its three parts.
    pub(crate) fn whole_weight(&self, word: u64) -> u64 {
        match self.has(SampleType::WEIGHT_STRUCT) {
            true => word & u64::from(u32::MAX),
            false => word,
        }
    }

    pub(crate) fn has_class(&self) -> bool {
        self.has_class
    }

    pub(crate) fn tells_callers(&self) -> bool {
        tells_callers(self.has)
    }

    /// Registers that are kept, by number, ascending.
    pub(crate) fn registers(&self) -> &[u32] {
        &self.kept
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    pub(crate) fn is_emulated(&self) -> bool {
        self.is_emulated
    }

    /// What is kept of a sample's callers, if the rest may be told later.
    pub(crate) fn deferred<'w>(&self, parts: PendingParts<'w>) -> Option<ChainWords<'w>> {
        let is_deferred = self.keeps_callers && self.is_deferred;
        is_deferred.then(|| self.words(parts).callers).flatten()
    }

    pub(crate) fn of_user(&self) -> u64 {
        self.of_user
    }

    /// Whether registers are those at entry to the kernel, not at the event.
    pub(crate) fn registers_of_user(&self) -> bool {
        !self.has(SampleType::REGS_INTR) && self.has(SampleType::REGS_USER)
    }

    pub(crate) fn address(&self, held: &PendingSample) -> Option<u64> {
        (held.addr != 0 || self.zero_is_address).then_some(held.addr)
    }

    /// Adds a sample to a batch; false when it is too short for the layout
    /// or does not follow it.
    #[inline]
    pub(crate) fn read(&self, origin: Origin, payload: &[u8], into: &mut SampleBatch) -> bool {
        let Some(mut held) = self.peek(payload) else { return false };
        let Origin { event, misc, doubt } = origin;
        held.event = event;
        held.misc = misc;
        held.doubt = doubt;
        let of_access =
            self.keeps_source || self.keeps_weight || self.keeps_class || self.keeps_heap;
        let keeps = of_access || self.keeps_callers;
        if keeps || !self.kept.is_empty() {
            let before = (into.words.len(), into.stacks.len());
            let grown = |now: usize, before: usize| u16::try_from(now - before).ok();
            if self.read_words(misc, payload, into).is_some()
                && let Some(words) = grown(into.words.len(), before.0)
                && let Some(stack) = grown(into.stacks.len(), before.1)
            {
                (held.words, held.stack) = (words, stack);
            } else {
                into.words.truncate(before.0);
                into.stacks.truncate(before.1);
                return false;
            }
        }
        into.samples.push(held);
        true
    }

    #[inline]
    fn peek(&self, payload: &[u8]) -> Option<PendingSample> {
        let mut held = PendingSample { time: TIMELESS, ..PendingSample::default() };
        let layout = &self.layout;
        if self.has(SampleType::IP) {
            held.ip = layout.peek_ip(payload)?;
        }
        if self.has(SampleType::TID) {
            held.task = layout.peek_task(payload)?;
        }
        if self.has(SampleType::TIME) {
            held.time = layout.peek_time(payload)?;
        }
        if self.has(SampleType::ADDR) {
            held.addr = layout.peek_addr(payload)?;
        }
        if self.has(SampleType::CPU) {
            held.cpu = layout.peek_cpu(payload)?;
        }
        if self.has(SampleType::PERIOD) {
            held.period = layout.peek_period(payload)?;
        }
        Some(held)
    }

    /// Appends the words of a sample, as many as it tells, and its stack.
    fn read_words(&self, misc: Misc, payload: &[u8], into: &mut SampleBatch) -> Option<()> {
        let SampleBatch { words, stacks, .. } = into;
        let mut sample = self.layout.decode(misc, payload).ok()?;
        if let Some(ibs) = self.ibs.as_ref().filter(|_| self.keeps_source) {
            ibs.complete(&mut sample, self.layout.order());
        }
        if self.keeps_callers {
            chain_words::push(&sample, self.kept_calls, words, stacks);
        }
        if self.keeps_source {
            words.push(sample.data_src.unwrap_or_default().0);
        }
        if self.keeps_weight {
            words.push(sample.weight.map_or(0, |weight| weight.to_word()));
        }
        if self.keeps_class {
            let miss = sample.raw.and_then(ClassifiedMiss::decode);
            words.push(miss.and_then(|miss| miss.class).map_or(0, |class| class as u64));
        }
        if self.keeps_heap {
            words.extend(sample.raw.and_then(MemoryChange::decode)?.to_words());
        }
        self.read_registers(&sample, words)
    }

    /// Appends one word a kept register; none when the task had none.
    fn read_registers(&self, sample: &Sample<'_>, words: &mut Vec<u64>) -> Option<()> {
        let registers = sample.regs_intr.or(sample.regs_user).unwrap_or_default();
        if registers.abi == RegsAbi::None {
            return Some(());
        }
        for bit in &self.kept {
            words.push(registers.get(*bit)?);
        }
        Some(())
    }

    /// What [`FieldReader::read`] appended.
    #[inline]
    pub(crate) fn words<'w>(&self, parts: PendingParts<'w>) -> SampleWords<'w> {
        let PendingParts { words, stack } = parts;
        let mut taken = SampleWords { registers: words, ..SampleWords::default() };
        if self.keeps_callers
            && let Some((callers, rest)) = chain_words::split(taken.registers, stack)
        {
            (taken.callers, taken.registers) = (Some(callers), rest);
        }
        if self.keeps_source
            && let Some((word, rest)) = taken.registers.split_first()
        {
            (taken.data_src, taken.registers) = (Some(DataSrc(*word)), rest);
        }
        if self.keeps_weight
            && let Some((word, rest)) = taken.registers.split_first()
        {
            (taken.weight, taken.registers) = (Some(*word), rest);
        }
        if self.keeps_class
            && let Some((word, rest)) = taken.registers.split_first()
        {
            let class = u8::try_from(*word).ok().and_then(MissClass::of_number);
            (taken.class, taken.registers) = (class, rest);
        }
        if self.keeps_heap
            && let Some((change, rest)) = taken.registers.split_first_chunk()
        {
            (taken.heap, taken.registers) = (Some(MemoryChange::of_words(*change)), rest);
        }
        taken
    }
}

impl Ibs {
    /// Adds what the registers tell; nothing where there are none.
    fn complete(&self, sample: &mut Sample<'_>, order: ByteOrder) {
        let Some(Ok(op)) = sample.raw.map(|raw| IbsOp::decode(raw, order)) else { return };
        sample.data_src = Some(op.data_src(IbsErrata::of(self.cpu_id.as_deref(), op.caps)));
        let is_told = !op.dc_uc_mem_acc();
        let latency = op.dc_miss_lat().filter(|_| is_told).unwrap_or_default();
        sample.weight = Some(Weight::Full(latency.into()));
    }
}

/// The two kinds of weight; no event has both.
const WEIGHTS: SampleType = SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT);

/// Name of a register as tables show it: the kernel's, or its number.
pub(crate) fn register_name(arch: Arch, bit: u32) -> String {
    name(arch, bit).map_or_else(|| format!("r#{bit}"), str::to_owned)
}
