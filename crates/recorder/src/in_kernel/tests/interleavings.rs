//! Every interleaving and every stale read that the memory model allows, of
//! a model of enter() and leave() in crates/recorder/kernel/table.h and of
//! `AggregateReader::take`. Run as `ring::tests::interleavings` is.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};

/// A table: which epoch it is of, and its hits. The cell has loom look for
/// accesses at the same time.
#[derive(Default)]
struct Table {
    cell: UnsafeCell<()>,
    epoch: AtomicU64,
    hits: AtomicU64,
}

struct Shared {
    epoch: AtomicU64,
    busy: AtomicU64,
    tables: [Table; 2],
}

impl Shared {
    fn new() -> Arc<Shared> {
        let tables = [Table::default(), Table::default()];
        Arc::new(Shared { epoch: AtomicU64::new(1), busy: AtomicU64::new(0), tables })
    }

    fn table(&self, epoch: u64) -> &Table {
        &self.tables[usize::from(epoch & 1 == 1)]
    }

    /// One run of the program: its exchange is a full barrier, and its loads
    /// acquire, as all do on x86-64.
    fn hit(&self) {
        let marked = self.epoch.load(Ordering::Acquire);
        self.busy.swap(marked * 2 + 1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let epoch = self.epoch.load(Ordering::Acquire);
        let table = self.table(epoch);
        table.cell.with_mut(|_| {
            if table.epoch.load(Ordering::Relaxed) != epoch {
                table.epoch.store(epoch, Ordering::Relaxed);
                table.hits.store(0, Ordering::Relaxed);
            }
            let hits = table.hits.load(Ordering::Relaxed);
            table.hits.store(hits + 1, Ordering::Relaxed);
        });
        self.busy.store(epoch * 2, Ordering::Release);
    }

    /// Ends an epoch; what it counted.
    fn take(&self) -> u64 {
        let behind = self.epoch.load(Ordering::Relaxed);
        self.epoch.store(behind + 1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        loop {
            let busy = self.busy.load(Ordering::Acquire);
            if busy & 1 == 0 || busy >> 1 == behind + 1 {
                break;
            }
            loom::thread::yield_now();
        }
        let table = self.table(behind);
        table.cell.with(|_| {
            let is_of_it = table.epoch.load(Ordering::Relaxed) == behind;
            if is_of_it { table.hits.load(Ordering::Relaxed) } else { 0 }
        })
    }
}

#[test]
fn an_epoch_that_is_read_is_written_by_nobody() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Shared::new();
        let cpu = Arc::clone(&shared);
        let hits = loom::thread::spawn(move || {
            cpu.hit();
            cpu.hit();
        });
        let taken = shared.take() + shared.take();
        hits.join().unwrap();
        assert_eq!(taken + shared.take(), 2);
    });
}
