//! Against a model that keeps the records and searches them backwards.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Told {
    Map { start: u64, length: u64, object: Option<u32> },
    Exec,
    Fork { parent: i32 },
}

/// What process `pid` had at `address`, of records sorted by time of which
/// the first `count` have happened.
fn model(told: &[(i32, Told)], count: usize, pid: i32, address: u64) -> Option<u32> {
    for (index, (_, record)) in
        told.iter().enumerate().take(count).rev().filter(|(_, (other, _))| *other == pid)
    {
        match *record {
            Told::Map { start, length, object } if (start..start + length).contains(&address) => {
                return object;
            }
            Told::Map { .. } => {}
            Told::Exec => return None,
            Told::Fork { parent } => return model(told, index, parent, address),
        }
    }
    None
}

fn tell(timelines: &mut Timelines, time: u64, pid: i32, record: Told) {
    let (pid, time) = (Pid(pid), Time(time));
    match record {
        Told::Map { start, length, object } => {
            let mapping = object.map(|object| ObjectMapping {
                object: ObjectId(object),
                start,
                offset: 0,
                executable: true,
            });
            timelines.map(pid, time, AddressExtent { start, length }, mapping);
        }
        Told::Exec => timelines.exec(pid, time),
        Told::Fork { parent } => timelines.fork(pid, Pid(parent), time),
    }
}

fn record() -> impl Strategy<Value = (i32, Told)> {
    let map = (0_u64..32, 1_u64..16, prop::option::weighted(0.8, 0_u32..1000))
        .prop_map(|(start, length, object)| Told::Map { start, length, object });
    let told = prop_oneof![6 => map, 1 => Just(Told::Exec), 1 => (1..4).prop_map(|parent| Told::Fork { parent })];
    (1..4_i32, told)
}

proptest! {
    #[test]
    fn any_order_of_telling_answers_as_the_model(
        told in prop::collection::vec(record(), 0..24),
        order in any::<u64>(),
    ) {
        // Record k happens at time 10 (k + 1).
        let time = |index: usize| 10 * (index as u64 + 1);
        let mut shuffled: Vec<usize> = (0..told.len()).collect();
        shuffled.sort_by_key(|&index| (index as u64 + 1).wrapping_mul(order | 1));
        let mut timelines = Timelines::default();
        for index in shuffled {
            let (pid, record) = told[index];
            tell(&mut timelines, time(index), pid, record);
        }
        for pid in 1..4 {
            for count in 0..=told.len() {
                for address in 0..50 {
                    let now = Time(time(count) - 3);
                    let found = timelines.find(Pid(pid), address, now);
                    let expected = model(&told, count, pid, address);
                    let object = |found: FoundMapping| found.what.ok().map(|mapping| mapping.object.0);
                    prop_assert_eq!(object(found), expected);
                    prop_assert!(found.first <= address && address <= found.last);
                    prop_assert!(found.from <= now && now <= found.until);
                    // Where and while the answer is said to hold, it does.
                    for other in found.first..=found.last.min(60) {
                        prop_assert_eq!(model(&told, count, pid, other), expected);
                    }
                    for other in 0..=told.len() {
                        if (found.from..=found.until).contains(&Time(time(other) - 3)) {
                            prop_assert_eq!(model(&told, other, pid, address), expected);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn records_without_time_count_in_their_order() {
    let mut timelines = Timelines::default();
    let map = |object| Told::Map { start: 0, length: 10, object: Some(object) };
    for record in [(1, map(1)), (2, Told::Fork { parent: 1 }), (1, Told::Exec), (1, map(2))] {
        tell(&mut timelines, 0, record.0, record.1);
    }
    let mut object =
        |pid| timelines.find(Pid(pid), 5, Time(0)).what.map(|mapping| mapping.object.0);
    assert_eq!((object(1), object(2), object(3)), (Ok(2), Ok(1), Err(NoMapping::Process)));
}

#[test]
fn forks_in_a_circle_end() {
    let mut timelines = Timelines::default();
    for record in [(1, Told::Fork { parent: 2 }), (2, Told::Fork { parent: 1 })] {
        tell(&mut timelines, 7, record.0, record.1);
    }
    assert_eq!(timelines.find(Pid(1), 5, Time(9)).what, Err(NoMapping::Mapping));
}

#[test]
fn the_last_address_there_is() {
    let mut timelines = Timelines::default();
    tell(&mut timelines, 1, 1, Told::Map { start: u64::MAX - 3, length: 4, object: Some(1) });
    timelines.map(Pid(1), Time(2), AddressExtent { start: u64::MAX, length: u64::MAX }, None);
    assert!(timelines.find(Pid(1), u64::MAX - 1, Time(2)).what.is_ok());
    assert_eq!(timelines.find(Pid(1), u64::MAX, Time(2)).what, Err(NoMapping::Mapping));
    assert!(timelines.find(Pid(1), u64::MAX, Time(1)).what.is_ok());
}

#[test]
fn a_flood_of_mappings_is_bounded_and_said() {
    let mut timelines = Timelines::default();
    for index in 0..3000 {
        timelines.map(Pid(1), Time(index), AddressExtent { start: index * 10, length: 5 }, None);
    }
    for index in 0..2000 {
        timelines.map(
            Pid(1),
            Time(9000 + index),
            AddressExtent { start: 0, length: 1 << 30 },
            None,
        );
    }
    assert_eq!(timelines.find(Pid(1), 5, Time(99999)).what, Err(NoMapping::Overfull));
}

/// Told backwards, each would push all others aside: they are put behind one
/// another as they come, and sorted once.
#[test]
fn records_told_backwards_cost_no_more() {
    let mut timelines = Timelines::default();
    for time in (1..300_000).rev() {
        timelines.exec(Pid(1), Time(2 * time));
        timelines.map(Pid(1), Time(2 * time + 1), AddressExtent { start: 0, length: 10 }, None);
    }
    let as_told = &timelines.processes[&Pid(1)].beginnings.entries;
    assert!(as_told.is_sorted_by(|(one, _), (next, _)| one > next), "each was put in its place");
    let found = timelines.find(Pid(1), 5, Time(7));
    assert_eq!((found.what, found.from, found.until), (Err(NoMapping::Mapping), Time(7), Time(7)));
    let sorted = &timelines.processes[&Pid(1)].beginnings;
    assert!(sorted.entries.is_sorted_by(|(one, _), (next, _)| one < next) && !sorted.is_unsorted);
}

#[test]
fn a_flood_of_beginnings_is_bounded_and_said() {
    let mut timelines = Timelines::default();
    for time in 0..=MOST_ENTRIES as u64 {
        timelines.exec(Pid(1), Time(time));
    }
    assert_eq!(timelines.find(Pid(1), 5, Time(9)).what, Err(NoMapping::Overfull));
    assert_eq!(timelines.processes[&Pid(1)].beginnings.entries.len(), 0);
}

/// A line of forks: process 0, its child 1, and so on.
fn line_of_forks(processes: i32) -> Timelines {
    let mut timelines = Timelines::default();
    tell(&mut timelines, 0, 0, Told::Map { start: 0, length: 10, object: Some(7) });
    for child in 1..processes {
        timelines.fork(Pid(child), Pid(child - 1), Time(child.unsigned_abs().into()));
    }
    timelines
}

/// Counted in address spaces that are looked at, as seconds depend on who
/// else is at work.
#[test]
fn a_long_line_of_forks_costs_little_and_is_said() {
    let mut timelines = line_of_forks(5000);
    // However long the line: so many are looked at, and no more.
    let (found, looked_at) = timelines.walk(Pid(4999), 0, Time(9999));
    assert_eq!((found.what, looked_at), (Err(NoMapping::Overfull), MOST_FORKS));
    // The answer holds for all addresses. It is kept, and nobody looks again:
    // what is put in its place is what comes.
    assert_eq!(timelines.find(Pid(4999), 0, Time(9999)), found);
    let mark = FoundMapping { what: Err(NoMapping::Mapping), ..found };
    let (_, kept) = timelines.inherited.get_mut(&Pid(4999)).unwrap();
    *kept = mark;
    for address in [1, 1 << 12, 200_000 << 12, u64::MAX] {
        assert_eq!(timelines.find(Pid(4999), address, Time(9999)), mark);
    }
    // Until something is told.
    timelines.exec(Pid(-7), Time(9999));
    assert_eq!(timelines.find(Pid(4999), 1, Time(9999)), found);
}

/// Where everybody mapped something, the line is cut at last.
#[test]
fn a_long_line_of_forks_that_all_mapped_something_is_cut() {
    let mut timelines = line_of_forks(5000);
    for child in 1..5000_i32 {
        let time = Time(child.unsigned_abs().into());
        for piece in 0..4 {
            timelines.map(
                Pid(child),
                time,
                AddressExtent { start: 1 << 30 | piece << 20, length: 1 << 12 },
                None,
            );
        }
    }
    for step in 0..5 {
        let address = step << 20 | 1 << 29;
        let (found, looked_at) = timelines.walk(Pid(4999), address, Time(9999));
        assert_eq!((found.what, looked_at), (Err(NoMapping::Overfull), MOST_FORKS));
    }
}

#[test]
fn a_line_of_forks_that_is_not_so_long_is_followed() {
    let mut timelines = line_of_forks(5000);
    // What it says holds wherever nobody mapped more.
    let found = timelines.find(Pid(200), 5, Time(300));
    assert_eq!(found.what.map(|mapping| mapping.object.0), Ok(7));
    let found = timelines.find(Pid(200), 50, Time(300));
    let window = (found.first, found.last, found.from, found.until);
    assert_eq!(found.what, Err(NoMapping::Mapping));
    assert_eq!(window, (10, u64::MAX, Time(200), Time(u64::MAX)));
}

fn object(found: FoundMapping) -> Result<u32, NoMapping> {
    found.what.map(|mapping| mapping.object.0)
}

fn mapped(object: u32) -> Told {
    Told::Map { start: 0x1000, length: 0x100, object: Some(object) }
}

#[test]
fn what_is_told_beyond_the_room_is_unknown_from_its_time_on() {
    let mut timelines = Timelines { most: 3, ..Timelines::default() };
    for pid in 1..=3 {
        tell(&mut timelines, 10, pid, mapped(1));
    }
    assert_eq!(timelines.left_out(), 0);
    // Of one that is kept, then of others; the earliest time last.
    for (pid, time) in [(2, 40), (2, 30), (7, 60), (8, 50)] {
        tell(&mut timelines, time, pid, mapped(2));
    }
    timelines.fork(Pid(3), Pid(2), Time(45));
    assert_eq!(timelines.left_out(), 5);
    let mut at = |pid, time| {
        let found = timelines.find(Pid(pid), 0x1010, Time(time));
        assert!((found.from..=found.until).contains(&Time(time)), "{found:?}");
        // The answer is said to hold for no time at which there is another.
        for other in [found.from, found.until] {
            let what = timelines.find(Pid(pid), 0x1010, other).what;
            assert_eq!(what, found.what, "{pid} at {other:?}");
        }
        object(found)
    };
    assert_eq!([at(1, 10), at(1, 99)], [Ok(1), Ok(1)]);
    assert_eq!([at(2, 10), at(2, 29)], [Ok(1), Ok(1)]);
    assert_eq!([at(2, 30), at(2, 40), at(2, 99)], [Err(NoMapping::Overfull); 3]);
    assert_eq!([at(3, 44), at(3, 45)], [Ok(1), Err(NoMapping::Overfull)]);
    assert_eq!([at(7, 49), at(7, 50)], [Err(NoMapping::Process), Err(NoMapping::Overfull)]);
    assert_eq!([at(9, 49), at(9, 99)], [Err(NoMapping::Process), Err(NoMapping::Overfull)]);
    assert!(!timelines.hides_others(Time(49)) && timelines.hides_others(Time(50)));
}

#[test]
fn a_child_has_what_its_parent_had_before_the_room_ended() {
    let mut timelines = Timelines { most: 3, ..Timelines::default() };
    tell(&mut timelines, 10, 1, mapped(1));
    tell(&mut timelines, 20, 2, Told::Fork { parent: 1 });
    tell(&mut timelines, 40, 3, Told::Fork { parent: 1 });
    // Not kept: what 1 had from 30 on is not known.
    tell(&mut timelines, 30, 1, mapped(2));
    let mut at = |pid, time| object(timelines.find(Pid(pid), 0x1010, Time(time)));
    assert_eq!([at(1, 29), at(2, 20), at(2, 99)], [Ok(1); 3]);
    assert_eq!([at(1, 30), at(3, 40), at(3, 99)], [Err(NoMapping::Overfull); 3]);
}
