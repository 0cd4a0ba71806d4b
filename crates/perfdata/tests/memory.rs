//! Recordings that claim much: reading them takes no more than 64 MiB beyond
//! their length. One test, as the allocator counts for all.
#![allow(clippy::unwrap_used, reason = "helpers of tests, outside #[test] functions")]
#![allow(clippy::print_stderr, reason = "tells what each took")]

use peak_alloc::PeakAlloc;
use perfdata::recording::{RecordingDecoder, RecordingSource, RecordingStep};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What reading may take besides as much as the recording has.
const BEYOND: usize = 64 << 20;
const LENGTH: usize = 32 << 20;
const HEADER: u64 = 104;

/// Reads to the end; says how many records came.
fn read(bytes: &[u8]) -> u64 {
    let mut decoder = RecordingDecoder::new(RecordingSource::File { length: bytes.len() as u64 });
    let (mut at, mut records) = (0, 0);
    loop {
        match decoder.step(&bytes[at..]) {
            Ok(RecordingStep::Record { consumed, .. }) => {
                at += consumed;
                records += 1;
            }
            Ok(RecordingStep::Seek(offset)) => at = usize::try_from(offset).unwrap(),
            Ok(RecordingStep::NeedMore(_) | RecordingStep::End) | Err(_) => return records,
        }
    }
}

fn words(out: &mut Vec<u8>, words: &[u64]) {
    words.iter().for_each(|word| out.extend(word.to_le_bytes()));
}

/// An attr of 64 bytes whose samples have an IDENTIFIER.
fn attr(config: u64) -> [u64; 8] {
    [64 << 32, config, 0, 1 << 16, 0, 1 << 18, 0, 0]
}

fn record(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    out.extend(kind.to_le_bytes());
    out.extend([0, 0]);
    out.extend(u16::try_from(8 + body.len()).unwrap().to_le_bytes());
    out.extend(body);
}

fn pipe() -> Vec<u8> {
    b"PERFILE2\x10\0\0\0\0\0\0\0".to_vec()
}

fn attr_record(out: &mut Vec<u8>, config: u64, ids: &[u64]) {
    let mut body = Vec::new();
    words(&mut body, &attr(config));
    words(&mut body, ids);
    record(out, 64, &body);
}

/// A file's header; the data are empty and stand before the features.
fn header(attrs: u64, data: u64, features: &[u32]) -> Vec<u8> {
    let mut out = b"PERFILE2".to_vec();
    let bitmap = features.iter().fold(0, |bits, id| bits | 1 << id);
    words(&mut out, &[HEADER, 80, HEADER, attrs * 80, data, 8, 0, 0, bitmap, 0, 0, 0]);
    out
}

fn events_of_a_file() -> Vec<u8> {
    let attrs = LENGTH as u64 / 80;
    let mut out = header(attrs, HEADER + attrs * 80, &[]);
    for config in 0..attrs {
        words(&mut out, &attr(config));
        words(&mut out, &[0, 0]);
    }
    words(&mut out, &[8 << 48 | 68]);
    out
}

/// Ids that come in this order.
fn ids_of_a_file(id: impl Fn(u64) -> u64) -> Vec<u8> {
    let count = LENGTH as u64 / 8;
    let at = HEADER + 2 * 80;
    let mut out = header(2, at + count * 8, &[]);
    words(&mut out, &attr(1));
    words(&mut out, &[at, count * 4]);
    words(&mut out, &attr(2));
    words(&mut out, &[at + count * 4, count * 4]);
    (0..count).for_each(|at| words(&mut out, &[id(at)]));
    words(&mut out, &[8 << 48 | 68]);
    out
}

/// Features full of empty texts, as long as any is read.
fn features_of_a_file() -> Vec<u8> {
    let ids = [2, 11, 12, 13, 14, 16, 17, 20, 22, 28, 30, 31];
    let mut out = header(1, HEADER + 80, &ids);
    words(&mut out, &attr(1));
    words(&mut out, &[0, 0, 8 << 48 | 68]);
    let table = out.len();
    out.resize(table + ids.len() * 16, 0);
    for (index, id) in ids.iter().enumerate() {
        let size: usize = match id {
            2 | 12 => 8 << 20,
            20 => 4 << 20,
            11 => 2 << 20,
            _ => 1 << 19,
        };
        let start = out.len();
        let mut item = vec![0; 4];
        let count = match id {
            // A build id for an empty path.
            2 => {
                item = vec![67, 0, 0, 0, 0, 0, 36, 0];
                item.resize(36, 0);
                None
            }
            12 => Some(size / 8),
            16 | 28 | 30 => Some(size / 8 - 1),
            17 => Some(size / 12 - 1),
            14 => Some(size / 24 - 1),
            20 => Some(size / 28 - 1),
            22 => Some(size / 24 - 2),
            // One PMU of many capabilities.
            31 => Some(1),
            _ => Some(size / 4 - 1),
        };
        match (id, count) {
            (20, Some(count)) => words(&mut out, &[1 | (count as u64) << 32]),
            (22, Some(count)) => words(&mut out, &[1, 4096, count as u64]),
            (31, _) => words(&mut out, &[1 | (size as u64 / 8 - 2) << 32]),
            (_, Some(count)) => out.extend(u32::try_from(count).unwrap().to_le_bytes()),
            (_, None) => {}
        }
        while out.len() + item.len() <= start + size {
            out.extend_from_slice(&item);
        }
        let (start, size) = (start as u64, (out.len() - start) as u64);
        let entry: Vec<u8> = [start, size].iter().flat_map(|word| word.to_le_bytes()).collect();
        out[table + 16 * index..table + 16 * (index + 1)].copy_from_slice(&entry);
    }
    out
}

/// Eight bytes say 65,536 CPUs, of each event.
fn cpus_of_a_pipe() -> Vec<u8> {
    let mut out = pipe();
    for id in 1..10_000 {
        attr_record(&mut out, id, &[id]);
        let mut body = Vec::new();
        words(&mut body, &[3, id, 0xffff << 48 | 2]);
        record(&mut out, 78, &body);
    }
    out
}

/// Notes of a few bytes, and names that grow as they are read.
fn texts_of_a_pipe() -> Vec<u8> {
    let mut out = pipe();
    attr_record(&mut out, 1, &[1]);
    for number in 0.. {
        let mut body = Vec::new();
        words(&mut body, &[if number % 1000 == 0 { 2 } else { 0 }, 1]);
        match number % 1000 {
            0 => body.resize(60_000, 0xff),
            _ => body.extend(b"=\0\0\0\0\0\0\0"),
        }
        record(&mut out, 78, &body);
        if out.len() > LENGTH {
            break;
        }
    }
    out
}

fn build_ids_of_a_pipe() -> Vec<u8> {
    let mut out = pipe();
    while out.len() < LENGTH {
        record(&mut out, 67, &[0; 28]);
    }
    out
}

/// Each block of a frame that has no end says 128 KiB of nothing.
fn blocks_of_a_pipe(window: u8) -> Vec<u8> {
    let mut out = pipe();
    attr_record(&mut out, 1, &[1]);
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (window - 10) << 3];
    for _ in 0..10_000 {
        // A block of one byte, repeated.
        packed.extend(((128u32 << 10) << 3 | 1 << 1).to_le_bytes()[..3].iter());
        packed.push(0x44);
    }
    packed.chunks(60_000).for_each(|piece| record(&mut out, 81, piece));
    out
}

#[test]
fn reading_takes_no_more_than_is_there_and_64_mib() {
    type Make = fn() -> Vec<u8>;
    let cases: [(&str, Make); 11] = [
        ("events of a file", events_of_a_file),
        ("ids in order", || ids_of_a_file(|at| at)),
        ("ids in reverse", || ids_of_a_file(|at| u64::MAX - at)),
        ("ids in no order", || ids_of_a_file(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        ("features", features_of_a_file),
        ("CPUs", cpus_of_a_pipe),
        ("texts", texts_of_a_pipe),
        ("build ids", build_ids_of_a_pipe),
        ("packed", || blocks_of_a_pipe(20)),
        ("packed, large windows", || blocks_of_a_pipe(27)),
        ("no record at all", || [pipe(), vec![9; LENGTH]].concat()),
    ];
    for (name, make) in cases {
        let bytes = make();
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let records = read(&bytes);
        let took = MEMORY.peak_usage() - before;
        eprintln!(
            "{name}: {} KiB, {records} records, {} KiB of memory",
            bytes.len() >> 10,
            took >> 10,
        );
        assert!(took <= bytes.len() + BEYOND, "{name}: {took} bytes for {}", bytes.len());
    }
}
