//! What threads of a space share, and how one asks the others.

use super::{Core, MODIFIED, SHARED, word};

/// The world around the caches of one thread. Who implements it for several
/// threads holds a lock meanwhile.
pub trait Uncore {
    /// Words of the third level and of the directory.
    fn common(&mut self) -> &mut [u64];

    /// Whether other threads have caches.
    fn has_other_cores(&self) -> bool;

    fn own_bit(&self) -> u64;

    /// This thread's number: below 4096.
    fn number(&self) -> u64;

    /// Bits of threads whose lines are not in the directory.
    fn unlisted(&self) -> u64;

    /// Calls `visit` with the caches of each other thread whose bit is in
    /// `mask`, until it says false.
    fn each(&mut self, mask: u64, visit: impl FnMut(&mut Core<'_>) -> bool);
}

#[derive(Debug)]
pub struct SingleCoreUncore<'a>(pub &'a mut [u64]);

impl Uncore for SingleCoreUncore<'_> {
    #[inline(always)]
    fn common(&mut self) -> &mut [u64] {
        self.0
    }
    #[inline(always)]
    fn has_other_cores(&self) -> bool {
        false
    }
    fn own_bit(&self) -> u64 {
        0
    }
    fn number(&self) -> u64 {
        0
    }
    fn unlisted(&self) -> u64 {
        0
    }
    fn each(&mut self, _: u64, _: impl FnMut(&mut Core<'_>) -> bool) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SnoopResult {
    None,
    Clean,
    Modified,
}

impl Core<'_> {
    /// Asks the others for a line that this thread reads or, with `write`,
    /// takes from them; enters this thread among those who may have it.
    #[inline(always)]
    pub(super) fn snoop(&self, uncore: &mut impl Uncore, line: u64, write: bool) -> SnoopResult {
        if !uncore.has_other_cores() {
            return SnoopResult::None;
        }
        if self.owns(uncore, line) {
            return SnoopResult::None;
        }
        let mut sharers = self.sharers(uncore, line);
        let mut snooped = SnoopResult::None;
        let mut left = sharers.listed;
        let mut bit = sharers.latest & left;
        // Who has it for itself has it alone, and all who share it share it
        // alike: for a reader the first one says all.
        while left != 0 && (write || snooped == SnoopResult::None) {
            if bit == 0 {
                bit = left & left.wrapping_neg();
            }
            left &= !bit;
            let found = snoop_threads(uncore, bit, line, write);
            if write || found == SnoopResult::None {
                sharers.listed &= !bit;
            }
            snooped = snooped.max(found);
            bit = 0;
        }
        if sharers.others != 0 && (write || snooped == SnoopResult::None) {
            snooped = snooped.max(snoop_threads(uncore, sharers.others, line, write));
        }
        let own = uncore.number() & 63;
        Core::list_sharers(uncore, line, sharers, own);
        snooped
    }

    /// Enters this thread for all lines that it has.
    pub fn list(&mut self, uncore: &mut impl Uncore) {
        for level in [self.shape.l1d, self.shape.l1i] {
            for set in 0..level.sets {
                for way in 0..level.ways {
                    self.list_word(uncore, level.start + set * level.ways * 2 + way);
                }
            }
        }
        let second = self.shape.l2;
        for entry in 0..second.sets * second.ways {
            self.list_word(uncore, second.start + entry);
        }
    }

    fn list_word(&mut self, uncore: &mut impl Uncore, at: u64) {
        let entry = self.words.get(word(at)).copied().unwrap_or(0);
        if entry != 0 {
            let line = entry & !super::STATE;
            // What is another's by now was so while this thread was alone.
            self.owns(uncore, line);
            let sharers = self.sharers(uncore, line);
            let own = uncore.number() & 63;
            Core::list_sharers(uncore, line, sharers, own);
        }
    }

    fn answer_snoop_first<const CODE: bool>(&mut self, line: u64, take: bool, slot: usize) -> u64 {
        if take {
            self.stamp::<CODE>(line, slot, 0);
            if !CODE && !self.is_shown(line) {
                self.count_hidden(-1);
            }
            if !CODE && self.shape.shadows.first.exists() {
                self.lose_first(line);
            }
        }
        let Some(entry) = self.words.get_mut(slot) else { return 0 };
        let state = *entry & super::STATE;
        *entry = if take { 0 } else { line | SHARED };
        state
    }

    /// Another thread reads (keeps a shared copy here) or takes the line.
    /// The state in which it was here, 0 for not at all.
    fn answer_snoop(&mut self, line: u64, take: bool) -> u64 {
        let mut state = 0;
        let second = self.find_in_second(line);
        if !take && second.and_then(|slot| self.words.get(slot)) == Some(&(line | SHARED)) {
            // So it is in the first levels, if it is there.
            return SHARED;
        }
        if let Some(slot) = self.find::<false>(line) {
            state = self.answer_snoop_first::<false>(line, take, slot);
        }
        if let Some(slot) = self.find::<true>(line) {
            state = state.max(self.answer_snoop_first::<true>(line, take, slot));
        }
        if let Some(slot) = second {
            state = state.max(self.words.get(slot).map_or(0, |entry| entry & super::STATE));
            if take {
                self.drop_second(line, slot);
                self.lose_second(line);
            } else if let Some(entry) = self.words.get_mut(slot) {
                *entry = line | SHARED;
            }
        }
        if state != 0 {
            self.unlist(line, take);
        }
        state
    }
}

/// Asks threads for a line, all of them or until one has it.
fn snoop_threads(uncore: &mut impl Uncore, mask: u64, line: u64, write: bool) -> SnoopResult {
    let mut snooped = SnoopResult::None;
    uncore.each(mask, |other| {
        snooped = snooped.max(match other.answer_snoop(line, write) {
            0 => SnoopResult::None,
            MODIFIED => SnoopResult::Modified,
            _ => SnoopResult::Clean,
        });
        write || snooped == SnoopResult::None
    });
    snooped
}
