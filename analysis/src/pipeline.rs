//! Records in, report out.

mod aggregated;
mod annotated;
mod full;
mod judged;

use crate::collect::access::{AccessCount, Accesses};
use crate::collect::aggregates::Aggregates;
use crate::collect::by_line::by_line;
use crate::collect::event::Event;
use crate::collect::fields::{FieldReader, Origin, WantedFields};
use crate::collect::held::{Batch, HeldSample, Waiting};
use crate::collect::members::{Growth, Members, SampleShare};
use crate::collect::sampled::{CountedSample, KeyColumn, Rounding, Verdicts};
use crate::collect::tally::{RowTally, Sum};
use crate::collect::{room::Room, spots::Spots};
use crate::error::Error;
use crate::name::{atom::Atom, lookup::Lookup};
use crate::query::{Query, key::Key};
use crate::report::{Losses, Report, answer};
use crate::sieve::{Sieve, SieveVerdict};
use judged::judge;
use record::Misc;
use record::aggregate::{Chance, Site};
use record::registers::{name, number};
use record::stream::{StreamDecoder, StreamRecord};
use symbolizer::Symbolizer;

/// Counts the samples of one stream. Memory grows with the distinct rows, up
/// to [`Query::most_rows`], and with processes and names, never with the
/// samples.
#[derive(Debug)]
pub struct Pipeline {
    query: Query,
    lookup: Lookup,
    waiting: Waiting,
    members: Members,
    aggregates: Aggregates,
    counters: Counters,
    losses: Losses,
}

/// What counting changes.
#[derive(Debug)]
struct Counters {
    events: Vec<Event>,
    columns: Vec<KeyColumn>,
    round: Rounding,
    tally: RowTally,
    accesses: Option<Accesses>,
    atoms: Vec<Atom>,
    verdicts: Verdicts,
    sieve: Sieve,
    /// What sites of a row have in common, of those counted in the kernel.
    facts: RowTally<Option<Box<Site>>>,
    chance: Chance,
    /// Samples by instruction, of the routine that was asked for.
    spots: Option<Spots>,
    room: Room,
}

impl Pipeline {
    /// A pipeline for the records of one stream, first to last.
    ///
    /// # Errors
    /// A query that cannot be answered on any stream.
    pub fn new(query: Query, symbolizer: Symbolizer) -> Result<Pipeline, Error> {
        query.check()?;
        let counters = Counters::new(&query);
        Ok(Pipeline {
            lookup: Lookup::new(symbolizer),
            waiting: Waiting::new(query.held_bytes),
            members: Members::default(),
            aggregates: Aggregates::default(),
            counters,
            losses: Losses::default(),
            query,
        })
    }

    /// Takes in the record that `decoder` just gave.
    ///
    /// # Errors
    /// At the first sample, a register that the recorded machine has not; at
    /// any, more rows than there are numbers.
    #[inline]
    pub fn record(
        &mut self,
        decoder: &StreamDecoder,
        record: &StreamRecord<'_>,
    ) -> Result<(), Error> {
        if let StreamRecord::Sample { event, misc, payload } = *record {
            if event >= self.counters.events.len() {
                self.learn_events(decoder)?;
            }
            return self.sample(decoder, event, (misc, payload));
        }
        self.other(decoder, record)
    }

    fn other(&mut self, decoder: &StreamDecoder, record: &StreamRecord<'_>) -> Result<(), Error> {
        match record {
            StreamRecord::Side { misc, record, id, .. } => {
                self.lookup.symbolizer.side(*misc, record, id);
                self.lookup.comms.side(record, id);
                self.losses.note(*misc, record);
            }
            StreamRecord::FinishedRound => self.end_round()?,
            StreamRecord::EventUpdate(event) => {
                let of = decoder.events().get(*event);
                if let Some(clock) = of.and_then(|event| event.clock) {
                    self.lookup.symbolizer.timed_by(clock);
                }
            }
            StreamRecord::Aggregate { event, part } => self.part(decoder, (*event, part))?,
            StreamRecord::Feature | StreamRecord::KernelList { is_whole: true } => {
                self.lookup.symbolizer.recorded(decoder.features());
            }
            _ => {}
        }
        Ok(())
    }

    /// Counts what still waits and answers the query.
    ///
    /// # Errors
    /// An event or register that the stream does not have.
    pub fn finish(mut self, decoder: &StreamDecoder) -> Result<Report, Error> {
        self.count_all(decoder)?;
        self.report(decoder, true)
    }

    /// Nothing follows: what waits is counted.
    fn count_all(&mut self, decoder: &StreamDecoder) -> Result<(), Error> {
        self.learn_events(decoder)?;
        for _ in 0..2 {
            self.end_round()?;
        }
        self.aggregates.finish();
        Ok(())
    }

    /// Answers the query for what was counted since the last answer, and
    /// counts on: of a stream that has no end. What still waits for side
    /// records is in the next answer.
    ///
    /// # Errors
    /// An event or register that the stream does not have.
    pub fn answer(&mut self, decoder: &StreamDecoder) -> Result<Report, Error> {
        self.learn_events(decoder)?;
        self.report(decoder, false)
    }

    fn report(&mut self, decoder: &StreamDecoder, has_ended: bool) -> Result<Report, Error> {
        let mut losses = std::mem::take(&mut self.losses);
        losses.counted_early = self.waiting.early().saturating_add(self.aggregates.early());
        let (torn, why_torn) = self.aggregates.torn();
        losses.torn = torn;
        let told = [why_torn, self.aggregates.overlaps()].into_iter().chain(self.lookup.notes());
        let left_out = told.flatten().chain(self.members.take_notes()).collect();
        losses.unplaced = decoder.tally().unknown_id + decoder.tally().unplaced;
        losses.unreadable = decoder.tally().unreadable().map_or(0, |bad| bad.count);
        let counters = std::mem::replace(&mut self.counters, Counters::new(&self.query));
        let Counters {
            events,
            columns,
            round,
            tally,
            accesses,
            sieve,
            facts,
            mut chance,
            room,
            ..
        } = counters;
        let lookup = &mut self.lookup;
        let rows = by_line(tally.rows(), &columns, lookup, Sum::join)?;
        let facts = by_line(facts.rows(), &columns, lookup, |row, facts| {
            if let Some(site) = facts {
                aggregated::join(row, &site, &mut chance);
            }
        })?;
        let accesses = match accesses.map(Accesses::rows) {
            Some((rows, kinds)) => {
                Some((by_line(rows, &columns, lookup, AccessCount::join)?, kinds))
            }
            None => None,
        };
        let counted = answer::Counted {
            events,
            columns,
            round,
            rows,
            accesses,
            sieve,
            facts,
            left_out,
            room,
        };
        answer::report(&self.query, counted, (&mut self.lookup, losses), (decoder, has_ended))
    }

    #[inline]
    fn sample(
        &mut self,
        decoder: &StreamDecoder,
        event: usize,
        (misc, payload): (Misc, &[u8]),
    ) -> Result<(), Error> {
        let Some(of) = self.counters.events.get_mut(event) else { return Ok(()) };
        if of.reads_group {
            return self.of_group(decoder, event, (misc, payload));
        }
        self.take(decoder, (event, None), (misc, payload))
    }

    /// Takes in a sample of a group as one of each member that has grown.
    #[inline(never)]
    fn of_group(
        &mut self,
        decoder: &StreamDecoder,
        event: usize,
        (misc, payload): (Misc, &[u8]),
    ) -> Result<(), Error> {
        let events = decoder.events();
        let layout = events.get(event).map(|described| &described.layout);
        let decoded = layout.and_then(|layout| layout.decode(misc, payload).ok());
        let grown = match decoded.map(|sample| self.members.share(decoder, &sample)) {
            Some(SampleShare::Grown(grown)) => grown,
            Some(SampleShare::Unexplained) => {
                let of = self.counters.events.get_mut(event).filter(|of| of.selected);
                of.into_iter().for_each(Event::add_malformed);
                return Ok(());
            }
            Some(SampleShare::Own) | None => {
                return self.take(decoder, (event, None), (misc, payload));
            }
        };
        for Growth { event, by } in grown {
            if events.get(event).map(|described| &described.layout) == layout {
                self.take(decoder, (event, Some(by)), (misc, payload))?;
            } else if let Some(of) = self.counters.events.get_mut(event) {
                // Its own samples would look otherwise.
                of.add_malformed();
            }
        }
        Ok(())
    }

    /// Takes in a sample of an event; of a group it stands for as many
    /// events as it has grown by.
    #[inline]
    fn take(
        &mut self,
        decoder: &StreamDecoder,
        (event, growth): (usize, Option<u64>),
        (misc, payload): (Misc, &[u8]),
    ) -> Result<(), Error> {
        let Some(of) = self.counters.events.get_mut(event) else { return Ok(()) };
        if !of.selected {
            return Ok(());
        }
        of.samples = of.samples.saturating_add(1);
        let number = u32::try_from(event).unwrap_or(u32::MAX);
        let mut origin = Origin { event: number, misc, doubt: None };
        if of.is_sifted {
            match self.counters.sift(decoder, event, (misc, payload)) {
                Some(SieveVerdict::Kept) => {}
                Some(SieveVerdict::Undecided(why)) => origin.doubt = Some(why),
                Some(SieveVerdict::Other) | None => return Ok(()),
            }
        }
        let Some(of) = self.counters.events.get_mut(event) else { return Ok(()) };
        if !of.fields.read(origin, payload, self.waiting.now()) {
            of.malformed += 1;
        } else if let Some(growth) = growth
            && let Some(held) = self.waiting.now().samples.last_mut()
        {
            held.period = growth;
        }
        if self.waiting.is_full() {
            let ready = self.waiting.make_room();
            return self.count(ready);
        }
        Ok(())
    }

    /// Prepares for the events described so far.
    fn learn_events(&mut self, decoder: &StreamDecoder) -> Result<(), Error> {
        let arch = decoder.features().machine();
        if self.counters.events.is_empty() {
            if let (None, Some(line)) =
                (self.query.cache_line, decoder.features().cache_line_size())
                && line.is_power_of_two()
            {
                self.counters.round.line = u64::from(line);
            }
            self.counters.columns = columns(&self.query.keys, arch)?;
            if let Some(spots) = &mut self.counters.spots {
                spots.arch = arch;
            }
        }
        self.counters.sieve.learn(decoder)?;
        let mut wanted = WantedFields { registers: 0, access: self.query.needs_access() };
        let of_registers = self.query.registers.is_some() || self.query.target.is_some();
        if of_registers || self.query.keys.contains(&Key::AddrBefore) {
            wanted.registers = u64::MAX;
        }
        for bit in self.counters.columns.iter().filter_map(|column| column.register) {
            wanted.registers |= 1u64.checked_shl(bit).unwrap_or(0);
        }
        let known = self.counters.events.len();
        for (index, description) in decoder.events().iter().enumerate().skip(known) {
            let sieve = &self.counters.sieve;
            let wanted = match sieve.needs_registers(index) {
                true => WantedFields { registers: u64::MAX, ..wanted },
                false => wanted,
            };
            self.lookup.symbolizer.sampled_with(&description.attr);
            let fields = FieldReader::new(description, decoder.features(), wanted);
            let mut event = Event::new(description, fields, &self.query, decoder.features());
            let first = self.counters.events.iter().position(|first| event.joins(first));
            event.leader = first.unwrap_or(index);
            event.is_sifted = !sieve.filter(index).is_all();
            self.counters.events.push(event);
        }
        Ok(())
    }

    fn end_round(&mut self) -> Result<(), Error> {
        let ready = self.waiting.end_round();
        self.count(ready)?;
        let ready = self.aggregates.end_round();
        self.count_aggregates(ready)
    }

    fn count(&mut self, ready: Batch) -> Result<(), Error> {
        let mut words = ready.words.as_slice();
        for held in &ready.samples {
            let (own, rest) = words.split_at(usize::from(held.words).min(words.len()));
            words = rest;
            self.counters.count(held, own, &mut self.lookup, &self.query)?;
            if self.counters.is_full() {
                self.counters.make_room()?;
            }
        }
        self.waiting.give_back(ready);
        Ok(())
    }
}

impl Counters {
    fn new(query: &Query) -> Counters {
        let line = query.cache_line.unwrap_or(Query::CACHE_LINE);
        Counters {
            events: Vec::new(),
            columns: Vec::new(),
            round: Rounding { line, page: query.page_size },
            tally: RowTally::new(query.keys.len()),
            accesses: query.accesses.then(|| Accesses::new(query.keys.len())),
            atoms: Vec::with_capacity(query.keys.len()),
            verdicts: Verdicts::default(),
            sieve: Sieve::new(query.class),
            facts: RowTally::new(query.keys.len()),
            chance: Chance::default(),
            spots: query.target.clone().map(Spots::new),
            room: Room::new(query.most_rows),
        }
    }

    /// Judges a sample by its fields, and books it when it is out. None: it
    /// cannot be decoded, which is booked too.
    #[inline(never)]
    fn sift(
        &mut self,
        decoder: &StreamDecoder,
        event: usize,
        (misc, payload): (Misc, &[u8]),
    ) -> Option<SieveVerdict> {
        let of = self.events.get_mut(event)?;
        let sifted = if self.sieve.needs_fields(event) {
            let layout = &decoder.events().get(event)?.layout;
            let Ok(sample) = layout.decode(misc, payload) else {
                of.malformed += 1;
                return None;
            };
            self.sieve.by_fields(decoder, event, (misc, Some(&sample)))
        } else {
            self.sieve.by_fields(decoder, event, (misc, None))
        };
        // One in doubt may still turn out to be of another class.
        if sifted == SieveVerdict::Other {
            of.keeps(sifted);
        }
        Some(sifted)
    }

    #[inline]
    fn count(
        &mut self,
        held: &HeldSample,
        words: &[u64],
        lookup: &mut Lookup,
        query: &Query,
    ) -> Result<(), Error> {
        let index = usize::try_from(held.event).unwrap_or(usize::MAX);
        let Some(event) = self.events.get_mut(index) else { return Ok(()) };
        let words = event.fields.words(words);
        if event.is_sifted {
            let sifted = judge(&mut self.sieve, event, (held, words.registers), lookup);
            if !event.keeps(sifted) {
                return Ok(());
            }
        }
        let mut sampled = CountedSample { held, words, fields: &event.fields, place: None };
        for filter in query.filters.iter().enumerate() {
            if !sampled.passes(filter, lookup, &mut self.verdicts) {
                event.filtered = event.filtered.saturating_add(1);
                return Ok(());
            }
        }
        let period = event.fixed_period.unwrap_or(held.period);
        let mut one = Sum::default();
        one.add(period, held.misc.contains(Misc::EXACT_IP));
        self.atoms.clear();
        for column in &self.columns {
            self.atoms.push(sampled.atom(column, lookup, self.round));
        }
        let leader = event.leader;
        let first = u32::try_from(leader).unwrap_or(u32::MAX);
        if let Some(sum) = self.tally.row(first, &self.atoms)? {
            sum.join(one);
        }
        if let Some(accesses) = &mut self.accesses {
            let access = (words.data_src, event.latency(words.weight));
            accesses.add(first, &mut self.atoms, access, (one, lookup))?;
        }
        event.sum.join(one);
        let is_outside = event.left_out >> (held.misc.0 & 7) & 1;
        event.outside = event.outside.saturating_add(u64::from(is_outside));
        if let Some(spots) = &mut self.spots {
            annotated::count(spots, (leader, &mut sampled), one, lookup);
        }
        let Some(registers) = &query.registers else { return Ok(()) };
        let there = match &registers.site {
            None => true,
            Some(site) => {
                sampled.place(lookup).is_ok_and(|place| lookup.is_at(site, place, held.ip))
            }
        };
        if !there {
            return Ok(());
        }
        let (address, kept) = (sampled.address(), event.fields.registers().len());
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
}

fn columns(keys: &[Key], arch: record::Arch) -> Result<Vec<KeyColumn>, Error> {
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
