//! What counting changes: events, rows, and the instructions of a routine.

use crate::causes::cache_shape::{CacheShape, MissedLevel};
use crate::causes::curve_subject::CurveSubject;
use crate::causes::hindrance::Hindrance;
use crate::code::{SampledInstruction, register_number};
use crate::collect::access_maps::AccessMaps;
use crate::collect::curve_streams::CurveStreams;
use crate::collect::event::{Event, HeapEvent, says};
use crate::collect::fields::{FieldReader, WantedFields};
use crate::collect::held::{HeldParts, HeldSample};
use crate::collect::hindered::HinderedAccesses;
use crate::collect::miss_streams::MissStreams;
use crate::collect::plot_counts::{PlotCounts, PlottedSets, SetOrigin};
use crate::collect::row_count::Sum;
use crate::collect::row_counter::RowCounter;
use crate::collect::sampled::{CountedSample, KeyColumn};
use crate::collect::shared_lines::SharedLines;
use crate::collect::single_samples::SingleSamples;
use crate::collect::spots::Spots;
use crate::collect::type_uses::TypeUses;
use crate::error::Error;
use crate::name::lookup::Lookup;
use crate::query::{CauseQuery, Query, key::Key};
use crate::sieve::{Sieve, SieveVerdict};
use iced_x86::Register;
use perfdata::Misc;
use perfdata::attr::SamplingRate;
use perfdata::registers::{name, number};
use perfdata::stream::{EventDescription, SampleRecord, StreamDecoder};

#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) events: Vec<Event>,
    pub(crate) rows: RowCounter,
    pub(crate) sieve: Sieve,
    /// Samples by instruction, of each routine that was asked for.
    pub(crate) spots: Vec<Spots>,
    /// Misses in order, where their causes were asked for.
    pub(crate) streams: Option<MissStreams>,
    /// Likewise of accesses that something hinders.
    pub(crate) hindered: Option<HinderedAccesses>,
    pub(crate) shared: Option<SharedLines>,
    pub(crate) types: Option<TypeUses>,
    pub(crate) singles: Option<SingleSamples>,
    pub(crate) maps: Option<AccessMaps>,
    pub(crate) plots: Option<PlotCounts>,
    /// Accesses in order, where curves of misses were asked for.
    pub(crate) curves: Option<CurveStreams>,
}

impl Counters {
    pub(crate) fn new(query: &Query) -> Counters {
        Counters {
            events: Vec::new(),
            rows: RowCounter::new(query),
            sieve: Sieve::new(query.class),
            spots: query.targets.iter().cloned().map(Spots::new).collect(),
            streams: query.causes.is_some().then(MissStreams::new),
            hindered: query.causes.is_some().then(HinderedAccesses::default),
            shared: query.shared_lines.map(SharedLines::new),
            types: query.types.then(TypeUses::default),
            singles: None,
            maps: query.maps.is_some().then(AccessMaps::default),
            plots: query.plots.is_some().then(PlotCounts::default),
            curves: query.curves.then(CurveStreams::default),
        }
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
            for spots in &mut self.spots {
                spots.arch = arch;
            }
            (lookup.stacks.is_wanted, lookup.stacks.arch) = (query.needs_stacks(), arch);
        }
        self.sieve.learn(decoder)?;
        let callers = query.needs_callers();
        let (access, class) = (query.needs_access(), query.needs_class());
        let mut wanted = WantedFields { registers: 0, access, class, heap: false, callers };
        let of_registers =
            query.registers.is_some() || !query.targets.is_empty() || query.types || query.samples;
        let of_operands = |key: &Key| *key == Key::AddrBefore || key.is_of_types();
        if of_registers || query.keys.iter().any(of_operands) {
            wanted.registers = u64::MAX;
        }
        if query.needs_stacks() {
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
            let heap = HeapEvent::of(description).filter(|_| query.needs_heap());
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
            event.selected &= !(query.types && heap.is_some());
            event.is_sifted = !self.sieve.filter(index).is_all();
            if let Some(shared) = &mut self.shared {
                shared.has_transfers |= event.is_of_transfers && event.selected;
            }
            if let (Some(streams), Some(causes)) = (&mut self.streams, &query.causes)
                && let Some(level) = MissedLevel::of_event(&event.name)
                && let Some(shape) = causes.shape(level, says(description, "model"))
            {
                streams.judge(event.leader, level, shape);
            }
            if let (Some(maps), Some(caches)) = (&mut self.maps, &query.maps)
                && let Some(level) = MissedLevel::of_event(&event.name)
                && level.is_indexed_virtually()
                && let Some(shape) = caches.shape(level, says(description, "model"))
            {
                maps.judge(event.leader, shape);
            }
            if let (Some(plots), Some(wanted)) = (&mut self.plots, &query.plots) {
                let line = self.rows.round.line;
                plots.judge(event.leader, plotted_sets(wanted, description, line));
            }
            if let Some(curves) = &mut self.curves
                && has_each_access(description)
                && CurveSubject::of_event(&event.name).is_ok()
            {
                curves.want(event.leader);
            }
            if let (Some(hindered), Some(hindrance)) =
                (&mut self.hindered, Hindrance::of_event(&event.name))
            {
                hindered.judge(event.leader, hindrance);
            }
            self.events.push(event);
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

    /// Counts a sample whose side records are in, with what waited with
    /// it.
    #[inline]
    pub(crate) fn count(
        &mut self,
        held: &HeldSample,
        parts: HeldParts<'_>,
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
            let verdict = judge(&mut self.sieve, event, held, words.registers, lookup);
            if !event.keeps(verdict) {
                return Ok(());
            }
        }
        let latency = event.latency(words.weight);
        let mut sample = CountedSample {
            held,
            words,
            latency,
            fields: &event.fields,
            place: None,
            chain: None,
            typed: None,
            point: None,
        };
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
            if lookup.heap.is_told && (lookup.types.is_told || !self.spots.is_empty()) {
                // It tells of blocks that others are on.
                sample.vote(lookup);
            }
            return Ok(());
        }
        let period = event.fixed_period.unwrap_or(held.period);
        let mut one = Sum::default();
        one.add(period, held.misc.contains(Misc::EXACT_IP));
        let leader = event.leader;
        let first = u32::try_from(leader).unwrap_or(u32::MAX);
        self.rows.count(first, &mut sample, lookup, one)?;
        event.sum.join(one);
        let is_outside = event.left_out >> (held.misc.0 & 7) & 1;
        event.outside = event.outside.saturating_add(u64::from(is_outside));
        if let Some(streams) = &mut self.streams {
            streams.count(leader, &mut sample, one, lookup);
        }
        if let Some(hindered) = &mut self.hindered {
            hindered.count(leader, &mut sample, one, lookup);
        }
        if let Some(shared) = &mut self.shared {
            let transfers = shared.has_transfers.then_some(event.is_of_transfers);
            shared.count(transfers, &mut sample, one, lookup);
        }
        if let Some(types) = &mut self.types {
            types.count(leader, &mut sample, one, lookup);
        }
        if let Some(singles) = &mut self.singles {
            singles.count(leader, &mut sample, one, lookup);
        }
        if let Some(maps) = &mut self.maps {
            maps.count(leader, &sample, lookup);
        }
        if let Some(plots) = &mut self.plots {
            plots.count(leader, &sample, one);
        }
        if let Some(curves) = &mut self.curves {
            curves.count(leader, &sample);
        }
        for spots in &mut self.spots {
            spots.count(leader, &mut sample, one, lookup);
        }
        if !self.spots.is_empty() && lookup.heap.is_told && sample.typed.is_none() {
            // Other routines tell of blocks that these are on.
            sample.vote(lookup);
        }
        let Some(registers) = &query.registers else { return Ok(()) };
        let there = match &registers.site {
            None => true,
            Some(site) => {
                sample.place(lookup).is_ok_and(|place| lookup.is_at(site, place, held.ip))
            }
        };
        if !there {
            return Ok(());
        }
        let (address, kept) = (sample.address(), event.fields.registers().len());
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

    /// Joins rows where there are more than are kept, and hands samples out
    /// where enough wait for that.
    #[inline]
    pub(crate) fn make_room(&mut self, lookup: &mut Lookup) -> Result<(), Error> {
        if self.singles.as_ref().is_some_and(SingleSamples::is_full) {
            self.hand_out(lookup)?;
        }
        match self.rows.is_full() {
            true => self.rows.make_room(&self.events),
            false => Ok(()),
        }
    }

    pub(crate) fn hand_out(&mut self, lookup: &mut Lookup) -> Result<(), Error> {
        match &mut self.singles {
            Some(singles) => singles.hand_out(&self.events, lookup),
            None => Ok(()),
        }
    }

    pub(crate) fn end(&mut self, lookup: &mut Lookup) -> Result<(), Error> {
        match &mut self.singles {
            Some(singles) => singles.end(&self.events, lookup),
            None => Ok(()),
        }
    }
}

/// Whether a recording's model made a sample of each of an event's accesses.
fn has_each_access(event: &EventDescription) -> bool {
    let is_each = event.attr.sampling() == SamplingRate::Period(1);
    is_each && says(event, "source") == Some("emulated") && says(event, "burst").is_none()
}

/// Sets of the first cache when nobody says: of 32 KiB and 8 ways, as of 48 KiB
/// and 12.
const USUAL_SETS: u64 = 64;

/// The sets that an event's addresses are told by: those of the model that made
/// its samples, else those that the query knows.
fn plotted_sets(wanted: &CauseQuery, event: &EventDescription, line: u64) -> PlottedSets {
    let level = MissedLevel::L1d;
    let model = says(event, "model");
    let modelled = model.and_then(|model| CacheShape::in_model(model, level));
    let (sets, origin) = match (modelled, wanted.shape(level, None)) {
        (Some(shape), _) => (shape.sets(), SetOrigin::Model),
        (None, Some(shape)) => (shape.sets(), SetOrigin::Machine),
        (None, None) => (USUAL_SETS, SetOrigin::Assumed),
    };
    PlottedSets { sets, line, origin }
}

/// Judges a sample whose side records are in: by its instruction, unless its
/// fields left it in doubt and the instruction does not decide.
#[inline(never)]
fn judge(
    sieve: &mut Sieve,
    event: &Event,
    held: &HeldSample,
    registers: &[u64],
    lookup: &mut Lookup,
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
    match (sieve.by_class(&mut lookup.symbolizer, index, instruction), held.doubt) {
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
