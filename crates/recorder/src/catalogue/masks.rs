//! `-m NAME,...`: which part of an event is meant.

mod layout;

use std::fmt;

use super::{CatalogueType, Microarchitecture};
use crate::spelling::{best_three, likeness, suggestion};
use layout::{MaskLayout, layout};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskRole {
    Origin,
    Result,
    Part,
    /// A number, typed as NAME=N.
    Parameter,
}

impl fmt::Display for MaskRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MaskRole::Origin => "origin",
            MaskRole::Result => "result",
            MaskRole::Part => "part",
            MaskRole::Parameter => "parameter",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// What to type; "ldlat=N" for a number.
    pub name: &'static str,
    /// Bits of `config`; 0 for numbers, and where origin and result together
    /// choose a bit.
    pub bits: u64,
    pub role: MaskRole,
    pub meaning: &'static str,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComposedMasks {
    /// Bits to set in the encoding's `config`.
    pub bits: u64,
    /// Cycles to put in the place of the encoding's latency threshold.
    pub ldlat: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaskError {
    #[error("{name} has no masks on this CPU; leave out -m")]
    None { name: &'static str },
    #[error("{name} has no mask \"{typed}\" on this CPU{}; it has {all}", suggestion(nearest))]
    Unknown { name: &'static str, typed: String, nearest: Vec<&'static str>, all: String },
    #[error("{name} wants at least one {role}: -m {example}; {role}s are {all}")]
    Missing { name: &'static str, role: MaskRole, example: String, all: String },
    #[error("{name}: \"{typed}\": {wanted}")]
    Number { name: &'static str, typed: String, wanted: &'static str },
    #[error("{name}: ldlat is given twice")]
    Twice { name: &'static str },
}

/// Every mask of the type on that core, in the order to show them.
pub fn masks(core: Microarchitecture, entry: &CatalogueType) -> Vec<Mask> {
    layout(core, entry.name).map_or_else(Vec::new, |layout| layout.masks())
}

/// Turns mask names, as typed after `-m`, into bits for the type's encoding.
/// Letter case and `-` or `_` make no difference. Without masks: what the
/// type means by itself, where it means anything.
pub fn compose(
    core: Microarchitecture,
    entry: &CatalogueType,
    typed: &[String],
) -> Result<ComposedMasks, MaskError> {
    let name = entry.name;
    let typed: Vec<&str> =
        typed.iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect();
    let Some(layout) = layout(core, name) else {
        return if typed.is_empty() {
            Ok(ComposedMasks::default())
        } else {
            Err(MaskError::None { name })
        };
    };
    let all = layout.masks();
    let mut chosen = Vec::new();
    let mut ldlat = None;
    for word in typed {
        if let MaskLayout::Latency { least, most, wanted } = layout
            && word.split('=').next().is_some_and(|key| key.eq_ignore_ascii_case("ldlat"))
        {
            let number = word.split_once('=').and_then(|(_, number)| number.parse::<u16>().ok());
            let number = number.filter(|number| (least..=most).contains(number));
            let error = || MaskError::Number { name, typed: word.to_owned(), wanted };
            if ldlat.replace(number.ok_or_else(error)?).is_some() {
                return Err(MaskError::Twice { name });
            }
            continue;
        }
        let found =
            all.iter().find(|mask| same(mask.name, word) && mask.role != MaskRole::Parameter);
        chosen.push(*found.ok_or_else(|| unknown(name, word, &all))?);
    }
    let bits = match layout {
        MaskLayout::Latency { .. } => 0,
        MaskLayout::Parts { usual, .. } if chosen.is_empty() => usual,
        MaskLayout::Parts { .. } => any(&chosen),
        MaskLayout::Requests { .. } => {
            let wanted = layout.wanted();
            for role in &wanted {
                if !chosen.iter().any(|mask| mask.role == *role) {
                    return Err(missing(name, *role, &wanted, &all));
                }
            }
            layout.bits(&chosen)
        }
    };
    Ok(ComposedMasks { bits, ldlat })
}

fn any(chosen: &[Mask]) -> u64 {
    chosen.iter().fold(0, |bits, mask| bits | mask.bits)
}

fn same(name: &str, typed: &str) -> bool {
    let fold = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    name.len() == typed.len() && name.bytes().zip(typed.bytes()).all(|(a, b)| fold(a) == fold(b))
}

fn listed(all: &[Mask], role: Option<MaskRole>) -> String {
    let names = all.iter().filter(|mask| role.is_none_or(|role| mask.role == role));
    names.map(|mask| mask.name).collect::<Vec<_>>().join(", ")
}

fn unknown(name: &'static str, typed: &str, all: &[Mask]) -> MaskError {
    let nearest = best_three(all.iter().map(|mask| (likeness(typed, mask.name), mask.name)));
    MaskError::Unknown { name, typed: typed.to_owned(), nearest, all: listed(all, None) }
}

fn missing(name: &'static str, role: MaskRole, wanted: &[MaskRole], all: &[Mask]) -> MaskError {
    let last = |role: &MaskRole| {
        let mut of_role = all.iter().filter(|mask| mask.role == *role);
        match role {
            MaskRole::Origin => of_role.next(),
            _ => of_role.find(|mask| mask.name == "miss"),
        }
    };
    let example: Vec<_> = wanted.iter().filter_map(last).map(|mask| mask.name).collect();
    MaskError::Missing { name, role, example: example.join(","), all: listed(all, Some(role)) }
}

#[cfg(test)]
mod tests;
