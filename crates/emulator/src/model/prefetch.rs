//! Two prefetchers: the next line into the second level when the first one
//! misses, and the next address of an instruction with a constant stride into
//! the first level. Neither leaves the page.
//!
//! They learn from accesses that reach the model; a line that was prefetched
//! does so once.

use super::shape::STRIDES;
use super::{Core, DataAccess, LINE, Uncore, word};

const PAGE: u64 = 4096;
/// Strides in a row after which the next address is trusted.
const TRUSTED_STRIDES: u64 = 2;

impl Core<'_> {
    #[inline(never)]
    pub(super) fn prefetch(
        &mut self,
        uncore: &mut impl Uncore,
        line: u64,
        access: &DataAccess,
        stamp: u64,
    ) {
        let next = line.wrapping_add(LINE);
        if next / PAGE == line / PAGE && self.find_in_second(next).is_none() {
            let before = self.second(next);
            let state = self.state_for_read(uncore, next, before);
            self.set_second(next | state);
            self.third(uncore.common(), next);
        }
        let Some(to) = self.learn(access) else { return };
        if to / PAGE == line / PAGE && to & !(LINE - 1) != line {
            let to = to & !(LINE - 1);
            if self.find::<false>(to).is_none() {
                let (_, state) = self.outer(uncore, to, false);
                self.install::<false>(to | state, stamp);
                if self.shape.l1d.exists() {
                    self.count_hidden(1);
                }
            }
        }
    }

    fn state_for_read(&self, uncore: &mut impl Uncore, line: u64, before: u64) -> u64 {
        use super::uncore::SnoopResult;
        if before != 0 {
            return before;
        }
        match self.snoop(uncore, line, false) {
            SnoopResult::None => super::EXCLUSIVE,
            _ => super::SHARED,
        }
    }

    /// Enters an access of an instruction; where its next one will be.
    fn learn(&mut self, access: &DataAccess) -> Option<u64> {
        let place = access.ip.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & (STRIDES - 1);
        let at = word(self.shape.prefetch + 2 * place);
        let [last, rest] = self.words.get_mut(at..at + 2)?.first_chunk_mut::<2>()?;
        // Low 16 bits the instruction's, then 16 of the stride, then trust.
        let ip = access.ip & 0xffff;
        let stride = access.address.wrapping_sub(*last);
        let same = *rest & 0xffff == ip;
        let trust = if same && *rest >> 16 & 0xffff == stride & 0xffff && stride != 0 {
            (*rest >> 32).saturating_add(1).min(TRUSTED_STRIDES)
        } else {
            0
        };
        *last = access.address;
        *rest = ip | (stride & 0xffff) << 16 | trust << 32;
        (trust >= TRUSTED_STRIDES).then(|| access.address.wrapping_add(stride))
    }
}
