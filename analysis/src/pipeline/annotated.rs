//! The samples of one routine, instruction by instruction.

use super::Pipeline;
use crate::annotate::{self, Annotation, View};
use crate::collect::sampled::CountedSample;
use crate::collect::spots::{SpotValues, Spots};
use crate::collect::tally::Sum;
use crate::error::Error;
use crate::name::lookup::Lookup;
use record::ByteOrder;
use record::data_src::Aspect;
use record::stream::StreamDecoder;

impl Pipeline {
    /// Counts what still waits and shows the routine that the query has as
    /// its target.
    ///
    /// # Errors
    /// An event that the stream does not have; a target that no sample, or
    /// that several routines fit.
    pub fn annotate(mut self, decoder: &StreamDecoder, view: View) -> Result<Annotation, Error> {
        self.count_all(decoder)?;
        let spots = self.counters.spots.take();
        let meanings = annotate::meanings(&self.counters.events, &self.counters.sieve, decoder);
        let report = self.report(decoder, true)?;
        let spots = spots.ok_or(Error::Untargeted)?;
        let described = decoder.events().first();
        let order = described.map_or(ByteOrder::Little, |event| event.layout.order());
        annotate::annotation((report, meanings), spots, &mut self.lookup, (view, order))
    }
}

/// Counts a sample at its instruction, if the routine may be meant.
pub(super) fn count(
    spots: &mut Spots,
    (event, sampled): (usize, &mut CountedSample<'_>),
    one: Sum,
    lookup: &mut Lookup,
) {
    let Ok(place) = sampled.place(lookup) else { return };
    let Some(candidate) = spots.of(place, (sampled.held, 1), lookup) else { return };
    let kept = sampled.fields.registers();
    let at = (event, candidate, place.address);
    let Some((spot, room)) = spots.add(at, one, kept) else { return };
    let address = sampled.address().ok();
    let level = sampled.words.data_src.map(|source| lookup.access(Aspect::Level, source));
    let variable = sampled.data(lookup).ok().map(|place| lookup.variable(place));
    let (ip, registers) = (sampled.held.ip, sampled.words.registers);
    spot.tell(&SpotValues { ip, registers, address, variable, level }, room);
}
