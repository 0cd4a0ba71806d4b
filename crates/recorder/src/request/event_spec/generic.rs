//! Names that the kernel gives a meaning on every CPU: "cycles",
//! "LLC-load-misses". [PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, linux/perf_event.h]

use perfdata::EventType;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenericEvent {
    /// PERF_TYPE_HARDWARE or PERF_TYPE_HW_CACHE.
    pub kind: EventType,
    /// PERF_COUNT_HW_*, or cache, operation << 8 and result << 16.
    pub config: u64,
    /// The first of its names.
    pub name: String,
}

/// By number: PERF_COUNT_HW_CPU_CYCLES is 0.
const HARDWARE: [&[&str]; 10] = [
    &["cycles", "cpu-cycles"],
    &["instructions"],
    &["cache-references"],
    &["cache-misses"],
    &["branches", "branch-instructions"],
    &["branch-misses"],
    &["bus-cycles"],
    &["stalled-cycles-frontend", "idle-cycles-frontend"],
    &["stalled-cycles-backend", "idle-cycles-backend"],
    &["ref-cycles"],
];

/// By number: PERF_COUNT_HW_CACHE_L1D is 0; and the operations that the
/// kernel counts there, by number.
const CACHES: [(&[&str], &[u64]); 7] = [
    (&["L1-dcache", "l1-d", "l1d", "L1-data"], &[READ, WRITE, PREFETCH]),
    (&["L1-icache", "l1-i", "l1i", "L1-instruction"], &[READ, PREFETCH]),
    (&["LLC", "L2"], &[READ, WRITE, PREFETCH]),
    (&["dTLB", "d-tlb", "Data-TLB"], &[READ, WRITE, PREFETCH]),
    (&["iTLB", "i-tlb", "Instruction-TLB"], &[READ]),
    (&["branch", "branches", "bpu", "btb", "bpc"], &[READ]),
    (&["node"], &[READ, WRITE, PREFETCH]),
];

const READ: u64 = 0;
const WRITE: u64 = 1;
const PREFETCH: u64 = 2;

/// By number; the first two names are singular and plural.
const OPERATIONS: [&[&str]; 3] = [
    &["load", "loads", "read"],
    &["store", "stores", "write"],
    &["prefetch", "prefetches", "speculative-read", "speculative-load"],
];

const RESULTS: [&[&str]; 2] = [&["refs", "Reference", "ops", "access"], &["misses", "miss"]];

/// The event of that name, in whatever letter case.
pub fn generic(name: &str) -> Option<GenericEvent> {
    let hardware = HARDWARE.iter().zip(0..).find(|(names, _)| is_one_of(names, name));
    if let Some((names, config)) = hardware {
        return Some(GenericEvent { kind: EventType::HARDWARE, config, name: names[0].to_owned() });
    }
    for ((names, operations), cache) in CACHES.iter().zip(0..) {
        // "branches-..." must not be taken for "branch" with more behind it.
        let rests = names.iter().filter_map(|start| behind(name, start));
        for rest in rests {
            let Some((operation, result)) = operation_and_result(rest) else { continue };
            return operations.contains(&operation).then(|| GenericEvent {
                kind: EventType::HW_CACHE,
                config: cache | operation << 8 | result << 16,
                name: cache_name(names[0], operation, result),
            });
        }
    }
    None
}

/// Every event's first name, for lists and for likeness.
pub fn generic_names() -> impl Iterator<Item = String> {
    let hardware = HARDWARE.iter().map(|names| names[0].to_owned());
    let caches = CACHES.iter().flat_map(|(names, operations)| {
        let pairs = operations.iter().flat_map(|&operation| [(operation, 0), (operation, 1)]);
        pairs.map(|(operation, result)| cache_name(names[0], operation, result))
    });
    hardware.chain(caches)
}

fn cache_name(cache: &str, operation: u64, result: u64) -> String {
    let names = usize::try_from(operation).ok().and_then(|index| OPERATIONS.get(index));
    let (one, many) = names.map_or(("", ""), |names| (names[0], names[1]));
    if result == 0 { format!("{cache}-{many}") } else { format!("{cache}-{one}-misses") }
}

/// What follows `start-` in `name`; "" when nothing does.
fn behind<'n>(name: &'n str, start: &str) -> Option<&'n str> {
    let (front, rest) = name.split_at_checked(start.len())?;
    if !front.eq_ignore_ascii_case(start) {
        return None;
    }
    if rest.is_empty() { Some("") } else { rest.strip_prefix('-').filter(|rest| !rest.is_empty()) }
}

/// Operation and result in either order; loads and accesses unless said.
fn operation_and_result(rest: &str) -> Option<(u64, u64)> {
    let operation = |word: &str| number(&OPERATIONS, word);
    let result = |word: &str| number(&RESULTS, word);
    if rest.is_empty() {
        return Some((READ, 0));
    }
    if let Some(operation) = operation(rest) {
        return Some((operation, 0));
    }
    if let Some(result) = result(rest) {
        return Some((READ, result));
    }
    // "speculative-read" has a dash of its own: every dash may part the two.
    rest.match_indices('-').find_map(|(at, _)| {
        let (first, second) = (&rest[..at], &rest[at + 1..]);
        let straight = operation(first).zip(result(second));
        straight.or_else(|| operation(second).zip(result(first)))
    })
}

fn number(table: &[&[&str]], word: &str) -> Option<u64> {
    table.iter().zip(0..).find(|(names, _)| is_one_of(names, word)).map(|(_, number)| number)
}

fn is_one_of(names: &[&str], word: &str) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(word))
}
