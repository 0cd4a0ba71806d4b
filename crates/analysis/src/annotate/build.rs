//! What was counted becomes an annotation.

use super::choice::choose;
use super::details::{HitSampling, access, details};
use super::extent::shown;
use super::lines::{Code, Listing};
use super::meaning::{Cause, EventMeaning, Meaning};
use super::operand_type::RoutineTypes;
use super::{Annotation, Extent, Heat, HotInstruction, ListingOptions};
use crate::annotate::collect::{Candidate, InstructionHits, TargetHits};
use crate::collect::sum::Sum;
use crate::error::Error;
use crate::name::lookup::Lookup;
use crate::name::place_names::PlaceNames;
use crate::query::Weighting;
use crate::report::Report;
use perfdata::{Arch, ByteOrder};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Showing {
    pub(crate) options: ListingOptions,
    pub(crate) order: ByteOrder,
}

pub(crate) fn annotation(
    report: Report,
    meanings: &[EventMeaning],
    hits: TargetHits,
    lookup: &mut Lookup,
    showing: Showing,
) -> Result<Annotation, Error> {
    let Showing { options, order } = showing;
    let counted = report.events.iter().map(|event| event.totals.counted);
    let number = choose(&hits, counted.fold(0, u64::saturating_add), &mut lookup.places)?;
    let index = usize::try_from(number).unwrap_or(usize::MAX);
    let Some(candidate) = hits.candidates.get(index).cloned() else {
        return Err(Error::Untargeted);
    };
    let Candidate { name, object, at: (id, start, end), unnamed, witness, .. } = candidate;
    let arch = hits.arch;
    let not_kept: Vec<String> = hits.notes().collect();
    let hits = hits.of_candidate(number);
    let text = lookup.places.symbolizer.text(witness, &(start..end));
    let sampled = hits.iter().map(|(at, _)| at.address);
    let (code, incomplete) = Code::new(text, start..end, sampled);
    let mut notes = Vec::new();
    if let Some(reason) = &unnamed {
        notes.push(format!(
            "no symbol holds {start:#x} ({reason}): code from there on, as if an instruction began \
             there"
        ));
    }
    notes.extend(incomplete);
    notes.extend(not_kept);
    let mut by_event: BTreeMap<usize, Vec<(u64, InstructionHits)>> = BTreeMap::new();
    for (at, hit) in hits {
        by_event.entry(at.event).or_default().push((at.address, hit));
    }
    let mut types = RoutineTypes::new(witness);
    let mut events = Vec::new();
    let mut hot_lines = Vec::new();
    for (event, EventMeaning { leader, meaning }) in report.events.iter().zip(meanings) {
        let hits = by_event.remove(leader).unwrap_or_default();
        for (address, hit) in &hits {
            // Before: what was sampled is another instruction's access.
            if meaning.cause(hit.sum) != Cause::Before {
                types.add(*address, &hit.types, lookup);
            }
        }
        let whole = Whole {
            weighting: event.weighting,
            of_event: Sum::of(event.totals.counted, event.totals.period),
            meaning,
            interval: event.even_interval(),
            arch,
            options,
        };
        let heat = whole.heat(hits, &code, &lookup.places);
        hot_lines.extend(
            heat.hot
                .iter()
                .filter(|(_, hot)| hot.share >= options.least_share)
                .filter_map(|(address, _)| Some(code.holding(*address)?.0)),
        );
        events.push(heat);
    }
    hot_lines.sort_unstable();
    let shown = shown(code.len(), &hot_lines, options.context);
    let listing = Listing { object: id, order, syntax: options.syntax };
    let (items, reasons) = listing.items(&code, &shown, &types, lookup);
    notes.extend(reasons);
    let routine = Extent { name, object, start, end };
    Ok(Annotation { report, routine, items, notes, events })
}

struct Whole<'w> {
    weighting: Weighting,
    of_event: Sum,
    meaning: &'w Meaning,
    /// The even one of the event; see [`Register::interval`](crate::registers::Register).
    interval: u64,
    arch: Arch,
    options: ListingOptions,
}

impl Whole<'_> {
    fn heat(&self, hits: Vec<(u64, InstructionHits)>, code: &Code, places: &PlaceNames) -> Heat {
        let mut sum = Sum::default();
        hits.iter().for_each(|(_, hit)| sum.join(hit.sum));
        let mut ranks: Vec<u64> =
            hits.iter().map(|(_, hit)| hit.sum.weight(self.weighting)).collect();
        ranks.sort_unstable_by_key(|weight| std::cmp::Reverse(*weight));
        let least = match self.options.detailed.checked_sub(1) {
            Some(last) => ranks.get(last).or(ranks.last()).copied().unwrap_or(0),
            None => u64::MAX,
        };
        let mut heat = Heat {
            count: sum.count,
            period: sum.period,
            exact: sum.exact,
            share: sum.share(self.of_event, self.weighting),
            reading: self.meaning.sentence(sum),
            hot: BTreeMap::new(),
            misplaced: BTreeMap::new(),
        };
        let mut left = self.options.detailed;
        for (address, hit) in hits {
            let found = code.holding(address);
            if !found.is_some_and(|(_, begins)| begins) {
                heat.misplaced.insert(address, hit.sum.count);
            }
            let own = hit.sum;
            let cause = self.meaning.cause(own);
            let is_told = left > 0 && own.weight(self.weighting) >= least;
            left -= usize::from(is_told);
            let share = own.share(sum, self.weighting);
            let details = is_told.then(|| {
                let begins = found.filter(|(_, begins)| *begins);
                let access = begins.and_then(|(index, _)| access(code, index, cause, self.meaning));
                let sampling = HitSampling { arch: self.arch, interval: self.interval };
                details(hit, access, self.meaning, sampling, places)
            });
            let Sum { count, period, exact, .. } = own;
            heat.hot
                .insert(address, HotInstruction { count, period, exact, share, cause, details });
        }
        heat
    }
}
