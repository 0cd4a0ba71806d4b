//! The same machine written in the plainest way: lists in the order of use,
//! every access seen.

use super::stack::{Stack, with_causes};
use crate::model::{
    AccessOutcome, CacheLevel, Events, LINE, LevelShape, LineSource, Shape, TranslationSource,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Shared,
    Exclusive,
    Modified,
}

/// Sets, each with the entry used last in front.
#[derive(Default)]
struct Lists<T> {
    sets: Vec<Vec<(u64, T)>>,
    ways: usize,
}

impl<T: Copy> Lists<T> {
    fn new(level: LevelShape) -> Lists<T> {
        let sets = (0..level.sets).map(|_| Vec::new()).collect();
        Lists { sets, ways: usize::try_from(level.ways).unwrap() }
    }

    fn set(&mut self, number: u64) -> Option<&mut Vec<(u64, T)>> {
        let count = u64::try_from(self.sets.len()).unwrap();
        self.sets.get_mut(usize::try_from(number.checked_rem(count)?).unwrap())
    }

    fn peek(&mut self, number: u64) -> Option<&mut T> {
        let set = self.set(number)?;
        set.iter_mut().find(|(here, _)| *here == number).map(|(_, of)| of)
    }

    /// Moves to the front what is there.
    fn touch(&mut self, number: u64) -> Option<T> {
        let set = self.set(number)?;
        let at = set.iter().position(|(here, _)| *here == number)?;
        let entry = set.remove(at);
        set.insert(0, entry);
        Some(entry.1)
    }

    fn insert(&mut self, number: u64, of: T) {
        let ways = self.ways;
        if let Some(set) = self.set(number) {
            set.insert(0, (number, of));
            set.truncate(ways);
        }
    }

    fn remove(&mut self, number: u64) -> Option<T> {
        let set = self.set(number)?;
        let at = set.iter().position(|(here, _)| *here == number)?;
        Some(set.remove(at).1)
    }
}

struct Thread {
    l1d: Lists<State>,
    l1i: Lists<State>,
    l2: Lists<State>,
    dtlb: Lists<()>,
    stlb: Lists<()>,
    /// What fully associative caches would have in the place of the first level,
    /// and of the second.
    first: Stack,
    second: Stack,
}

pub(super) struct Plain {
    threads: Vec<Thread>,
    l3: Lists<()>,
    third: Stack,
    tlb: bool,
}

impl Plain {
    pub(super) fn new(shape: &Shape, threads: usize) -> Plain {
        let thread = || Thread {
            l1d: Lists::new(shape.l1d),
            l1i: Lists::new(shape.l1i),
            l2: Lists::new(shape.l2),
            dtlb: Lists::new(shape.dtlb),
            stlb: Lists::new(shape.stlb),
            first: Stack::new(shape.shadows.first),
            second: Stack::new(shape.shadows.second),
        };
        Plain {
            threads: (0..threads).map(|_| thread()).collect(),
            l3: Lists::new(shape.l3),
            third: Stack::new(shape.shadows.third),
            tlb: shape.dtlb.exists(),
        }
    }

    pub(super) fn access(
        &mut self,
        thread: usize,
        address: u64,
        size: u64,
        write: bool,
    ) -> AccessOutcome {
        let first = address / LINE;
        let last = (address + size - 1) / LINE;
        let mut outcome = self.line(thread, first, write);
        for line in first + 1..=last {
            let second = self.line(thread, line, write);
            let split = if write { Events::SPLIT_STORE } else { Events::SPLIT_LOAD };
            let causes = outcome.causes();
            let joined = AccessOutcome::new(
                Events(outcome.events().0 | second.events().0 | split.0),
                outcome.served().max(second.served()),
                outcome.translated().max(second.translated()),
            )
            .and_elsewhere(outcome.elsewhere() || second.elsewhere());
            outcome = with_causes(joined, causes, second.causes());
        }
        outcome
    }

    pub(super) fn fetch(&mut self, thread: usize, address: u64) -> AccessOutcome {
        let line = address / LINE;
        if self.threads[thread].l1i.touch(line).is_some() {
            return AccessOutcome::default();
        }
        let (outcome, state) = self.outer(thread, line, false);
        self.threads[thread].l1i.insert(line, state);
        outcome
    }

    fn line(&mut self, thread: usize, line: u64, write: bool) -> AccessOutcome {
        let mut translated = TranslationSource::Unknown;
        let mut events = 0;
        if self.tlb {
            let own = &mut self.threads[thread];
            let page = line / 64;
            translated = TranslationSource::First;
            if own.dtlb.touch(page).is_none() {
                own.dtlb.insert(page, ());
                translated = TranslationSource::Second;
                events |= if write { Events::DTLB_STORE_MISS.0 } else { Events::DTLB_LOAD_MISS.0 };
                if own.stlb.touch(page).is_none() {
                    own.stlb.insert(page, ());
                    translated = TranslationSource::Walk;
                    events |= Events::PAGE_WALK.0;
                }
            }
        }
        let mut outcome = AccessOutcome::default();
        let cause = self.threads[thread].first.touch(line);
        if let Some(state) = self.threads[thread].l1d.touch(line) {
            if write {
                if state == State::Shared {
                    self.others(thread, line, true);
                }
                let own = &mut self.threads[thread];
                *own.l1d.peek(line).unwrap() = State::Modified;
                if let Some(state) = own.l2.peek(line) {
                    *state = State::Modified;
                }
            }
        } else {
            let (found, state) = self.outer(thread, line, write);
            outcome = found.with_cause(CacheLevel::First, cause);
            self.threads[thread].l1d.insert(line, state);
        }
        events |= outcome.events().0;
        if write {
            events &= !Events::HIT_MODIFIED.0;
        }
        let all = AccessOutcome::new(Events(events), outcome.served(), translated)
            .and_elsewhere(outcome.elsewhere());
        with_causes(all, outcome.causes(), 0)
    }

    fn outer(&mut self, thread: usize, line: u64, write: bool) -> (AccessOutcome, State) {
        let mut events = Events::L1_MISS.0;
        let in_second = self.threads[thread].second.touch(line);
        if let Some(mut state) = self.threads[thread].l2.touch(line) {
            if write {
                if state == State::Shared {
                    self.others(thread, line, true);
                }
                state = State::Modified;
                *self.threads[thread].l2.peek(line).unwrap() = state;
            }
            return (
                AccessOutcome::new(Events(events), LineSource::Second, TranslationSource::Unknown),
                state,
            );
        }
        events |= Events::L2_MISS.0;
        let snooped = self.others(thread, line, write);
        let state = match (write, snooped) {
            (true, _) => State::Modified,
            (false, None) => State::Exclusive,
            (false, Some(_)) => State::Shared,
        };
        self.threads[thread].l2.insert(line, state);
        let in_third = self.third.touch(line);
        let third = self.l3.touch(line).is_some();
        if !third {
            self.l3.insert(line, ());
        }
        let served = match (snooped, third) {
            (Some(State::Modified), _) => {
                events |= Events::HIT_MODIFIED.0;
                LineSource::Modified
            }
            (_, true) => LineSource::Third,
            (_, false) => {
                events |= Events::L3_MISS.0;
                LineSource::Memory
            }
        };
        let elsewhere = snooped.is_some_and(|state| state != State::Modified);
        let mut outcome = AccessOutcome::new(Events(events), served, TranslationSource::Unknown)
            .with_cause(CacheLevel::Second, in_second);
        if events & Events::L3_MISS.0 != 0 {
            outcome = outcome.with_cause(CacheLevel::Third, in_third);
        }
        (outcome.and_elsewhere(elsewhere), state)
    }

    /// Takes a line from the other threads, or leaves them shared copies: the
    /// highest state of all.
    fn others(&mut self, thread: usize, line: u64, take: bool) -> Option<State> {
        let mut highest = None;
        let others = self.threads.iter_mut().enumerate().filter(|(index, _)| *index != thread);
        for (_, other) in others {
            if take && other.l1d.peek(line).is_some() {
                other.first.take(line);
            }
            if take && other.l2.peek(line).is_some() {
                other.second.take(line);
            }
            for cache in [&mut other.l1d, &mut other.l1i, &mut other.l2] {
                let found = if take {
                    cache.remove(line)
                } else {
                    cache.peek(line).map(|state| std::mem::replace(state, State::Shared))
                };
                highest = highest.max(found);
            }
        }
        highest
    }
}
