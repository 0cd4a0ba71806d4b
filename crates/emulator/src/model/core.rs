//! The caches of one thread, and an access to them.

use super::miss_reason::MissReason;
use super::outcome::{AccessOutcome, CacheLevel, Events, LineSource, TranslationSource};
use super::pages::NO_PAGE;
use super::uncore::{SingleCoreUncore, SnoopResult, Uncore};
use super::{EXCLUSIVE, LINE, MODIFIED, SHARED, STATE, Shape};
use crate::block::{APART, ENTRIES};
use core::ops::{Deref, DerefMut};

/// One of the tables of lines, and room behind it.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    entries: [u64; ENTRIES],
    apart: [u64; APART / 8],
}

impl Table {
    pub const EMPTY: Table = Table { entries: [0; ENTRIES], apart: [0; APART / 8] };
}

impl Deref for Table {
    type Target = [u64; ENTRIES];

    #[inline(always)]
    fn deref(&self) -> &[u64; ENTRIES] {
        &self.entries
    }
}

impl DerefMut for Table {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u64; ENTRIES] {
        &mut self.entries
    }
}

/// The tables of lines that hit without the model, as they lie in a block;
/// see [`crate::block`].
#[repr(C)]
#[derive(Debug)]
pub struct LineTables {
    /// Keys of lines that hit for loads.
    pub loads: Table,
    /// When they or [`LineTables::stores`] did.
    pub load_stamps: Table,
    /// Keys of lines that stores may write without the model.
    pub stores: Table,
    pub fetches: Table,
    pub fetch_stamps: Table,
}

#[derive(Debug)]
pub struct Core<'a> {
    pub shape: &'a Shape,
    /// `private_words` of them.
    pub words: &'a mut [u64],
    pub tables: &'a mut LineTables,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataAccess {
    pub address: u64,
    pub size: u64,
    /// Whether it reads; both for an instruction that reads and writes.
    pub read: bool,
    pub write: bool,
    pub ip: u64,
    /// The clock; later accesses of the thread have larger ones. An access
    /// uses one more for each line behind its first.
    pub stamp: u64,
}

impl DataAccess {
    #[inline(always)]
    pub fn lines(&self) -> (u64, u64) {
        let last = self.address.wrapping_add(self.size.saturating_sub(1));
        (self.address & !(LINE - 1), last & !(LINE - 1))
    }
}

impl Core<'_> {
    /// Looks an access up, and brings in what it misses.
    pub fn access(&mut self, uncore: &mut impl Uncore, access: DataAccess) -> AccessOutcome {
        let (first, last) = access.lines();
        let mut outcome = self.line(uncore, first, access, access.stamp);
        if last != first {
            outcome = outcome.join(self.split(uncore, first, last, access));
        }
        if self.shape.forward != 0 {
            outcome = outcome.and(self.forward(&access));
        }
        outcome
    }

    /// The lines behind the first one of an access that crosses into them.
    #[cold]
    #[inline(never)]
    fn split(
        &mut self,
        uncore: &mut impl Uncore,
        first: u64,
        last: u64,
        access: DataAccess,
    ) -> AccessOutcome {
        let mut outcome = AccessOutcome::default();
        let (mut line, mut stamp) = (first, access.stamp);
        while line != last {
            line = line.wrapping_add(LINE);
            stamp += 1;
            outcome = outcome.join(self.line(uncore, line, access, stamp));
        }
        outcome.and(if access.write { Events::SPLIT_STORE } else { Events::SPLIT_LOAD })
    }

    #[inline(never)]
    pub fn fetch(&mut self, uncore: &mut impl Uncore, line: u64, stamp: u64) -> AccessOutcome {
        self.settle::<true>(line);
        let mut outcome = AccessOutcome::default();
        if self.find::<true>(line).is_none() {
            let (found, state) = self.outer(uncore, line, false);
            outcome = found;
            self.install::<true>(line | state, stamp);
        }
        self.show::<true>(line, stamp);
        outcome
    }

    #[inline(never)]
    fn line(
        &mut self,
        uncore: &mut impl Uncore,
        line: u64,
        access: DataAccess,
        stamp: u64,
    ) -> AccessOutcome {
        let outcome = self.plain(uncore, line, access, stamp);
        if self.shape.forward != 0 {
            self.retire::<false>(line);
        }
        if self.shape.prefetch != 0 {
            self.prefetch(uncore, line, &access, stamp);
        }
        outcome
    }

    /// [`Core::plain`] for a thread that is alone. `access` crosses no line.
    #[inline(always)]
    pub fn alone(&mut self, common: &mut [u64], access: DataAccess) -> AccessOutcome {
        let line = access.address & !(LINE - 1);
        match (access.read, access.write) {
            (true, false) => self.plain_alone::<true, false>(common, line, access.stamp),
            (true, true) => self.plain_alone::<true, true>(common, line, access.stamp),
            _ => self.plain_alone::<false, true>(common, line, access.stamp),
        }
    }

    #[inline(never)]
    fn plain_alone<const READ: bool, const WRITE: bool>(
        &mut self,
        common: &mut [u64],
        line: u64,
        stamp: u64,
    ) -> AccessOutcome {
        let access = DataAccess { address: line, size: 1, read: READ, write: WRITE, ip: 0, stamp };
        self.plain(&mut SingleCoreUncore(common), line, access, stamp)
    }

    /// One line of an access, where neither prefetchers nor the store buffer
    /// are modelled.
    #[inline(always)]
    pub fn plain(
        &mut self,
        uncore: &mut impl Uncore,
        line: u64,
        access: DataAccess,
        stamp: u64,
    ) -> AccessOutcome {
        let DataAccess { read, write, .. } = access;
        let mut outcome = AccessOutcome::default();
        let mut page = NO_PAGE;
        if self.shape.dtlb.exists() {
            (outcome, page) = self.translate(line, stamp);
            if outcome.events() != Events::NONE {
                let other = if write { Events::DTLB_LOAD_MISS } else { Events::DTLB_STORE_MISS };
                outcome = outcome.without(other);
            }
        }
        self.settle::<false>(line);
        let mut cause = MissReason::Unknown;
        if self.shape.shadows.first.exists() {
            cause = self.touch_first(line, stamp);
        }
        let state;
        if let Some(slot) = self.find::<false>(line) {
            if !self.is_shown(line) {
                self.count_hidden(-1);
            }
            let was = self.words.get(slot).map_or(0, |entry| entry & STATE);
            state = if write { MODIFIED } else { was };
            if state != was {
                self.upgrade(uncore, line, was, slot);
            }
        } else {
            let (found, of_line) = self.outer(uncore, line, write);
            state = of_line;
            outcome = outcome.join(found).with_cause(CacheLevel::First, cause);
            self.install::<false>(line | state, stamp);
        }
        self.show::<false>(line, stamp);
        self.page_shows(page, line);
        if state == MODIFIED {
            self.show_store(line);
        }
        if read { outcome } else { outcome.without(Events::HIT_MODIFIED) }
    }

    /// A line that is here is written for the first time.
    #[inline(always)]
    fn upgrade(&mut self, uncore: &mut impl Uncore, line: u64, was: u64, slot: usize) {
        if was == SHARED {
            self.snoop(uncore, line, true);
        }
        if let Some(entry) = self.words.get_mut(slot) {
            *entry = line | MODIFIED;
        }
        if let Some(entry) = self.find_in_second(line).and_then(|slot| self.words.get_mut(slot)) {
            *entry = line | MODIFIED;
        }
    }

    /// Brings a line from beyond the first level: what had it, and its state.
    #[inline(always)]
    pub(super) fn outer(
        &mut self,
        uncore: &mut impl Uncore,
        line: u64,
        write: bool,
    ) -> (AccessOutcome, u64) {
        let was = self.second(line);
        let mut cause = MissReason::Unknown;
        if self.shape.shadows.second.exists() {
            cause = self.touch_second(line);
        }
        if was != 0 {
            let outcome =
                AccessOutcome::new(Events::L1_MISS, LineSource::Second, TranslationSource::Unknown);
            if !write || was == MODIFIED {
                self.set_second(line | was);
                return (outcome, was);
            }
            if was == SHARED {
                self.snoop(uncore, line, true);
            }
            self.set_second(line | MODIFIED);
            return (outcome, MODIFIED);
        }
        let snooped = self.snoop(uncore, line, write);
        let state = match (write, snooped) {
            (true, _) => MODIFIED,
            (false, SnoopResult::None) => EXCLUSIVE,
            (false, _) => SHARED,
        };
        self.set_second(line | state);
        let third = self.third(uncore.common(), line);
        let mut in_third = MissReason::Unknown;
        if self.shape.shadows.third.exists() {
            in_third = self.touch_third(uncore.common(), line);
        }
        let missed = Events(Events::L1_MISS.0 | Events::L2_MISS.0);
        let (events, served) = if snooped == SnoopResult::Modified {
            (Events::HIT_MODIFIED, LineSource::Modified)
        } else if third {
            (Events::NONE, LineSource::Third)
        } else {
            (Events::L3_MISS, LineSource::Memory)
        };
        let outcome =
            AccessOutcome::new(Events(missed.0 | events.0), served, TranslationSource::Unknown)
                .with_cause(CacheLevel::Second, cause);
        let outcome = match events {
            Events::L3_MISS => outcome.with_cause(CacheLevel::Third, in_third),
            _ => outcome,
        };
        (outcome.and_elsewhere(snooped == SnoopResult::Clean), state)
    }
}
