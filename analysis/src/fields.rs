//! What a query needs of each sample, and how it is got at least cost.

use crate::atom::TIMELESS;
use crate::held::{Batch, Held};
use crate::sieve::Doubt;
use record::registers::{RegsAbi, name};
use record::stream::EventDescription;
use record::{Arch, EventType, Misc, SampleLayout, SampleType};

/// Software events whose address means something: 0 is then an address
/// (page_fault, minor_fault, major_fault, alignment_fault, emulation_fault).
const SOFTWARE_WITH_ADDRESS: [u64; 5] = [2, 5, 6, 7, 8];

/// What is known of a sample before its fields are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) event: u32,
    pub(crate) misc: Misc,
    pub(crate) doubt: Option<Doubt>,
}

/// Reads the fields of one event's samples.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    layout: SampleLayout,
    has: SampleType,
    zero_is_address: bool,
    /// Registers to keep, ascending; without any no sample is decoded in full.
    kept: Vec<u32>,
}

impl Fields {
    /// Fields of an event; keeps the registers among `wanted` that it has.
    pub(crate) fn new(event: &EventDescription, wanted: u64) -> Fields {
        let attr = &event.attr;
        let zero_is_address = match attr.kind {
            EventType::SOFTWARE => SOFTWARE_WITH_ADDRESS.contains(&attr.config),
            EventType::BREAKPOINT => true,
            _ => false,
        };
        let mask = if attr.sample_type.contains(SampleType::REGS_INTR) {
            attr.sample_regs_intr
        } else if attr.sample_type.contains(SampleType::REGS_USER) {
            attr.sample_regs_user
        } else {
            0
        };
        let kept = (0..64).filter(|bit| mask & wanted & (1 << bit) != 0).collect();
        Fields { layout: event.layout.clone(), has: attr.sample_type, zero_is_address, kept }
    }

    /// Whether samples have the field.
    pub(crate) fn has(&self, field: SampleType) -> bool {
        self.has.contains(field)
    }

    /// Registers that are kept, by number, ascending.
    pub(crate) fn registers(&self) -> &[u32] {
        &self.kept
    }

    /// Whether registers are those at entry to the kernel, not at the event.
    pub(crate) fn registers_of_user(&self) -> bool {
        !self.has(SampleType::REGS_INTR) && self.has(SampleType::REGS_USER)
    }

    /// The data address, when the sample has one.
    pub(crate) fn address(&self, held: &Held) -> Option<u64> {
        (held.addr != 0 || self.zero_is_address).then_some(held.addr)
    }

    /// Adds a sample to a batch; false when it is too short for the layout
    /// or does not follow it.
    #[inline]
    pub(crate) fn read(&self, origin: Origin, payload: &[u8], into: &mut Batch) -> bool {
        let Some(mut held) = self.peek(payload) else { return false };
        let Origin { event, misc, doubt } = origin;
        held.event = event;
        held.misc = misc;
        held.doubt = doubt;
        if !self.kept.is_empty() {
            let Some(words) = self.read_registers(misc, payload, &mut into.words) else {
                return false;
            };
            held.words = words;
        }
        into.samples.push(held);
        true
    }

    #[inline]
    fn peek(&self, payload: &[u8]) -> Option<Held> {
        let mut held = Held { time: TIMELESS, ..Held::default() };
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

    /// Appends one word a kept register; none when the task had none.
    fn read_registers(&self, misc: Misc, payload: &[u8], words: &mut Vec<u64>) -> Option<u16> {
        let sample = self.layout.decode(misc, payload).ok()?;
        let registers = sample.regs_intr.or(sample.regs_user).unwrap_or_default();
        if registers.abi == RegsAbi::None {
            return Some(0);
        }
        let before = words.len();
        for bit in &self.kept {
            match registers.get(*bit) {
                Some(value) => words.push(value),
                None => {
                    words.truncate(before);
                    return None;
                }
            }
        }
        u16::try_from(self.kept.len()).ok()
    }
}

/// Name of a register as tables show it: the kernel's, or its number.
pub(crate) fn register_name(arch: Arch, bit: u32) -> String {
    name(arch, bit).map_or_else(|| format!("r#{bit}"), str::to_owned)
}
