//! Whether an attr asks for no more than one that was granted.

use perfdata::{Attr, AttrFlags};

const EXCLUDES: AttrFlags = AttrFlags::EXCLUDE_USER
    .union(AttrFlags::EXCLUDE_KERNEL)
    .union(AttrFlags::EXCLUDE_HV)
    .union(AttrFlags::EXCLUDE_IDLE)
    .union(AttrFlags::EXCLUDE_HOST)
    .union(AttrFlags::EXCLUDE_GUEST)
    .union(AttrFlags::EXCLUDE_CALLCHAIN_KERNEL)
    .union(AttrFlags::EXCLUDE_CALLCHAIN_USER);

const HARMLESS: AttrFlags = AttrFlags::DISABLED
    .union(AttrFlags::WATERMARK)
    .union(AttrFlags::SAMPLE_ID_ALL)
    .union(AttrFlags::PRECISE_IP)
    .union(AttrFlags::USE_CLOCKID);

/// The first thing that an attr wants more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is beyond what was granted")]
pub struct AttrExcess {
    /// The field of `perf_event_attr`.
    pub what: &'static str,
}

/// Checks that `attr` asks for the event of `granted`, at most as often, with
/// no field, flag or privilege level beyond it.
///
/// # Errors
/// [`AttrExcess`] names the first field that asks for more.
pub fn attr_subset(attr: &Attr, granted: &Attr) -> Result<(), AttrExcess> {
    let same = [
        ("type", attr.kind == granted.kind),
        ("config", attr.config == granted.config),
        ("config1", attr.config1 == granted.config1),
        ("config2", attr.config2 == granted.config2),
        ("config3", attr.config3 == granted.config3),
        ("config4", attr.config4 == granted.config4),
        ("bp_type", attr.bp_type == granted.bp_type),
        ("branch_sample_type", attr.branch_sample_type == granted.branch_sample_type),
        ("aux", (attr.aux_watermark, attr.aux_sample_size, attr.aux_action) == (0, 0, 0)),
        ("sig_data", attr.sig_data == 0),
    ];
    // A lower frequency, or a longer period, is less.
    let freq = AttrFlags::FREQ;
    let rate = match (attr.flags.contains(freq), granted.flags.contains(freq)) {
        (true, true) => attr.sample_period <= granted.sample_period,
        (false, false) => attr.sample_period >= granted.sample_period,
        _ => false,
    };
    // WEIGHT is what is left of WEIGHT_STRUCT on older kernels.
    let mut fields = granted.sample_type;
    if fields.contains(perfdata::SampleType::WEIGHT_STRUCT) {
        fields |= perfdata::SampleType::WEIGHT;
    }
    let more = [
        ("sample_period", !rate),
        ("sample_type", !fields.contains(attr.sample_type)),
        ("read_format", !granted.read_format.contains(attr.read_format)),
        ("sample_regs_user", attr.sample_regs_user & !granted.sample_regs_user != 0),
        ("sample_regs_intr", attr.sample_regs_intr & !granted.sample_regs_intr != 0),
        ("sample_stack_user", attr.sample_stack_user > granted.sample_stack_user),
        ("sample_max_stack", attr.sample_max_stack > granted.sample_max_stack),
        ("excludes", !attr.flags.contains(granted.flags & EXCLUDES)),
        ("flags", !(granted.flags | EXCLUDES | HARMLESS).contains(attr.flags)),
    ];
    let differs = same.into_iter().find(|(_, same)| !same).map(|(what, _)| what);
    let exceeds = more.into_iter().find(|(_, more)| *more).map(|(what, _)| what);
    differs.or(exceeds).map_or(Ok(()), |what| Err(AttrExcess { what }))
}
