//! Samples without what was in the recorded program's memory.

use super::Keep;
use super::chains::{MappedCode, clean};
use perfdata::bytes::RecordWords;
use perfdata::registers::Registers;
use perfdata::sample::{Sample, StackUser};
use perfdata::stream::{EventDescription, Features, note};
use perfdata::{EventType, SampleType};

/// In place of arguments: as long as the longest record.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// Arguments of a tracepoint or of a BPF program, not IBS registers and
    /// classes of misses.
    raw: bool,
    /// Pieces of strings, among others.
    registers: bool,
    stack: bool,
    aux: bool,
    /// Callers that may be none.
    chain: bool,
}

impl Memory {
    pub(super) fn of(event: &EventDescription, features: &Features, keep: Keep) -> Memory {
        let has = |bit| event.attr.sample_type.intersects(bit);
        let registers = SampleType::REGS_USER | SampleType::REGS_INTR;
        Memory {
            raw: has(SampleType::RAW) && !is_ibs(event, features) && !is_of_model(event),
            registers: has(registers) && !keep.registers,
            stack: has(SampleType::STACK_USER),
            aux: has(SampleType::AUX),
            chain: has(SampleType::CALLCHAIN),
        }
    }

    pub(super) fn is_any(self) -> bool {
        self != Memory::default()
    }
}

/// Whether RAW is what the emulated PMU tells: of a miss, or of a block of the heap.
fn is_of_model(event: &EventDescription) -> bool {
    let says = |key| event.notes.iter().any(|text| note::value(text, key) == Some("exact"));
    says("classes") || says("heap")
}

fn is_ibs(event: &EventDescription, features: &Features) -> bool {
    let kernels = [EventType::SOFTWARE, EventType::TRACEPOINT, EventType::BREAKPOINT];
    let mut pmus = features.pmus.iter().filter(|(kind, _)| EventType(*kind) == event.attr.kind);
    !kernels.contains(&event.attr.kind)
        && (pmus.any(|(_, name)| name.starts_with("ibs_"))
            || event.title().starts_with("ibs_")
            || event.notes.iter().any(|text| note::value(text, "source") == Some("ibs")))
}

/// Appends a sample without memory, as the kernel writes one that has none:
/// without registers, stack or AUX data, and with zeros as arguments and as
/// callers that are no code. None when that is not possible; else whether
/// anything was to be taken out: if not, nothing is appended.
pub(super) fn blank(
    memory: Memory,
    event: &EventDescription,
    sample: Sample<'_>,
    mapped: &MappedCode,
    out: &mut Vec<u8>,
) -> Option<bool> {
    let mut callers = Vec::new();
    let mut sample = sample;
    if let Some(chain) = sample.callchain.filter(|_| memory.chain) {
        let replaced = clean(chain, mapped, &mut callers);
        if replaced == 0 && memory == (Memory { chain: true, ..Memory::default() }) {
            return Some(false);
        }
        sample.callchain = Some(RecordWords::new(&callers, chain.order()));
    }
    if memory.raw {
        sample.raw = sample.raw.map(|raw| &ZEROS[..raw.len()]);
    }
    if memory.registers {
        sample.regs_user = sample.regs_user.map(|_| Registers::default());
        sample.regs_intr = sample.regs_intr.map(|_| Registers::default());
    }
    if memory.stack {
        sample.stack_user = sample.stack_user.map(|_| StackUser { data: &[], dyn_size: None });
    }
    if memory.aux {
        sample.aux = sample.aux.map(|_| &[][..]);
    }
    event.layout.encode(&sample, out).ok()?;
    Some(true)
}
