//! What a pipeline answers at its end, besides rows: each answer of what its query asked for.

use super::Pipeline;
use crate::annotate::{self, Annotation, Showing, View};
use crate::collect::hindered::HinderedAccesses;
use crate::collect::miss_streams::MissStreams;
use crate::error::Error;
use crate::name::lookup::Lookup;
use crate::report::answer::leaders;
use crate::report::event_hindrances;
use crate::report::miss_causes::event_causes;
use crate::report::{
    CauseReport, CurveReport, MapReport, Overview, PlotReport, Report, SharingReport, TypeReport,
    curve_report, map_report, plot_report, sharing, type_report,
};
use perfdata::ByteOrder;
use perfdata::stream::StreamDecoder;

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

/// What was counted of misses, and of accesses that something hinders.
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
