//! What is known of a register or a stack slot at one place of the code.

use types::TypeId;

/// Things that one value can point into.
const MOST_POINTED: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypedPointer {
    pub(crate) to: TypeId,
    /// Bytes from the start of that to where it points.
    pub(crate) offset: i64,
    /// 0: exactly there. Else any multiple of this may be added.
    pub(crate) step: u64,
    /// It points either exactly there or to this offset, and nowhere between.
    pub(crate) or: Option<i64>,
    /// That is a variable: no others of its type lie beside it.
    pub(crate) is_alone: bool,
}

impl TypedPointer {
    /// Some bytes further, and any multiple of a step.
    pub(crate) fn moved(self, bytes: i64, step: u64) -> TypedPointer {
        let offset = self.offset.wrapping_add(bytes);
        let or = self.or.filter(|_| step == 0).map(|or| or.wrapping_add(bytes));
        TypedPointer { offset, step: gcd(self.step, step), or, ..self }
    }

    /// What both of two paths know.
    fn joined(self, other: TypedPointer) -> TypedPointer {
        let apart = self.offset.abs_diff(other.offset);
        let step = gcd(gcd(self.step, other.step), apart);
        let or = self.one_of_two(other);
        TypedPointer { step, or, is_alone: self.is_alone || other.is_alone, ..self }
    }
}

impl TypedPointer {
    /// The second of the two places that both pointers together can mean; None: they mean one,
    /// or more.
    fn one_of_two(self, other: TypedPointer) -> Option<i64> {
        let is_known = |it: TypedPointer| it.step == 0 || it.or.is_some();
        if !is_known(self) || !is_known(other) {
            return None;
        }
        let all = [self.or, Some(other.offset), other.or];
        let mut others = all.into_iter().flatten().filter(|at| *at != self.offset);
        let second = others.next()?;
        others.all(|at| at == second).then_some(second)
    }
}

/// Tells a pointer into a type as one into a part of that.
pub(crate) type PartOf<'p> = dyn Fn(TypedPointer, TypeId) -> Option<TypedPointer> + 'p;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowValue {
    /// It is the canonical frame address and so many bytes.
    pub(crate) frame: Option<i64>,
    pointers: [Option<TypedPointer>; MOST_POINTED],
    /// It is a multiple of this; 0: it is 0; 1: any number.
    pub(crate) multiple: u64,
}

impl FlowValue {
    pub(crate) const UNKNOWN: FlowValue =
        FlowValue { frame: None, pointers: [None; MOST_POINTED], multiple: 1 };
    /// 0, or a pointer to nothing.
    pub(crate) const ZERO: FlowValue = FlowValue { multiple: 0, ..FlowValue::UNKNOWN };

    pub(crate) fn multiple_of(multiple: u64) -> FlowValue {
        FlowValue { multiple, ..FlowValue::UNKNOWN }
    }

    pub(crate) fn in_frame(offset: i64) -> FlowValue {
        FlowValue { frame: Some(offset), ..FlowValue::UNKNOWN }
    }

    pub(crate) fn pointing(pointer: TypedPointer) -> FlowValue {
        let mut value = FlowValue::UNKNOWN;
        value.add(pointer);
        value
    }

    /// Adds something that it points into. The first told comes first.
    pub(crate) fn add(&mut self, pointer: TypedPointer) {
        let same = |known: &Option<TypedPointer>| known.is_some_and(|it| it.to == pointer.to);
        if let Some(known) = self.pointers.iter_mut().find(|known| same(known)) {
            *known = Some(pointer);
        } else if let Some(free) = self.pointers.iter_mut().find(|known| known.is_none()) {
            *free = Some(pointer);
        }
    }

    pub(crate) fn pointers(&self) -> impl Iterator<Item = TypedPointer> + '_ {
        self.pointers.iter().flatten().copied()
    }

    pub(crate) fn is_pointer(&self) -> bool {
        self.pointers[0].is_some()
    }

    pub(crate) fn plus(&self, bytes: i64) -> FlowValue {
        if bytes == 0 {
            return *self;
        }
        let mut sum = FlowValue::multiple_of(gcd(self.multiple, bytes.unsigned_abs()));
        sum.frame = self.frame.map(|offset| offset.wrapping_add(bytes));
        for (to, from) in sum.pointers.iter_mut().zip(self.pointers) {
            *to = from.map(|pointer| pointer.moved(bytes, 0));
        }
        sum
    }

    /// The value and a multiple of some number that is not known.
    pub(crate) fn plus_multiple(&self, step: u64) -> FlowValue {
        if step == 0 {
            return *self;
        }
        let mut sum = FlowValue::multiple_of(gcd(self.multiple, step));
        for (to, from) in sum.pointers.iter_mut().zip(self.pointers) {
            *to = from.map(|pointer| pointer.moved(0, step));
        }
        sum
    }

    pub(crate) fn times(&self, factor: u64) -> FlowValue {
        FlowValue::multiple_of(self.multiple.checked_mul(factor).unwrap_or(1))
    }

    /// What holds on both of two paths. What points to a structure on one and
    /// to a part of such a structure on the other points to the part.
    pub(crate) fn joined(&self, other: &FlowValue, part: &PartOf<'_>) -> FlowValue {
        // A pointer to nothing is never followed.
        if *self == FlowValue::ZERO {
            return FlowValue { multiple: other.multiple, ..*other };
        }
        if *other == FlowValue::ZERO {
            return *self;
        }
        let mut joined = FlowValue::multiple_of(gcd(self.multiple, other.multiple));
        joined.frame = self.frame.filter(|frame| other.frame == Some(*frame));
        for pointer in self.pointers() {
            if let Some(same) = other.pointers().find(|it| it.to == pointer.to) {
                joined.add(pointer.joined(same));
            }
        }
        if joined.is_pointer() {
            return joined;
        }
        for one in self.pointers() {
            for two in other.pointers() {
                if let Some(inner) = part(one, two.to) {
                    joined.add(two.joined(inner));
                } else if let Some(inner) = part(two, one.to) {
                    joined.add(one.joined(inner));
                }
            }
        }
        joined
    }
}

/// The greatest number that divides both; 0 is divided by all.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: TypeId = TypeId::VOID;

    impl FlowValue {
        fn with(&self, other: &FlowValue) -> FlowValue {
            self.joined(other, &|_, _| None)
        }
    }

    #[test]
    fn a_walk_over_an_array_is_known_up_to_its_step() {
        let start = FlowValue::pointing(TypedPointer {
            to: NODE,
            offset: 8,
            step: 0,
            or: None,
            is_alone: false,
        });
        let next = start.with(&start.plus(24));
        let pointer = next.pointers().next().unwrap();
        assert_eq!((pointer.offset, pointer.step), (8, 24));
        let next = next.with(&next.plus(24));
        assert_eq!(next.with(&next.plus(24)), next, "it stays so");
        let any = next.with(&next.plus(9)).pointers().next().unwrap();
        assert_eq!((any.offset, any.step), (8, 3));
    }

    #[test]
    fn of_two_places_both_are_known_and_of_more_none() {
        let at = |offset| {
            let pointer = TypedPointer { to: NODE, offset, step: 0, or: None, is_alone: false };
            FlowValue::pointing(pointer)
        };
        let places = |value: FlowValue| {
            let pointer = value.pointers().next().unwrap();
            (pointer.offset, pointer.or)
        };
        let two = at(0).with(&at(8));
        assert_eq!(places(two), (0, Some(8)));
        assert_eq!(places(two.plus(16)), (16, Some(24)));
        for again in [at(0), at(8), two] {
            assert_eq!(two.with(&again), two, "no way tells more than one did");
            assert!(places(again.with(&two)).1.is_some());
        }
        assert_eq!(places(two.with(&at(16))), (0, None));
        assert_eq!(places(two.plus_multiple(8)), (0, None));
    }

    #[test]
    fn nothing_joins_with_a_pointer() {
        let pointer = FlowValue::pointing(TypedPointer {
            to: NODE,
            offset: 0,
            step: 0,
            or: None,
            is_alone: false,
        });
        assert_eq!(pointer.with(&FlowValue::ZERO), pointer);
        assert_eq!(FlowValue::ZERO.with(&pointer), pointer);
        assert!(!pointer.with(&FlowValue::UNKNOWN).is_pointer());
    }

    #[test]
    fn multiples_are_kept() {
        let index = FlowValue::UNKNOWN.times(3).times(8);
        assert_eq!(index.multiple, 24);
        let base = FlowValue::pointing(TypedPointer {
            to: NODE,
            offset: 16,
            step: 0,
            or: None,
            is_alone: false,
        });
        let sum = base.plus_multiple(index.multiple).pointers().next().unwrap();
        assert_eq!((sum.offset, sum.step), (16, 24));
        assert_eq!(FlowValue::UNKNOWN.plus(8).multiple, 1);
        assert_eq!(FlowValue::ZERO.times(7), FlowValue::ZERO);
    }
}
