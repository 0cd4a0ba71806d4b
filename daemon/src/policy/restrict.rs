//! What an attr may not ask for without permission for the kernel, whatever
//! this kernel would let through: some versions check less than others.

use perfdata::attr::BranchSampleType;
use perfdata::{Attr, AttrFlags, SampleType};
use recorder::catalogue::promises::SampleSource;
use recorder::{PlannedEvent, Target};

use super::Permissions;

/// Parts of an attr that no session has without [`Permissions::KERNEL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forbidden {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedBy {
    /// A worker, by its user's own right.
    User,
    /// The supervisor, with its capabilities, by policy.
    Policy,
}

impl Forbidden {
    /// Of one event: [`FORBIDDEN`], but for what the kernel's IBS does
    /// otherwise (perf_ibs_init(), arch/x86/events/amd/ibs.c).
    ///
    /// It refuses EXCLUDE_GUEST. A guest that runs in a task is that task's:
    /// who may sample the task may read all of the guest's memory. What runs
    /// on a CPU is anybody's, and stays excluded, so that nothing is opened.
    ///
    /// What a sample's op did, which most types are told by, is in its RAW.
    /// The kernel gives that to whoever opens the event, and clears the
    /// physical address in it only for who has no rights: so not where the
    /// supervisor opens it. Of what comes, the worker passes on the op's data
    /// alone.
    pub fn of(event: &PlannedEvent, target: Target, opened_by: OpenedBy) -> Forbidden {
        let mut forbidden = FORBIDDEN;
        if event.promises.source == SampleSource::Ibs && !target.is_of_cpus() {
            forbidden.forced.remove(AttrFlags::EXCLUDE_GUEST);
            if opened_by == OpenedBy::User {
                forbidden.fields.remove(SampleType::RAW);
            }
        }
        forbidden
    }
}

/// The bits that hardmeter knows the meaning of: what newer headers add is
/// nobody's to ask for.
const KNOWN_FIELDS: SampleType = SampleType::from_bits_retain((1 << 25) - 1);
const KNOWN_FLAGS: AttrFlags = AttrFlags::from_bits_retain((1 << 40) - 1);

/// Takes out of `attr` what is forbidden and `permissions` do not cover. An
/// attr that needs nothing of it comes out as it was.
pub fn restrict(attr: &mut Attr, permissions: Permissions, forbidden: &Forbidden) {
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
    attr.sample_type.remove(forbidden.fields);
    attr.branch_sample_type = BranchSampleType::empty();
    attr.flags.remove(forbidden.flags);
    attr.flags.insert(forbidden.forced);
}
