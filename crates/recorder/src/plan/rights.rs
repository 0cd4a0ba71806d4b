//! Refusals that are certain before the kernel is asked. Where a fact is
//! unknown the kernel decides, and [`crate::explain`] says why.

use perfdata::{AttrFlags, Pid};

use super::{Plan, PlannedEvent, with_modifiers};
use crate::catalogue::promises::SampleSource;
use crate::machine::facts::{Capability, Facts, ProcessState, Version};
use crate::{Modes, Refusal, Request, Target};

/// The first Linux whose IBS follows tasks (trap 7).
const IBS_ON_TASKS: Version = Version(6, 2, 0);

/// Whether this process may open what was drafted for a request.
///
/// # Errors
/// What it may not, and what would let it.
pub fn check(request: &Request, plan: &Plan, facts: &Facts) -> Result<(), Refusal> {
    for one in request.each() {
        let one = with_modifiers(&one)?;
        check_modes(&one, &plan.events, facts)?;
        check_target(&one, facts)?;
    }
    Ok(())
}

fn check_modes(request: &Request, events: &[PlannedEvent], facts: &Facts) -> Result<(), Refusal> {
    let access = &facts.access;
    let paranoid = access.paranoid.unwrap_or_default();
    if request.modes.kernel && access.kernel_denied() {
        return Err(Refusal::KernelDenied { paranoid });
    }
    if request.target.is_of_cpus() && access.system_denied() {
        return Err(Refusal::SystemDenied { paranoid });
    }
    let event = || request.event.to_string();
    let ibs = events.iter().find(|event| event.promises.source == SampleSource::Ibs);
    if let Some(ibs) = ibs {
        let sees_kernel = !ibs.attr.flags.contains(AttrFlags::EXCLUDE_KERNEL);
        if sees_kernel && access.kernel_denied() {
            return Err(Refusal::IbsSeesKernel { event: event(), paranoid });
        }
        if let Some(version) = facts.kernel.version
            && !request.target.is_of_cpus()
            && version < IBS_ON_TASKS
        {
            return Err(Refusal::IbsOnTask { event: event(), version });
        }
    }
    Ok(())
}

pub(crate) fn check_target(request: &Request, facts: &Facts) -> Result<(), Refusal> {
    let Target::Process(pid) = request.target else { return Ok(()) };
    if pid <= Pid(0) {
        return Err(Refusal::PidOutside { pid });
    }
    let (uids, leader, zombie, kernel_thread) = match &facts.process {
        None => return Ok(()),
        Some(ProcessState::Absent) => return Err(Refusal::NoProcess { pid }),
        Some(ProcessState::Present { uids, leader, zombie, kernel_thread }) => {
            (uids, *leader, *zombie, *kernel_thread)
        }
    };
    if zombie {
        return Err(Refusal::Zombie { pid });
    }
    if leader != pid {
        return Err(Refusal::Thread { pid, leader });
    }
    if kernel_thread && request.modes == Modes::USER {
        return Err(Refusal::KernelThread { pid });
    }
    let access = &facts.access;
    let may_look =
        access.perfmon() != Some(false) || access.has(Capability::SysPtrace) == Some(true);
    match access.uid {
        // __ptrace_may_access(): our real id against all three of theirs.
        Some(ours) if !may_look && uids.iter().any(|&theirs| theirs != ours) => {
            Err(Refusal::OtherUser { pid, theirs: uids[1], ours })
        }
        _ => Ok(()),
    }
}
