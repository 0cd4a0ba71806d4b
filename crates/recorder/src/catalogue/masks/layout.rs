//! How masks become bits: per type and core.
//!
//! L2_RQSTS (0x24) as the makers' names have it; which of the two hit bits
//! of Haswell to Granite Rapids is "modified" Intel does not say.

use super::{Mask, MaskRole};
use crate::catalogue::Microarchitecture;
use crate::catalogue::table::{self, columns, hex, lists, rows};

#[derive(Clone, Debug)]
pub(super) enum MaskLayout {
    /// At least one origin and one result, where there are both; their bits
    /// are joined, or each pair of them has a bit of its own.
    Requests {
        /// Origins, then results.
        masks: Vec<Mask>,
    },
    /// Any number; their bits are joined.
    Parts {
        masks: Vec<Mask>,
        /// Bits when none is named.
        usual: u64,
    },
    /// `ldlat=N`.
    Latency { least: u16, most: u16, wanted: &'static str },
}

impl MaskLayout {
    pub(super) fn masks(&self) -> Vec<Mask> {
        match self {
            MaskLayout::Requests { masks } | MaskLayout::Parts { masks, .. } => masks.clone(),
            MaskLayout::Latency { wanted, .. } => {
                vec![Mask { name: "ldlat=N", bits: 0, role: MaskRole::Parameter, meaning: wanted }]
            }
        }
    }

    pub(super) fn wanted(&self) -> Vec<MaskRole> {
        let MaskLayout::Requests { masks } = self else { return Vec::new() };
        let has = |role: &MaskRole| masks.iter().any(|mask| mask.role == *role);
        [MaskRole::Origin, MaskRole::Result].into_iter().filter(has).collect()
    }

    pub(super) fn bits(&self, chosen: &[Mask]) -> u64 {
        let masks = match self {
            // Origins and results choose bits in pairs: the first origin bits
            // 0 and 1.
            MaskLayout::Requests { masks } if super::any(masks) == 0 => masks,
            _ => return super::any(chosen),
        };
        let named = |name: &str| chosen.iter().any(|mask| mask.name == name);
        let results = u64::from(named("hit")) | u64::from(named("miss")) << 1;
        let of = |place: usize| results << (2 * place);
        let origins = masks.iter().filter(|mask| mask.role == MaskRole::Origin);
        let pairs = origins.enumerate().filter(|(_, origin)| named(origin.name));
        pairs.fold(0, |bits, (place, _)| bits | of(place) << 8)
    }
}

const LATENCY: MaskLayout = MaskLayout::Latency {
    least: 3,
    most: u16::MAX,
    wanted: "ldlat=N keeps loads that took at least N core cycles; N is 3 to 65535",
};
const LATENCY_ZEN5: MaskLayout = MaskLayout::Latency {
    least: 128,
    most: 2048,
    wanted: "ldlat=N keeps loads that missed the L3 and took at least N core cycles; N is 128 to \
             2048",
};

pub(super) fn layout(core: Microarchitecture, name: &str) -> Option<MaskLayout> {
    let masks = || Some(of_core(core, name)).filter(|masks| !masks.is_empty());
    match name {
        "l2_rqsts" => masks().map(|masks| MaskLayout::Requests { masks }),
        "fb_alloc" => masks().map(|masks| MaskLayout::Parts { masks, usual: 0x04 << 8 }),
        "load_latency" if core.0 == "zen5" => Some(LATENCY_ZEN5),
        "load_latency" if !core.is_amd() => Some(LATENCY),
        _ => None,
    }
}

fn of_core(core: Microarchitecture, name: &str) -> Vec<Mask> {
    let sets = table::MASKS.lines().filter_map(|line| columns::<2>(line.strip_prefix('=')?));
    let sets: Vec<_> = sets.filter(|[_, cores]| lists(cores, core.0)).map(|[set, _]| set).collect();
    let is_meant = |row: &[&str; 6]| row[0] == name && sets.iter().any(|set| lists(row[1], set));
    rows(table::MASKS).filter(is_meant).filter_map(parse).collect()
}

fn parse(row: [&'static str; 6]) -> Option<Mask> {
    let [_, _, role, name, bits, meaning] = row;
    let roles = [MaskRole::Origin, MaskRole::Result, MaskRole::Part];
    let role = roles.into_iter().find(|known| known.to_string() == role)?;
    Some(Mask { name, bits: hex(bits)?, role, meaning })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_mask_of_cores_that_the_tables_know() {
        let lines = table::MASKS.lines().filter(|line| !line.starts_with('#'));
        let (sets, masks): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with('='));
        let mut known = Vec::new();
        for line in sets {
            let [set, cores] = columns(line).unwrap_or_else(|| panic!("{line}"));
            known.push(set.trim_start_matches('='));
            for core in cores.split(',') {
                assert!(Microarchitecture::all().contains(&Microarchitecture(core)), "{core}");
            }
        }
        for line in masks {
            let row = columns(line).unwrap_or_else(|| panic!("{line}"));
            assert!(parse(row).is_some(), "{line}");
            assert!(row[1].split(',').all(|set| known.contains(&set)), "{line}");
        }
    }
}
