//! The order of up to 16 ways in one word: four bits each, the way with the
//! smallest stamp lowest.

/// Ways that a word has room for.
pub(super) const MAX_WAYS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LruOrder(u64);

/// Way n is the n-th.
const NATURAL: u64 = 0xfedc_ba98_7654_3210;

/// Bits of the first so many ways of an order.
#[inline(always)]
fn below(ways: usize) -> u64 {
    if ways < MAX_WAYS { (1 << (4 * ways)) - 1 } else { u64::MAX }
}

impl LruOrder {
    /// From its word in memory: 0 is the natural order.
    #[inline(always)]
    pub(super) fn of(word: u64, ways: usize) -> LruOrder {
        LruOrder((word ^ NATURAL) & below(ways))
    }

    #[inline(always)]
    pub(super) fn word(self, ways: usize) -> u64 {
        self.0 ^ NATURAL & below(ways)
    }

    #[inline(always)]
    pub(super) fn first(self) -> usize {
        super::word(self.0 & 15)
    }

    #[inline(always)]
    pub(super) fn second(self) -> usize {
        super::word(self.0 >> 4 & 15)
    }

    /// The first way made the last one.
    #[inline(always)]
    pub(super) fn rotated(self, ways: usize) -> LruOrder {
        LruOrder(self.0 >> 4 | (self.0 & 15) << (4 * (ways - 1)))
    }

    /// With a way moved so that it has so many before it.
    #[inline]
    pub(super) fn with(self, way: usize, before: usize) -> LruOrder {
        let way = u64::try_from(way).unwrap_or(0);
        let mut now = 0;
        while now + 1 < MAX_WAYS && self.0 >> (4 * now) & 15 != way {
            now += 1;
        }
        let others = self.0 & below(now) | self.0 >> 4 & !below(now);
        let to = before.min(MAX_WAYS - 1);
        LruOrder(others & below(to) | way << (4 * to) | (others & !below(to)) << 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_move() {
        let order = LruOrder::of(0, 8);
        assert_eq!((order.first(), order.second(), order.word(8)), (0, 1, 0));
        let rotated = order.rotated(8);
        assert_eq!(rotated, order.with(0, 7));
        assert_eq!((rotated.first(), rotated.second()), (1, 2));
        assert_eq!(LruOrder::of(rotated.word(8), 8), rotated);
        assert_eq!(order.with(5, 5), order);
        assert_eq!(order.with(5, 0), LruOrder(0x7643_2105));
        assert_eq!(order.with(2, 4), LruOrder(0x7652_4310));
        let wide = LruOrder::of(0, 16);
        assert_eq!(wide.with(0, 15), wide.rotated(16));
        assert_eq!(wide.with(15, 0).first(), 15);
        assert_eq!(wide.with(15, 15), wide);
    }
}
