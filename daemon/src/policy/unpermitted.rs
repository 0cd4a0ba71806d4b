//! What a plan needs and [`restrict()`](super::restrict()) takes away.

use perfdata::sample_filter::Condition;
use perfdata::{AttrFlags, SampleType};
use recorder::catalogue::promises::SampleSource;
use recorder::{Plan, PlannedEvent};

use super::{Forbidden, OpenedBy, Permissions};

/// Why a session without permission for the kernel is not opened at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unpermitted {
    #[error(
        "{event}: IBS samples what runs in virtual machines as well, of any user's on these CPUs, and \
         cannot leave it out: name a process, or have the policy grant kernel"
    )]
    Guests { event: String },
    #[error(
        "{event}: which of IBS' samples are meant is told by registers that hold physical addresses, too, \
         which go with the permission kernel: sample a process that the kernel itself lets you sample, \
         or instr_retired or uop_retired, which need none"
    )]
    Registers { event: String },
}

/// What is missing from a plan of user mode once it is restricted.
pub fn unpermitted(
    plan: &Plan,
    permissions: Permissions,
    opened_by: OpenedBy,
) -> Option<Unpermitted> {
    if permissions.contains(Permissions::KERNEL) {
        return None;
    }
    let of_event = |event: &PlannedEvent| {
        let forbidden = Forbidden::of(event, plan.target, opened_by);
        let is_ibs = event.promises.source == SampleSource::Ibs;
        let name = || event.name.clone();
        if is_ibs && forbidden.forced.contains(AttrFlags::EXCLUDE_GUEST) {
            return Some(Unpermitted::Guests { event: name() });
        }
        let by_registers = event.filter.asks(|condition| matches!(condition, Condition::Ibs(_)));
        let keeps_registers = !forbidden.fields.contains(SampleType::RAW);
        (by_registers && !keeps_registers).then(|| Unpermitted::Registers { event: name() })
    };
    plan.events.iter().find_map(of_event)
}
