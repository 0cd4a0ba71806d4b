//! Address -> routine's number without a search: a table over the text.

use std::ops::Range;

/// A byte of the table stands for this many bytes of text.
pub(super) const GRANULE: u64 = 16;
/// Numbers begin anew for each of this many bytes of text.
const BLOCK: u64 = 1024;
const GRANULES_IN_BLOCK: usize = 64;
/// Routines further apart than this get tables of their own.
const GAP: u64 = 1 << 20;
/// Text that gets tables: they are a sixteenth of it.
const MOST_TEXT: u64 = 512 << 20;
/// In a byte of the table: a stretch begins within the granule, or there are
/// more in its block than the other bits can say.
const SEARCH: u8 = 0x80;
/// In place of a routine's number: a gap.
const NO_ROUTINE: u32 = u32::MAX;

/// Where the kernel's routines lie, and the gaps between them: stretches,
/// numbered in address order. What is nowhere near them has no number.
#[derive(Debug, Default)]
pub(super) struct Direct {
    /// First addresses of the stretches.
    starts: Vec<u64>,
    routines: Vec<u32>,
    /// The one with most routines first.
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    /// At a block's start.
    first: u64,
    span: u64,
    /// How many stretches begin from the block's start to the granule's.
    granules: Vec<u8>,
    /// The last stretch that begins before the block.
    blocks: Vec<u32>,
    /// Numbers of its stretches.
    own: Range<u32>,
}

/// A routine's number, and its first address and first one beyond.
type Routine = (u32, Range<u64>);

impl Direct {
    /// `routines`: first addresses and first ones beyond, in order, none
    /// over another; those that are not so are left out. Numbers are those of
    /// the order in which they come.
    pub(super) fn new(routines: impl Iterator<Item = Range<u64>>) -> Direct {
        let mut at = 0;
        let in_order: Vec<Routine> = (0..NO_ROUTINE)
            .zip(routines)
            .filter(|(_, routine)| {
                let is_next = routine.start >= at && routine.start < routine.end;
                at = if is_next { routine.end } else { at };
                is_next
            })
            .collect();
        let is_near = |one: &Routine, next: &Routine| next.1.start - one.1.end < GAP;
        let mut clusters: Vec<&[Routine]> = in_order.chunk_by(is_near).collect();
        // Where most routines are, most addresses will be.
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
        let mut direct = Direct::default();
        direct.starts.reserve(in_order.len());
        direct.routines.reserve(in_order.len());
        let mut left = MOST_TEXT;
        for cluster in clusters {
            direct.add(cluster, &mut left);
        }
        direct
    }

    fn add(&mut self, cluster: &[Routine], left: &mut u64) {
        let (Some((_, from)), Some((_, to))) = (cluster.first(), cluster.last()) else { return };
        let first = from.start & !(BLOCK - 1);
        let Some(end) = to.end.checked_next_multiple_of(BLOCK) else { return };
        let (span, begun) = (end - first, self.starts.len());
        let Some(rest) = left.checked_sub(span) else { return };
        // A gap may come before the first, and after each.
        if u32::try_from(begun + 2 * cluster.len() + 1).is_err() {
            return;
        }
        *left = rest;
        let mut at = first;
        for (number, routine) in cluster {
            if at < routine.start {
                self.push(at, NO_ROUTINE);
            }
            self.push(routine.start, *number);
            at = routine.end;
        }
        if at < end {
            self.push(at, NO_ROUTINE);
        }
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let own = number(begun)..number(self.starts.len());
        self.tables.push(Table::new(first, span, (&self.starts[begun..], own)));
    }

    fn push(&mut self, start: u64, routine: u32) {
        self.starts.push(start);
        self.routines.push(routine);
    }

    /// The routine of a stretch; none of a gap between routines.
    pub(super) fn routine(&self, stretch: u32) -> Option<u32> {
        Some(self.routines[stretch as usize]).filter(|&routine| routine != NO_ROUTINE)
    }

    #[inline]
    pub(super) fn find(&self, address: u64) -> Option<u32> {
        for table in &self.tables {
            let offset = address.wrapping_sub(table.first);
            if offset < table.span {
                return table.find(offset, address, &self.starts);
            }
        }
        None
    }

    pub(super) fn start(&self, stretch: u32) -> u64 {
        self.starts[stretch as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Of the stretch of memory with most routines: its first address, and of
    /// each granule whether it is all of one stretch.
    pub(super) fn granules(&self) -> Option<(u64, impl Iterator<Item = bool> + '_)> {
        let table = self.tables.first()?;
        Some((table.first, table.granules.iter().map(|granule| granule & SEARCH == 0)))
    }
}

#[inline]
fn at<T: Copy>(all: &[T], index: u64) -> Option<T> {
    all.get(usize::try_from(index).unwrap_or(usize::MAX)).copied()
}

impl Table {
    fn new(first: u64, span: u64, (starts, own): (&[u64], Range<u32>)) -> Table {
        let count = |bytes: u64| usize::try_from(span / bytes).unwrap_or(0);
        let mut granules = vec![0; count(GRANULE)];
        let mut blocks = Vec::with_capacity(count(BLOCK));
        // In a byte: so many stretches have begun.
        let told = |begun: usize| match u8::try_from(begun) {
            Ok(begun) if begun < SEARCH => begun,
            _ => SEARCH | (SEARCH - 1),
        };
        let (mut begun, mut block_start) = (0, first);
        for block in granules.as_chunks_mut::<GRANULES_IN_BLOCK>().0 {
            // Of the very first block none is before: it wraps to its start.
            blocks.push(own.start.wrapping_add(narrow(begun)).wrapping_sub(1));
            let (mut within, mut filled) = (0, 0);
            while let Some(&start) = starts.get(begun + within)
                && start - block_start < BLOCK
            {
                let offset = start - block_start;
                let granule = usize::try_from(offset / GRANULE).unwrap_or(0);
                let is_inside = !offset.is_multiple_of(GRANULE);
                // Those up to it; more may begin in the same one.
                let until = filled.max(granule + usize::from(is_inside));
                block[filled..until].fill(told(within));
                if is_inside {
                    block[granule] |= SEARCH;
                }
                filled = until;
                within += 1;
            }
            block[filled..].fill(told(within));
            begun += within;
            block_start += BLOCK;
        }
        Table { first, span, granules, blocks, own }
    }

    #[inline]
    fn find(&self, offset: u64, address: u64, starts: &[u64]) -> Option<u32> {
        let granule = at(&self.granules, offset / GRANULE)?;
        let block = at(&self.blocks, offset / BLOCK)?;
        let mut found = block.wrapping_add(u32::from(granule & (SEARCH - 1)));
        if granule & SEARCH != 0 {
            while found.wrapping_add(1) < self.own.end
                && starts[found.wrapping_add(1) as usize] <= address
            {
                found = found.wrapping_add(1);
            }
        }
        Some(found)
    }
}

/// There are fewer than 2^32 of everything.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slowly(routines: &[Range<u64>], address: u64) -> Option<u64> {
        routines.iter().find(|routine| routine.contains(&address)).map(|routine| routine.start)
    }

    fn start(direct: &Direct, address: u64) -> Option<u64> {
        direct.find(address).map(|stretch| direct.start(stretch))
    }

    proptest! {
        #[test]
        fn equals_a_look_at_every_routine(
            first in prop_oneof![0_u64..5000, Just(u64::MAX - (4 << 20)), Just(0xffff_ffff_8100_0000)],
            steps in prop::collection::vec((prop_oneof![0_u64..4, 0_u64..40, Just(GAP)], prop_oneof![1_u64..4, 1_u64..2000]), 1..300),
            probes in prop::collection::vec(any::<u64>(), 0..20),
        ) {
            let mut at = first;
            let mut routines = Vec::new();
            for (gap, size) in steps {
                let Some(end) = at.checked_add(gap + size) else { break };
                routines.push(at + gap..end);
                at = end;
            }
            let direct = Direct::new(routines.iter().cloned());
            let edges = routines.iter().flat_map(|routine| [routine.start, routine.end]);
            let around = edges.flat_map(|edge| [edge.saturating_sub(1), edge, edge.saturating_add(1)]);
            let all: Vec<u64> = around.chain(probes).collect();
            for address in all {
                let found = start(&direct, address);
                match slowly(&routines, address) {
                    // What reaches the last address of all has no table.
                    Some(start) if found.is_some() => {
                        prop_assert_eq!(found, Some(start));
                        let routine = direct.find(address).and_then(|stretch| direct.routine(stretch));
                        prop_assert_eq!(routine.map(|number| routines[number as usize].start), Some(start));
                    }
                    Some(_) => prop_assert!(at > u64::MAX - BLOCK),
                    // A gap has a number of its own, or none.
                    None => prop_assert!(direct.find(address).is_none_or(|gap| direct.routine(gap).is_none()) && found.is_none_or(|start| slowly(&routines, start).is_none())),
                }
            }
        }
    }

    #[test]
    fn what_is_out_of_order_or_far_away_is_left_out() {
        let direct = Direct::new([64..64, 16..32, 24..40, 40..41, 1 << 40..1 << 50].into_iter());
        assert_eq!(start(&direct, 16), Some(16));
        assert_eq!(start(&direct, 35), Some(32));
        assert_eq!(start(&direct, 40), Some(40));
        assert_eq!(start(&direct, 1 << 40), None);
        assert_eq!(Direct::new(std::iter::empty()).find(0), None);
    }
}
