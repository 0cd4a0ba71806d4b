//! Events by their makers' names.

use std::sync::LazyLock;

use super::table::{self, columns, hex, lists};
use super::{Microarchitecture, encoding};
use crate::spelling::{best_three, likeness};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedEvent {
    /// The name in lower case: "mem_load_retired.l1_miss".
    pub name: &'static str,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// `perf_event_attr.config1`: a threshold, a latency, what the offcore
    /// or front-end register is to hold.
    pub config1: u64,
    /// Whether the CPU can sample it precisely and the kernel lets it.
    pub precise: bool,
    /// The most useful `precise_ip`: 0, 2 or 3.
    pub most_precise: u8,
    /// Whether precise samples carry the data address.
    pub data_address: bool,
    /// Events between samples, unless the user says otherwise.
    pub default_interval: u64,
    pub deprecated: bool,
}

/// The rows of the table in its order, and the sets of cores that its front
/// defines.
struct EventNames {
    rows: Vec<[&'static str; 6]>,
    sets: Vec<&'static str>,
}

static NAMES: LazyLock<EventNames> = LazyLock::new(|| {
    let mut names = EventNames { rows: Vec::new(), sets: Vec::new() };
    for line in table::NAMES.lines() {
        if line.starts_with('=') {
            names.sets.extend(columns::<2>(line).map(|[_, cores]| cores));
        } else {
            names.rows.extend(columns(line));
        }
    }
    names
});

impl EventNames {
    fn sets_of(&self, core: Microarchitecture) -> Vec<bool> {
        self.sets.iter().map(|cores| lists(cores, core.0)).collect()
    }
}

fn is_of(row: &[&str; 6], sets: &[bool]) -> bool {
    usize::from_str_radix(row[5], 16).ok().and_then(|set| sets.get(set)).copied() == Some(true)
}

fn parse(row: &[&'static str; 6]) -> Option<NamedEvent> {
    let [name, config, config1, flags, interval, _] = *row;
    let most_precise = flags.bytes().find(u8::is_ascii_digit).map_or(0, |digit| digit - b'0');
    Some(NamedEvent {
        name,
        config: hex(config)?,
        config1: hex(config1)?,
        precise: most_precise > 0,
        most_precise,
        data_address: flags.contains('a'),
        default_interval: interval.parse().ok()?,
        deprecated: flags.contains('d'),
    })
}

/// The core's event of that name. Letter case makes no difference, nor does
/// `:` in the place of `.`. The PMU is the core's own; IBS has no named
/// events.
pub fn named(core: Microarchitecture, pmu: &str, name: &str) -> Option<NamedEvent> {
    encoding::static_pmu(pmu).filter(|found| *found == pmu)?;
    let wanted = name.to_ascii_lowercase().replace(':', ".");
    let names = &*NAMES;
    let start = names.rows.partition_point(|row| row[0] < wanted.as_str());
    let sets = names.sets_of(core);
    let same = names.rows[start..].iter().take_while(|row| row[0] == wanted);
    same.filter(|row| is_of(row, &sets)).find_map(parse)
}

pub(crate) fn is_named(name: &str) -> bool {
    let wanted = name.to_ascii_lowercase().replace(':', ".");
    NAMES.rows.binary_search_by_key(&wanted.as_str(), |row| row[0]).is_ok()
}

/// Every named event of the core, sorted by name.
pub fn names(core: Microarchitecture, pmu: &str) -> impl Iterator<Item = NamedEvent> {
    let own = encoding::static_pmu(pmu) == Some(pmu);
    let sets = if own { NAMES.sets_of(core) } else { Vec::new() };
    NAMES.rows.iter().filter(move |row| is_of(row, &sets)).filter_map(parse)
}

/// At most three named events of the core like `typed`, best first.
pub fn nearest_names(core: Microarchitecture, pmu: &str, typed: &str) -> Vec<&'static str> {
    let typed = typed.to_ascii_lowercase().replace(':', ".");
    best_three(names(core, pmu).map(|event| (likeness(&typed, event.name), event.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_an_event_and_sorted() {
        let lines = table::NAMES.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(lines, NAMES.rows.len() + NAMES.sets.len());
        assert!(NAMES.rows.is_sorted_by_key(|row| row[0]));
        for (place, line) in table::NAMES.lines().filter(|line| line.starts_with('=')).enumerate() {
            assert!(line.starts_with(&format!("={place:x}\t")), "{line}");
        }
        for row in &NAMES.rows {
            let event = parse(row).unwrap_or_else(|| panic!("{row:?}"));
            assert!(event.most_precise != 1 && event.most_precise <= 3, "{event:?}");
            assert!(event.precise || !event.data_address, "{event:?}");
            assert!(usize::from_str_radix(row[5], 16).unwrap() < NAMES.sets.len(), "{row:?}");
        }
    }

    #[test]
    fn names_are_found_however_written() {
        let core = Microarchitecture("skylakex");
        let miss = named(core, "cpu", "MEM_LOAD_RETIRED.L1_MISS").unwrap();
        assert_eq!((miss.config, miss.precise, miss.data_address), (0x08d1, true, true));
        assert_eq!(named(core, "cpu", "mem_load_retired:l1_miss"), Some(miss));
        assert_eq!(named(core, "cpu", "mem_load_retired.l1"), None);
        assert_eq!(named(core, "ibs_op", "mem_load_retired.l1_miss"), None);
        assert_eq!(named(Microarchitecture("zen4"), "cpu", "MEM_LOAD_RETIRED.L1_MISS"), None);
        let nearest = nearest_names(core, "cpu", "mem_load_retired.l1_mis");
        assert_eq!(nearest.first(), Some(&"mem_load_retired.l1_miss"));
        assert!(names(core, "cpu").all(|event| named(core, "cpu", event.name) == Some(event)));
    }

    #[test]
    fn what_nehalem_refuses_is_not_precise() {
        let core = Microarchitecture("nehalem");
        let loads = named(core, "cpu", "mem_inst_retired.loads").unwrap();
        assert_eq!((loads.config, loads.precise), (0x010b, false));
    }
}
