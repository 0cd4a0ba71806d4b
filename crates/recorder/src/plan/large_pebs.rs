//! Whether the CPU may write several records before it interrupts
//! (trap 16): intel_pmu_large_pebs_flags() and LARGE_PEBS_FLAGS.

use perfdata::{Attr, SampleType};

use super::attrs;
use super::event_draft::EventDraft;
use crate::Target;
use crate::catalogue::Microarchitecture;
use crate::catalogue::promises::SampleSource;

/// Registers that large PEBS can give: PEBS_GP_REGS.
const REGISTERS: u64 = 0xff_03ff;

/// Cores whose records have no time of their own (PEBS formats 1 and 2).
const TIMELESS: [&str; 12] = [
    "nehalem",
    "westmere",
    "sandybridge",
    "jaketown",
    "ivybridge",
    "ivytown",
    "haswell",
    "broadwell",
    "silvermont",
    "knightslanding",
    "bonnell",
    "knightsmill",
];

const ALLOWED: SampleType = SampleType::IP
    .union(SampleType::TID)
    .union(SampleType::ADDR)
    .union(SampleType::ID)
    .union(SampleType::CPU)
    .union(SampleType::STREAM_ID)
    .union(SampleType::DATA_SRC)
    .union(SampleType::IDENTIFIER)
    .union(SampleType::TRANSACTION)
    .union(SampleType::PHYS_ADDR)
    .union(SampleType::REGS_INTR)
    .union(SampleType::PERIOD)
    .union(SampleType::CODE_PAGE_SIZE)
    .union(SampleType::WEIGHT)
    .union(SampleType::WEIGHT_STRUCT);

pub(super) fn note(draft: &EventDraft, target: Target, notes: &mut Vec<String>) {
    let Some(uarch) = draft.uarch.filter(|_| draft.promises.source == SampleSource::Pebs) else {
        return;
    };
    let reasons = forfeits(&attrs::sampled(draft, target), uarch);
    if !reasons.is_empty() {
        notes.push(format!(
            "{}: an interrupt for each record instead of one for many (large PEBS): {}",
            draft.event,
            reasons.join(", ")
        ));
    }
}

/// What makes the CPU interrupt at every record; empty: nothing does.
fn forfeits(attr: &Attr, uarch: Microarchitecture) -> Vec<String> {
    let mut reasons = Vec::new();
    let timeless = TIMELESS.iter().any(|core| uarch.0.starts_with(core));
    let mut allowed = ALLOWED;
    allowed.set(SampleType::TIME, !timeless);
    for (name, _) in (attr.sample_type - allowed).iter_names() {
        reasons.push(match name {
            "TIME" => "TIME (this core's records have none of their own)".to_owned(),
            name => name.to_owned(),
        });
    }
    if attr.sample_regs_intr & !REGISTERS != 0 {
        reasons.push("registers beyond the general ones".to_owned());
    }
    reasons
}
