//! Which event a sample is of.

use record::{EventType, RecordHeader, SampleType};
use rustc_hash::FxHashMap;

use super::attrs::Attrs;
use super::event_set::Ids;
use super::rings::CpuRings;
use crate::ring::Lent;

/// PERF_COUNT_SW_CPU_CLOCK and TASK_CLOCK: timers of their own.
const CLOCKS: [u64; 2] = [0, 1];

/// Places of the session's events in the ledger, by the ids of their samples.
#[derive(Debug, Default)]
pub(super) struct Owners {
    by_id: FxHashMap<u64, usize>,
}

/// Whose samples one CPU's ring takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Those of one event.
    One(Claim),
    /// Those of several: the id says. With the one, if there is just one,
    /// that samples under a foreign id may be of.
    Several(Option<Claim>),
}

/// An event that takes samples whatever their id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// Its place in the ledger.
    pub(super) event: usize,
    /// An id of its own to give them; None: samples have no room for it.
    pub(super) id: Option<u64>,
}

/// Whose a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owned {
    /// This event's; it must be given the id.
    By(Claim),
    /// Nobody can tell.
    Foreign,
}

impl Owners {
    pub(super) fn new(attrs: &Attrs, ids: &Ids) -> Owners {
        let sampled = attrs.sampled().enumerate();
        let pairs = sampled
            .flat_map(|(event, (index, _))| ids.of(index).iter().map(move |&id| (id, event)));
        Owners { by_id: pairs.collect() }
    }

    #[inline]
    pub(super) fn of(&self, owner: Owner, lent: Lent<'_>) -> Owned {
        match owner {
            Owner::One(claim) => Owned::By(claim),
            Owner::Several(stranger) => {
                let id = lent.word(RecordHeader::SIZE);
                match id.and_then(|id| self.by_id.get(&id)) {
                    Some(&event) => Owned::By(Claim { event, id: None }),
                    None => stranger.map_or(Owned::Foreign, Owned::By),
                }
            }
        }
    }
}

impl Owner {
    /// The owner of this CPU's ring.
    pub(super) fn of(ring: &CpuRings, attrs: &Attrs, ids: &Ids) -> Owner {
        let here = attrs.sampled().enumerate().filter(|(_, (_, event))| event.is_on(ring.cpu));
        let claims: Vec<(Claim, bool)> = here
            .map(|(event, (index, planned))| {
                let attr = &planned.attr;
                let identified = attr.sample_type.contains(SampleType::IDENTIFIER);
                let id = ids.of(index).first().copied().filter(|_| identified);
                (Claim { event, id }, may_be_foreign(attr.kind, attr.config))
            })
            .collect();
        match claims[..] {
            [(claim, _)] => Owner::One(claim),
            _ => {
                let mut likely = claims.iter().filter(|(_, foreign)| *foreign);
                Owner::Several(likely.next().xor(likely.next()).map(|(claim, _)| *claim))
            }
        }
    }
}

/// Whether samples may bear the id of somebody else's event: the kernel fills
/// perf_sample_data once for all that sample one happening in software, since
/// Linux 6.2 with the id of the first in its list. With that, readers would
/// take the record for no event's.
fn may_be_foreign(kind: EventType, config: u64) -> bool {
    match kind {
        EventType::SOFTWARE => !CLOCKS.contains(&config),
        EventType::TRACEPOINT | EventType::BREAKPOINT => true,
        _ => false,
    }
}
