//! What an attr may not ask for without permission for the kernel, whatever
//! this kernel would let through: some versions check less than others.

use record::attr::BranchSampleType;
use record::{Attr, AttrFlags, SampleType};

use super::Permissions;

/// Parts of an attr that no session has without [`Permissions::KERNEL`].
#[derive(Clone, Copy, Debug)]
pub struct Forbidden {
    /// Sample fields.
    pub fields: SampleType,
    /// Flags that must be off.
    pub flags: AttrFlags,
    /// Flags that must be on.
    pub forced: AttrFlags,
}

/// Physical addresses tell how memory is laid out for all, raw data and
/// branches may show the kernel, the rest is about other tasks.
pub const FORBIDDEN: Forbidden = Forbidden {
    fields: SampleType::PHYS_ADDR
        .union(SampleType::RAW)
        .union(SampleType::BRANCH_STACK)
        .union(SampleType::AUX)
        .union(SampleType::CGROUP),
    flags: AttrFlags::EXCLUDE_HOST
        .union(AttrFlags::TEXT_POKE)
        .union(AttrFlags::KSYMBOL)
        .union(AttrFlags::BPF_EVENT)
        .union(AttrFlags::NAMESPACES)
        .union(AttrFlags::CGROUP)
        .union(AttrFlags::CONTEXT_SWITCH)
        .union(AttrFlags::SIGTRAP)
        .union(AttrFlags::AUX_OUTPUT)
        .union(AttrFlags::WRITE_BACKWARD),
    forced: AttrFlags::EXCLUDE_KERNEL
        .union(AttrFlags::EXCLUDE_HV)
        .union(AttrFlags::EXCLUDE_GUEST)
        .union(AttrFlags::EXCLUDE_CALLCHAIN_KERNEL),
};

/// The bits that hardmeter knows the meaning of: what newer headers add is
/// nobody's to ask for.
const KNOWN_FIELDS: SampleType = SampleType::from_bits_retain((1 << 25) - 1);
const KNOWN_FLAGS: AttrFlags = AttrFlags::from_bits_retain((1 << 40) - 1);

/// Takes out of `attr` what `permissions` do not cover. An attr that needs
/// nothing of it comes out as it was.
pub fn restrict(attr: &mut Attr, permissions: Permissions) {
    attr.sample_type &= KNOWN_FIELDS;
    attr.flags &= KNOWN_FLAGS;
    // Signals of ours in a target, and memory that others fill, are never
    // wanted.
    attr.flags.remove(AttrFlags::SIGTRAP | AttrFlags::AUX_OUTPUT);
    attr.sig_data = 0;
    (attr.aux_watermark, attr.aux_sample_size, attr.aux_action) = (0, 0, 0);
    attr.sample_type.remove(SampleType::AUX);
    if permissions.contains(Permissions::KERNEL) {
        return;
    }
    attr.sample_type.remove(FORBIDDEN.fields);
    attr.branch_sample_type = BranchSampleType::empty();
    attr.flags.remove(FORBIDDEN.flags);
    attr.flags.insert(FORBIDDEN.forced);
}
