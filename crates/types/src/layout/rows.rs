//! The rows of a layout.

use super::{BitPlace, LayoutRow, LayoutSums, MemberRow};
use crate::table::{Composite, CompositeKind, MemberId, MemberKind, TypeKind, TypeTable};
use std::ops::Range;

/// Rows of one layout.
const MOST_ROWS: usize = 1 << 17;
/// Types without names within each other.
const MOST_NESTED: usize = 32;

pub(super) struct RowMaker<'t> {
    table: &'t TypeTable,
    pub(super) rows: Vec<LayoutRow>,
    pub(super) sums: LayoutSums,
    pub(super) cut: Option<&'static str>,
    /// The last line whose border was told.
    line: u64,
}

#[derive(Clone)]
struct Enclosing {
    depth: usize,
    /// Bytes from the start of the whole to it.
    base: u64,
    size: Option<u64>,
    /// Bits from its start that are the discriminant's, within a variant.
    taken: Option<Range<u64>>,
}

/// How far members reach, and what is not told of yet.
#[derive(Clone, Copy, Default)]
struct LayoutEnd {
    end: u64,
    /// The number that the last bit field is in ends there.
    unit_end: u64,
}

/// What lies between two members, or behind the last.
#[derive(Clone, Copy)]
struct Gap {
    bits: u64,
    bytes: u64,
    /// Bits from the start of what they are in.
    hole_at: u64,
}

impl<'t> RowMaker<'t> {
    pub(super) fn new(table: &'t TypeTable, sums: LayoutSums) -> RowMaker<'t> {
        RowMaker { table, rows: Vec::new(), sums, cut: None, line: 0 }
    }

    pub(super) fn whole(&mut self, composite: &Composite) {
        let size = Some(self.sums.size);
        self.members(composite, &Enclosing { depth: 0, base: 0, size, taken: None });
    }

    fn members(&mut self, composite: &Composite, within: &Enclosing) {
        let mut order: Vec<MemberId> = self.table.members(composite).collect();
        let is_whole = within.depth == 0;
        let overlap = composite.sort == CompositeKind::Union;
        if !overlap {
            order.sort_by_key(|&member| {
                self.table.member(member).bit.map_or((1, 0), |bit| (0, bit))
            });
        }
        let taken = self.discriminant(&order);
        let mut reached = LayoutEnd::default();
        let mut has_virtual = false;
        for member in order {
            if self.rows.len() >= MOST_ROWS {
                self.cut = Some("more members than are shown");
                return;
            }
            let start = self.table.member(member).bit;
            if let Some(start) = start
                && !overlap
            {
                if let Some(taken) = within.taken.clone().filter(|taken| taken.end <= start) {
                    self.tell(reached.gap(taken.start), within);
                    reached.take(taken.start, taken.end - taken.start, 0);
                }
                self.tell(reached.gap(start), within);
            }
            has_virtual |= start.is_none();
            let bits = self.member(member, within, taken.clone());
            if is_whole {
                self.count(member, bits);
            }
            if let Some(start) = start {
                reached.take(start, bits, self.unit_end(member));
            }
        }
        let Some(size) = within.size else { return };
        if !is_whole || has_virtual {
            return;
        }
        let gap = reached.gap(size.saturating_mul(8));
        self.sums.bit_padding = gap.bits;
        self.sums.padding = gap.bytes;
    }

    /// Tells of a member; gives its bits.
    fn member(&mut self, member: MemberId, within: &Enclosing, taken: Option<Range<u64>>) -> u64 {
        let row = self.row(member, within);
        if let Some(offset) = row.offset {
            self.border(offset, within.depth);
        }
        let size = row.size.unwrap_or(0).saturating_mul(8);
        let bits = row.bits.map_or(size, |bits| bits.count);
        let Some(shown) = self.table.shown_within(member) else {
            self.rows.push(LayoutRow::Member(row));
            return bits;
        };
        self.rows.push(LayoutRow::Open(row));
        if let TypeKind::Composite(inner) = &self.table.get(shown).kind {
            match within.depth < MOST_NESTED {
                true => {
                    let base = row.offset.unwrap_or(0);
                    let taken = taken.filter(|_| self.is_variant(member));
                    let depth = within.depth + 1;
                    let size = self.table.size_of(shown);
                    self.members(inner, &Enclosing { depth, base, size, taken });
                }
                false => self.cut = Some("types are nested deeper than is shown"),
            }
        }
        self.rows.push(LayoutRow::Close(row));
        bits
    }

    fn is_variant(&self, member: MemberId) -> bool {
        matches!(self.table.member(member).sort, MemberKind::Variant(_))
    }

    /// The bits that tell variants apart.
    fn discriminant(&self, members: &[MemberId]) -> Option<Range<u64>> {
        let mut members = members.iter().map(|&member| self.table.member(member));
        let found = members.find(|member| member.sort == MemberKind::Discriminant)?;
        let start = found.bit?;
        let size = self.table.size_of(found.of)?.checked_mul(8)?;
        Some(start..start.checked_add(size)?)
    }

    fn row(&self, number: MemberId, within: &Enclosing) -> MemberRow {
        let member = self.table.member(number);
        let size = self.table.size_of(member.of);
        let depth = within.depth + 1;
        let (offset, bits) = match (member.bit, member.bits) {
            (Some(bit), Some(count)) => {
                let unit = size.unwrap_or(1).clamp(1, u64::MAX / 8);
                let start = bit / 8 / unit * unit;
                (Some(start), Some(BitPlace { first: bit.saturating_sub(start * 8), count }))
            }
            (bit, _) => (bit.map(|bit| bit / 8), None),
        };
        let offset = offset.map(|offset| offset.saturating_add(within.base));
        MemberRow { depth, member: number, offset, size, bits }
    }

    /// Where the number ends that a bit field is in, in bits.
    fn unit_end(&self, number: MemberId) -> u64 {
        let member = self.table.member(number);
        let (Some(bit), Some(_)) = (member.bit, member.bits) else { return 0 };
        let unit = self.table.size_of(member.of).unwrap_or(1).clamp(1, u64::MAX / 8) * 8;
        (bit / unit).saturating_add(1).saturating_mul(unit)
    }

    fn count(&mut self, number: MemberId, bits: u64) {
        let member = self.table.member(number);
        let sums = &mut self.sums;
        sums.members += 1;
        match (member.bit, member.bits) {
            (None, _) => sums.virtual_bases += 1,
            (Some(_), Some(_)) => sums.sum_bits = sums.sum_bits.saturating_add(bits),
            (Some(_), None) => sums.sum_members = sums.sum_members.saturating_add(bits / 8),
        }
    }

    fn tell(&mut self, gap: Gap, within: &Enclosing) {
        let is_whole = within.depth == 0;
        let depth = within.depth + 1;
        if gap.bits > 0 {
            self.rows.push(LayoutRow::BitHole { depth, bits: gap.bits });
        }
        if gap.bytes > 0 {
            let offset = within.base.saturating_add(gap.hole_at / 8);
            self.rows.push(LayoutRow::Hole { depth, offset, bytes: gap.bytes });
        }
        if is_whole {
            let sums = &mut self.sums;
            sums.bit_holes += u64::from(gap.bits > 0);
            sums.sum_bit_holes += gap.bits;
            sums.holes += u64::from(gap.bytes > 0);
            sums.sum_holes += gap.bytes;
        }
    }

    /// Tells that a line began since the last member.
    fn border(&mut self, offset: u64, depth: usize) {
        let line = offset / self.sums.line;
        if line > self.line {
            self.line = line;
            let ago = offset % self.sums.line;
            self.rows.push(LayoutRow::Border { depth: depth + 1, line, ago });
        }
    }
}

impl LayoutEnd {
    /// What is free up to a bit.
    fn gap(&self, start: u64) -> Gap {
        let free = start.saturating_sub(self.end);
        let in_unit = self.unit_end.clamp(self.end, start.max(self.end)) - self.end;
        let odd = (free - in_unit) % 8;
        let bits = in_unit + odd;
        Gap { bits, bytes: (free - bits) / 8, hole_at: self.end.saturating_add(in_unit) }
    }

    fn take(&mut self, start: u64, bits: u64, unit_end: u64) {
        let end = start.saturating_add(bits);
        if end >= self.end {
            self.end = end;
            self.unit_end = unit_end;
        }
    }
}
