//! Address -> routine's number without a search: a table over the text.

use std::ops::Range;

/// A byte of the table stands for this many bytes of text.
const GRANULE: u64 = 16;
/// Numbers begin anew for each of this many bytes of text.
const BLOCK: u64 = 1024;
/// Routines further apart than this get tables of their own.
const GAP: u64 = 1 << 20;
/// Text that gets tables: they are a sixteenth of it.
const MOST_TEXT: u64 = 512 << 20;
/// In a byte of the table: a stretch begins within the granule, or there are
/// more in its block than the other bits can say.
const SEARCH: u8 = 0x80;
/// In place of a stretch: the address is in none.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Where the kernel's routines lie, and the gaps between them: stretches,
/// numbered in address order. What is nowhere near them has no number.
#[derive(Debug, Default)]
pub(super) struct Direct {
    /// First addresses of the stretches.
    starts: Vec<u64>,
    /// Which of them are gaps.
    gaps: Vec<bool>,
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

impl Direct {
    /// `routines`: first addresses and first ones beyond, in order, none
    /// over another; those that are not so are left out.
    pub(super) fn new(routines: impl Iterator<Item = Range<u64>>) -> Direct {
        let mut at = 0;
        let in_order = routines.filter(|routine| {
            let is_next = routine.start >= at && routine.start < routine.end;
            at = if is_next { routine.end } else { at };
            is_next
        });
        let mut clusters: Vec<Vec<Range<u64>>> = Vec::new();
        for routine in in_order {
            match clusters.last_mut() {
                Some(last) if last.last().is_some_and(|last| routine.start - last.end < GAP) => {
                    last.push(routine);
                }
                _ => clusters.push(vec![routine]),
            }
        }
        // Where most routines are, most addresses will be.
        clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.len()));
        let mut direct = Direct::default();
        let mut left = MOST_TEXT;
        for cluster in clusters {
            direct.add(&cluster, &mut left);
        }
        direct
    }

    fn add(&mut self, cluster: &[Range<u64>], left: &mut u64) {
        let (Some(from), Some(to)) = (cluster.first(), cluster.last()) else { return };
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
        for routine in cluster {
            if at < routine.start {
                self.push(at, true);
            }
            self.push(routine.start, false);
            at = routine.end;
        }
        if at < end {
            self.push(at, true);
        }
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let own = number(begun)..number(self.starts.len());
        self.tables.push(Table::new(first, span, (&self.starts[begun..], own)));
    }

    fn push(&mut self, start: u64, is_gap: bool) {
        self.starts.push(start);
        self.gaps.push(is_gap);
    }

    /// The stretches that hold addresses, [`NOWHERE`] for those without one.
    /// As many are looked up as both slices have.
    ///
    /// In two passes: in the first no address waits for another, so that the
    /// processor has many reads of the table under way.
    pub(super) fn find_all(&self, addresses: &[u64], stretches: &mut [u32], left: &mut Vec<u32>) {
        left.clear();
        let Some(table) = self.tables.first() else { return stretches.fill(NOWHERE) };
        left.resize(addresses.len(), 0);
        let mut rare = 0;
        let (first, span) = (table.first, table.span);
        let (granules, blocks) = (&table.granules[..], &table.blocks[..]);
        for (number, (&address, stretch)) in (0..).zip(addresses.iter().zip(&mut *stretches)) {
            let offset = address.wrapping_sub(first);
            let offset = if offset < span { offset } else { u64::MAX };
            let granule = at(granules, offset / GRANULE).unwrap_or(SEARCH);
            let block = at(blocks, offset / BLOCK).unwrap_or(0);
            *stretch = block.wrapping_add(u32::from(granule & (SEARCH - 1)));
            // Without a branch, which would be guessed wrong.
            left[rare] = number;
            rare += usize::from(granule >> 7);
        }
        for &number in &left[..rare] {
            let number = number as usize;
            stretches[number] = self.find(addresses[number]).unwrap_or(NOWHERE);
        }
    }

    /// Whether a stretch is a gap between routines.
    pub(super) fn is_gap(&self, stretch: u32) -> bool {
        self.gaps[stretch as usize]
    }

    /// The stretch that holds an address.
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

    /// Where a stretch begins.
    pub(super) fn start(&self, stretch: u32) -> u64 {
        self.starts[stretch as usize]
    }

    /// How many stretches there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
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
        let mut begun = 0_usize;
        let per_block = usize::try_from(BLOCK / GRANULE).unwrap_or(1);
        let mut granule_start = first;
        for block in granules.chunks_mut(per_block) {
            let before = begun;
            // Of the very first block none is before: it wraps to its start.
            let below = own.start.wrapping_add(u32::try_from(before).unwrap_or(0)).wrapping_sub(1);
            blocks.push(below);
            for granule in block {
                begun += usize::from(starts.get(begun).is_some_and(|&at| at == granule_start));
                let known = u8::try_from(begun - before).unwrap_or(u8::MAX);
                let within = starts[begun..].iter();
                let within = within.take_while(|&&at| at - granule_start < GRANULE).count();
                let search = if within > 0 || known >= SEARCH { SEARCH } else { 0 };
                *granule = known.min(SEARCH - 1) | search;
                begun += within;
                granule_start += GRANULE;
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Looks at every routine.
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
            let (mut stretches, mut left) = (vec![0; all.len()], Vec::new());
            direct.find_all(&all, &mut stretches, &mut left);
            for (address, stretch) in all.into_iter().zip(stretches) {
                prop_assert_eq!(direct.find(address), Some(stretch).filter(|&stretch| stretch != NOWHERE));
                let found = start(&direct, address);
                match slowly(&routines, address) {
                    // What reaches the last address of all has no table.
                    Some(start) if found.is_some() => prop_assert_eq!(found, Some(start)),
                    Some(_) => prop_assert!(at > u64::MAX - BLOCK),
                    // A gap has a number of its own, or none.
                    None => prop_assert!(direct.find(address).is_none_or(|gap| direct.is_gap(gap)) && found.is_none_or(|start| slowly(&routines, start).is_none())),
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
