//! Records in, report out.

use crate::annotate::collect::RoutineHits;
use crate::annotate::{self, Annotation, ListingOptions, Showing};
use crate::c2c::collect::SharedLines;
use crate::c2c::sharing_report::{SharingReport, sharing};
use crate::causes::cause_report::{CauseReport, cause_report};
use crate::causes::collect::CountedMisses;
use crate::collect::aggregates::{AggregateBatch, Aggregates, Distinguished, refuse};
use crate::collect::collector::{Collector, take_out};
use crate::collect::counters::Counters;
use crate::collect::event::Event;
use crate::collect::fields::Origin;
use crate::collect::members::{Growth, Members, SampleShare};
use crate::collect::pending::{PendingParts, PendingSample, SampleBatch};
use crate::collect::time_order::{self, TimeOrder};
use crate::curve::collect::CurveStreams;
use crate::curve::curve_report::{CurveReport, curve_report};
use crate::error::Error;
use crate::layout::collect::TypeUses;
use crate::layout::type_report::{TypeReport, type_report};
use crate::maps::collect::AccessMaps;
use crate::maps::map_report::{MapReport, map_report};
use crate::name::lookup::Lookup;
use crate::plots::collect::PlotCounts;
use crate::plots::plot_report::{PlotReport, plot_report};
use crate::query::Query;
use crate::query::key::Key;
use crate::query::needs::Needs;
use crate::query::view::View;
use crate::report::answer::{StreamAccount, leaders, report};
use crate::report::{Counted, Losses, Report};
use crate::samples::collect::SingleSamples;
use crate::samples::late_samples::SampleRoom;
use crate::samples::single_sample::SampleSink;
use crate::sieve::SieveVerdict;
use perfdata::aggregate::AggregatePart;
use perfdata::callchain::DeferredKey;
use perfdata::stream::{RoundBuffer, SampleRecord, StreamDecoder, StreamRecord};
use perfdata::{ByteOrder, SidebandRecord, Time};
use symbolizer::Symbolizer;

/// Counts the samples of one stream. Memory grows with the distinct rows, up
/// to [`Query::most_rows`], and with processes and names, never with the
/// samples.
#[derive(Debug)]
pub struct Pipeline {
    query: Query,
    lookup: Lookup,
    waiting: RoundBuffer<SampleBatch>,
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
        lookup.chains.parts.cut = query.frames.clone();
        let counters = counters(&query);
        tell_types(&mut lookup, counters.needs);
        Ok(Pipeline {
            lookup,
            waiting: RoundBuffer::new(query.pending_bytes),
            order: TimeOrder::default(),
            members: Members::default(),
            aggregates: Aggregates::default(),
            counters,
            losses: Losses::default(),
            newest: Time::default(),
            query,
        })
    }

    /// Hands each counted sample to `sink` besides, with all that is known of it; the last ones
    /// when the stream has ended. Samples whose types only the whole recording tells, and those
    /// behind them, wait for that in `room`; in memory without one.
    #[must_use]
    pub fn hand_to(
        mut self,
        sink: Box<dyn SampleSink>,
        room: Option<Box<dyn SampleRoom>>,
    ) -> Pipeline {
        self.counters.add(Box::new(SingleSamples::new(sink, room)));
        tell_types(&mut self.lookup, self.counters.needs);
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
        self.lookup.places.symbolizer.observe(decoder, record);
        match record {
            StreamRecord::Sideband { misc, record, id, .. } => {
                self.lookup.comms.side(record, id);
                let needs = self.counters.needs;
                if needs.has(Needs::HEAP) {
                    self.lookup.heap.side(*misc, record, id);
                }
                if needs.has(Needs::REGIONS) {
                    self.lookup.regions.side(*misc, record, id);
                }
                self.losses.note(*misc, record);
                if let SidebandRecord::CallchainDeferred { cookie, chain } = record
                    && needs.has(Needs::CALLERS)
                {
                    let (tid, cookie) = (id.task.unwrap_or_default().tid, *cookie);
                    self.lookup.chains.sent.add(DeferredKey { tid, cookie }, *chain);
                }
            }
            StreamRecord::FinishedRound => self.end_round(Patience::More)?,
            StreamRecord::Region(mark) if self.counters.needs.has(Needs::REGIONS) => {
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
        self.counters = counters(&self.query);
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
        let counters = std::mem::replace(&mut self.counters, counters(&self.query));
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

    /// Takes in a part; a whole aggregate waits for the sideband records of its
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
        let apart = Distinguished {
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
            let room = self.query.pending_bytes;
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
        if self.counters.needs.has(Needs::REGIONS)
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
        if self.counters.needs.has(Needs::REGIONS) {
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
            self.counters.make_room()?;
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
            self.counters.make_room()?;
        }
        ready.clear();
        self.waiting.give_back(ready);
        Ok(())
    }

    fn waits(&self, held: &PendingSample, parts: PendingParts<'_>) -> bool {
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
    /// Counts what still waits and shows the routine that the query has as its target; of
    /// several the last one.
    ///
    /// # Errors
    /// An event that the stream does not have; a target that no sample, or
    /// that several routines fit.
    pub fn annotate(
        self,
        decoder: &StreamDecoder,
        options: ListingOptions,
    ) -> Result<Annotation, Error> {
        self.annotate_all(decoder, options)?.pop().unwrap_or(Err(Error::Untargeted))
    }

    /// The same of each of the query's targets, in their order.
    ///
    /// # Errors
    /// An event that the stream does not have.
    pub fn annotate_all(
        mut self,
        decoder: &StreamDecoder,
        options: ListingOptions,
    ) -> Result<Vec<Result<Annotation, Error>>, Error> {
        self.count_all(decoder)?;
        let hits: Option<RoutineHits> = take_out(&mut self.counters.collectors);
        let meanings = annotate::meanings(&self.counters.events, &self.counters.sieve, decoder);
        let report = self.report(decoder, !options.is_so_far)?;
        let described = decoder.events().first();
        let order = described.map_or(ByteOrder::Little, |event| event.layout.order());
        let showing = Showing { options, order };
        let one =
            |hits| annotate::annotation(report.clone(), &meanings, hits, &mut self.lookup, showing);
        Ok(hits.into_iter().flat_map(|it| it.routines).map(one).collect())
    }

    /// Counts what still waits and tells why the misses of each event came about.
    ///
    /// # Errors
    /// An event that the stream does not have; a stream without misses.
    pub fn causes(self, decoder: &StreamDecoder) -> Result<CauseReport, Error> {
        self.view(decoder, cause_report)?
    }

    /// Counts what still waits and tells which lines several threads used.
    ///
    /// # Errors
    /// An event that the stream does not have.
    pub fn shared_lines(self, decoder: &StreamDecoder) -> Result<SharingReport, Error> {
        self.view(decoder, sharing)
    }

    /// Counts what still waits and tells which types samples are on.
    ///
    /// # Errors
    /// An event that the stream does not have.
    pub fn types(self, decoder: &StreamDecoder) -> Result<TypeReport, Error> {
        self.view(decoder, type_report)
    }

    /// Counts what still waits and tells what caches of other sizes would miss.
    ///
    /// # Errors
    /// An event that the stream does not have.
    pub fn curves(self, decoder: &StreamDecoder) -> Result<CurveReport, Error> {
        self.view(decoder, curve_report)
    }

    /// Counts what still waits and answers the query, with histograms of what it
    /// counts.
    ///
    /// # Errors
    /// An event or register that the stream does not have.
    pub fn plots(self, decoder: &StreamDecoder) -> Result<PlotReport, Error> {
        self.view(decoder, plot_report)
    }

    /// Makes the answer of a view of what was collected for it.
    fn view<C: Collector, A>(
        self,
        decoder: &StreamDecoder,
        answer: fn(C, Counted<'_>) -> A,
    ) -> Result<A, Error> {
        let mut all = self.counted(decoder)?;
        let collected = all.take()?;
        let CountedViews { report, leaders, mut lookup, .. } = all;
        Ok(answer(collected, Counted { report, leaders: &leaders, lookup: &mut lookup }))
    }

    /// Counts what still waits.
    fn counted(mut self, decoder: &StreamDecoder) -> Result<CountedViews, Error> {
        self.count_all(decoder)?;
        let collected = std::mem::take(&mut self.counters.collectors);
        let leaders = leaders(&self.counters.events, decoder);
        let report = self.report(decoder, true)?;
        Ok(CountedViews { collected, report, leaders, lookup: self.lookup })
    }

    /// Counts what still waits and answers all of a query that asks for causes, shared
    /// lines, types, maps and curves at once: names and debug info are looked up once for all of them.
    ///
    /// # Errors
    /// An event that the stream does not have; a query that does not ask for one of these.
    pub fn overview(self, decoder: &StreamDecoder) -> Result<Overview, Error> {
        let mut of = self.counted(decoder)?;
        Ok(Overview {
            causes: of.answer(cause_report)?,
            sharing: of.answer(sharing)?,
            types: of.answer(type_report)?,
            maps: of.answer(map_report)?,
            curves: of.answer(curve_report)?,
            rows: of.report,
        })
    }
}

fn counters(query: &Query) -> Counters {
    Counters::new(query, query.views.iter().map(collector).collect())
}

fn collector(view: &View) -> Box<dyn Collector> {
    match view {
        View::Causes(caches) => Box::new(CountedMisses::new(caches.clone())),
        View::SharedLines(line) => Box::new(SharedLines::new(*line)),
        View::Types => Box::new(TypeUses::default()),
        View::Maps(caches) => Box::new(AccessMaps::new(caches.clone())),
        View::Plots(caches) => Box::new(PlotCounts::new(caches.clone())),
        View::Curves => Box::new(CurveStreams::default()),
        View::Routines(targets) => Box::new(RoutineHits::new(targets)),
    }
}

fn tell_types(lookup: &mut Lookup, needs: Needs) {
    lookup.types.shows_types = needs.has(Needs::TYPES);
    lookup.types.is_told = needs.has(Needs::TYPE_NOTE);
}

/// What was collected for several views of one recording.
struct CountedViews {
    collected: Vec<Box<dyn Collector>>,
    report: Report,
    leaders: Vec<usize>,
    lookup: Lookup,
}

impl CountedViews {
    fn take<C: Collector>(&mut self) -> Result<C, Error> {
        take_out(&mut self.collected).ok_or(Error::Untargeted)
    }

    /// The answer of one of several.
    fn answer<C: Collector, A>(&mut self, answer: fn(C, Counted<'_>) -> A) -> Result<A, Error> {
        let collected = self.take()?;
        let CountedViews { report, leaders, lookup, .. } = self;
        Ok(answer(collected, Counted { report: report.clone(), leaders, lookup }))
    }
}

/// What [`crate::Pipeline::overview`] answers: each is as its own method would have it.
#[derive(Debug)]
pub struct Overview {
    /// The query's rows, and what was counted in all.
    pub rows: Report,
    /// Why misses came about.
    ///
    /// # Errors
    /// Without misses.
    pub causes: Result<CauseReport, Error>,
    /// Lines that several threads used.
    pub sharing: SharingReport,
    /// Types that samples are on.
    pub types: TypeReport,
    /// Where accesses are over time.
    pub maps: MapReport,
    /// What caches of other sizes would miss.
    pub curves: CurveReport,
}
