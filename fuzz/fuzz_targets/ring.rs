//! Any bytes as a ring of the kernel's: what is lent lies between tail and
//! head, is the same wherever it wraps, and reads as records do.
//!
//! Input: a byte for the ring's size and one for the fields of its samples, a
//! byte that damages head or geometry, where the tail is (two bytes), then
//! what lies from there on.
#![no_main]

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use libfuzzer_sys::fuzz_target;
use perfdata::{
    Attr, ByteOrder, Misc, RecordHeader, RecordType, SampleLayout, SampleType, SidebandRecord,
};
use recorder::fuzzing::{DrainedRing, drain_ring};
use recorder::session::SampleScrubber;

const PAGE: usize = 4096;
/// The control page, and two of data.
const LENGTH: usize = 3 * PAGE;
/// Of perf_event_mmap_page (include/uapi/linux/perf_event.h): data_head,
/// data_tail, data_offset, data_size.
const HEAD: usize = 1024;

thread_local! {
    static MEMORY: RefCell<File> = RefCell::new(memory());
}

fn memory() -> File {
    let path = format!("/dev/shm/hardmeter-ring-{}", std::process::id());
    let file = File::options().read(true).write(true).create_new(true).open(&path).expect("memory");
    std::fs::remove_file(path).expect("its name");
    file.set_len(LENGTH as u64).expect("its length");
    file
}

/// The ring with these words of its control page and these data from `tail`
/// on.
fn read(words: [u64; 4], data: &[u8], scrub: SampleScrubber) -> Option<DrainedRing> {
    let [_, tail, offset, size] = words;
    MEMORY.with_borrow(|file| {
        let page: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        file.write_all_at(&page, HEAD as u64).expect("the control page");
        let from = (tail % size.max(1)) as usize;
        let straight = data.len().min((size as usize).saturating_sub(from));
        file.write_all_at(&data[..straight], offset + from as u64).ok()?;
        file.write_all_at(&data[straight..], offset).ok()?;
        drain_ring(file, 2, scrub).ok()
    })
}

fuzz_target!(|input: &[u8]| {
    let Some((&[size, fields, damage, low, high], data)) = input.split_first_chunk() else {
        return;
    };
    let size = 64 << (size % 8);
    let data = &data[..data.len().min(size)];
    let attr = Attr {
        sample_type: SampleType::from_bits_retain(u64::from(fields) | 1 << 16),
        ..Attr::default()
    };
    let scrub = SampleScrubber::new(&attr);
    let tail = u64::from(u16::from_le_bytes([low, high]));
    if damage & 0x80 != 0 {
        // A kernel that does not exist: nothing may be touched outside.
        let head = tail.wrapping_add(u64::from(damage) << 9);
        let words = [head, tail, PAGE as u64 + u64::from(damage & 7) * 512, size as u64];
        if let Some(ring) = read(words, data, scrub) {
            assert!(ring.records.iter().map(Vec::len).sum::<usize>() <= size);
        }
        return;
    }
    let whole = |tail: u64| {
        let words = [tail + data.len() as u64, tail, PAGE as u64, size as u64];
        read(words, data, scrub).expect("a ring like the kernel's")
    };
    let ring = whole(tail);
    assert_eq!(ring, whole(0), "wherever it wraps");
    let bytes = ring.records.concat();
    assert_eq!(bytes, data[..bytes.len()], "in order, from the tail on");
    assert_eq!(bytes.len() < data.len(), ring.damaged, "all of it, or damage");

    let layout = SampleLayout::new(&attr, ByteOrder::Little);
    for record in &ring.records {
        let (header, body) = record.split_at(RecordHeader::SIZE);
        let kind = RecordType(u32::from_le_bytes([header[0], header[1], header[2], header[3]]));
        let misc = Misc(u16::from_le_bytes([header[4], header[5]]));
        if kind == RecordType::SAMPLE {
            if let Ok(layout) = &layout {
                let _sample = layout.decode(misc, body);
            }
        } else {
            let header = RecordHeader { kind, misc, size: 0 };
            let _side = SidebandRecord::decode(header, body, ByteOrder::Little);
        }
    }
});
