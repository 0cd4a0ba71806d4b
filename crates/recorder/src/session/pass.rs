//! One pass over the rings: sideband records first, samples next, a mark last.

use std::io;

use perfdata::{Misc, RecordHeader, RecordType, SampleType};

use super::count_filter::CountFilter;
use super::cutoff::CountCutoff;
use super::decimator::Decimator;
use super::sample_origin::{EventClaim, EventIds, RingEvents, SampleOrigin};
use super::sink::OutputBuffer;
use super::{Session, SessionError, Sink};
use crate::ring::{Drained, RingRecord};
use crate::session::SampleScrubber;
use crate::session::ledger::Ledger;
use crate::sys::event::NATIVE_ORDER;
use perfdata::stream::write;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrainPass {
    /// Samples handed to the sink, or to the buffer before it.
    pub samples: u64,
    /// Other records.
    pub side: u64,
    /// How full the fullest ring of samples was, per mille.
    pub fullest: u16,
    /// The count that was asked for is reached: sampling has stopped.
    pub limit_reached: bool,
}

/// A CPU's ring of samples: whose they are, and what it gave last.
#[derive(Debug)]
pub(super) struct RingState {
    owner: RingEvents,
    last: Vec<u8>,
    last_event: usize,
    record: Vec<u8>,
}

impl RingState {
    pub(super) fn new(owner: RingEvents) -> RingState {
        RingState { owner, last: Vec::new(), last_event: 0, record: Vec::new() }
    }

    /// Whether a sample counts: the last look at one whose owner nobody knows
    /// is the drain's.
    pub(super) fn counts(
        &self,
        event_ids: &EventIds,
        count_filters: &mut [Option<CountFilter>],
        record: RingRecord<'_>,
    ) -> bool {
        let SampleOrigin::By(EventClaim { event, .. }) = event_ids.of(self.owner, record) else {
            return true;
        };
        let count_filter = count_filters.get_mut(event).and_then(Option::as_mut);
        count_filter.is_none_or(|filter| filter.counts(record))
    }

    /// Whether the record is the one before it but for the id: two openings
    /// of one event on one task record the same moment alike, registers and
    /// all (the kernel fills perf_sample_data once for both since Linux 6.2).
    /// The reader of the ring calls it: nothing is allocated once the longest
    /// record was.
    fn is_duplicate(&mut self, event: usize, record: RingRecord<'_>) -> bool {
        self.record.clear();
        self.record.extend_from_slice(record.first);
        self.record.extend_from_slice(record.second);
        let same_event = std::mem::replace(&mut self.last_event, event) == event;
        let twin = body(&self.record).is_some_and(|this| Some(this) == body(&self.last));
        std::mem::swap(&mut self.last, &mut self.record);
        twin && same_event
    }
}

fn body(record: &[u8]) -> Option<&[u8]> {
    record.get(RecordHeader::SIZE + size_of::<u64>()..)
}

impl Session {
    /// Moves what the rings hold now to the sink. A record of one pass never
    /// precedes one of the pass before the last.
    ///
    /// # Errors
    /// The sink failed, for the first time; see [`SessionError::Sink`].
    pub fn drain(&mut self, sink: &mut dyn Sink) -> Result<DrainPass, SessionError> {
        let pass = self.pass(sink).map_err(SessionError::Sink)?;
        self.output_buffer.flush(sink, &mut self.ledger).map_err(SessionError::Sink)?;
        Ok(pass)
    }

    pub(super) fn pass(&mut self, sink: &mut dyn Sink) -> io::Result<DrainPass> {
        let mut pass = DrainPass::default();
        self.repeat_pause();
        // Before the sideband records: mappings are to be there that hits lie in.
        let aggregates = self.programs.take_due();
        // The first failure is kept, and the rings are emptied all the same.
        let mut result = Ok(());
        for ring in &mut self.rings {
            let (ledger, output_buffer) = (&mut self.ledger, &mut self.output_buffer);
            let seen = &mut self.seen;
            let drained = ring.side.drain(|record, losses| {
                seen.forks += u64::from(record.header.kind == RecordType::FORK);
                if record.header.kind == RecordType::LOST {
                    let unreported = losses.record(lost(record));
                    ledger.side_lost += unreported;
                    pass.side += u64::from(output_buffer.lost(record, unreported));
                    return;
                }
                output_buffer.side(record);
                pass.side += 1;
            });
            damage(drained, ledger);
            result = result.and(output_buffer.flush_full(sink, ledger));
        }
        let cutoff = self.cutoff();
        for index in 0..self.rings.len() {
            pass.fullest = pass.fullest.max(self.rings[index].samples.level());
            let drained = self.drain_samples(index, cutoff, &mut pass);
            damage(drained, &mut self.ledger);
            result = result.and(self.output_buffer.flush_full(sink, &mut self.ledger));
        }
        pass.side += self.write_suspected_losses() + self.write_regions();
        let heap = self.write_heap();
        pass.samples += heap.samples;
        result = result.and(self.output_buffer.flush_full(sink, &mut self.ledger));
        if !aggregates.is_empty() {
            // Nothing waits for longer than an interval.
            result = result.and(self.pass_counted(sink, true, &mut pass));
            self.programs.wait_with(aggregates);
        }
        let is_last = self.stopped.is_some();
        result = result.and(self.pass_counted(sink, is_last, &mut pass));
        // A record that comes later than those behind it is of the same round.
        if pass.samples + pass.side > 0 && heap.is_whole {
            write::finished_round(NATIVE_ORDER, &mut self.output_buffer.bytes);
        }
        pass.limit_reached = self.limit_reached();
        if pass.limit_reached {
            self.stop();
        }
        result.map(|()| pass)
    }

    fn pass_counted(
        &mut self,
        sink: &mut dyn Sink,
        flush_all: bool,
        pass: &mut DrainPass,
    ) -> io::Result<()> {
        pass.samples += self.write_waiting(sink, flush_all)?;
        Ok(())
    }

    fn drain_samples(
        &mut self,
        index: usize,
        cutoff: Option<CountCutoff>,
        pass: &mut DrainPass,
    ) -> Drained {
        let limit = self.settings.count.unwrap_or(u64::MAX);
        let comparable = SampleType::IDENTIFIER | SampleType::TIME;
        let drops_duplicates = self.drop_duplicates
            && self.attrs.sampled().all(|(_, event)| event.attr.sample_type.contains(comparable));
        let late =
            move |record: RingRecord<'_>| cutoff.is_some_and(|cutoff| cutoff.excludes(record));
        let (ring, ring_state) = (&mut self.rings[index].samples, &mut self.ring_states[index]);
        let (ledger, seen, output_buffer) =
            (&mut self.ledger, &mut self.seen, &mut self.output_buffer);
        let (event_ids, owner, scrubs) = (&self.event_ids, ring_state.owner, &self.scrubs);
        let (decimators, counted) = (&mut self.decimators, self.programs.counts());
        let (count_filters, has_limit) = (&mut self.count_filters, self.settings.count.is_some());
        ring.drain(|record, losses| {
            if record.header.kind == RecordType::LOST {
                let unreported = losses.record(lost(record));
                ledger.lost.ring += unreported;
                pass.side += u64::from(!counted && output_buffer.lost(record, unreported));
                return;
            }
            if record.header.kind != RecordType::SAMPLE {
                if record.header.kind == RecordType::THROTTLE {
                    ledger.throttle(event_ids.of_other(owner, record));
                }
                if record.header.kind == RecordType::LOST_SAMPLES {
                    let lost = record.word(RecordHeader::SIZE).unwrap_or(0);
                    match event_ids.of_other(owner, record) {
                        Some(event) => ledger.lose(event, lost, |lost| &mut lost.collision),
                        None => ledger.lost.collision += lost,
                    }
                }
                // Its trailer is that of the attr as opened, which the
                // stream does not show.
                if !counted {
                    output_buffer.side(record);
                    pass.side += 1;
                }
                return;
            }
            let SampleOrigin::By(EventClaim { event, id }) = event_ids.of(owner, record) else {
                ledger.lost.foreign += 1;
                return;
            };
            let shows_kernel = |scrub: &SampleScrubber| {
                scrub.shows_kernel(record.header.misc, |offset| record.word(offset))
            };
            if scrubs.get(event).is_some_and(shows_kernel) {
                ledger.lose(event, 1, |lost| &mut lost.scrubbed);
            } else if drops_duplicates && ring_state.is_duplicate(event, record) {
                ledger.lose(event, 1, |lost| &mut lost.duplicate);
            } else if seen.counted >= limit || late(record) {
                ledger.lose(event, 1, |lost| &mut lost.beyond_count);
            } else if decimators.get_mut(event).is_some_and(Decimator::drops_next) {
                ledger.lose(event, 1, |lost| &mut lost.thinned);
            } else {
                let count_filter =
                    count_filters.get_mut(event).and_then(Option::as_mut).filter(|_| has_limit);
                seen.samples += 1;
                seen.counted += u64::from(count_filter.is_none_or(|filter| filter.counts(record)));
                pass.samples += 1;
                let at = output_buffer.bytes.len();
                output_buffer.sample(record, EventClaim { event, id });
                let Some(record) = output_buffer.bytes.get_mut(at..) else { return };
                if let Some(decimator) = decimators.get(event) {
                    decimator.set_period(record);
                }
                if let Some(scrub) = scrubs.get(event) {
                    scrub.blank(record);
                }
            }
        })
    }

    /// Marks of regions: behind the samples, so that none is later in the
    /// stream than the round after a sample that it tells of.
    fn write_regions(&mut self) -> u64 {
        let (Some(log), Some(id)) = (&mut self.regions, self.ids.side.first().copied()) else {
            return 0;
        };
        let output_buffer = &mut self.output_buffer;
        let before = output_buffer.side;
        log.drain(|mark| {
            let written = write::region(id, mark, NATIVE_ORDER, &mut output_buffer.bytes);
            output_buffer.side += u64::from(written.is_ok());
        });
        output_buffer.side - before
    }

    pub(super) fn limit_reached(&self) -> bool {
        self.settings.count.is_some_and(|limit| match self.programs.counts() {
            true => self.programs.counted() >= limit,
            false => self.seen.counted >= limit,
        })
    }
}

impl OutputBuffer {
    #[inline]
    fn sample(&mut self, record: RingRecord<'_>, claim: EventClaim) {
        let at = self.bytes.len() + RecordHeader::SIZE;
        self.append(record);
        if let Some(id) = claim.id
            && let Some(place) = self.bytes.get_mut(at..at + size_of::<u64>())
        {
            place.copy_from_slice(&id.to_ne_bytes());
        }
        if let Some(buffered) = self.samples.get_mut(claim.event) {
            buffered.samples += 1;
            buffered.exact_ip += u64::from(record.header.misc.contains(Misc::EXACT_IP));
        }
    }

    fn side(&mut self, record: RingRecord<'_>) {
        self.append(record);
        self.side += 1;
    }

    /// A LOST record of the kernel's, of which so much is news; whether there
    /// is anything left to tell.
    fn lost(&mut self, record: RingRecord<'_>, unreported: u64) -> bool {
        if unreported == 0 {
            return false;
        }
        let at = self.bytes.len() + LOST_AT;
        self.side(record);
        if let Some(place) = self.bytes.get_mut(at..at + size_of::<u64>()) {
            place.copy_from_slice(&unreported.to_ne_bytes());
        }
        true
    }

    #[inline]
    fn append(&mut self, record: RingRecord<'_>) {
        self.bytes.extend_from_slice(record.first);
        self.bytes.extend_from_slice(record.second);
    }
}

fn damage(drained: Drained, ledger: &mut Ledger) {
    ledger.lost.parse_error += u64::from(drained.damaged);
}

/// Where `lost` of a LOST record is: behind header and id.
const LOST_AT: usize = RecordHeader::SIZE + size_of::<u64>();

fn lost(record: RingRecord<'_>) -> u64 {
    record.word(LOST_AT).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of this id and time; `split` bytes of it end the ring.
    fn lend(ring_state: &mut RingState, id: u64, time: u64, split: usize) -> bool {
        let mut bytes = vec![9, 0, 0, 0, 1, 0, 24, 0];
        bytes.extend([id, time].iter().flat_map(|word| word.to_ne_bytes()));
        let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc(1), size: 24 };
        let (first, second) = bytes.split_at(split);
        ring_state.is_duplicate(0, RingRecord { header, first, second })
    }

    #[test]
    fn only_a_neighbour_that_differs_by_its_id_alone_is_a_twin() {
        let mut ring_state = RingState::new(RingEvents::Several(None));
        assert!(!lend(&mut ring_state, 1, 100, 24), "the first");
        assert!(lend(&mut ring_state, 2, 100, 24));
        assert!(lend(&mut ring_state, 3, 100, 8), "split at the ring's end");
        assert!(!lend(&mut ring_state, 3, 101, 16), "another time");
        assert!(!lend(&mut ring_state, 3, 100, 0), "not the neighbour");
        ring_state.last_event = 1;
        assert!(!lend(&mut ring_state, 4, 100, 24), "of another event");
    }
}
