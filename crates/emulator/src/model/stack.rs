//! Sets whose entries are in the order of their last use: second and third
//! level, second-level TLB. Nothing goes by them unseen.

use super::{Core, LevelShape, is, word};

/// Puts an entry first: what is before the one it replaces moves by one
/// place. The word replaced, or 0 when the last one fell out.
#[inline(always)]
pub(super) fn to_front(set: &mut [u64], new: u64, same: impl Fn(u64) -> bool) -> u64 {
    if let Some(first) = set.first_mut()
        && same(*first)
    {
        return core::mem::replace(first, new);
    }
    if let Ok(set) = <&mut [u64; 8]>::try_from(&mut *set) {
        return to_front_of(set, new, same);
    }
    if let Ok(set) = <&mut [u64; 16]>::try_from(&mut *set) {
        return to_front_of(set, new, same);
    }
    let mut carried = new;
    let (pairs, last) = set.as_chunks_mut::<2>();
    for [one, other] in pairs {
        let (first, second) = (*one, *other);
        *one = carried;
        if same(first) {
            return first;
        }
        *other = first;
        if same(second) {
            return second;
        }
        carried = second;
    }
    last.first_mut().map_or(0, |place| {
        let here = core::mem::replace(place, carried);
        if same(here) { here } else { 0 }
    })
}

/// The same for a number of ways that the compiler knows: in pairs, so that
/// words stay in registers.
#[inline(always)]
fn to_front_of<const WAYS: usize>(
    set: &mut [u64; WAYS],
    new: u64,
    same: impl Fn(u64) -> bool,
) -> u64 {
    let mut carried = new;
    for [one, other] in set.as_chunks_mut::<2>().0 {
        let (first, second) = (*one, *other);
        *one = carried;
        if same(first) {
            return first;
        }
        *other = first;
        if same(second) {
            return second;
        }
        carried = second;
    }
    0
}

#[inline(always)]
pub(super) fn of<'w>(
    words: &'w mut [u64],
    level: &LevelShape,
    number: u64,
) -> Option<&'w mut [u64]> {
    if !level.exists() {
        return None;
    }
    let from = word(level.start + level.set(number) * level.ways);
    words.get_mut(from..from.wrapping_add(word(level.ways)))
}

impl Core<'_> {
    /// Looks up a line in the second level and makes it the latest: its word's
    /// state, 0 when it was not there and is now; see [`Core::set_second`].
    #[inline(always)]
    pub(super) fn second(&mut self, line: u64) -> u64 {
        let level = &self.shape.l2;
        let Some(set) = of(self.words, level, line >> 6) else { return 0 };
        to_front(set, line | super::EXCLUSIVE, |here| is(here, line)) & super::STATE
    }

    #[inline(always)]
    pub(super) fn set_second(&mut self, entry: u64) {
        let level = &self.shape.l2;
        let set = of(self.words, level, entry >> 6);
        if let Some(first) = set.and_then(<[u64]>::first_mut) {
            *first = entry;
        }
    }

    /// Where a line is in the second level, its order left as it is.
    pub(super) fn find_in_second(&self, line: u64) -> Option<usize> {
        let level = &self.shape.l2;
        if !level.exists() {
            return None;
        }
        let from = word(level.start + level.set(line >> 6) * level.ways);
        let set = self.words.get(from..from.wrapping_add(word(level.ways)))?;
        Some(from + set.iter().position(|&here| is(here, line))?)
    }

    /// Takes a line out of the second level that is at `slot`; those behind it
    /// move up, so that empty ways are the last ones.
    pub(super) fn drop_second(&mut self, line: u64, slot: usize) {
        let level = &self.shape.l2;
        let end = word(level.start + (level.set(line >> 6) + 1) * level.ways);
        let mut carried = 0;
        for at in (slot..end).rev() {
            if let Some(place) = self.words.get_mut(at) {
                carried = core::mem::replace(place, carried);
            }
        }
    }

    /// Whether the third level has a line; now it has.
    #[inline(always)]
    pub(super) fn third(&self, common: &mut [u64], line: u64) -> bool {
        let set = of(common, &self.shape.l3, line >> 6);
        let entry = line | super::EXCLUSIVE;
        set.is_some_and(|set| to_front(set, entry, |here| here == entry) != 0)
    }

    /// Whether the second-level TLB has a page; now it has.
    #[inline(always)]
    pub(super) fn second_page(&mut self, page: u64, number: u64) -> bool {
        let set = of(self.words, &self.shape.stlb, number);
        set.is_some_and(|set| to_front(set, page, |here| here == page) != 0)
    }
}
