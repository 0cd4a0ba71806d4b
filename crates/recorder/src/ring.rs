//! Draining a ring buffer: records are lent in place, the tail is released
//! once.
//!
//! The ring's memory is behind `RingRegion`, so that the protocol runs on a
//! mapping of the kernel's and, in tests, on memory that a model of the
//! kernel fills.

use std::sync::atomic::{AtomicU64, Ordering};

use perfdata::{Misc, RecordHeader, RecordType};

/// A 64-bit word that two sides share; loom has its own.
pub(crate) trait SharedWord {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
}

impl SharedWord for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }
}

#[cfg(feature = "interleavings")]
impl SharedWord for loom::sync::atomic::AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        loom::sync::atomic::AtomicU64::load(self, order)
    }
    fn store(&self, value: u64, order: Ordering) {
        loom::sync::atomic::AtomicU64::store(self, value, order);
    }
}

/// `data_head` and `data_tail` of a ring: free-running byte counts (trap 22).
#[derive(Debug)]
pub(crate) struct RingPositions<'a, W> {
    /// Where the kernel writes next.
    pub(crate) head: &'a W,
    /// Where we read next; the kernel never writes at or beyond tail + size.
    pub(crate) tail: &'a W,
}

impl<W: SharedWord> RingPositions<'_, W> {
    /// How far the kernel has written.
    ///
    /// ATOMICS: acquire pairs with the smp_wmb() before the store to
    /// data_head in perf_output_put_handle() (kernel/events/ring_buffer.c,
    /// pairs B and C of its comment): what lies before head is visible.
    #[inline]
    pub(crate) fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// Gives everything before `tail` back to the kernel.
    ///
    /// ATOMICS: release keeps our reads before this store; pairs A and D of
    /// perf_output_put_handle(): __perf_output_begin() reads data_tail and
    /// by a control dependency writes over the space only after.
    #[inline]
    pub(crate) fn release(&self, tail: u64) {
        self.tail.store(tail, Ordering::Release);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RingWindow<'a> {
    /// From the tail to the head, or to the end of the memory.
    pub(crate) first: &'a [u8],
    /// The rest, from the start of the memory.
    pub(crate) second: &'a [u8],
    /// The head: where the next window starts.
    pub(crate) end: u64,
    /// Head and tail were more than the ring's size apart: nothing is lent.
    pub(crate) torn: bool,
}

pub(crate) trait RingRegion {
    fn window(&self) -> RingWindow<'_>;
    /// Gives back everything before `end`, the end of a window of this
    /// region. Exclusive, so that no window is lent any more.
    fn release(&mut self, end: u64);
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RingRecord<'a> {
    /// Type, misc and size of the whole record.
    pub(crate) header: RecordHeader,
    /// The record's bytes, header included.
    pub(crate) first: &'a [u8],
    /// What is left of them where the record wraps; mostly empty.
    pub(crate) second: &'a [u8],
}

impl RingRecord<'_> {
    /// The word at an offset from the record's start; None: beyond its end.
    #[inline]
    pub(crate) fn word(&self, offset: usize) -> Option<u64> {
        let mut word = [0; 8];
        for (to, at) in word.iter_mut().zip(offset..) {
            let in_second = |at: usize| self.second.get(at.checked_sub(self.first.len())?);
            *to = *self.first.get(at).or_else(|| in_second(at))?;
        }
        Some(u64::from_ne_bytes(word))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drained {
    pub(crate) records: u64,
    /// Whether bytes that are no records were dropped, up to the head.
    pub(crate) damaged: bool,
}

/// Lends every record between tail and head to `each`, then releases the
/// tail once; also when `each` panics. A record whose size is below 8 or
/// beyond the head makes all that follows unreadable: it is dropped.
pub(crate) fn drain<R: RingRegion>(region: &mut R, each: impl FnMut(RingRecord<'_>)) -> Drained {
    let mut guard = ReleaseGuard { end: None, region };
    let window = guard.region.window();
    guard.end = Some(window.end);
    walk(window, each)
}

/// Lends the same records, and leaves them in the ring.
pub(crate) fn look<R: RingRegion>(region: &R, each: impl FnMut(RingRecord<'_>)) {
    // What is wrong with them the drain will say.
    let _same_as_drained = walk(region.window(), each);
}

fn walk(window: RingWindow<'_>, mut each: impl FnMut(RingRecord<'_>)) -> Drained {
    let mut drained = Drained { records: 0, damaged: window.torn };
    let (mut first, mut second) = (window.first, window.second);
    while !(first.is_empty() && second.is_empty()) {
        if first.is_empty() {
            (first, second) = (second, first);
        }
        let Some(header) = header(first, second) else {
            drained.damaged = true;
            break;
        };
        let size = usize::from(header.size);
        if size < RecordHeader::SIZE || size > first.len() + second.len() {
            drained.damaged = true;
            break;
        }
        let (head, first_left) = first.split_at(size.min(first.len()));
        let (rest, second_left) = second.split_at(size - head.len());
        each(RingRecord { header, first: head, second: rest });
        drained.records += 1;
        (first, second) = (first_left, second_left);
    }
    drained
}

struct ReleaseGuard<'r, R: RingRegion> {
    region: &'r mut R,
    end: Option<u64>,
}

impl<R: RingRegion> Drop for ReleaseGuard<'_, R> {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            self.region.release(end);
        }
    }
}

/// The kernel writes sizes that are multiples of 8, so headers do not wrap;
/// a header that does is read all the same.
#[inline]
fn header(first: &[u8], second: &[u8]) -> Option<RecordHeader> {
    let mut bytes = [0; RecordHeader::SIZE];
    match first.first_chunk() {
        Some(chunk) => bytes = *chunk,
        None => {
            let rest = second.get(..bytes.len() - first.len())?;
            bytes[..first.len()].copy_from_slice(first);
            bytes[first.len()..].copy_from_slice(rest);
        }
    }
    let [a, b, c, d, e, f, g, h] = bytes;
    Some(RecordHeader {
        kind: RecordType(u32::from_ne_bytes([a, b, c, d])),
        misc: Misc(u16::from_ne_bytes([e, f])),
        size: u16::from_ne_bytes([g, h]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        fn window(&self) -> RingWindow<'_> {
            let size = self.data.len();
            let filled = usize::try_from(self.head.wrapping_sub(self.tail)).unwrap_or(usize::MAX);
            if filled > size {
                return RingWindow { first: &[], second: &[], end: self.head, torn: true };
            }
            let from = usize::try_from(self.tail).unwrap() % size;
            let straight = filled.min(size - from);
            RingWindow {
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
        let drained = drain(region, |record| {
            assert_eq!(usize::from(record.header.size), record.first.len() + record.second.len());
            records.push([record.first, record.second].concat());
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

    /// Every interleaving and every stale read that the memory model allows, of
    /// our drain and a model of the kernel's writer. Run with
    /// `cargo test -p recorder --features interleavings --lib interleavings`.
    #[cfg(feature = "interleavings")]
    mod interleavings {
        use loom::sync::Arc;
        use loom::sync::atomic::{AtomicU8, AtomicU64};

        use super::*;

        /// Two records fit; the writer makes three.
        const SIZE: usize = 16;
        const RECORDS: u8 = 3;

        struct Shared {
            head: AtomicU64,
            tail: AtomicU64,
            // Relaxed cells: only the order of head and tail can make them visible.
            data: Vec<AtomicU8>,
        }

        struct Reader {
            shared: Arc<Shared>,
            tail: u64,
        }

        impl Reader {
            fn positions(&self) -> RingPositions<'_, AtomicU64> {
                RingPositions { head: &self.shared.head, tail: &self.shared.tail }
            }
        }

        impl RingRegion for Reader {
            fn window(&self) -> RingWindow<'_> {
                let end = self.positions().head();
                let copy: Vec<u8> = (self.tail..end)
                    .map(|at| {
                        let at = usize::try_from(at).unwrap() % SIZE;
                        self.shared.data[at].load(Ordering::Relaxed)
                    })
                    .collect();
                // A model run is short: what it lends may leak.
                RingWindow { first: copy.leak(), second: &[], end, torn: false }
            }

            fn release(&mut self, end: u64) {
                self.tail = end;
                self.positions().release(end);
            }
        }

        /// __perf_output_begin() and perf_output_put_handle(): space is checked
        /// against data_tail, data go in, then head is published.
        fn write(shared: &Shared, head: u64, bytes: &[u8]) -> bool {
            let tail = shared.tail.load(Ordering::Acquire);
            if head + bytes.len() as u64 - tail > SIZE as u64 {
                return false;
            }
            for (n, byte) in bytes.iter().enumerate() {
                let at = (usize::try_from(head).unwrap() + n) % SIZE;
                shared.data[at].store(*byte, Ordering::Relaxed);
            }
            shared.head.store(head + bytes.len() as u64, Ordering::Release);
            true
        }

        #[test]
        fn no_record_is_torn_or_read_twice() {
            loom::model(|| {
                let shared = Arc::new(Shared {
                    head: AtomicU64::new(0),
                    tail: AtomicU64::new(0),
                    data: (0..SIZE).map(|_| AtomicU8::new(0xee)).collect(),
                });
                let kernel = shared.clone();
                let writer = loom::thread::spawn(move || {
                    let mut head = 0;
                    for n in 0..RECORDS {
                        let mut bytes = record(9, 8, 0);
                        bytes[4] = n;
                        if !write(&kernel, head, &bytes) {
                            return n;
                        }
                        head += 8;
                    }
                    RECORDS
                });
                let mut reader = Reader { shared, tail: 0 };
                let mut seen = Vec::new();
                let mut pass = |reader: &mut Reader| {
                    let drained = drain(reader, |record| {
                        assert_eq!(
                            (record.header.kind, record.header.size),
                            (RecordType::SAMPLE, 8)
                        );
                        seen.push(record.first[4]);
                    });
                    assert!(!drained.damaged);
                };
                pass(&mut reader);
                let written = writer.join().unwrap();
                pass(&mut reader);
                assert_eq!(seen, (0..written).collect::<Vec<u8>>());
            });
        }
    }
}
