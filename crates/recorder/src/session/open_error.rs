//! An errno of perf_event_open(2), mmap(2) or an ioctl, in words: what
//! failed, why, and what to change (trap 5).

mod advice;
mod hardware;

#[cfg(test)]
mod tests;

use perfdata::sample_filter::Condition;
use perfdata::{Cpu, Tid};

use crate::{Plan, PlannedEvent, Target};
use advice::advice;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailedCall {
    /// perf_event_open(2) of the sampled event.
    OpenEvent,
    /// perf_event_open(2) of the side event.
    OpenSide,
    /// mmap(2) of a ring of so many data pages.
    Map { pages: u32 },
    /// PERF_EVENT_IOC_SET_OUTPUT.
    SetOutput,
    /// PERF_EVENT_IOC_SET_BPF.
    SetProgram,
    /// PERF_EVENT_IOC_ENABLE.
    Enable,
}

/// One failed call, as the session saw it. Made by [`OpenFailure::of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenFailure {
    pub call: FailedCall,
    pub errno: i32,
    pub cpu: Option<Cpu>,
    /// The thread it was for; None: all of them on that CPU.
    pub task: Option<Tid>,
    /// The event it was for, an index into [`Plan::events`]; None: the side
    /// event, or a ring.
    pub event: Option<usize>,
    /// With E2BIG: how many bytes of perf_event_attr the kernel knows, if it
    /// said so (trap 1).
    pub kernel_size: Option<u32>,
}

impl OpenFailure {
    /// A failure of this call of which nothing else is known.
    pub fn of(call: FailedCall) -> OpenFailure {
        OpenFailure { call, errno: 0, cpu: None, task: None, event: None, kernel_size: None }
    }
}

/// Says what failed, on which event, target and CPU, and what to change. One
/// line, for the user.
pub fn explain(failure: &OpenFailure, plan: &Plan) -> String {
    let Some(event) = event_of(failure, plan) else {
        return format!("{}: the plan has no event", plan.name);
    };
    let call = match failure.call {
        FailedCall::OpenEvent => "opening it".to_owned(),
        FailedCall::OpenSide => "opening its side event".to_owned(),
        FailedCall::Map { pages } => format!("mapping a ring of {pages} pages"),
        FailedCall::SetOutput => "sharing a ring".to_owned(),
        FailedCall::SetProgram => "giving it a program in the kernel".to_owned(),
        FailedCall::Enable => "enabling it".to_owned(),
    };
    format!(
        "{}: {call} failed with {}: {}",
        subject(failure, plan),
        errno_name(failure.errno),
        advice(failure, plan, event)
    )
}

/// Says that an event which promises exact IPs can be had here only without:
/// the levels of precise_ip that were refused, and how.
pub(crate) fn explain_imprecise(
    failure: &OpenFailure,
    plan: &Plan,
    refused: &[(u8, i32)],
) -> String {
    let event = failure.event.and_then(|index| plan.events.get(index));
    let is_class = |condition| matches!(condition, Condition::Class(_));
    let way_out = match event.is_some_and(|event| event.filter.asks(is_class)) {
        true => "with skid its instructions cannot be told; ebs -h lists",
        false => "--allow-skid samples with skid, ebs -h lists",
    };
    let refused = refused.iter().map(|(level, errno)| format!("{} at {level}", errno_name(*errno)));
    format!(
        "{}: it promises exact IPs, and the kernel gives none here (precise_ip: {}; a virtual \
         machine often has no PEBS): {way_out} what is exact here",
        subject(failure, plan),
        refused.collect::<Vec<_>>().join(", ")
    )
}

fn subject(failure: &OpenFailure, plan: &Plan) -> String {
    let event = failure.event.and_then(|index| plan.events.get(index));
    let name = event.map_or(plan.name.as_str(), |event| &event.name);
    let target = match plan.target {
        Target::Command => "the command".to_owned(),
        Target::Process(pid) => format!("process {pid}"),
        Target::System => "the whole system".to_owned(),
        Target::Cgroup => "a control group".to_owned(),
    };
    let task = failure.task.map_or_else(String::new, |tid| format!(" (thread {tid})"));
    let cpu = failure.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    format!("{name} for {target}{task}{cpu}")
}

/// The event that a failure is about: of a ring or side event, the first that
/// gives samples.
fn event_of<'p>(failure: &OpenFailure, plan: &'p Plan) -> Option<&'p PlannedEvent> {
    let own = failure.event.and_then(|index| plan.events.get(index));
    own.or_else(|| plan.events.iter().find(|event| !event.carrier))
}

/// "EACCES", or the number.
pub(crate) fn errno_name(errno: i32) -> String {
    let name = match errno {
        libc::EPERM => "EPERM",
        libc::ENOENT => "ENOENT",
        libc::ESRCH => "ESRCH",
        libc::EINTR => "EINTR",
        libc::EIO => "EIO",
        libc::E2BIG => "E2BIG",
        libc::EBADF => "EBADF",
        libc::EAGAIN => "EAGAIN",
        libc::ENOMEM => "ENOMEM",
        libc::EACCES => "EACCES",
        libc::EFAULT => "EFAULT",
        libc::EBUSY => "EBUSY",
        libc::ENODEV => "ENODEV",
        libc::EINVAL => "EINVAL",
        libc::ENFILE => "ENFILE",
        libc::EMFILE => "EMFILE",
        libc::ENOSPC => "ENOSPC",
        libc::ENOSYS => "ENOSYS",
        libc::ENODATA => "ENODATA",
        libc::EOVERFLOW => "EOVERFLOW",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::ETIMEDOUT => "ETIMEDOUT",
        _ => return format!("errno {errno}"),
    };
    name.to_owned()
}
