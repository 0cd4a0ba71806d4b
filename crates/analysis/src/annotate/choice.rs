//! One routine of those that may be meant.

use crate::annotate::collect::{Candidate, TargetHits};
use crate::error::{ChoiceError, Commonest};
use crate::name::place_names::PlaceNames;
use crate::query::glob::Glob;
use crate::query::nearest::nearest;
use crate::query::site::SiteName;
use crate::query::target::{Fit, What};

/// Candidates that an error lists.
const LISTED: usize = 20;

pub(super) fn choose(
    hits: &TargetHits,
    counted: u64,
    places: &mut PlaceNames,
) -> Result<u32, ChoiceError> {
    let all = || hits.candidates.iter().enumerate().filter(|(_, it)| it.count > 0);
    let best = all().map(|(_, candidate)| candidate.fit).max();
    let mut fitting: Vec<(usize, &Candidate)> =
        all().filter(|(_, candidate)| Some(candidate.fit) == best).collect();
    let wanted = hits.target.to_string();
    match fitting.as_slice() {
        [] => Err(ChoiceError::Nothing {
            near: near(hits, places),
            wanted,
            counted,
            nameless: hits.nameless.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count)),
            why: commonest(hits),
        }),
        [(index, _)] => Ok(u32::try_from(*index).unwrap_or(u32::MAX)),
        _ => {
            fitting.sort_by_key(|(index, candidate)| (std::cmp::Reverse(candidate.count), *index));
            let total = fitting.len();
            let named = |candidate: &Candidate| {
                let is_one = |other: &&(usize, &Candidate)| {
                    other.1.name == candidate.name && other.1.object == candidate.object
                };
                fitting.iter().filter(is_one).count() == 1
            };
            let line = |(_, candidate): &(usize, &Candidate)| {
                let Candidate { name, object, at: (_, start, _), count, .. } = candidate;
                match named(candidate) && candidate.fit == best.unwrap_or(Fit::Whole) {
                    true if hits.target.what == What::Routine(name.to_string()) => {
                        format!("{count:>9}  {name}@{object}")
                    }
                    true => format!("{count:>9}  {name}  in {object}"),
                    false => format!("{count:>9}  {start:#x}@{object}  {name}"),
                }
            };
            let mut candidates: Vec<String> = fitting.iter().take(LISTED).map(line).collect();
            if total > LISTED {
                candidates.push(format!("           and {} more", total - LISTED));
            }
            Err(ChoiceError::Several { wanted, total, candidates })
        }
    }
}

/// Of equally many the first that was met.
fn commonest(hits: &TargetHits) -> Option<Commonest> {
    let of = hits.nameless.iter().rev().max_by_key(|(_, samples)| *samples);
    of.map(|(why, samples)| Commonest { why: why.clone(), samples: *samples })
}

fn near(hits: &TargetHits, places: &mut PlaceNames) -> Vec<String> {
    let What::Routine(wanted) = &hits.target.what else { return Vec::new() };
    let names = places.named(hits.places(), &SiteName::Routine(Glob::new(wanted.as_str())));
    nearest(wanted, names.iter().map(String::as_str)).into_iter().map(str::to_owned).collect()
}
