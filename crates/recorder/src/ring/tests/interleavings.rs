//! Every interleaving and every stale read that the memory model allows, of
//! our drain and a model of the kernel's writer. Run with
//! `cargo test -p recorder --features interleavings --lib interleavings`.

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
    fn ends(&self) -> Ends<'_, AtomicU64> {
        Ends { head: &self.shared.head, tail: &self.shared.tail }
    }
}

impl RingRegion for Reader {
    fn window(&self) -> Window<'_> {
        let end = self.ends().head();
        let copy: Vec<u8> = (self.tail..end)
            .map(|at| {
                let at = usize::try_from(at).unwrap() % SIZE;
                self.shared.data[at].load(Ordering::Relaxed)
            })
            .collect();
        // A model run is short: what it lends may leak.
        Window { first: copy.leak(), second: &[], end, torn: false }
    }

    fn release(&mut self, end: u64) {
        self.tail = end;
        self.ends().release(end);
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
            let drained = drain(reader, |lent| {
                assert_eq!((lent.header.kind, lent.header.size), (RecordType::SAMPLE, 8));
                seen.push(lent.first[4]);
            });
            assert!(!drained.damaged);
        };
        pass(&mut reader);
        let written = writer.join().unwrap();
        pass(&mut reader);
        assert_eq!(seen, (0..written).collect::<Vec<u8>>());
    });
}
