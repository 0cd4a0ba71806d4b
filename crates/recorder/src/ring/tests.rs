//! The ring on memory: every wrap, bad sizes, and every interleaving.

use super::*;

#[cfg(feature = "interleavings")]
mod interleavings;

/// A ring that the test fills as the kernel would.
struct Memory {
    data: Vec<u8>,
    head: u64,
    tail: u64,
    releases: u32,
}

impl Memory {
    fn new(size: usize, start: u64) -> Memory {
        Memory { data: vec![0xee; size], head: start, tail: start, releases: 0 }
    }

    fn put(&mut self, bytes: &[u8]) {
        assert!(bytes.len() as u64 <= self.data.len() as u64 - (self.head - self.tail));
        for &byte in bytes {
            let at = usize::try_from(self.head).unwrap() % self.data.len();
            self.data[at] = byte;
            self.head += 1;
        }
    }
}

impl RingRegion for Memory {
    fn window(&self) -> Window<'_> {
        let size = self.data.len();
        let filled = usize::try_from(self.head.wrapping_sub(self.tail)).unwrap_or(usize::MAX);
        if filled > size {
            return Window { first: &[], second: &[], end: self.head, torn: true };
        }
        let from = usize::try_from(self.tail).unwrap() % size;
        let straight = filled.min(size - from);
        Window {
            first: &self.data[from..from + straight],
            second: &self.data[..filled - straight],
            end: self.head,
            torn: false,
        }
    }

    fn release(&mut self, end: u64) {
        self.tail = end;
        self.releases += 1;
    }
}

fn record(kind: u32, size: u16, fill: u8) -> Vec<u8> {
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&7u16.to_ne_bytes());
    bytes.extend_from_slice(&size.to_ne_bytes());
    bytes.resize(usize::from(size).max(8), fill);
    bytes
}

fn collect(region: &mut Memory) -> (Vec<Vec<u8>>, Drained) {
    let mut records = Vec::new();
    let drained = drain(region, |lent| {
        assert_eq!(usize::from(lent.header.size), lent.first.len() + lent.second.len());
        records.push([lent.first, lent.second].concat());
    });
    (records, drained)
}

#[test]
fn a_record_is_whole_at_every_offset() {
    for size in [8u16, 16, 24, 40, 64, 12, 9] {
        for start in 0..256u64 {
            let mut memory = Memory::new(128, start);
            let (one, two) = (record(9, size, 1), record(3, 24, 2));
            memory.put(&one);
            memory.put(&two);
            let (records, drained) = collect(&mut memory);
            assert_eq!(records, [one, two], "size {size}, start {start}");
            assert_eq!(drained, Drained { records: 2, damaged: false });
            assert_eq!((memory.tail, memory.releases), (memory.head, 1));
        }
    }
}

#[test]
fn a_full_ring_is_read_to_the_last_byte() {
    for start in 0..130u64 {
        let mut memory = Memory::new(128, start);
        let all: Vec<Vec<u8>> = (0..8).map(|n| record(9, 16, n)).collect();
        all.iter().for_each(|r| memory.put(r));
        assert_eq!(collect(&mut memory).0, all);
        assert_eq!(collect(&mut memory), (vec![], Drained::default()));
    }
}

#[test]
fn a_bad_size_drops_what_follows_and_says_so() {
    for bad in [0u16, 1, 7, 25, 65_535] {
        for start in 0..140u64 {
            let mut memory = Memory::new(128, start);
            let good = record(9, 16, 1);
            memory.put(&good);
            let mut broken = record(9, bad, 3);
            broken.resize(24, 0);
            memory.put(&broken);
            let (records, drained) = collect(&mut memory);
            assert_eq!(records, std::slice::from_ref(&good), "size {bad}");
            assert_eq!(drained, Drained { records: 1, damaged: true });
            memory.put(&good);
            assert_eq!(collect(&mut memory).0, [good], "the ring is usable after");
        }
    }
}

#[test]
fn a_cut_header_is_damage() {
    let mut memory = Memory::new(64, 62);
    memory.put(&[9, 0, 0, 0, 0]);
    assert_eq!(collect(&mut memory), (vec![], Drained { records: 0, damaged: true }));
}

#[test]
fn a_head_beyond_the_ring_or_before_the_tail_is_damage() {
    for head in [1_000u64, 4] {
        let mut memory = Memory::new(64, 100);
        memory.head = head;
        assert_eq!(collect(&mut memory), (vec![], Drained { records: 0, damaged: true }));
        assert_eq!(memory.tail, head, "the next drain starts at the head");
    }
}

#[test]
fn the_tail_is_released_when_the_reader_panics() {
    let mut memory = Memory::new(64, 8);
    memory.put(&record(9, 16, 1));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drain(&mut memory, |_| panic!("sink"));
    }));
    assert!(panicked.is_err());
    assert_eq!((memory.tail, memory.releases), (memory.head, 1));
}

proptest::proptest! {
    #[test]
    fn any_sequence_of_puts_and_drains_comes_out_in_order(
        start in 0u64..1_000_000,
        sizes in proptest::collection::vec((1u16..20, proptest::bool::ANY), 1..200),
    ) {
        let mut memory = Memory::new(512, start * 8);
        let (mut wanted, mut got) = (Vec::new(), Vec::new());
        for (n, (words, drain_now)) in sizes.into_iter().enumerate() {
            let bytes = record(9, words * 8, u8::try_from(n % 251).unwrap());
            if drain_now || memory.head - memory.tail + bytes.len() as u64 > 512 {
                got.extend(collect(&mut memory).0);
            }
            memory.put(&bytes);
            wanted.push(bytes);
        }
        got.extend(collect(&mut memory).0);
        proptest::prop_assert_eq!(got, wanted);
    }
}
