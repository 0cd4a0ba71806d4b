//! Descriptions of caches: `zen3 l2=off l1d=32k,8,64:4 dtlb=64,full walk=30`.

use super::{CacheGeometry, Geometry, GeometryError, PRESETS, TlbGeometry};
use crate::model::{AccessCosts, LINE};

const CACHES: [&str; 4] = ["l1d", "l1i", "l2", "l3"];
const TLBS: [&str; 2] = ["dtlb", "stlb"];
/// What is no structure and takes time.
const TIMES: [&str; 4] = ["memory", "modified", "walk", "blocked"];
/// Cycles at most: more than any memory takes.
const CYCLES: u64 = 10_000;
/// Ways of any structure but a first-level TLB: sets are searched in order.
const WAYS: u64 = 128;

impl Geometry {
    /// Changes this geometry as a description says: items separated by
    /// spaces, each a machine's name (then all of it is that machine's) or
    /// `LEVEL=off`, `LEVEL=SIZE,WAYS` or `LEVEL=SIZE,WAYS,LINE`, of `l1d`, `l2`,
    /// `l3` and `stlb` with `:CYCLES` behind it, what a hit takes (of `stlb`:
    /// what it takes more than one in `dtlb`). Sizes are
    /// in bytes, k, m or g (powers of 1024); TLBs' in pages; WAYS may be `full`.
    /// `memory=CYCLES`, `modified=CYCLES` (a line that another core has
    /// written), `walk=CYCLES` and `blocked=CYCLES` (more, for a walk of the
    /// page tables, and for a load that waits for a store) are no levels.
    ///
    /// # Errors
    /// [`GeometryError`], which quotes the item.
    pub fn with(mut self, description: &str) -> Result<Geometry, GeometryError> {
        for item in description.split_whitespace() {
            let lower = item.to_ascii_lowercase();
            if let Some((_, levels)) = PRESETS.iter().find(|(name, _)| *name == lower) {
                self = self.with(levels)?;
                continue;
            }
            let unknown = || GeometryError::Unknown(item.to_owned());
            let (level, value) = lower.split_once('=').ok_or_else(unknown)?;
            let level = if level == "ll" { "l3" } else { level };
            if let Some(&level) = TIMES.iter().find(|&&known| known == level) {
                let cycles = Item { item, level }.cycles(value)?;
                let AccessCosts { lines: [.., modified, memory], pages: [.., walk], blocked } =
                    &mut self.costs;
                *match level {
                    "memory" => memory,
                    "modified" => modified,
                    "walk" => walk,
                    _ => blocked,
                } = cycles;
                continue;
            }
            let (value, cycles) = match value.split_once(':') {
                Some((value, cycles)) => (value, Some(cycles)),
                None => (value, None),
            };
            if let Some(cycles) = cycles {
                let known = ["l1d", "l2", "l3", "stlb"].into_iter().find(|&known| known == level);
                let Some(level) = known else { return Err(untimed(item, level)) };
                let cycles = Item { item, level }.cycles(cycles)?;
                let AccessCosts { lines: [l1d, l2, l3, ..], pages: [_, _, stlb, _], .. } =
                    &mut self.costs;
                *match level {
                    "l1d" => l1d,
                    "l2" => l2,
                    "l3" => l3,
                    _ => stlb,
                } = cycles;
            }
            if let Some(&level) = CACHES.iter().find(|&&known| known == level) {
                let cache = Item { item, level }.cache(value)?;
                *match level {
                    "l1d" => &mut self.l1d,
                    "l1i" => &mut self.l1i,
                    "l2" => &mut self.l2,
                    _ => &mut self.l3,
                } = cache;
            } else if let Some(&level) = TLBS.iter().find(|&&known| known == level) {
                let tlb = Item { item, level }.tlb(value)?;
                *if level == "dtlb" { &mut self.dtlb } else { &mut self.stlb } = tlb;
            } else {
                return Err(unknown());
            }
        }
        Ok(self)
    }
}

impl Geometry {
    /// Whether a description is also of TLBs, by itself or by a machine's name.
    #[must_use]
    pub fn names_tlbs(description: &str) -> bool {
        let lower = description.to_ascii_lowercase();
        lower.split_whitespace().any(|item| match item.split_once('=') {
            Some((level, _)) => TLBS.contains(&level),
            None => PRESETS.iter().any(|(name, _)| *name == item),
        })
    }

    #[must_use]
    pub fn without_tlbs(self) -> Geometry {
        Geometry { dtlb: None, stlb: None, ..self }
    }
}

#[derive(Clone, Copy)]
struct Item<'a> {
    item: &'a str,
    level: &'static str,
}

impl Item<'_> {
    fn form(&self, what: String) -> GeometryError {
        GeometryError::Form { item: self.item.to_owned(), what, level: self.level }
    }

    fn size(&self, what: String) -> GeometryError {
        GeometryError::Size { item: self.item.to_owned(), what }
    }

    fn cycles(&self, text: &str) -> Result<u64, GeometryError> {
        let number = text.parse().ok().filter(|cycles| (1..=CYCLES).contains(cycles));
        number.ok_or_else(|| GeometryError::Cycles { item: self.item.to_owned(), most: CYCLES })
    }

    /// The numbers of a value; None for `off`.
    fn numbers(&self, value: &str) -> Result<Option<CacheNumbers>, GeometryError> {
        if value == "off" {
            return Ok(None);
        }
        let parts: Vec<&str> = value.split(',').collect();
        let (size, ways, line) = match parts.as_slice() {
            [size, ways] => (*size, *ways, None),
            [size, ways, line] => (*size, *ways, Some(*line)),
            _ => return Err(self.form("a size and the number of ways are wanted".into())),
        };
        let number = |text: &str| {
            let wrong = || self.form(format!("{text:?} is not a size"));
            bytes(text).filter(|&number| number > 0).ok_or_else(wrong)
        };
        let ways = if ways == "full" { None } else { Some(number(ways)?) };
        let line = line.map(number).transpose()?;
        Ok(Some(CacheNumbers { size: number(size)?, ways, line }))
    }

    fn cache(&self, value: &str) -> Result<Option<CacheGeometry>, GeometryError> {
        let Some(CacheNumbers { size: bytes, ways, line }) = self.numbers(value)? else {
            return Ok(None);
        };
        if line.is_some_and(|line| line != LINE) {
            return Err(self.size("lines have 64 bytes in the emulated PMU".into()));
        }
        let lines = bytes / LINE;
        let ways = ways.unwrap_or(lines);
        let most = if self.level.starts_with("l1") { 4 << 20 } else { 4 << 30 };
        if bytes > most {
            return Err(self.size(format!("more than {} bytes", most)));
        }
        if ways == 0 || bytes % (LINE * ways) != 0 {
            return Err(self.size(format!(
                "{bytes} bytes are no whole number of sets of {ways} lines of {LINE} bytes"
            )));
        }
        if ways > WAYS {
            return Err(self.size(format!("{ways} ways, at most {WAYS} are modelled")));
        }
        let sets = lines / ways;
        if self.level != "l3" && !sets.is_power_of_two() {
            return Err(self.size(format!(
                "{sets} sets, not a power of two; only l3 may have any number of sets"
            )));
        }
        Ok(Some(CacheGeometry { bytes, ways }))
    }

    fn tlb(&self, value: &str) -> Result<Option<TlbGeometry>, GeometryError> {
        let Some(CacheNumbers { size: entries, ways, line }) = self.numbers(value)? else {
            return Ok(None);
        };
        if line.is_some() {
            return Err(self.form("a TLB has no lines".into()));
        }
        let ways = ways.unwrap_or(entries);
        let (entries_most, ways_most) =
            if self.level == "dtlb" { (4096, 4096) } else { (1 << 20, WAYS) };
        if entries > entries_most || ways > ways_most {
            return Err(self.size(format!(
                "at most {entries_most} entries in sets of {ways_most} are modelled"
            )));
        }
        if entries % ways != 0 {
            return Err(
                self.size(format!("{entries} entries are no whole number of sets of {ways}"))
            );
        }
        Ok(Some(TlbGeometry { entries, ways }))
    }
}

fn untimed(item: &str, level: &str) -> GeometryError {
    match level {
        "l1i" | "dtlb" => GeometryError::Size {
            item: item.to_owned(),
            what: "a hit there takes no time of its own: leave the cycles out".to_owned(),
        },
        _ => GeometryError::Unknown(item.to_owned()),
    }
}

/// What an item says: ways are None for `full`.
struct CacheNumbers {
    size: u64,
    ways: Option<u64>,
    line: Option<u64>,
}

/// Bytes, also in k, m or g (powers of 1024).
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let units = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];
    let unit = units.iter().find_map(|(letter, unit)| Some((text.strip_suffix(letter)?, *unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse::<u64>().ok()?.checked_mul(unit)).flatten()
}
