//! Recordings that tell of mappings, and those of before that do not.

use crate::recording::{Hit, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::report::{Cell, Row};
use analysis::{Key, Query};
use perfdata::{AllocatorCall, HeapChange, MappingCall, MappingChange, SampleType};

/// A recording of faults and blocks, and of mappings if it is `new`.
fn recording(new: bool) -> Recording {
    let fields = usual_fields() | SampleType::RAW | SampleType::CALLCHAIN;
    let told = page_faults(fields);
    let mut events =
        vec![(page_faults(usual_fields()), "page-faults"), (told.clone(), "heap/allocation/")];
    if new {
        events.push((told, "heap/mapping/"));
    }
    let mut stream = Recording::new(&events);
    for event in 1..events.len() {
        stream.note(event as u64, "source=preloaded;heap=exact");
    }
    stream.map(task(1, 1), 0, 0x1000..0x9000, "/usr/bin/gone");
    let block = HeapChange { call: Some(AllocatorCall::Allocate), size: 64, old: 0, began: 0 };
    tell(&mut stream, 1, 1, 0x10_0000, &block.encode());
    stream
}

fn tell(stream: &mut Recording, event: usize, time: u64, addr: u64, raw: &[u8]) {
    let chain = vec![(-512_i64).cast_unsigned(), 0x1000, 0x2000];
    let hit = Hit::new(USER, 0x1000, task(1, 1), time);
    stream.hit(&Hit { event, addr, raw: raw.to_vec(), chain, ..hit });
}

fn fault(stream: &mut Recording, time: u64, addr: u64) {
    stream.hit(&Hit { addr, ..Hit::new(USER, 0x3000, task(1, 1), time) });
}

fn rows(stream: &Recording, key: &str) -> Vec<(u64, String)> {
    let query = Query { keys: Key::parse_list(key).unwrap(), ..Query::default() };
    let report = report(query, &stream.bytes).unwrap();
    let text = |row: &Row| match row.cells.first() {
        Some(Cell::Text(text)) => text.to_string(),
        Some(Cell::Missing(why)) => format!("[{why}]"),
        other => format!("{other:?}"),
    };
    report.events[0].rows.iter().map(|row| (row.count, text(row))).collect()
}

#[test]
fn a_recording_without_mappings_is_read_as_before() {
    let mut stream = recording(false);
    for (time, addr) in [(2, 0x10_0000), (3, 0x10_0010), (4, 0x20_0000)] {
        fault(&mut stream, time, addr);
    }
    assert_eq!(
        rows(&stream, "block"),
        [
            (2, "64 bytes at 0x100000 (#1, from 0.000000 s on)".to_owned()),
            (1, "[not in the heap]".to_owned())
        ]
    );
}

#[test]
fn a_block_goes_before_the_mapping_that_it_is_in() {
    let mut stream = recording(true);
    let map = |call, length| MappingChange { call, length, old: 0, old_length: 0 }.encode();
    tell(&mut stream, 2, 2, 0x10_0000, &map(MappingCall::Map, 0x3000));
    for (time, addr) in [(3, 0x10_0000), (4, 0x10_0040), (5, 0x10_1000), (6, 0x10_1008)] {
        fault(&mut stream, time, addr);
    }
    tell(&mut stream, 2, 7, 0x10_1000, &map(MappingCall::Unmap, 0x1000));
    fault(&mut stream, 8, 0x10_1000);
    fault(&mut stream, 9, 0x10_2000);
    // What is no change at all is a damaged sample, and changes nothing.
    tell(&mut stream, 2, 10, 0x10_2000, b"3A\x12\0");
    tell(&mut stream, 2, 10, 0x10_2000, &[0xff; 28]);
    fault(&mut stream, 11, 0x10_2000);
    assert_eq!(
        rows(&stream, "block"),
        [
            (5, "mapping of 12288 bytes at 0x100000 (#1, from 0.000000 s on)".to_owned()),
            (1, "64 bytes at 0x100000 (#1, from 0.000000 s on)".to_owned()),
            (1, "[not in the heap]".to_owned()),
        ]
    );
    let holders = rows(&stream, "holder");
    let named = holders.iter().filter(|(_, name)| name.starts_with("mapping of 12 KiB from "));
    assert_eq!(named.map(|(count, _)| *count).collect::<Vec<_>>(), [5], "{holders:?}");
}
