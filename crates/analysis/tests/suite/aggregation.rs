//! Random recordings against a count that keeps everything and looks
//! everything up by hand.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::{Key, Query};
use proptest::prelude::{Strategy, prop, prop_assert_eq, prop_oneof, proptest};
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Happening {
    Sample {
        thread: usize,
        page: u64,
        kernel: bool,
        addr: u64,
    },
    /// The process maps one page; `path` 0..3.
    Map {
        thread: usize,
        page: u64,
        path: usize,
    },
    Rename {
        thread: usize,
        name: usize,
    },
    Exec {
        thread: usize,
        name: usize,
    },
    Fork {
        child: usize,
        parent: usize,
    },
}

const THREADS: usize = 4;
const PATHS: [&str; 3] = ["//anon", "/nowhere/a", "/nowhere/b"];
const NAMES: [&str; 3] = ["sh", "make", "cc1"];

/// Each thread is a process of its own: addresses follow the process.
fn happening() -> impl Strategy<Value = Happening> {
    let thread = 0..THREADS;
    prop_oneof![
        8 => (thread.clone(), 0u64..3, prop::bool::ANY, 0u64..4).prop_map(
            |(thread, page, kernel, addr)| Happening::Sample { thread, page, kernel, addr }
        ),
        3 => (thread.clone(), 0u64..3, 0..PATHS.len())
            .prop_map(|(thread, page, path)| Happening::Map { thread, page, path }),
        1 => (thread.clone(), 0..NAMES.len())
            .prop_map(|(thread, name)| Happening::Rename { thread, name }),
        1 => (thread.clone(), 0..NAMES.len())
            .prop_map(|(thread, name)| Happening::Exec { thread, name }),
        1 => (thread.clone(), thread).prop_map(|(child, parent)| Happening::Fork { child, parent }),
    ]
}

fn pid(thread: usize) -> i32 {
    thread as i32 + 10
}

#[derive(Clone, Debug, Default)]
struct Process {
    pages: BTreeMap<u64, usize>,
    name: Option<usize>,
}

/// Rows by object, comm, pid and addr, from the happenings in their order.
fn naive(happenings: &[Happening]) -> BTreeMap<Vec<String>, u64> {
    let mut processes = vec![Process::default(); THREADS];
    let mut rows: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    // A process of which no mapping was ever told is not one without any.
    let mut known = [false; THREADS];
    for happening in happenings {
        if let Happening::Map { thread, .. } | Happening::Exec { thread, .. } = happening {
            known[*thread] = true;
        }
    }
    for happening in happenings {
        match happening {
            Happening::Map { thread, page, path } => {
                processes[*thread].pages.insert(*page, *path);
            }
            Happening::Rename { thread, name } => processes[*thread].name = Some(*name),
            Happening::Exec { thread, name } => {
                processes[*thread] = Process { pages: BTreeMap::new(), name: Some(*name) };
            }
            Happening::Fork { child, parent } => {
                if child != parent {
                    processes[*child] = processes[*parent].clone();
                }
            }
            Happening::Sample { thread, page, kernel, addr } => {
                let process = &processes[*thread];
                let object = match process.pages.get(page) {
                    _ if *kernel => "[kernel]",
                    Some(path) => PATHS[*path],
                    None => "unmapped",
                };
                let name = process.name.map_or(format!(":{}", pid(*thread)), |n| NAMES[n].into());
                let row = vec![object.into(), name, pid(*thread).to_string(), addr.to_string()];
                *rows.entry(row).or_default() += 1;
            }
        }
    }
    rows
}

/// The same as a stream: cut into rounds, each shuffled, and records of a
/// round pushed into the next one where `late` says so.
fn stream(happenings: &[Happening], round: usize, late: &[bool], keys: &[u32]) -> Recording {
    let mut rounds: Vec<Vec<(u32, usize)>> = vec![Vec::new(); happenings.len() / round + 2];
    for index in 0..happenings.len() {
        let late = usize::from(late[index % late.len()]);
        rounds[index / round + late].push((keys[index % keys.len()], index));
    }
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for mut round in rounds {
        round.sort_by_key(|(key, index)| (key.wrapping_mul(*index as u32 | 1), *index));
        for (_, index) in round {
            write(&mut stream, &happenings[index], index as u64 + 1);
        }
        stream.round();
    }
    stream
}

fn write(stream: &mut Recording, happening: &Happening, time: u64) {
    match *happening {
        Happening::Sample { thread, page, kernel, addr } => {
            let (misc, ip) = match kernel {
                true => (KERNEL, 0xffff_ffff_8100_1000 + page),
                false => (USER, 0x1000 * (page + 1) + 5),
            };
            let own = task(pid(thread), pid(thread));
            stream.hit(&Hit { addr, ..Hit::new(misc, ip, own, time) });
        }
        Happening::Map { thread, page, path } => {
            let own = task(pid(thread), pid(thread));
            stream.map(own, time, 0x1000 * (page + 1)..0x1000 * (page + 2), PATHS[path]);
        }
        Happening::Rename { thread, name } => {
            stream.comm(task(pid(thread), pid(thread)), time, NAMES[name], false);
        }
        Happening::Exec { thread, name } => {
            stream.comm(task(pid(thread), pid(thread)), time, NAMES[name], true);
        }
        Happening::Fork { child, parent } if child != parent => {
            let (child, parent) = (task(pid(child), pid(child)), task(pid(parent), pid(parent)));
            stream.fork(child, parent, time);
        }
        Happening::Fork { .. } => {}
    }
}

/// Objects that say that nothing was mapped are one to the naive count.
fn same_unmapped(object: &str) -> String {
    let mapped = object == "[kernel]" || PATHS.contains(&object);
    if mapped { object.to_owned() } else { "unmapped".to_owned() }
}

proptest! {
    #[test]
    fn any_stream_counts_as_the_naive_way(
        happenings in prop::collection::vec(happening(), 1..120),
        round in 1usize..20,
        late in prop::collection::vec(prop::bool::ANY, 1..7),
        keys in prop::collection::vec(0u32..1000, 1..7),
    ) {
        let stream = stream(&happenings, round, &late, &keys);
        let query = Query { keys: Key::parse_list("object,comm,pid,addr").unwrap(), ..Query::default() };
        let report = report(query, &stream.bytes).unwrap();
        let event = &report.events[0];
        let mut counted: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        let text = analysis::csv::render(&report).unwrap();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let addr = u64::from_str_radix(fields[8].trim_start_matches("0x"), 16).unwrap();
            let row = vec![
                same_unmapped(fields[5]),
                fields[6].to_owned(),
                fields[7].to_owned(),
                addr.to_string(),
            ];
            *counted.entry(row).or_default() += fields[1].parse::<u64>().unwrap();
        }
        prop_assert_eq!(counted, naive(&happenings));
        prop_assert_eq!(event.totals.samples, event.totals.counted);
    }

    #[test]
    fn site_rows_are_the_sums_of_finer_rows(
        happenings in prop::collection::vec(happening(), 1..80),
        round in 1usize..9,
    ) {
        let stream = stream(&happenings, round, &[false, true], &[1, 2, 3]);
        let rows = |keys: &str| {
            let query = Query { keys: Key::parse_list(keys).unwrap(), ..Query::default() };
            report(query, &stream.bytes).unwrap().events[0].rows.clone()
        };
        let mut sums = BTreeMap::new();
        for row in rows("site,tid,addr,reg:ax") {
            *sums.entry(row.cells[0].clone()).or_insert(0) += row.count;
        }
        let sites: BTreeMap<_, _> =
            rows("site").into_iter().map(|row| (row.cells[0].clone(), row.count)).collect();
        // Rows that look alike are one.
        prop_assert_eq!(sites.len(), rows("site").len());
        prop_assert_eq!(sums, sites);
    }
}
