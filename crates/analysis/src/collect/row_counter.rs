//! Samples find their rows.

use crate::collect::access::AccessKinds;
use crate::collect::event::Event;
use crate::collect::room::Room;
use crate::collect::sampled::{CountedSample, KeyColumn, Rounding, Verdicts};
use crate::collect::tally::RowTally;
use crate::error::Error;
use crate::name::key_value::KeyValue;
use crate::name::lookup::Lookup;
use crate::query::Query;
use crate::query::filter::Filter;
use perfdata::Time;
use perfdata::aggregate::{SeededRandom, Site};

#[derive(Debug)]
pub(crate) struct RowCounter {
    pub(crate) columns: Vec<KeyColumn>,
    pub(crate) round: Rounding,
    pub(crate) tally: RowTally,
    pub(crate) accesses: Option<AccessKinds>,
    pub(crate) room: Room,
    pub(crate) chance: SeededRandom,
    /// Of the sample at hand, one a column.
    values: Vec<KeyValue>,
    verdicts: Verdicts,
}

impl RowCounter {
    pub(crate) fn new(query: &Query) -> RowCounter {
        let line = query.cache_line.unwrap_or(Query::CACHE_LINE);
        RowCounter {
            columns: Vec::new(),
            round: Rounding {
                line,
                page: query.page_size,
                begin: query.run.map_or(Time(0), |run| run.first),
            },
            tally: RowTally::new(query.keys.len()),
            accesses: query.accesses.then(AccessKinds::default),
            room: Room::new(query.most_rows),
            chance: SeededRandom::default(),
            values: Vec::with_capacity(query.keys.len()),
            verdicts: Verdicts::default(),
        }
    }

    /// Whether all filters let a sample pass, and its call chain is one that is
    /// asked for.
    #[inline]
    pub(crate) fn passes(
        &mut self,
        sample: &mut CountedSample<'_>,
        filters: &[Filter],
        lookup: &mut Lookup,
    ) -> bool {
        let verdicts = &mut self.verdicts;
        let mut all = filters.iter().enumerate();
        all.all(|(index, filter)| sample.passes(index, filter, lookup, verdicts))
            && (lookup.chains.parts.cut.is_none() || sample.chain(lookup).is_meant)
    }

    #[inline]
    pub(crate) fn count(
        &mut self,
        sample: &mut CountedSample<'_>,
        lookup: &mut Lookup,
    ) -> Result<(), Error> {
        if self.columns.is_empty() && self.accesses.is_none() {
            return Ok(());
        }
        self.find(sample, lookup);
        let row = self.tally.row(number(sample.event), &self.values)?;
        row.sum.join(sample.sum);
        if let Some(accesses) = &mut self.accesses {
            let answers = accesses.number(sample.words.data_src, lookup);
            let is_new = row.add_access(answers, sample.latency, sample.sum);
            self.room.accesses += usize::from(is_new);
        }
        Ok(())
    }

    pub(crate) fn count_site(
        &mut self,
        sample: &mut CountedSample<'_>,
        lookup: &mut Lookup,
        site: &Site,
    ) -> Result<(), Error> {
        if self.columns.is_empty() {
            return Ok(());
        }
        self.find(sample, lookup);
        let row = self.tally.row(number(sample.event), &self.values)?;
        row.sum.join(sample.sum);
        self.room.sites += usize::from(row.add_site(site, &mut self.chance));
        Ok(())
    }

    #[inline]
    fn find(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) {
        self.values.clear();
        for column in &self.columns {
            self.values.push(sample.key_value(column, lookup, self.round));
        }
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let kinds = self.accesses.as_ref().map_or(0, AccessKinds::len);
        self.room.is_short(self.tally.len(), kinds)
    }

    #[cold]
    pub(crate) fn make_room(&mut self, events: &[Event]) -> Result<(), Error> {
        while self.is_full() && self.tally.len() > 1 {
            let before = self.tally.len();
            self.room.make(&mut self.tally, events, &mut self.chance)?;
            if self.tally.len() == before {
                break;
            }
        }
        Ok(())
    }
}

fn number(event: usize) -> u32 {
    u32::try_from(event).unwrap_or(u32::MAX)
}
