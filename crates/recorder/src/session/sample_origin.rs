//! Which event a sample is of.

use perfdata::{Cpu, EventType, RecordHeader, SampleType, SoftwareEvent};
use rustc_hash::FxHashMap;

use super::attrs::SessionAttrs;
use super::event_set::OpenedEventIds;
use crate::ring::RingRecord;

/// Places of the session's events in the ledger, by the ids of their samples.
#[derive(Debug, Default)]
pub(super) struct EventIds {
    by_id: FxHashMap<u64, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RingEvents {
    One(EventClaim),
    /// Those of several: the id says. With the one, if there is just one,
    /// that samples under a foreign id may be of.
    Several(Option<EventClaim>),
}

/// An event that takes samples whatever their id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventClaim {
    /// Its place in the ledger.
    pub(super) event: usize,
    /// An id of its own to give them; None: samples have no room for it.
    pub(super) id: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleOrigin {
    /// This event's; it must be given the id.
    By(EventClaim),
    Foreign,
}

impl EventIds {
    pub(super) fn new(attrs: &SessionAttrs, ids: &OpenedEventIds) -> EventIds {
        let sampled = attrs.sampled().enumerate();
        let pairs = sampled
            .flat_map(|(event, (index, _))| ids.of(index).iter().map(move |&id| (id, event)));
        EventIds { by_id: pairs.collect() }
    }

    pub(super) fn places(&self) -> &FxHashMap<u64, usize> {
        &self.by_id
    }

    #[inline]
    pub(super) fn of(&self, owner: RingEvents, record: RingRecord<'_>) -> SampleOrigin {
        match owner {
            RingEvents::One(claim) => SampleOrigin::By(claim),
            RingEvents::Several(foreign) => {
                let id = record.word(RecordHeader::SIZE);
                match id.and_then(|id| self.by_id.get(&id)) {
                    Some(&event) => SampleOrigin::By(EventClaim { event, id: None }),
                    None => foreign.map_or(SampleOrigin::Foreign, SampleOrigin::By),
                }
            }
        }
    }
}

impl EventIds {
    /// Which event a record other than a sample is about: its trailer's last
    /// word is the id. None: nobody can tell.
    pub(super) fn of_other(&self, owner: RingEvents, record: RingRecord<'_>) -> Option<usize> {
        match owner {
            RingEvents::One(claim) => Some(claim.event),
            RingEvents::Several(_) => {
                let last = usize::from(record.header.size).checked_sub(size_of::<u64>())?;
                self.by_id.get(&record.word(last)?).copied()
            }
        }
    }
}

impl RingEvents {
    pub(super) fn of(cpu: Cpu, attrs: &SessionAttrs, ids: &OpenedEventIds) -> RingEvents {
        let here = attrs.sampled().enumerate().filter(|(_, (_, event))| event.is_on(cpu));
        let claims: Vec<(EventClaim, bool)> = here
            .map(|(event, (index, planned))| {
                let attr = &planned.attr;
                let identified = attr.sample_type.contains(SampleType::IDENTIFIER);
                let id = ids.of(index).first().copied().filter(|_| identified);
                (EventClaim { event, id }, may_be_foreign(attr.kind, attr.config))
            })
            .collect();
        match claims[..] {
            [(claim, _)] => RingEvents::One(claim),
            _ => {
                let mut likely = claims.iter().filter(|(_, foreign)| *foreign);
                RingEvents::Several(likely.next().xor(likely.next()).map(|(claim, _)| *claim))
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
        // Each clock has a timer of its own.
        EventType::SOFTWARE => !SoftwareEvent(config).is_clock(),
        EventType::TRACEPOINT | EventType::BREAKPOINT => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use perfdata::{Attr, Misc, RecordType, SampleFilter};

    use super::*;
    use crate::catalogue::promises::{
        AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
    };
    use crate::{PlannedEvent, Promises};

    const FAULTS: (EventType, u64) = (EventType::SOFTWARE, SoftwareEvent::PAGE_FAULTS.0);
    const SWITCHES: (EventType, u64) = (EventType::SOFTWARE, SoftwareEvent::CONTEXT_SWITCHES.0);
    const CLOCK: (EventType, u64) = (EventType::SOFTWARE, SoftwareEvent::CPU_CLOCK.0);
    const LOADS: (EventType, u64) = (EventType::RAW, 0x1cd);

    /// Events with ids 10, 11, then 20, 21 and so on, each on all CPUs.
    fn session(kinds: &[(EventType, u64)]) -> (SessionAttrs, OpenedEventIds) {
        let event = |&(kind, config): &(EventType, u64)| PlannedEvent {
            name: String::new(),
            pmu: String::new(),
            attr: Attr { kind, config, sample_type: SampleType::IDENTIFIER, ..Attr::default() },
            cpus: None,
            leader: None,
            carrier: false,
            least_precise: 0,
            promises: Promises {
                source: SampleSource::Counter,
                ip: IpPromise::Skid,
                address: AddressPromise::None,
                registers: RegistersPromise::None,
                weight: WeightPromise::None,
            },
            filter: SampleFilter::ALL,
        };
        let events: Vec<_> = kinds.iter().map(event).collect();
        let ids = (1..).take(events.len()).map(|tens| vec![tens * 10, tens * 10 + 1]).collect();
        (
            SessionAttrs { events, side: Attr::default(), counted: false, seen_first: false },
            OpenedEventIds { events: ids, side: vec![5] },
        )
    }

    /// Whose a sample with this id is: place and id to give, or nobody's.
    fn owned(attrs: &SessionAttrs, ids: &OpenedEventIds, id: u64) -> Option<(usize, Option<u64>)> {
        let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc(0), size: 16 };
        let mut bytes = vec![9, 0, 0, 0, 0, 0, 16, 0];
        bytes.extend(id.to_ne_bytes());
        let owner = RingEvents::of(Cpu(0), attrs, ids);
        let record = RingRecord { header, first: &bytes, second: &[] };
        match EventIds::new(attrs, ids).of(owner, record) {
            SampleOrigin::By(claim) => Some((claim.event, claim.id)),
            SampleOrigin::Foreign => None,
        }
    }

    #[test]
    fn the_only_event_of_a_ring_has_all_its_samples() {
        let (attrs, ids) = session(&[FAULTS]);
        for id in [10, 11, 99] {
            assert_eq!(owned(&attrs, &ids, id), Some((0, Some(10))), "{id}");
        }
        let (mut attrs, ids) = session(&[FAULTS, LOADS]);
        attrs.events[0].cpus = Some(vec![Cpu(1)]);
        assert_eq!(owned(&attrs, &ids, 99), Some((1, Some(20))), "the other is on CPU 1");
        attrs.events[0].cpus = None;
        attrs.events[0].carrier = true;
        assert_eq!(owned(&attrs, &ids, 20), Some((0, Some(20))), "the first that is sampled");
    }

    #[test]
    fn several_are_told_apart_by_id() {
        let (attrs, ids) = session(&[FAULTS, LOADS, CLOCK]);
        for (id, event) in [(10, 0), (11, 0), (20, 1), (21, 1), (31, 2)] {
            assert_eq!(owned(&attrs, &ids, id), Some((event, None)), "{id}");
        }
    }

    #[test]
    fn a_foreign_id_is_of_the_one_event_that_can_have_one() {
        let (attrs, ids) = session(&[LOADS, FAULTS, CLOCK]);
        assert_eq!(owned(&attrs, &ids, 99), Some((1, Some(20))));
        let (attrs, ids) = session(&[LOADS, FAULTS, SWITCHES]);
        assert_eq!(owned(&attrs, &ids, 99), None, "of either");
        let (attrs, ids) = session(&[LOADS, CLOCK]);
        assert_eq!(owned(&attrs, &ids, 99), None, "of neither");
    }

    #[test]
    fn collisions_are_of_the_event_in_the_trailer() {
        // LOST_SAMPLES: header, how many, a trailer that ends in the id.
        let whose = |kinds: &[(EventType, u64)], id: u64| {
            let (attrs, ids) = session(kinds);
            let header = RecordHeader { kind: RecordType::LOST_SAMPLES, misc: Misc(0), size: 32 };
            let mut bytes = vec![13, 0, 0, 0, 0, 0, 32, 0];
            bytes.extend([4, 7, id].iter().flat_map(|word: &u64| word.to_ne_bytes()));
            let record = RingRecord { header, first: &bytes[..20], second: &bytes[20..] };
            EventIds::new(&attrs, &ids).of_other(RingEvents::of(Cpu(0), &attrs, &ids), record)
        };
        let several = [LOADS, CLOCK];
        assert_eq!([10, 21, 99].map(|id| whose(&several, id)), [Some(0), Some(1), None]);
        assert_eq!(whose(&[LOADS], 99), Some(0));
    }
}
