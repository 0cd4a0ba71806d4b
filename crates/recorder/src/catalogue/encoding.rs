//! What to open for a type on a core.

use perfdata::SampleFilter;
use perfdata::sample_filter::Condition;

use super::no_encoding::NoEncoding;
use super::table::{self, hex, lists, rows};
use super::{CatalogueType, Equivalence, EventKind, Microarchitecture};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Latency {
    /// Core cycles from a load's dispatch until its data could be used
    /// (Intel's load latency facility).
    UseLatency,
    /// Core cycles from a store's retirement until it was done.
    StoreLatency,
    /// Core cycles that a load's miss of the first-level data cache took;
    /// 0 for loads that hit (AMD IBS).
    DataCacheMiss,
}

/// One event of a core's PMU that stands for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The PMU: "cpu", "cpu_core", "cpu_atom", "cpu_lowpower", "ibs_op";
    /// "hardware" and "hw_cache" for the kernel's generic events.
    pub pmu: &'static str,
    /// The maker's name, several joined with `|` where their masks are
    /// opened as one event.
    pub event: &'static str,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// `perf_event_attr.config1`.
    pub config1: u64,
    /// The most useful `precise_ip`; 0: the event has skid, but for IBS,
    /// which is exact at 0.
    pub precise: u8,
    pub equivalence: Equivalence,
    pub data_address: bool,
    /// What WEIGHT measures; None when it has no meaning.
    pub latency: Option<Latency>,
    pub filter: SampleFilter,
    /// Events between samples, unless the user says otherwise.
    pub default_interval: u64,
    /// Counters that can count it, as the maker lists them; empty: any.
    pub counters: &'static str,
    /// Counters that spread samples evenly (precise_ip 3); 32 and up are
    /// fixed counters. Empty: none.
    pub pdist_counters: &'static str,
    /// The maker's errata, by number.
    pub errata: &'static str,
    /// What else is worth knowing; may be empty.
    pub note: &'static str,
}

impl Encoding {
    pub fn is_exact_ip(&self) -> bool {
        self.precise > 0 || self.pmu == "ibs_op"
    }

    /// Whether the instruction at a sample's IP says if it is of the type:
    /// with skid that would be another instruction.
    pub fn is_told_by_instruction(&self) -> bool {
        self.filter.asks(|condition| matches!(condition, Condition::Class(_)))
    }
}

/// Events to open together on the core's PMU for a type. `pmu` is the core's
/// PMU, "cpu" where IBS does the work.
pub fn encodings(
    core: Microarchitecture,
    pmu: &str,
    entry: &CatalogueType,
) -> Result<Vec<Encoding>, NoEncoding> {
    if !matches!(entry.kind, EventKind::Hardware(_)) {
        return Err(NoEncoding::NotHardware { name: entry.name });
    }
    let Some(pmu) = static_pmu(pmu) else {
        return Err(NoEncoding::NotCore { pmu: pmu.to_owned() });
    };
    let found: Vec<_> = of_core(core.0, entry.name, pmu).collect();
    if found.is_empty() { Err(NoEncoding::of(core, entry.name)) } else { Ok(found) }
}

/// The kernel's generic events for a type: what there is on a CPU that the
/// tables do not know.
pub fn generic_encodings(entry: &CatalogueType) -> Result<Vec<Encoding>, NoEncoding> {
    let found: Vec<_> = of_core("generic", entry.name, "cpu").collect();
    if found.is_empty() { Err(NoEncoding::Generic { name: entry.name }) } else { Ok(found) }
}

/// A type's IBS events, the same on every AMD CPU since Zen.
pub fn ibs_encodings(entry: &CatalogueType) -> Result<Vec<Encoding>, NoEncoding> {
    const NEWEST: &str = "zen5";
    let found: Vec<_> =
        of_core(NEWEST, entry.name, "cpu").filter(|have| have.pmu == "ibs_op").collect();
    if found.is_empty() { Err(NoEncoding::Generic { name: entry.name }) } else { Ok(found) }
}

/// The first type that some core counts by an event of that maker's name,
/// written as for [`super::named()`], without sorting its samples.
pub(crate) fn type_of_name(name: &str) -> Option<&'static CatalogueType> {
    let name = name.replace(':', ".");
    type_by(|encoding| encoding.event.split('|').any(|event| event.eq_ignore_ascii_case(&name)))
}

/// The first type that the kernel's event of this number is near to.
pub(crate) fn type_of_generic(
    kind: perfdata::EventType,
    config: u64,
) -> Option<&'static CatalogueType> {
    // Of the third level, which the kernel's numbers have as the last, and
    // of stores: no core's encoding for any type.
    let of_cache = match config {
        0x2 | 0x102 => "l2_cache_miss",
        0x1_0002 | 0x1_0102 => "l3_cache_miss",
        0x1_0100 => "l1_cache_miss",
        _ => "",
    };
    let pmu = match kind {
        perfdata::EventType::HARDWARE => "hardware",
        perfdata::EventType::HW_CACHE if !of_cache.is_empty() => return super::find(of_cache),
        perfdata::EventType::HW_CACHE => "hw_cache",
        _ => return None,
    };
    type_by(|encoding| encoding.pmu == pmu && encoding.config == config)
}

fn type_by(is_meant: impl Fn(&Encoding) -> bool) -> Option<&'static CatalogueType> {
    let mut all = rows(table::TYPES).chain(rows(table::EXTRA));
    let row = all.find(|row| {
        parse(*row, "cpu")
            .is_some_and(|found| found.equivalence != Equivalence::Emulated && is_meant(&found))
    });
    super::find(row?[0])
}

pub(super) fn static_pmu(pmu: &str) -> Option<&'static str> {
    ["cpu", "cpu_core", "cpu_atom", "cpu_lowpower"]
        .into_iter()
        .find(|have| *have == pmu)
        .or_else(|| (pmu == "ibs_op").then_some("cpu"))
}

fn of_core(
    core: &'static str,
    name: &'static str,
    pmu: &'static str,
) -> impl Iterator<Item = Encoding> {
    rows(table::TYPES)
        .chain(rows(table::EXTRA))
        .filter(move |row: &[&str; 15]| row[0] == name && lists(row[1], core))
        .filter_map(move |row| parse(row, pmu))
}

fn parse(row: [&'static str; 15], core_pmu: &'static str) -> Option<Encoding> {
    let [_, _, pmu, config, config1, precise, equivalence, flags, filter, ..] = row;
    let [.., interval, counters, pdist_counters, errata, event, note] = row;
    Some(Encoding {
        pmu: if pmu == "core" { core_pmu } else { pmu },
        event,
        config: hex(config)?,
        config1: hex(config1)?,
        precise: precise.parse().ok()?,
        equivalence: equivalence.parse().ok()?,
        data_address: flags.contains('a'),
        latency: if flags.contains('u') {
            Some(Latency::UseLatency)
        } else if flags.contains('s') {
            Some(Latency::StoreLatency)
        } else if flags.contains('m') {
            Some(Latency::DataCacheMiss)
        } else {
            None
        },
        filter: filter.parse().ok()?,
        default_interval: interval.parse().ok()?,
        counters,
        pdist_counters,
        errata,
        note,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_an_encoding() {
        for table in [table::TYPES, table::EXTRA] {
            let lines = table.lines().filter(|line| !line.starts_with('#'));
            for line in lines {
                let row = table::columns::<15>(line).unwrap_or_else(|| panic!("{line}"));
                let encoding = parse(row, "cpu").unwrap_or_else(|| panic!("{line}"));
                let entry = super::super::find(row[0]).unwrap_or_else(|| panic!("{line}"));
                assert_eq!(entry.name, row[0], "rows carry the types' first names");
                assert!(encoding.precise <= 3 && encoding.default_interval > 0, "{line}");
                assert!(!encoding.event.is_empty(), "{line}");
                if encoding.pmu == "ibs_op" {
                    assert_eq!(encoding.default_interval % 16, 0, "{line}");
                    assert_eq!(encoding.config, 1 << 19, "counts micro-operations: {line}");
                }
                for core in row[1].split(',').filter(|core| *core != "generic") {
                    assert!(Microarchitecture::all().contains(&Microarchitecture(core)), "{core}");
                }
            }
        }
    }
}
