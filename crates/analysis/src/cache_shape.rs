//! The cache that misses are judged by.

use serde::Serialize;

/// From the core outwards: which cache, or TLB, an event's misses are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MissedLevel {
    /// The first cache for data.
    L1d,
    /// The second.
    L2,
    /// The last.
    L3,
    /// Translations of data addresses.
    Dtlb,
    /// The second level of them: what it lacks is walked for.
    Stlb,
}

/// A cache, or a TLB, as far as its misses depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CacheShape {
    /// Lines, or pages, that it holds.
    pub entries: u64,
    /// Of a set; as many as entries: it has one set.
    pub ways: u64,
    /// Bytes of a line, or page.
    pub unit: u64,
}

impl MissedLevel {
    /// By an event's name, as types and the makers of CPUs spell it; None: its
    /// samples are not about one of these.
    pub fn of_event(name: &str) -> Option<MissedLevel> {
        let name = name.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if !has(&["miss", "walk", "refill"]) || has(&["l1i", "itlb", "branch"]) {
            return None;
        }
        Some(match () {
            () if has(&["stlb_miss", "walk"]) => MissedLevel::Stlb,
            () if has(&["tlb"]) => MissedLevel::Dtlb,
            () if has(&["l1"]) => MissedLevel::L1d,
            () if has(&["l2"]) => MissedLevel::L2,
            () if has(&["l3", "llc", "longest_lat"]) => MissedLevel::L3,
            () => return None,
        })
    }

    /// As tables have it.
    pub fn name(self) -> &'static str {
        match self {
            MissedLevel::L1d => "L1D",
            MissedLevel::L2 => "L2",
            MissedLevel::L3 => "L3",
            MissedLevel::Dtlb => "DTLB",
            MissedLevel::Stlb => "STLB",
        }
    }

    /// What it holds.
    pub fn unit(self) -> &'static str {
        if self.is_of_pages() { "page" } else { "line" }
    }

    /// Whether it holds translations.
    pub fn is_of_pages(self) -> bool {
        matches!(self, MissedLevel::Dtlb | MissedLevel::Stlb)
    }

    /// Whether each core has one of its own, out of which writes of others take
    /// lines.
    pub fn is_of_one_core(self) -> bool {
        matches!(self, MissedLevel::L1d | MissedLevel::L2)
    }

    /// Whether the sets that virtual addresses fall into say anything: the first
    /// cache is indexed within a page, the second by physical addresses, and
    /// the last by a hash of them.
    pub fn is_indexed_virtually(self) -> bool {
        self == MissedLevel::L1d
    }
}

impl CacheShape {
    /// 1 or more.
    pub fn sets(&self) -> u64 {
        (self.entries / self.ways.max(1)).max(1)
    }

    /// Bytes that it holds, or translates.
    pub fn bytes(&self) -> u64 {
        self.entries.saturating_mul(self.unit)
    }

    /// `32K/8`, as notes of emulated streams have a cache; of a TLB `64/full`,
    /// in pages of 4 KiB.
    pub(crate) fn parse(text: &str, level: MissedLevel) -> Option<CacheShape> {
        let (size, ways) = text.split_once('/')?;
        let (number, scale) = match size.strip_suffix(['K', 'M', 'G']) {
            None => (size, 1),
            Some(number) if size.ends_with('K') => (number, 1 << 10),
            Some(number) if size.ends_with('M') => (number, 1 << 20),
            Some(number) => (number, 1 << 30),
        };
        let size: u64 = number.parse::<u64>().ok()?.checked_mul(scale)?;
        let (entries, unit) = match level.is_of_pages() {
            true => (size, 4096),
            false => (size / 64, 64),
        };
        let ways = if ways == "full" { entries } else { ways.parse().ok()? };
        (entries > 0 && ways > 0).then_some(CacheShape { entries, ways, unit })
    }

    /// Of a model as notes name it: `32K/8 L1D, 512K/8 L2, 64/full DTLB`. Where
    /// there is one level of TLBs, what it lacks is walked for.
    pub(crate) fn in_model(model: &str, level: MissedLevel) -> Option<CacheShape> {
        let of = |wanted: MissedLevel| {
            let mut caches = model.split(", ").filter_map(|cache| cache.split_once(' '));
            let is_it = |name: &str| name.split([' ', ':']).next() == Some(wanted.name());
            let (shape, _) = caches.find(|(_, name)| is_it(name))?;
            CacheShape::parse(shape, wanted)
        };
        of(level).or_else(|| of(MissedLevel::Dtlb).filter(|_| level == MissedLevel::Stlb))
    }
}

/// Bytes in the largest unit that says them shortly.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (name, unit) in UNITS {
        if bytes >= unit && bytes.is_multiple_of(unit / 4) {
            return format!("{} {name}", bytes as f64 / unit as f64);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_told_by_the_events_names() {
        for (name, expected) in [
            ("emulated/l1_cache_miss/", Some(MissedLevel::L1d)),
            ("MEM_LOAD_RETIRED.L2_MISS", Some(MissedLevel::L2)),
            ("mem_load_uops_retired.llc_miss", Some(MissedLevel::L3)),
            ("dtlb_load_miss", Some(MissedLevel::Dtlb)),
            ("page_walk", Some(MissedLevel::Stlb)),
            ("dtlb_load_misses.stlb_hit", Some(MissedLevel::Dtlb)),
            ("mem_inst_retired.stlb_miss_loads", Some(MissedLevel::Stlb)),
            ("l1i_miss", None),
            ("instr_retired", None),
            ("mem_load_retired.l1_hit", None),
            ("branch_miss_retired", None),
        ] {
            assert_eq!(MissedLevel::of_event(name), expected, "{name}");
        }
    }

    #[test]
    fn models_tell_shapes() {
        let model = "32K/8 L1D, 32K/8 L1I, 512K/8 L2, 32M/16 L3, 64/full DTLB";
        let of = |level| CacheShape::in_model(model, level);
        let l1 = of(MissedLevel::L1d).unwrap();
        assert_eq!((l1.entries, l1.ways, l1.sets(), l1.bytes()), (512, 8, 64, 32 << 10));
        let tlb = of(MissedLevel::Dtlb).unwrap();
        assert_eq!((tlb.entries, tlb.sets(), tlb.unit), (64, 1, 4096));
        assert_eq!(of(MissedLevel::Stlb), Some(tlb), "it has one level");
        let two = CacheShape::in_model("64/4 DTLB, 1536/12 STLB", MissedLevel::Stlb).unwrap();
        assert_eq!((two.entries, two.ways), (1536, 12));
        assert_eq!(of(MissedLevel::L3).unwrap().sets(), 32768);
        for bad in ["", "32K", "K/8", "0K/8", "32K/0", "32X/8", "99999999999999999999/8"] {
            assert_eq!(CacheShape::parse(bad, MissedLevel::L1d), None, "{bad:?}");
        }
        assert_eq!(CacheShape::in_model("off L1D", MissedLevel::L1d), None);
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(32 << 10), "32 KiB");
        assert_eq!(size(1536 << 10), "1.5 MiB");
        assert_eq!(size(100), "100 bytes");
    }
}
