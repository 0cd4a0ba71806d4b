//! What of a structure can stand in another order.

use types::{CompositeKind, MemberId, MemberKind, TypeId, TypeKind, TypeMember, TypeTable};

/// Members that are put into another order.
const MOST_PARTS: usize = 256;

/// Members that move as one: one, or bit fields that share bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MovablePart {
    pub(crate) members: Vec<MemberId>,
    /// Bytes from the structure's start.
    pub(crate) start: u64,
    /// 0: an array that has as many elements as there is room for.
    pub(crate) size: u64,
    pub(crate) align: u64,
    pub(crate) pin: Pin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pin {
    /// In front of the others, as bases and pointers to virtual functions do.
    First,
    Free,
    Last,
}

/// Why a type has no other order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoOrder {
    /// Nothing to put into an order.
    #[error("it is no structure with members that could stand in another order")]
    Kind,
    /// A virtual base.
    #[error("where its virtual bases lie each object tells")]
    VirtualBase,
    /// Packed.
    #[error("it is packed, or its members lie over each other")]
    Overlap,
    /// More members than are looked at.
    #[error("it has more members than are put into another order")]
    Many,
    /// Nothing that could be better is known.
    #[error("no place of its members is known by samples")]
    Unplaced,
    /// None is better.
    #[error("no order that was tried touches fewer lines")]
    None,
}

/// The parts of a structure, in order of place.
pub(crate) fn parts(types: &TypeTable, of: TypeId) -> Result<Vec<MovablePart>, NoOrder> {
    let TypeKind::Composite(composite) = &types.get(of).kind else { return Err(NoOrder::Kind) };
    if composite.sort == CompositeKind::Union || composite.has_variants {
        return Err(NoOrder::Kind);
    }
    let mut members: Vec<MemberId> = types.members(composite).collect();
    members.sort_by_key(|member| types.member(*member).bit);
    let mut parts: Vec<MovablePart> = Vec::new();
    for number in members {
        let member = types.member(number);
        let start = member.offset().ok_or(NoOrder::VirtualBase)?;
        let part = part(types, number, member, start)?;
        match parts.last_mut() {
            Some(last) if member.bits.is_some() && start < last.start + last.size => {
                // Of the number that the bit field before is in.
                let end = (part.start + part.size).max(last.start + last.size);
                last.size = end - last.start;
                last.members.push(number);
            }
            Some(last) if start < last.start + last.size => return Err(NoOrder::Overlap),
            _ => parts.push(part),
        }
    }
    // An empty base has a byte of its own where nothing else does.
    match parts.len() {
        0 | 1 => Err(NoOrder::Kind),
        2..=MOST_PARTS => Ok(parts),
        _ => Err(NoOrder::Many),
    }
}

fn part(
    types: &TypeTable,
    number: MemberId,
    member: &TypeMember,
    start: u64,
) -> Result<MovablePart, NoOrder> {
    let is_open = matches!(
        types.get(types.resolved(member.of)).kind,
        TypeKind::Array { count: None | Some(0), .. }
    );
    let size = match member.bits {
        Some(bits) => {
            let end = member.bit.unwrap_or(0).checked_add(bits).ok_or(NoOrder::Overlap)?;
            end.div_ceil(8) - start
        }
        None if is_open => 0,
        None => types.size_of(member.of).ok_or(NoOrder::Kind)?,
    };
    let name = member.name.map_or("", |name| types.text(name));
    let pin = match member.sort {
        MemberKind::Base | MemberKind::VirtualBase => Pin::First,
        _ if name.starts_with("_vptr") => Pin::First,
        _ if is_open => Pin::Last,
        _ => Pin::Free,
    };
    let align = member.align.or_else(|| types.align_of(member.of)).unwrap_or(1).max(1);
    let is_sound = align.is_power_of_two() && start.checked_add(size).is_some();
    if !is_sound || member.bits.is_none() && !start.is_multiple_of(align) {
        return Err(NoOrder::Overlap);
    }
    // Bit fields may begin anywhere in their number.
    let align = if start.is_multiple_of(align) { align } else { 1 };
    Ok(MovablePart { members: vec![number], start, size, align, pin })
}
