//! What of an attr asks for callers.

use perfdata::attr::BranchSampleType;
use perfdata::{Attr, AttrFlags, EventType, SampleType};

use super::event_draft::EventDraft;
use crate::Refusal;
use crate::machine::facts::Facts;
use crate::request::{CallGraph, Request};

/// PERF_SAMPLE_BRANCH_USER, NO_FLAGS and NO_CYCLES: the addresses are all
/// that a chain has.
const PLAIN_USER_BRANCHES: BranchSampleType =
    BranchSampleType::from_bits_retain(1 | 1 << 14 | 1 << 15);

/// Asks for callers in an attr whose levels are set. The kernel's part of a
/// chain is asked for where the event may happen in the kernel, and nowhere
/// else: it is no user's to see. `registers` are those that unwinding needs.
pub(crate) fn add_to(attr: &mut Attr, callers: CallGraph, registers: u64) {
    attr.sample_type |= SampleType::CALLCHAIN;
    let user_only = attr.flags.contains(AttrFlags::EXCLUDE_KERNEL);
    attr.flags.set(AttrFlags::EXCLUDE_CALLCHAIN_KERNEL, user_only);
    match callers {
        CallGraph::FramePointers => {}
        CallGraph::Stack(bytes) => {
            attr.sample_type |= SampleType::REGS_USER | SampleType::STACK_USER;
            attr.sample_regs_user = registers;
            attr.sample_stack_user = bytes.get();
            attr.flags.insert(AttrFlags::EXCLUDE_CALLCHAIN_USER);
        }
        CallGraph::BranchStack => {
            attr.sample_type |= SampleType::BRANCH_STACK;
            attr.branch_sample_type = BranchSampleType::CALL_STACK | PLAIN_USER_BRANCHES;
        }
    }
}

/// What a carrier of sideband records has of an event's callers, so that their
/// samples look alike: no branches, which no event of the kernel's own has.
pub(super) fn add_to_side(side: &mut Attr, event: &Attr) {
    side.sample_type.remove(SampleType::BRANCH_STACK);
    side.sample_regs_user = event.sample_regs_user;
    side.sample_stack_user = event.sample_stack_user;
    let chains = AttrFlags::EXCLUDE_CALLCHAIN_KERNEL | AttrFlags::EXCLUDE_CALLCHAIN_USER;
    side.flags |= event.flags & chains;
}

pub(super) fn check(
    request: &Request,
    drafts: &[EventDraft],
    facts: &Facts,
) -> Result<(), Refusal> {
    let Some(callers) = request.call_graph else { return Ok(()) };
    let counts = request.in_kernel.as_ref().is_some_and(crate::in_kernel::InKernel::counts);
    if counts && callers != CallGraph::FramePointers {
        return Err(Refusal::CountedCallers { event: request.event.to_string(), how: callers });
    }
    let arch = facts.kernel.arch();
    match callers {
        CallGraph::FramePointers => return Ok(()),
        CallGraph::Stack(_) if perfdata::registers::general(arch) == 0 => {
            return Err(Refusal::NoUserRegisters { event: request.event.to_string() });
        }
        CallGraph::Stack(_) => return Ok(()),
        CallGraph::BranchStack => {}
    }
    let of_kernel = |draft: &&EventDraft| {
        let kinds = [EventType::SOFTWARE, EventType::TRACEPOINT, EventType::BREAKPOINT];
        kinds.contains(&draft.kind)
    };
    let why = if let Some(draft) = drafts.iter().find(of_kernel) {
        format!("{} is the kernel's own, and the CPU keeps branches for its own events", draft.name)
    } else if facts.cpus.vendor.as_deref() != Some("GenuineIntel") {
        "only CPUs of Intel's keep the calls that have not returned".to_owned()
    } else if let Some(core) =
        drafts.iter().find_map(|draft| draft.uarch.filter(|core| !core.keeps_calls()))
    {
        format!("{core} cannot tell calls that have not returned from other branches")
    } else if let Some(pmu) =
        drafts.iter().filter_map(|draft| facts.pmu(&draft.pmu)).find(|pmu| pmu.lacks_branches())
    {
        format!(
            "the kernel found no branch records on this CPU (PMU {} has no caps/branches), as in most \
             virtual machines",
            pmu.name
        )
    } else {
        return Ok(());
    };
    Err(Refusal::NoBranchStack { event: request.event.to_string(), why })
}
