//! Threads on the model behind the checks that translated code makes.

use crate::block::{index, key, names, stamp_index};
use crate::model::{
    AccessOutcome, Core, DataAccess, Events, LINE, LineSource, LineTables, Shape, SingleCoreUncore,
    Table, TranslationSource, Uncore,
};

struct Thread {
    words: Vec<u64>,
    tables: Box<LineTables>,
    clock: u64,
}

/// Empty tables, made where the stack is large: they are 2.5 MiB.
fn tables() -> Box<LineTables> {
    let make = || {
        Box::new(LineTables {
            loads: Table::EMPTY,
            load_stamps: Table::EMPTY,
            stores: Table::EMPTY,
            fetches: Table::EMPTY,
            fetch_stamps: Table::EMPTY,
        })
    };
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    thread.spawn(make).unwrap().join().unwrap()
}

pub(super) struct Machine {
    shape: Shape,
    threads: Vec<Thread>,
    common: Vec<u64>,
    /// Accesses that the tables did not answer.
    pub(super) slow: u64,
}

fn core<'a>(thread: &'a mut Thread, shape: &'a Shape) -> Core<'a> {
    Core { shape, words: &mut thread.words, tables: &mut thread.tables }
}

/// The world as the thread sees it that was taken out of the list.
struct TestUncore<'a> {
    shape: &'a Shape,
    others: Vec<(usize, &'a mut Thread)>,
    common: &'a mut [u64],
    own: usize,
}

impl Uncore for TestUncore<'_> {
    fn common(&mut self) -> &mut [u64] {
        self.common
    }
    fn has_other_cores(&self) -> bool {
        true
    }
    fn own_bit(&self) -> u64 {
        1 << self.own
    }
    fn number(&self) -> u64 {
        u64::try_from(self.own).unwrap()
    }
    fn unlisted(&self) -> u64 {
        0
    }
    fn each(&mut self, mask: u64, mut visit: impl FnMut(&mut Core<'_>) -> bool) {
        for (index, thread) in &mut self.others {
            if mask >> *index & 1 != 0 && !visit(&mut core(thread, self.shape)) {
                return;
            }
        }
    }
}

impl Machine {
    pub(super) fn new(shape: Shape, threads: usize) -> Machine {
        let words = usize::try_from(shape.private_words).unwrap();
        let thread = || Thread { words: vec![0; words], tables: tables(), clock: 1 };
        Machine {
            shape,
            threads: (0..threads).map(|_| thread()).collect(),
            common: vec![0; usize::try_from(shape.common_words).unwrap()],
            slow: 0,
        }
    }

    pub(super) fn with_large(mut self, begin: u64, end: u64, shift: u64) -> Machine {
        self.shape.huge_pages = 1;
        self.shape.large[0][0] = [begin, end, shift];
        self
    }

    pub(super) fn load(&mut self, thread: usize, address: u64, size: u64) -> AccessOutcome {
        self.access(thread, address, size, false)
    }

    pub(super) fn store(&mut self, thread: usize, address: u64, size: u64) -> AccessOutcome {
        self.access(thread, address, size, true)
    }

    pub(super) fn access(
        &mut self,
        number: usize,
        address: u64,
        size: u64,
        write: bool,
    ) -> AccessOutcome {
        let thread = &mut self.threads[number];
        thread.clock += 2;
        let stamp = thread.clock;
        let access = DataAccess { address, size, read: !write, write, ip: 0x1000, stamp };
        let (line, last) = access.lines();
        thread.clock += (last - line) / 64;
        let at = index(line);
        let tables = &mut thread.tables;
        let table = if write { &tables.stores } else { &tables.loads };
        if line == last && table[at] == key(line) {
            assert_eq!(tables.loads[at], key(line), "a line for stores is one for loads");
            tables.load_stamps[stamp_index(at)] = stamp;
            return self.unseen();
        }
        self.slow += 1;
        if let [alone] = self.threads.as_mut_slice()
            && line == last
            && self.shape.forward | self.shape.prefetch == 0
        {
            // As the runtime does it.
            let mut core = core(alone, &self.shape);
            let common = &mut self.common;
            let quick = match (self.shape.quick, self.shape.dtlb.exists()) {
                (8, false) => core.quick::<8, false>(&mut SingleCoreUncore(common), access),
                (8, true) => core.quick::<8, true>(&mut SingleCoreUncore(common), access),
                (12, false) => core.quick::<12, false>(&mut SingleCoreUncore(common), access),
                (12, true) => core.quick::<12, true>(&mut SingleCoreUncore(common), access),
                _ => None,
            };
            return quick.unwrap_or_else(|| core.alone(common, access));
        }
        let quick = if line == last { self.shape.quick } else { 0 };
        let tlb = self.shape.dtlb.exists();
        self.model(number, |core, uncore| {
            let quick = match (quick, tlb) {
                (8, false) => core.quick::<8, false>(uncore, access),
                (8, true) => core.quick::<8, true>(uncore, access),
                (12, false) => core.quick::<12, false>(uncore, access),
                (12, true) => core.quick::<12, true>(uncore, access),
                _ => None,
            };
            quick.unwrap_or_else(|| core.access(uncore, access))
        })
    }

    pub(super) fn fetch(&mut self, number: usize, address: u64) -> AccessOutcome {
        let thread = &mut self.threads[number];
        thread.clock += 2;
        let stamp = thread.clock;
        let line = address & !(LINE - 1);
        if thread.tables.fetches[index(line)] == key(line) {
            thread.tables.fetch_stamps[stamp_index(index(line))] = stamp;
            return AccessOutcome::default();
        }
        self.slow += 1;
        self.model(number, |core, uncore| core.fetch(uncore, line, stamp))
    }

    pub(super) fn check(&self) {
        for thread in &self.threads {
            let mut hidden = 0;
            let level = self.shape.l1d;
            for set in 0..level.sets {
                for way in 0..level.ways {
                    let at = usize::try_from(level.start + set * level.ways * 2 + way).unwrap();
                    let line = thread.words[at] & !63;
                    let shown = names(thread.tables.loads[index(line)], line);
                    hidden += u64::from(thread.words[at] != 0 && !shown);
                }
            }
            assert_eq!(thread.words[0], hidden, "lines that the table has not");
        }
    }

    fn unseen(&self) -> AccessOutcome {
        let tlb = self.shape.dtlb.exists();
        let translated = if tlb { TranslationSource::First } else { TranslationSource::Unknown };
        AccessOutcome::new(Events::NONE, LineSource::First, translated)
    }

    fn model(
        &mut self,
        number: usize,
        run: impl FnOnce(&mut Core<'_>, &mut Either<'_>) -> AccessOutcome,
    ) -> AccessOutcome {
        let Machine { shape, threads, common, .. } = self;
        let mut own = None;
        let mut others = Vec::new();
        for (index, thread) in threads.iter_mut().enumerate() {
            if index == number {
                own = Some(thread);
            } else {
                others.push((index, thread));
            }
        }
        let mut core = core(own.unwrap(), shape);
        let mut uncore = if others.is_empty() {
            Either::SingleCoreUncore(SingleCoreUncore(common))
        } else {
            Either::TestUncore(TestUncore { shape, others, common, own: number })
        };
        run(&mut core, &mut uncore)
    }
}

enum Either<'a> {
    SingleCoreUncore(SingleCoreUncore<'a>),
    TestUncore(TestUncore<'a>),
}

impl Uncore for Either<'_> {
    fn common(&mut self) -> &mut [u64] {
        match self {
            Either::SingleCoreUncore(uncore) => uncore.common(),
            Either::TestUncore(uncore) => uncore.common(),
        }
    }
    fn has_other_cores(&self) -> bool {
        matches!(self, Either::TestUncore(_))
    }
    fn own_bit(&self) -> u64 {
        match self {
            Either::SingleCoreUncore(uncore) => uncore.own_bit(),
            Either::TestUncore(uncore) => uncore.own_bit(),
        }
    }
    fn number(&self) -> u64 {
        match self {
            Either::SingleCoreUncore(uncore) => uncore.number(),
            Either::TestUncore(uncore) => uncore.number(),
        }
    }
    fn unlisted(&self) -> u64 {
        0
    }
    fn each(&mut self, mask: u64, visit: impl FnMut(&mut Core<'_>) -> bool) {
        if let Either::TestUncore(uncore) = self {
            uncore.each(mask, visit);
        }
    }
}
