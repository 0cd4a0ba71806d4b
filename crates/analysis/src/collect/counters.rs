//! What counting changes: events, rows, and the instructions of a routine.

use crate::code::{SampledInstruction, register_number};
use crate::collect::collector::{Collector, NewEvent};
use crate::collect::event::{Event, HeapEvent};
use crate::collect::fields::{FieldReader, WantedFields};
use crate::collect::pending::{PendingParts, PendingSample};
use crate::collect::row_counter::RowCounter;
use crate::collect::sampled::{CountedSample, KeyColumn};
use crate::error::Error;
use crate::name::lookup::Lookup;
use crate::query::needs::Needs;
use crate::query::view::View;
use crate::query::{Query, key::Key};
use crate::sieve::{Sieve, SieveVerdict};
use iced_x86::Register;
use perfdata::Misc;
use perfdata::registers::{name, number};
use perfdata::stream::{SampleRecord, StreamDecoder};
use std::ops::BitOr;
use symbolizer::Symbolizer;

#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) events: Vec<Event>,
    pub(crate) rows: RowCounter,
    pub(crate) sieve: Sieve,
    /// What counts for the views that are asked for.
    pub(crate) collectors: Vec<Box<dyn Collector>>,
    /// What the rows and all of these need.
    pub(crate) needs: Needs,
}

impl Counters {
    pub(crate) fn new(query: &Query, collectors: Vec<Box<dyn Collector>>) -> Counters {
        let of_views = collectors.iter().map(|it| it.needs());
        Counters {
            events: Vec::new(),
            rows: RowCounter::new(query),
            sieve: Sieve::new(query.class),
            needs: of_views.fold(query.needs(), Needs::bitor),
            collectors,
        }
    }

    pub(crate) fn add(&mut self, collector: Box<dyn Collector>) {
        self.needs = self.needs | collector.needs();
        self.collectors.push(collector);
    }

    pub(crate) fn learn(
        &mut self,
        query: &Query,
        decoder: &StreamDecoder,
        lookup: &mut Lookup,
    ) -> Result<(), Error> {
        let arch = decoder.features().machine();
        if self.events.is_empty() {
            if let (None, Some(line)) = (query.cache_line, decoder.features().cache_line_size())
                && line.is_power_of_two()
            {
                self.rows.round.line = u64::from(line);
            }
            self.rows.columns = columns(&query.keys, arch)?;
            lookup.stacks.is_wanted = self.needs.has(Needs::STACKS);
            lookup.stacks.arch = arch;
        }
        self.sieve.learn(decoder)?;
        let needs = self.needs;
        let mut wanted = WantedFields {
            registers: if needs.has(Needs::REGISTERS) { u64::MAX } else { 0 },
            access: needs.has(Needs::ACCESS),
            class: needs.has(Needs::CLASS),
            heap: false,
            callers: needs.has(Needs::CALLERS),
        };
        if needs.has(Needs::STACKS) {
            let pointers = [Register::RSP, Register::RBP].into_iter().filter_map(register_number);
            pointers.for_each(|number| wanted.registers |= 1 << number);
        }
        for bit in self.rows.columns.iter().filter_map(|column| column.register) {
            wanted.registers |= 1u64.checked_shl(bit).unwrap_or(0);
        }
        let known = self.events.len();
        for (index, description) in decoder.events().iter().enumerate().skip(known) {
            let wanted = match self.sieve.needs_registers(index) {
                true => WantedFields { registers: u64::MAX, ..wanted },
                false => wanted,
            };
            let heap = HeapEvent::of(description).filter(|_| needs.has(Needs::HEAP));
            let wanted = match heap {
                Some(_) => WantedFields { heap: true, callers: true, ..wanted },
                None => wanted,
            };
            if heap.is_some() {
                lookup.heap.is_told = true;
                lookup.heap.is_of_some |= HeapEvent::is_of_some(description);
                lookup.heap.is_apart |= HeapEvent::is_apart(description);
            }
            let fields = FieldReader::new(description, decoder.features(), wanted);
            let mut event = Event::new(description, fields, query, decoder.features());
            let first = self.events.iter().position(|first| event.joins(first));
            event.leader = first.unwrap_or(index);
            event.heap = heap;
            // A block that was given, or given back, is no access to its members.
            event.selected &= !(heap.is_some() && query.views.contains(&View::Types));
            event.is_sifted = !self.sieve.filter(index).is_all();
            self.events.push(event);
            let line = self.rows.round.line;
            let new = NewEvent {
                event: &self.events[index],
                events: &self.events,
                description,
                arch,
                line,
            };
            self.collectors.iter_mut().for_each(|it| it.learn(&new));
        }
        Ok(())
    }

    /// Judges a sample by its fields, and books it when it is out. None: it
    /// cannot be decoded, which is booked too.
    #[inline(never)]
    pub(crate) fn sift(
        &mut self,
        decoder: &StreamDecoder,
        record: SampleRecord<'_>,
    ) -> Option<SieveVerdict> {
        let SampleRecord { event, misc, .. } = record;
        let of = self.events.get_mut(event)?;
        let verdict = if self.sieve.needs_fields(event) {
            let Some(sample) = record.decode(decoder) else {
                of.malformed += 1;
                return None;
            };
            self.sieve.by_fields(decoder, event, misc, Some(&sample))
        } else {
            self.sieve.by_fields(decoder, event, misc, None)
        };
        // One in doubt may still turn out to be of another class.
        if verdict == SieveVerdict::Other {
            of.keeps(verdict);
        }
        Some(verdict)
    }

    /// Counts a sample whose sideband records are in, with what waited with
    /// it.
    #[inline]
    pub(crate) fn count(
        &mut self,
        held: &PendingSample,
        parts: PendingParts<'_>,
        lookup: &mut Lookup,
        query: &Query,
    ) -> Result<(), Error> {
        let index = usize::try_from(held.event).unwrap_or(usize::MAX);
        let Some(event) = self.events.get_mut(index) else { return Ok(()) };
        let words = event.fields.words(parts);
        if lookup.heap.is_told {
            lookup.heap.go_on(held.time);
        }
        if event.is_sifted {
            let symbolizer = &mut lookup.places.symbolizer;
            let verdict = judge(&mut self.sieve, event, held, words.registers, symbolizer);
            if !event.keeps(verdict) {
                return Ok(());
            }
        }
        let latency = event.latency(words.weight);
        let mut sample = CountedSample::new(held, words, &event.fields);
        (sample.event, sample.latency) = (event.leader, latency);
        if let Some(heap) = event.heap {
            sample.change_heap(heap, lookup);
            if !event.selected {
                return Ok(());
            }
        }
        if lookup.stacks.is_wanted {
            sample.learn_thread(lookup);
        }
        if !self.rows.passes(&mut sample, &query.filters, lookup) {
            event.filtered = event.filtered.saturating_add(1);
            if lookup.heap.is_told && self.needs.has_types() {
                // It tells of blocks that others are on.
                sample.vote(lookup);
            }
            return Ok(());
        }
        let period = event.fixed_period.unwrap_or(held.period);
        sample.sum.add(period, held.misc.contains(Misc::EXACT_IP));
        self.rows.count(&mut sample, lookup)?;
        event.sum.join(sample.sum);
        let is_outside = event.left_out >> (held.misc.0 & 7) & 1;
        event.outside = event.outside.saturating_add(u64::from(is_outside));
        for collector in &mut self.collectors {
            collector.take(&mut sample, lookup)?;
        }
        let Some(registers) = &query.registers else { return Ok(()) };
        let there = match &registers.site {
            None => true,
            Some(site) => {
                sample.place(lookup).is_ok_and(|place| lookup.places.is_at(site, place, held.ip))
            }
        };
        if !there {
            return Ok(());
        }
        let (address, kept) = (sample.address(), event.fields.registers().len());
        let leader = event.leader;
        event.at_site = event.at_site.saturating_add(1);
        let first = self.events.get_mut(leader);
        let Some(histogram) = first.and_then(|first| first.histogram.as_mut()) else {
            return Ok(());
        };
        for (register, value) in words.registers.iter().enumerate() {
            histogram.add(register, *value);
        }
        if let Ok(address) = address {
            histogram.add(kept, address);
        }
        Ok(())
    }

    /// Joins rows where there are more than are kept.
    #[inline]
    pub(crate) fn make_room(&mut self) -> Result<(), Error> {
        match self.rows.is_full() {
            true => self.rows.make_room(&self.events),
            false => Ok(()),
        }
    }

    pub(crate) fn end(&mut self, lookup: &mut Lookup) -> Result<(), Error> {
        self.collectors.iter_mut().try_for_each(|it| it.end(lookup))
    }
}

/// Judges a sample whose sideband records are in: by its instruction, unless its
/// fields left it in doubt and the instruction does not decide.
#[inline(never)]
fn judge(
    sieve: &mut Sieve,
    event: &Event,
    held: &PendingSample,
    registers: &[u64],
    symbolizer: &mut Symbolizer,
) -> SieveVerdict {
    let kept = event.fields.registers();
    let register = |number: u32| {
        let index = kept.iter().position(|bit| *bit == number)?;
        registers.get(index).copied()
    };
    let instruction = SampledInstruction {
        at: held.at(),
        is_exact: held.misc.contains(Misc::EXACT_IP),
        address: held.addr,
        register: &register,
    };
    let index = usize::try_from(held.event).unwrap_or(usize::MAX);
    match (sieve.by_class(symbolizer, index, instruction), held.doubt) {
        (SieveVerdict::Kept, Some(doubt)) => SieveVerdict::Undecided(doubt),
        (verdict, _) => verdict,
    }
}

fn columns(keys: &[Key], arch: perfdata::Arch) -> Result<Vec<KeyColumn>, Error> {
    let column = |key: &Key| {
        let register = match key {
            Key::Register(wanted) => Some(number(arch, wanted).ok_or_else(|| Error::Register {
                name: wanted.clone(),
                arch: arch.to_string(),
                known: (0..64).filter_map(|bit| name(arch, bit)).collect(),
            })?),
            _ => None,
        };
        Ok(KeyColumn { key: key.clone(), register })
    };
    keys.iter().map(column).collect()
}
