//! One routine of those that may be meant.

use super::spots::{Candidate, Spots};
use super::target::{Fit, What};
use crate::glob::Glob;
use crate::lookup::Lookup;
use crate::nearest::nearest;
use crate::site::Site;

/// Candidates that an error lists.
const LISTED: usize = 20;

/// Why no routine can be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// None has samples.
    #[error(
        "no sample lies in {wanted}, of {counted} counted{}{}",
        if near.is_empty() {
            "; `ebs report --by routine,object` lists the routines that have some".to_owned()
        } else {
            format!("; some lie in {}", near.join(", "))
        },
        match why {
            None => String::new(),
            Some(Commonest { why, samples }) if samples == nameless => {
                format!("; {nameless} have no routine name: {why}")
            }
            Some(Commonest { why, samples }) => {
                format!("; {nameless} have no routine name, {samples} of them: {why}")
            }
        }
    )]
    Nothing {
        /// As typed.
        wanted: String,
        /// Samples that passed the filters.
        counted: u64,
        /// Routines with samples that are called alike, nearest first.
        near: Vec<String>,
        /// Samples without a routine name.
        nameless: u64,
        /// The commonest reason why.
        why: Option<Commonest>,
    },
    /// Several have.
    #[error("{wanted} may be {total} routines; name one of them:\n{}", candidates.join("\n"))]
    Several {
        /// As typed.
        wanted: String,
        /// How many.
        total: usize,
        /// Samples, and what to type for each; most samples first.
        candidates: Vec<String>,
    },
}

/// The commonest reason why samples have no routine name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commonest {
    /// In a sentence.
    pub why: String,
    /// So many samples have none for it.
    pub samples: u64,
}

/// The number of the routine that is meant.
pub(super) fn choose(spots: &Spots, counted: u64, lookup: &mut Lookup) -> Result<u32, ChoiceError> {
    let all = || spots.candidates.iter().enumerate().filter(|(_, it)| it.count > 0);
    let best = all().map(|(_, candidate)| candidate.fit).max();
    let mut fitting: Vec<(usize, &Candidate)> =
        all().filter(|(_, candidate)| Some(candidate.fit) == best).collect();
    let wanted = spots.target.to_string();
    match fitting.as_slice() {
        [] => Err(ChoiceError::Nothing {
            near: near(spots, lookup),
            wanted,
            counted,
            nameless: spots.nameless.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count)),
            why: commonest(spots),
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
                    true if spots.target.what == What::Routine(name.to_string()) => {
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
fn commonest(spots: &Spots) -> Option<Commonest> {
    let of = spots.nameless.iter().rev().max_by_key(|(_, samples)| *samples);
    of.map(|(why, samples)| Commonest { why: why.clone(), samples: *samples })
}

/// Routines with samples that are called alike.
fn near(spots: &Spots, lookup: &mut Lookup) -> Vec<String> {
    let What::Routine(wanted) = &spots.target.what else { return Vec::new() };
    let names = lookup.named(spots.places(), &Site::Routine(Glob::new(wanted.as_str())));
    nearest(wanted, names.iter().map(String::as_str)).into_iter().map(str::to_owned).collect()
}
