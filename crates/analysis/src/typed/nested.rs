//! Types within each other.

use super::member_name::is_alike;
use super::typed_operand::element;
use types::{PathStep, TypeId, TypeKind, TypeTable};

/// Whether `wanted` is what a byte of a type is in, or a part of it: how far
/// into that the byte is.
pub(crate) fn within(types: &TypeTable, of: TypeId, offset: u64, wanted: TypeId) -> Option<u64> {
    if is_alike(types, of, wanted) {
        return Some(offset);
    }
    types.member_at(of, offset).paths.iter().find_map(|path| {
        let (mut at, mut rest) = (of, offset);
        path.steps.iter().find_map(|step| {
            let (of, start) = match *step {
                PathStep::Member(member) => {
                    let member = types.member(member);
                    (member.of, member.offset().unwrap_or(0))
                }
                PathStep::Element(number) => {
                    let TypeKind::Array { of, .. } = types.get(types.resolved(at)).kind else {
                        return None;
                    };
                    (of, number.saturating_mul(types.size_of(of).unwrap_or(0)))
                }
            };
            at = of;
            rest = rest.saturating_sub(start);
            is_alike(types, element(types, of), wanted).then_some(rest)
        })
    })
}
