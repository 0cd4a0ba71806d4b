//! Threads on the model behind the checks that translated code makes.

use crate::block::{ENTRIES, index, key, stamp_index};
use crate::model::{Access, Alone, Core, Filter, LINE, Outcome, Outside, Pages, Shape, Translated};

type Table = Box<[u64; ENTRIES]>;

fn table() -> Table {
    vec![0; ENTRIES].into_boxed_slice().try_into().unwrap()
}

/// The memory of one thread.
struct Thread {
    words: Vec<u64>,
    loads: Table,
    load_stamps: Table,
    stores: Table,
    fetches: Table,
    fetch_stamps: Table,
    clock: u64,
}

/// Some threads, and what they share.
pub(super) struct Machine {
    shape: Shape,
    threads: Vec<Thread>,
    common: Vec<u64>,
    large: Vec<[u64; 3]>,
    /// Accesses that the tables did not answer.
    pub(super) slow: u64,
}

fn core<'a>(thread: &'a mut Thread, shape: &'a Shape, large: &'a [[u64; 3]]) -> Core<'a> {
    Core {
        shape,
        words: &mut thread.words,
        data: Filter { keys: &mut thread.loads, hits: &mut thread.load_stamps },
        stores: &mut thread.stores,
        code: Filter { keys: &mut thread.fetches, hits: &mut thread.fetch_stamps },
        page: Pages(large),
    }
}

/// The world as the thread sees it that was taken out of the list.
struct World<'a> {
    shape: &'a Shape,
    large: &'a [[u64; 3]],
    others: Vec<(usize, &'a mut Thread)>,
    common: &'a mut [u64],
    own: usize,
}

impl Outside for World<'_> {
    fn common(&mut self) -> &mut [u64] {
        self.common
    }
    fn several(&self) -> bool {
        true
    }
    fn own(&self) -> u64 {
        1 << self.own
    }
    fn unlisted(&self) -> u64 {
        0
    }
    fn each(&mut self, mask: u64, mut visit: impl FnMut(&mut Core<'_>)) {
        for (index, thread) in &mut self.others {
            if mask >> *index & 1 != 0 {
                visit(&mut core(thread, self.shape, self.large));
            }
        }
    }
}

impl Machine {
    pub(super) fn new(shape: Shape, threads: usize) -> Machine {
        let words = usize::try_from(shape.private_words).unwrap();
        let thread = || Thread {
            words: vec![0; words],
            loads: table(),
            load_stamps: table(),
            stores: table(),
            fetches: table(),
            fetch_stamps: table(),
            clock: 1,
        };
        Machine {
            shape,
            threads: (0..threads).map(|_| thread()).collect(),
            common: vec![0; usize::try_from(shape.common_words).unwrap()],
            large: Vec::new(),
            slow: 0,
        }
    }

    pub(super) fn with_large(mut self, begin: u64, end: u64, shift: u64) -> Machine {
        self.large.push([begin, end, shift]);
        self
    }

    pub(super) fn load(&mut self, thread: usize, address: u64, size: u64) -> Outcome {
        self.access(thread, address, size, false)
    }

    pub(super) fn store(&mut self, thread: usize, address: u64, size: u64) -> Outcome {
        self.access(thread, address, size, true)
    }

    pub(super) fn access(
        &mut self,
        number: usize,
        address: u64,
        size: u64,
        write: bool,
    ) -> Outcome {
        let thread = &mut self.threads[number];
        thread.clock += 2;
        let stamp = thread.clock;
        let access = Access { address, size, write, ip: 0x1000, stamp };
        let (line, last) = access.lines();
        let at = index(line);
        let table = if write { &thread.stores } else { &thread.loads };
        if line == last && table[at] == key(line) {
            assert_eq!(thread.loads[at], key(line), "a line for stores is one for loads");
            thread.load_stamps[stamp_index(at)] = stamp;
            return self.unseen();
        }
        self.slow += 1;
        self.model(number, |core, world| core.access(world, access))
    }

    pub(super) fn fetch(&mut self, number: usize, address: u64) -> Outcome {
        let thread = &mut self.threads[number];
        thread.clock += 2;
        let stamp = thread.clock;
        let line = address & !(LINE - 1);
        if thread.fetches[index(line)] == key(line) {
            thread.fetch_stamps[stamp_index(index(line))] = stamp;
            return Outcome::default();
        }
        self.slow += 1;
        self.model(number, |core, world| core.fetch(world, line, stamp))
    }

    fn unseen(&self) -> Outcome {
        let tlb = self.shape.dtlb.exists();
        let translated = if tlb { Translated::First } else { Translated::Unknown };
        Outcome { translated, ..Outcome::default() }
    }

    fn model(
        &mut self,
        number: usize,
        run: impl FnOnce(&mut Core<'_>, &mut Either<'_>) -> Outcome,
    ) -> Outcome {
        let Machine { shape, threads, common, large, .. } = self;
        let mut own = None;
        let mut others = Vec::new();
        for (index, thread) in threads.iter_mut().enumerate() {
            if index == number {
                own = Some(thread);
            } else {
                others.push((index, thread));
            }
        }
        let mut core = core(own.unwrap(), shape, large);
        let mut world = if others.is_empty() {
            Either::Alone(Alone(common))
        } else {
            Either::World(World { shape, large, others, common, own: number })
        };
        run(&mut core, &mut world)
    }
}

/// One thread, or one of several.
enum Either<'a> {
    Alone(Alone<'a>),
    World(World<'a>),
}

impl Outside for Either<'_> {
    fn common(&mut self) -> &mut [u64] {
        match self {
            Either::Alone(world) => world.common(),
            Either::World(world) => world.common(),
        }
    }
    fn several(&self) -> bool {
        matches!(self, Either::World(_))
    }
    fn own(&self) -> u64 {
        match self {
            Either::Alone(world) => world.own(),
            Either::World(world) => world.own(),
        }
    }
    fn unlisted(&self) -> u64 {
        0
    }
    fn each(&mut self, mask: u64, visit: impl FnMut(&mut Core<'_>)) {
        if let Either::World(world) = self {
            world.each(mask, visit);
        }
    }
}
