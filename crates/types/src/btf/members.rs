//! What types of several parts are made of.

use super::{BtfHead, BtfReader};
use crate::table::{
    Composite, CompositeKind, Enumerator, MemberId, MemberKind, TypeId, TypeMember,
};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A number of fewer bits than its bytes have.
#[derive(Clone, Copy, Debug)]
pub(super) struct NarrowNumber {
    id: TypeId,
    bits: u64,
    first: u64,
}

impl NarrowNumber {
    /// What the word behind a number says of it, if it is narrow.
    pub(super) fn of(id: TypeId, said: u32, size: u32) -> Option<NarrowNumber> {
        let (bits, first) = (u64::from(said & 0xff), u64::from(said >> 16 & 0xff));
        (bits != u64::from(size) * 8).then_some(NarrowNumber { id, bits, first })
    }
}

impl BtfReader<'_> {
    pub(super) fn composite(&mut self, head: BtfHead, missing: TypeId) -> Option<Composite> {
        let mut members = Vec::new();
        for _ in 0..head.count {
            let (name, of, offset) = (self.word()?, self.word()?, self.word()?);
            let (bit, bits) = match head.flag {
                false => (offset, 0),
                true => (offset & 0x00ff_ffff, offset >> 24),
            };
            members.push(TypeMember {
                name: self.builder.name(self.bytes.text(name)),
                of: self.id(of, missing),
                bit: Some(bit.into()),
                bits: (bits > 0).then_some(bits.into()),
                align: None,
                sort: MemberKind::Field,
            });
        }
        let members = self.builder.members(members);
        let sort = if head.kind == 5 { CompositeKind::Union } else { CompositeKind::Struct };
        Some(Composite { sort, members, has_variants: false })
    }

    pub(super) fn constants(&mut self, head: BtfHead) -> Option<Range<u32>> {
        let mut values = Vec::new();
        for _ in 0..head.count {
            let (name, low) = (self.word()?, self.word()?);
            let high = if head.kind == 19 { Some(self.word()?) } else { None };
            let value = match (high, head.flag) {
                (None, false) => i128::from(low),
                (None, true) => i128::from(low.cast_signed()),
                (Some(high), is_signed) => {
                    let whole = u64::from(high) << 32 | u64::from(low);
                    if is_signed { i128::from(whole.cast_signed()) } else { i128::from(whole) }
                }
            };
            if let Some(name) = self.builder.name(self.bytes.text(name)) {
                values.push(Enumerator { name, value });
            }
        }
        Some(self.builder.enumerators(values))
    }

    /// Members whose numbers are narrow are bit fields.
    pub(super) fn widen(&mut self) {
        let narrow: FxHashMap<TypeId, NarrowNumber> =
            self.narrow.iter().map(|one| (one.id, *one)).collect();
        if narrow.is_empty() {
            return;
        }
        for number in 0..self.builder.member_count() {
            let member = self.builder.member(MemberId(number));
            if let (Some(one), None, Some(bit)) = (narrow.get(&member.of), member.bits, member.bit)
            {
                member.bits = Some(one.bits);
                member.bit = bit.checked_add(one.first);
            }
        }
    }
}
