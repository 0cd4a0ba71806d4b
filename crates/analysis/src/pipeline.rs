//! Records in, report out.

use crate::annotate::{self, Annotation, Showing, View};
use crate::collect::aggregates::{AggregateBatch, Aggregates, ToldApart, refuse};
use crate::collect::counters::Counters;
use crate::collect::event::Event;
use crate::collect::fields::Origin;
use crate::collect::held::{HeldParts, HeldSample, SampleBatch};
use crate::collect::hindered::HinderedAccesses;
use crate::collect::late_samples::SampleRoom;
use crate::collect::members::{Growth, Members, SampleShare};
use crate::collect::miss_streams::MissStreams;
use crate::collect::single_sample::SampleSink;
use crate::collect::single_samples::SingleSamples;
use crate::collect::time_order::{self, TimeOrder};
use crate::error::Error;
use crate::name::lookup::Lookup;
use crate::query::Query;
use crate::query::key::Key;
use crate::report::answer::{StreamAccount, leaders, report};
use crate::report::miss_causes::event_causes;
use crate::report::{
    CauseReport, CurveReport, Losses, MapReport, Overview, PlotReport, Report, SharingReport,
    TypeReport, curve_report, event_hindrances, map_report, plot_report, sharing, type_report,
};
use crate::sieve::SieveVerdict;
use perfdata::aggregate::AggregatePart;
use perfdata::callchain::DeferredKey;
use perfdata::stream::{Rounds, SampleRecord, StreamDecoder, StreamRecord};
use perfdata::{ByteOrder, SideRecord, Time};
use symbolizer::Symbolizer;

/// Counts the samples of one stream. Memory grows with the distinct rows, up
/// to [`Query::most_rows`], and with processes and names, never with the
/// samples.
#[derive(Debug)]
pub struct Pipeline {
    query: Query,
    lookup: Lookup,
    waiting: Rounds<SampleBatch>,
    order: TimeOrder,
    members: Members,
    aggregates: Aggregates,
    counters: Counters,
    losses: Losses,
    /// The newest sample of the round that was counted last.
    newest: Time,
}

/// Whether samples may wait on for what is yet to come of their chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    More,
    /// There is no room, or nothing follows.
    Over,
}

impl Pipeline {
    /// A pipeline for the records of one stream, first to last.
    ///
    /// # Errors
    /// A query that cannot be answered on any stream.
    pub fn new(query: Query, symbolizer: Symbolizer) -> Result<Pipeline, Error> {
        query.check()?;
        let mut lookup = Lookup::new(symbolizer);
        let shows_types = !query.targets.is_empty() || query.types || query.samples;
        lookup.types.shows_types = shows_types || query.keys.contains(&Key::Type);
        lookup.types.is_told =
            query.types || query.samples || query.keys.iter().any(Key::is_of_types);
        lookup.chains.parts.cut = query.frames.clone();
        Ok(Pipeline {
            lookup,
            waiting: Rounds::new(query.held_bytes),
            order: TimeOrder::default(),
            members: Members::default(),
            aggregates: Aggregates::default(),
            counters: Counters::new(&query),
            losses: Losses::default(),
            newest: Time::default(),
            query,
        })
    }

    /// Hands each counted sample to `sink` besides, of a query that asks for
    /// [`Query::samples`]; the last ones when the stream has ended.
    #[must_use]
    pub fn hand_to(mut self, sink: Box<dyn SampleSink>) -> Pipeline {
        self.counters.singles = Some(SingleSamples::new(sink));
        self
    }

    /// Has samples wait in `room` whose types only the whole recording tells,
    /// and those behind them, to be handed to the sink when it has ended; in
    /// memory without one.
    #[must_use]
    pub fn wait_in(mut self, room: Box<dyn SampleRoom>) -> Pipeline {
        if let Some(singles) = &mut self.counters.singles {
            singles.wait_in(room);
        }
        self
    }

    /// Takes in the record that `decoder` just gave.
    ///
    /// # Errors
    /// At the first sample, a register that the recorded machine has not; at
    /// any, more rows than there are numbers; those of a sink.
    #[inline]
    pub fn record(
        &mut self,
        decoder: &StreamDecoder,
        record: &StreamRecord<'_>,
    ) -> Result<(), Error> {
        if let StreamRecord::Sample(sample) = *record {
            if sample.event >= self.counters.events.len() {
                self.learn(decoder)?;
            }
            return self.sample(decoder, sample);
        }
        self.other(decoder, record)
    }

    fn other(&mut self, decoder: &StreamDecoder, record: &StreamRecord<'_>) -> Result<(), Error> {
        self.lookup.symbolizer.observe(decoder, record);
        match record {
            StreamRecord::Side { misc, record, id, .. } => {
                self.lookup.comms.side(record, id);
                if self.query.needs_heap() {
                    self.lookup.heap.side(*misc, record, id);
                }
                if self.query.needs_regions() {
                    self.lookup.regions.side(*misc, record, id);
                }
                self.losses.note(*misc, record);
                if let SideRecord::CallchainDeferred { cookie, chain } = record
                    && self.query.needs_callers()
                {
                    let (tid, cookie) = (id.task.unwrap_or_default().tid, *cookie);
                    self.lookup.chains.sent.add(DeferredKey { tid, cookie }, *chain);
                }
            }
            StreamRecord::FinishedRound => self.end_round(Patience::More)?,
            StreamRecord::Region(mark) if self.query.needs_regions() => {
                self.lookup.regions.mark(mark);
            }
            StreamRecord::Aggregate { event, part } => self.part(decoder, *event, part)?,
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

    fn count_all(&mut self, decoder: &StreamDecoder) -> Result<(), Error> {
        self.learn(decoder)?;
        for _ in 0..2 {
            self.end_round(Patience::Over)?;
        }
        self.aggregates.finish();
        self.counters.end(&mut self.lookup)
    }

    /// Answers the query for what was counted since the last answer, and
    /// counts on: of a stream that has no end. What still waits for side
    /// records is in the next answer.
    ///
    /// # Errors
    /// An event or register that the stream does not have.
    pub fn answer(&mut self, decoder: &StreamDecoder) -> Result<Report, Error> {
        self.learn(decoder)?;
        self.report(decoder, false)
    }

    /// As [`Pipeline::answer`]; rows have these keys from there on.
    ///
    /// # Errors
    /// An event or register that the stream does not have.
    pub fn answer_and_ask(
        &mut self,
        decoder: &StreamDecoder,
        keys: Vec<Key>,
    ) -> Result<Report, Error> {
        let report = self.answer(decoder)?;
        self.query.keys = keys;
        self.counters = Counters::new(&self.query);
        Ok(report)
    }

    fn report(&mut self, decoder: &StreamDecoder, has_ended: bool) -> Result<Report, Error> {
        let mut losses = std::mem::take(&mut self.losses);
        losses.counted_early = self.waiting.early().saturating_add(self.aggregates.early());
        self.lookup.decide_types();
        let (torn, why_torn) = self.aggregates.torn();
        losses.torn = torn;
        let told = [why_torn, self.aggregates.overlaps()].into_iter().chain(self.lookup.notes());
        let left_out = told.flatten().chain(self.members.take_notes()).collect();
        losses.unplaced = decoder.tally().unknown_id + decoder.tally().unplaced;
        losses.unreadable = decoder.tally().unreadable().map_or(0, |bad| bad.count);
        let counters = std::mem::replace(&mut self.counters, Counters::new(&self.query));
        let account = StreamAccount { decoder, has_ended, losses, left_out };
        report(&self.query, counters, account, &mut self.lookup)
    }

    #[inline]
    fn sample(&mut self, decoder: &StreamDecoder, record: SampleRecord<'_>) -> Result<(), Error> {
        let Some(of) = self.counters.events.get(record.event) else { return Ok(()) };
        if of.reads_group {
            return self.of_group(decoder, record);
        }
        self.take(decoder, record, None)
    }

    /// Takes in a sample of a group as one of each member that has grown.
    #[inline(never)]
    fn of_group(&mut self, decoder: &StreamDecoder, record: SampleRecord<'_>) -> Result<(), Error> {
        let grown = match record.decode(decoder).map(|sample| self.members.share(decoder, &sample))
        {
            Some(SampleShare::Grown(grown)) => grown,
            Some(SampleShare::Unexplained) => {
                let of = self.counters.events.get_mut(record.event).filter(|of| of.selected);
                of.into_iter().for_each(Event::add_malformed);
                return Ok(());
            }
            Some(SampleShare::Own) | None => return self.take(decoder, record, None),
        };
        let events = decoder.events();
        let layout = record.description(decoder).map(|described| &described.layout);
        for Growth { event, by } in grown {
            if events.get(event).map(|described| &described.layout) == layout {
                self.take(decoder, SampleRecord { event, ..record }, Some(by))?;
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
        record: SampleRecord<'_>,
        growth: Option<u64>,
    ) -> Result<(), Error> {
        let SampleRecord { event, misc, payload } = record;
        let Some(of) = self.counters.events.get_mut(event) else { return Ok(()) };
        if !of.selected && of.heap.is_none() {
            return Ok(());
        }
        of.samples = of.samples.saturating_add(u64::from(of.selected));
        let number = u32::try_from(event).unwrap_or(u32::MAX);
        let mut origin = Origin { event: number, misc, doubt: None };
        if of.is_sifted {
            match self.counters.sift(decoder, record) {
                Some(SieveVerdict::Kept) => {}
                Some(SieveVerdict::Undecided(why)) => origin.doubt = Some(why),
                Some(SieveVerdict::Other) | None => return Ok(()),
            }
        }
        let Some(of) = self.counters.events.get_mut(event) else { return Ok(()) };
        let batch = self.waiting.now();
        if !of.fields.read(origin, payload, batch) {
            of.malformed += 1;
        } else if let Some(growth) = growth
            && let Some(held) = batch.samples.last_mut()
        {
            held.period = growth;
        }
        if self.waiting.is_full() {
            let ready = self.waiting.make_room();
            return match self.lookup.heap.is_apart {
                true => self.count_until(Time(u64::MAX), ready),
                false => self.count(ready, Patience::Over),
            };
        }
        Ok(())
    }

    /// Takes in a part; a whole aggregate waits for the side records of its
    /// time.
    fn part(
        &mut self,
        decoder: &StreamDecoder,
        index: usize,
        part: &AggregatePart,
    ) -> Result<(), Error> {
        if index >= self.counters.events.len() {
            self.learn(decoder)?;
        }
        let Some(event) = self.counters.events.get(index).filter(|event| event.selected) else {
            return Ok(());
        };
        let apart = ToldApart {
            processes: part.sites.iter().all(|site| site.process.is_some()),
            callers: part.sites.iter().all(|site| site.chain.is_some()),
        };
        refuse(&self.query, event, apart)?;
        let described = decoder.events().get(index);
        let id = described.and_then(|event| event.ids.first()).copied();
        let (id, event) = (id.unwrap_or(event.leader as u64), event.leader);
        let ready = self.aggregates.add(id, event, part.clone());
        self.count_aggregates(&ready)
    }

    fn learn(&mut self, decoder: &StreamDecoder) -> Result<(), Error> {
        self.counters.learn(&self.query, decoder, &mut self.lookup)?;
        if self.lookup.heap.is_apart {
            let room = self.query.held_bytes;
            self.waiting.widen(room.saturating_mul(time_order::MORE_ROOM));
        }
        Ok(())
    }

    fn end_round(&mut self, patience: Patience) -> Result<(), Error> {
        let ready = self.waiting.end_round();
        if self.lookup.heap.is_apart {
            self.end_round_by_time(ready, patience)?;
            let ready = self.aggregates.end_round();
            return self.count_aggregates(&ready);
        }
        if self.query.needs_regions()
            && let Some(newest) = ready.samples.iter().map(|held| held.time).max()
        {
            // What still waits is of this round: none of it is older than
            // the round before the one that is counted now.
            self.lookup.regions.forget(std::mem::replace(&mut self.newest, newest));
        }
        self.count(ready, patience)?;
        let ready = self.aggregates.end_round();
        self.count_aggregates(&ready)
    }

    /// The same where samples are counted in the order of time.
    fn end_round_by_time(&mut self, ready: SampleBatch, patience: Patience) -> Result<(), Error> {
        let reached = self.order.reached(&ready);
        let reached = match patience {
            Patience::Over if self.waiting.is_empty() => Time(u64::MAX),
            Patience::Over | Patience::More => reached,
        };
        self.count_until(reached, ready)?;
        if self.query.needs_regions() {
            self.lookup.regions.forget(reached);
        }
        Ok(())
    }

    /// Counts samples up to a time, in its order; the others wait for a round more. None waits for
    /// what is yet to come of its chain: it would be counted behind what happened since.
    fn count_until(&mut self, reached: Time, mut ready: SampleBatch) -> Result<(), Error> {
        for (held, own) in time_order::by_time(&ready) {
            if held.time > reached {
                self.waiting.before().push(*held, own);
                continue;
            }
            self.counters.count(held, own, &mut self.lookup, &self.query)?;
            self.counters.make_room(&mut self.lookup)?;
        }
        ready.clear();
        self.waiting.give_back(ready);
        Ok(())
    }

    fn count(&mut self, mut ready: SampleBatch, patience: Patience) -> Result<(), Error> {
        let mut parts = ready.parts();
        for held in &ready.samples {
            let own = parts.take(held);
            if patience == Patience::More && self.waits(held, own) {
                self.waiting.now().push(*held, own);
                continue;
            }
            self.counters.count(held, own, &mut self.lookup, &self.query)?;
            self.counters.make_room(&mut self.lookup)?;
        }
        ready.clear();
        self.waiting.give_back(ready);
        Ok(())
    }

    fn waits(&self, held: &HeldSample, parts: HeldParts<'_>) -> bool {
        let event = usize::try_from(held.event).ok().and_then(|it| self.counters.events.get(it));
        let callers = event.and_then(|event| event.fields.deferred(parts));
        callers.is_some_and(|callers| self.lookup.chains.waits(held.tid(), &callers))
    }

    fn count_aggregates(&mut self, ready: &AggregateBatch) -> Result<(), Error> {
        for of in &ready.0 {
            self.counters.count_aggregate(of, &mut self.lookup, &self.query)?;
        }
        Ok(())
    }
}

impl Pipeline {
    /// Counts what still waits and shows the routine that the query has as
    /// its target.
    ///
    /// # Errors
    /// An event that the stream does not have; a target that no sample, or
    /// that several routines fit.
    pub fn annotate(self, decoder: &StreamDecoder, view: View) -> Result<Annotation, Error> {
        self.annotate_one(decoder, view, true)
    }

    /// The same of a stream that goes on: that it has no end is no caveat.
    ///
    /// # Errors
    ///
    /// As of [`Pipeline::annotate`].
    pub fn annotate_so_far(self, decoder: &StreamDecoder, view: View) -> Result<Annotation, Error> {
        self.annotate_one(decoder, view, false)
    }

    fn annotate_one(
        self,
        decoder: &StreamDecoder,
        view: View,
        has_ended: bool,
    ) -> Result<Annotation, Error> {
        let mut all = self.annotations(decoder, view, has_ended)?;
        all.pop().unwrap_or(Err(Error::Untargeted))
    }

    /// The same of each of the query's targets, in their order.
    ///
    /// # Errors
    /// An event that the stream does not have.
    pub fn annotate_all(
        self,
        decoder: &StreamDecoder,
        view: View,
    ) -> Result<Vec<Result<Annotation, Error>>, Error> {
        self.annotations(decoder, view, true)
    }

    fn annotations(
        mut self,
        decoder: &StreamDecoder,
        view: View,
        has_ended: bool,
    ) -> Result<Vec<Result<Annotation, Error>>, Error> {
        self.count_all(decoder)?;
        let all = std::mem::take(&mut self.counters.spots);
        let meanings = annotate::meanings(&self.counters.events, &self.counters.sieve, decoder);
        let report = self.report(decoder, has_ended)?;
        let described = decoder.events().first();
        let order = described.map_or(ByteOrder::Little, |event| event.layout.order());
        let showing = Showing { view, order };
        let one = |spots| {
            annotate::annotation(report.clone(), &meanings, spots, &mut self.lookup, showing)
        };
        Ok(all.into_iter().map(one).collect())
    }

    /// Counts what still waits and tells why the misses of each event came about.
    ///
    /// # Errors
    /// An event that the stream does not have; a stream without misses.
    pub fn causes(mut self, decoder: &StreamDecoder) -> Result<CauseReport, Error> {
        self.count_all(decoder)?;
        let streams = self.counters.streams.take();
        let hindered = self.counters.hindered.take().unwrap_or_default();
        let leaders = leaders(&self.counters.events, decoder);
        let report = self.report(decoder, true)?;
        let misses = CountedMisses { streams: streams.ok_or(Error::Untargeted)?, hindered };
        misses.causes(report, &leaders, &mut self.lookup)
    }

    /// Counts what still waits and tells which lines several threads used.
    ///
    /// # Errors
    /// An event that the stream does not have.
    pub fn shared_lines(mut self, decoder: &StreamDecoder) -> Result<SharingReport, Error> {
        self.count_all(decoder)?;
        let shared = self.counters.shared.take();
        let report = self.report(decoder, true)?;
        Ok(sharing(shared.ok_or(Error::Untargeted)?, report, &mut self.lookup))
    }

    /// Counts what still waits and tells which types samples are on.
    ///
    /// # Errors
    /// An event that the stream does not have.
    pub fn types(mut self, decoder: &StreamDecoder) -> Result<TypeReport, Error> {
        self.count_all(decoder)?;
        let types = self.counters.types.take();
        let leaders = leaders(&self.counters.events, decoder);
        let report = self.report(decoder, true)?;
        let types = types.ok_or(Error::Untargeted)?;
        Ok(type_report(report, &leaders, types, &mut self.lookup))
    }

    /// Counts what still waits and tells where accesses are over time.
    ///
    /// # Errors
    /// An event that the stream does not have.
    pub fn maps(mut self, decoder: &StreamDecoder) -> Result<MapReport, Error> {
        self.count_all(decoder)?;
        let maps = self.counters.maps.take();
        let leaders = leaders(&self.counters.events, decoder);
        let report = self.report(decoder, true)?;
        let maps = maps.ok_or(Error::Untargeted)?;
        Ok(map_report(report, &leaders, &maps, &mut self.lookup))
    }

    /// Counts what still waits and tells what caches of other sizes would miss.
    ///
    /// # Errors
    /// An event that the stream does not have.
    pub fn curves(mut self, decoder: &StreamDecoder) -> Result<CurveReport, Error> {
        self.count_all(decoder)?;
        let curves = self.counters.curves.take();
        let leaders = leaders(&self.counters.events, decoder);
        let report = self.report(decoder, true)?;
        Ok(curve_report(report, &leaders, curves.ok_or(Error::Untargeted)?))
    }

    /// Counts what still waits and answers the query, with histograms of what it
    /// counts.
    ///
    /// # Errors
    /// An event or register that the stream does not have.
    pub fn plots(mut self, decoder: &StreamDecoder) -> Result<PlotReport, Error> {
        self.count_all(decoder)?;
        let plots = self.counters.plots.take().unwrap_or_default();
        let leaders = leaders(&self.counters.events, decoder);
        let report = self.report(decoder, true)?;
        Ok(plot_report(report, &leaders, &plots))
    }

    /// Counts what still waits and answers all of a query that asks for rows, causes, shared
    /// lines, types, maps and curves at once: names and debug info are looked up once for all of them.
    ///
    /// # Errors
    /// An event that the stream does not have; a query that does not ask for one of these.
    pub fn overview(mut self, decoder: &StreamDecoder) -> Result<Overview, Error> {
        self.count_all(decoder)?;
        let counters = &mut self.counters;
        let streams = counters.streams.take().ok_or(Error::Untargeted)?;
        let hindered = counters.hindered.take().unwrap_or_default();
        let shared = counters.shared.take().ok_or(Error::Untargeted)?;
        let types = counters.types.take().ok_or(Error::Untargeted)?;
        let maps = counters.maps.take().ok_or(Error::Untargeted)?;
        let curves = counters.curves.take().ok_or(Error::Untargeted)?;
        let leaders = leaders(&self.counters.events, decoder);
        let rows = self.report(decoder, true)?;
        let lookup = &mut self.lookup;
        let misses = CountedMisses { streams, hindered };
        Ok(Overview {
            causes: misses.causes(rows.clone(), &leaders, lookup),
            sharing: sharing(shared, rows.clone(), lookup),
            types: type_report(rows.clone(), &leaders, types, lookup),
            maps: map_report(rows.clone(), &leaders, &maps, lookup),
            curves: curve_report(rows.clone(), &leaders, curves),
            rows,
        })
    }
}

struct CountedMisses {
    streams: MissStreams,
    hindered: HinderedAccesses,
}

impl CountedMisses {
    fn causes(
        mut self,
        report: Report,
        leaders: &[usize],
        lookup: &mut Lookup,
    ) -> Result<CauseReport, Error> {
        let (mut events, mut hindrances) = (Vec::new(), Vec::new());
        for (event, leader) in report.events.iter().zip(leaders.iter().copied()) {
            events.extend(event_causes(event, leader, &mut self.streams, lookup));
            hindrances.extend(event_hindrances(event, leader, &self.hindered, lookup));
        }
        if events.is_empty() && hindrances.is_empty() {
            let have = report.events.iter().map(|event| event.name.clone()).collect();
            return Err(Error::NoMisses { have });
        }
        let mut notes = self.streams.notes();
        notes.extend(self.hindered.note());
        let hardmeter_causes = CauseReport::VERSION;
        Ok(CauseReport { hardmeter_causes, events, hindrances, notes, report })
    }
}
