//! What an operand in memory is, as far as a routine's code tells.

use super::flow_value::TypedPointer;
use iced_x86::Register;
use types::{PathStep, TypeId, TypeKind, TypeTable};

/// An operand in memory, and what it may point into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypedOperand {
    /// Bytes that are accessed, of several numbers at once those of one; 0: not known.
    pub(crate) bytes: u64,
    /// What its address points into; the first told comes first.
    pub(crate) pointers: Vec<TypedPointer>,
    /// The register that its address is counted from by an amount which only
    /// a sample tells, and what that points into.
    pub(crate) from: Option<CountedFrom>,
    /// Other registers that point, exactly, to what it points into somewhere.
    pub(crate) beside: Vec<CountedFrom>,
    pub(crate) is_in_frame: bool,
}

/// A register that points into something known, exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CountedFrom {
    /// In full width.
    pub(crate) register: Register,
    pub(crate) pointers: Vec<TypedPointer>,
    /// The instruction gives it another value: a sample from behind it has that.
    pub(crate) is_written: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypedPlace {
    /// No array, typedef or qualifier.
    pub(crate) of: TypeId,
    /// Bytes from its start; None: not known which, or of a type of one byte that
    /// more is accessed than that.
    pub(crate) offset: Option<u64>,
}

/// Whether two types are the same thing: of one name and size, as each unit
/// tells of its own.
pub(crate) fn is_alike(types: &TypeTable, a: TypeId, b: TypeId) -> bool {
    a == b
        || (types.size_of(a) == types.size_of(b)
            && types.get(a).name.is_some()
            && types.full_name(a) == types.full_name(b))
}

/// How good a guess is: the better one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fitness {
    is_known_place: bool,
    is_composite: bool,
    size: u64,
}

impl TypedPlace {
    /// Whether no more is known than that bytes lie there.
    pub(crate) fn is_bytes(self, types: &TypeTable) -> bool {
        self.offset.is_none() && types.size_of(self.of) == Some(1)
    }
}

impl TypedOperand {
    /// What is accessed. `distance`: bytes from a register to the data address of a sample.
    pub(crate) fn place(
        &self,
        types: &TypeTable,
        distance: impl Fn(&CountedFrom) -> Option<i64>,
    ) -> Option<TypedPlace> {
        let counted = self.from.as_ref().and_then(|from| Some((from, distance(from)?)));
        let counted = counted.into_iter().flat_map(|(from, distance)| {
            let moved = from.pointers.iter().map(move |pointer| pointer.moved(distance, 0));
            moved.filter(|pointer| self.is_index(types, *pointer))
        });
        let mut best: Option<(Fitness, TypedPlace)> = None;
        for pointer in counted.chain(self.pointers.iter().copied()) {
            let Some(found) = settle(types, pointer, self.bytes) else { continue };
            if best.is_none_or(|(fitness, _)| fitness < found.0) {
                best = Some(found);
            }
        }
        let (_, place) = best?;
        let is_open = place.offset.is_none() && !place.is_bytes(types);
        let beside = is_open.then(|| self.place_beside(types, place.of, distance)).flatten();
        Some(beside.unwrap_or(place))
    }

    /// Where it points to one of two places, that which another register of
    /// the same type tells: objects do not overlap, so what lies within that
    /// one is of it.
    fn place_beside(
        &self,
        types: &TypeTable,
        of: TypeId,
        distance: impl Fn(&CountedFrom) -> Option<i64>,
    ) -> Option<TypedPlace> {
        let chosen = self.pointers.iter().find(|it| is_alike(types, it.to, of))?;
        let places = [chosen.offset, chosen.or?];
        self.beside.iter().find_map(|from| {
            let distance = distance(from)?;
            let mut same = from.pointers.iter().filter(|it| is_alike(types, it.to, of));
            let offset = same.next()?.offset.checked_add(distance)?;
            let offset = u64::try_from(offset).ok().filter(|_| places.contains(&offset));
            offset.map(|offset| TypedPlace { of, offset: Some(offset) })
        })
    }

    /// Whether what is added to a register can be the index of an array that
    /// a place lies in: what else is added leads to other things.
    fn is_index(&self, types: &TypeTable, place: TypedPointer) -> bool {
        let statically = self.pointers.iter().find(|pointer| pointer.to == place.to);
        let Some(step) = statically.map(|pointer| pointer.step) else { return false };
        let of = element(types, place.to);
        if step == 0 || !matches!(types.get(of).kind, TypeKind::Composite(_)) {
            return true;
        }
        let Ok(here) = u64::try_from(place.offset) else { return false };
        let beside = [here.checked_add(step), here.checked_sub(step)];
        beside.into_iter().flatten().any(|beside| is_one_array(types, of, [here, beside]))
    }
}

/// What a pointer means, and how sure that is; None: its type tells nothing
/// of what lies there.
fn settle(types: &TypeTable, pointer: TypedPointer, bytes: u64) -> Option<(Fitness, TypedPlace)> {
    let of = element(types, pointer.to);
    let kind = &types.get(of).kind;
    if matches!(
        kind,
        TypeKind::Void
            | TypeKind::Unread
            | TypeKind::Function { .. }
            | TypeKind::Declared { .. }
            | TypeKind::Array { .. }
    ) {
        return None;
    }
    let size = types.size_of(of).filter(|size| *size > 0)?;
    let is_composite = matches!(kind, TypeKind::Composite(_));
    if pointer.is_alone && types.size_of(pointer.to).is_some_and(|size| bytes > size) {
        return None;
    }
    let offset = match pointer.step {
        // Bytes by which other things are accessed.
        _ if size == 1 && bytes > 1 => None,
        0 => Some(exact(types, pointer, of, size)?),
        step => stepping(types, pointer, of, step)?,
    };
    let fitness = Fitness { is_known_place: offset.is_some(), is_composite, size };
    Some((fitness, TypedPlace { of, offset }))
}

/// Where in a type a pointer to a known place points; None: beyond it.
fn exact(types: &TypeTable, pointer: TypedPointer, of: TypeId, size: u64) -> Option<u64> {
    let length = i64::try_from(size).ok()?;
    if (0..length).contains(&pointer.offset) {
        return u64::try_from(pointer.offset).ok();
    }
    let whole = types.size_of(pointer.to).and_then(|size| i64::try_from(size).ok());
    let is_within = whole.is_none_or(|whole| (0..whole).contains(&pointer.offset));
    // What is declared as an array has more of them, and numbers and
    // pointers that something points to mostly have.
    let is_composite = matches!(types.get(of).kind, TypeKind::Composite(_));
    let is_array = types.resolved(pointer.to) != of;
    if (is_array || !is_composite) && (is_within || !pointer.is_alone) {
        return u64::try_from(pointer.offset.rem_euclid(length)).ok();
    }
    // An array at the end may go on.
    let offset = u64::try_from(pointer.offset).ok()?;
    (!types.member_at(of, offset).paths.is_empty()).then_some(offset)
}

/// Where in a type a pointer points that any multiple of a step may be added
/// to; within: None: anywhere.
fn stepping(
    types: &TypeTable,
    pointer: TypedPointer,
    of: TypeId,
    step: u64,
) -> Option<Option<u64>> {
    let size = types.size_of(of)?;
    if !matches!(types.get(of).kind, TypeKind::Composite(_)) {
        // In smaller steps it points to other things.
        return step.is_multiple_of(size).then_some(Some(0));
    }
    let length = i64::try_from(size).ok()?;
    if let Some(array) = types.open_array(of) {
        // Its elements are all alike, if it points into them at all.
        let within = u64::try_from(pointer.offset).ok().filter(|offset| *offset >= array.start);
        let element = types.size_of(array.element).filter(|size| *size > 0);
        return Some(
            within
                .zip(element)
                .filter(|(_, size)| step.is_multiple_of(*size))
                .map(|(offset, size)| array.start + (offset - array.start) % size),
        );
    }
    let whole = u64::try_from(pointer.offset.rem_euclid(length)).ok();
    Some(whole.filter(|_| step.is_multiple_of(size)))
}

/// Whether two places of a type are in elements of one array, or the same
/// part of such.
pub(super) fn is_one_array(types: &TypeTable, of: TypeId, places: [u64; 2]) -> bool {
    let ways = places.map(|place| {
        let mut found = types.member_at(of, place).paths;
        for step in found.iter_mut().flat_map(|path| &mut path.steps) {
            if let PathStep::Element(number) = step {
                *number = 0;
            }
        }
        found.into_iter().map(|path| (path.steps, path.rest)).collect::<Vec<_>>()
    });
    !ways[0].is_empty() && ways[0] == ways[1]
}

/// Arrays within each other.
const MOST_DIMENSIONS: usize = 16;

/// What an array is of, without names and qualifiers; any other type itself.
pub(crate) fn element(types: &TypeTable, of: TypeId) -> TypeId {
    let mut at = types.resolved(of);
    for _ in 0..MOST_DIMENSIONS {
        match types.get(at).kind {
            TypeKind::Array { of, .. } => at = types.resolved(of),
            _ => break,
        }
    }
    at
}

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
