//! The members that hold a byte.

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::builder::TableBuilder;
    use crate::table::{NumberKind, TypeEntry};
    use proptest::prelude::*;
    use std::ops::Range;

    #[derive(Clone, Debug)]
    enum GeneratedType {
        Number(u64),
        Array(Box<GeneratedType>, u64),
        /// Members, each so many bytes behind the last or the start.
        Struct(Vec<(GeneratedType, u64)>),
        Union(Vec<GeneratedType>),
        /// Bit fields, each so many bits behind the last, of so many.
        Bits(Vec<(u64, u64)>),
    }

    fn made() -> impl Strategy<Value = GeneratedType> {
        let leaf = prop_oneof![
            (0_u32..4).prop_map(|power| GeneratedType::Number(1 << power)),
            prop::collection::vec((0_u64..9, 1_u64..20), 1..5).prop_map(GeneratedType::Bits),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                (inner.clone(), 1_u64..4)
                    .prop_map(|(of, count)| GeneratedType::Array(Box::new(of), count)),
                prop::collection::vec((inner.clone(), 0_u64..5), 1..4)
                    .prop_map(GeneratedType::Struct),
                prop::collection::vec(inner, 1..4).prop_map(GeneratedType::Union),
            ]
        })
    }

    fn entry(kind: TypeKind, size: Option<u64>) -> TypeEntry {
        TypeEntry { kind, name: None, size, align: None, scope: None, unit: 0 }
    }

    fn field(of: TypeId, bit: u64, bits: Option<u64>) -> TypeMember {
        let (bit, sort) = (Some(bit), MemberKind::Field);
        TypeMember { name: None, of, bit, bits, align: None, sort }
    }

    fn add(builder: &mut TableBuilder, kind: TypeKind, size: Option<u64>) -> TypeId {
        let id = builder.reserve();
        builder.set(id, entry(kind, size));
        id
    }

    fn composite(
        builder: &mut TableBuilder,
        sort: CompositeKind,
        members: Vec<TypeMember>,
        size: u64,
    ) -> TypeId {
        let members = builder.members(members);
        let kind = TypeKind::Composite(Composite { sort, members, has_variants: false });
        add(builder, kind, Some(size))
    }

    fn make(builder: &mut TableBuilder, made: &GeneratedType) -> (TypeId, u64) {
        match made {
            GeneratedType::Number(size) => {
                (add(builder, TypeKind::Number(NumberKind::Unsigned), Some(*size)), *size)
            }
            GeneratedType::Array(of, count) => {
                let (of, size) = make(builder, of);
                (add(builder, TypeKind::Array { of, count: Some(*count) }, None), size * count)
            }
            GeneratedType::Struct(parts) => {
                let (mut members, mut end) = (Vec::new(), 0);
                for (part, behind) in parts {
                    let (of, size) = make(builder, part);
                    members.push(field(of, (end + behind) * 8, None));
                    end += behind + size;
                }
                (composite(builder, CompositeKind::Struct, members, end + 1), end + 1)
            }
            GeneratedType::Union(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| make(builder, part)).collect();
                let size = parts.iter().map(|part| part.1).max().unwrap_or(0);
                let members = parts.iter().map(|part| field(part.0, 0, None)).collect();
                (composite(builder, CompositeKind::Union, members, size), size)
            }
            GeneratedType::Bits(parts) => {
                let number = add(builder, TypeKind::Number(NumberKind::Unsigned), Some(4));
                let (mut members, mut end) = (Vec::new(), 0);
                for (behind, bits) in parts {
                    members.push(field(number, end + behind, Some(*bits)));
                    end += behind + bits;
                }
                let size = end.div_ceil(8) + 1;
                (composite(builder, CompositeKind::Struct, members, size), size)
            }
        }
    }

    /// Every part without parts: the steps to it, and its bytes.
    fn parts(table: &TypeTable, id: TypeId, at: u64, steps: &[PathStep]) -> Vec<Part> {
        let size = table.size_of(id).unwrap();
        let with = |step| [steps, &[step]].concat();
        match &table.get(id).kind {
            TypeKind::Array { of, count } => {
                let each = table.size_of(*of).unwrap();
                let part =
                    |index| parts(table, *of, at + index * each, &with(PathStep::Element(index)));
                (0..count.unwrap()).flat_map(part).collect()
            }
            TypeKind::Composite(composite) => {
                let part = |number| {
                    let member = table.member(number);
                    let (bit, steps) = (member.bit.unwrap(), with(PathStep::Member(number)));
                    match member.bits {
                        None => parts(table, member.of, at + bit / 8, &steps),
                        Some(bits) => {
                            vec![Part { steps, bytes: at + bit / 8..at + (bit + bits).div_ceil(8) }]
                        }
                    }
                };
                table.members(composite).flat_map(part).collect()
            }
            _ => vec![Part { steps: steps.to_vec(), bytes: at..at + size }],
        }
    }

    struct Part {
        steps: Vec<PathStep>,
        bytes: Range<u64>,
    }

    proptest! {
        #[test]
        fn members_are_those_that_a_walk_over_all_finds(made in made()) {
            let mut builder = TableBuilder::new(0, true);
            let (id, size) = make(&mut builder, &made);
            let table = builder.finish();
            prop_assert_eq!(table.size_of(id), Some(size));
            let all = parts(&table, id, 0, &[]);
            for offset in 0..size {
                let found = table.member_at(id, offset);
                prop_assert_eq!(found.cut, None);
                let values = found.paths.iter().filter(|path| path.end == PathEnd::Value);
                let mut values: Vec<_> = values.map(|path| path.steps.clone()).collect();
                let here = all.iter().filter(|part| part.bytes.contains(&offset));
                let mut here: Vec<_> = here.map(|part| part.steps.clone()).collect();
                values.sort_by_key(|steps| format!("{steps:?}"));
                here.sort_by_key(|steps| format!("{steps:?}"));
                prop_assert_eq!(values, here, "byte {}", offset);
                prop_assert!(!found.paths.is_empty());
            }
            prop_assert_eq!(table.member_at(id, size), MembersAt::default());
        }
    }

    #[test]
    fn an_array_without_bounds_goes_on_behind_the_end() {
        let mut builder = TableBuilder::new(0, true);
        let number = add(&mut builder, TypeKind::Number(NumberKind::Unsigned), Some(4));
        let rest = add(&mut builder, TypeKind::Array { of: number, count: None }, None);
        let members = vec![field(number, 0, None), field(rest, 32, None)];
        let id = composite(&mut builder, CompositeKind::Struct, members, 4);
        let table = builder.finish();
        let found = table.member_at(id, 13);
        assert_eq!(found.paths.len(), 1);
        assert_eq!(found.paths[0].steps[1], PathStep::Element(2));
        assert_eq!((found.paths[0].rest, found.paths[0].end), (1, PathEnd::Value));
    }

    #[test]
    fn types_that_hold_themselves_end_the_search() {
        let mut builder = TableBuilder::new(0, true);
        let id = builder.reserve();
        let members = builder.members(vec![field(id, 0, None), field(id, 0, None)]);
        let kind = TypeKind::Composite(Composite {
            sort: CompositeKind::Union,
            members,
            has_variants: false,
        });
        builder.set(id, entry(kind, Some(8)));
        let ring = builder.reserve();
        builder.set(ring, entry(TypeKind::Alias { of: ring }, None));
        let nested = builder.reserve();
        builder.set(nested, entry(TypeKind::Array { of: nested, count: Some(2) }, None));
        let table = builder.finish();
        let found = table.member_at(id, 3);
        assert!(found.cut.is_some() && found.paths.len() <= MOST_PATHS);
        for id in [id, ring, nested] {
            table.align_of(id);
            table.spelled(id, crate::TypeLanguage::C);
            table.spelled(id, crate::TypeLanguage::Rust);
            table.fingerprint(id);
        }
        assert_eq!((table.size_of(ring), table.size_of(nested)), (None, None));
        assert!(table.layout(id, 64).is_some());
    }
}

use crate::table::{
    Composite, CompositeKind, MOST_STEPS, MemberId, MemberKind, TypeId, TypeKind, TypeMember,
    TypeTable,
};

/// Ways to one byte; unions within unions multiply them.
const MOST_PATHS: usize = 256;
/// Members that are looked at.
const MOST_LOOKS: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathStep {
    Member(MemberId),
    Element(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathEnd {
    /// A number, an address, or what else has no parts.
    Value,
    /// A structure, of which no member holds the byte: a hole, or padding.
    Gap,
    /// A type that is not known, or has too many parts to be looked at.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberPath {
    /// From the outside in; empty: the type itself.
    pub steps: Vec<PathStep>,
    pub of: TypeId,
    /// Bytes within that.
    pub rest: u64,
    pub end: PathEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenArray {
    /// Bytes from the structure's start.
    pub start: u64,
    pub element: TypeId,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MembersAt {
    /// More than one in unions, in variants, and where bit fields share a
    /// byte; none: the byte lies beyond.
    pub paths: Vec<MemberPath>,
    pub cut: Option<&'static str>,
}

impl TypeTable {
    /// The members that hold a byte of a type. Behind the end, an array
    /// without bounds goes on.
    pub fn member_at(&self, id: TypeId, offset: u64) -> MembersAt {
        let mut search = Search {
            table: self,
            found: MembersAt::default(),
            steps: Vec::new(),
            looks: MOST_LOOKS,
        };
        if self.size_of(id).is_none_or(|size| offset < size) || search.goes_on(id, offset) {
            search.enter(id, offset);
        }
        search.found
    }
}

struct Search<'t> {
    table: &'t TypeTable,
    found: MembersAt,
    steps: Vec<PathStep>,
    looks: usize,
}

impl Search<'_> {
    fn enter(&mut self, id: TypeId, offset: u64) {
        let id = self.table.resolved(id);
        if self.steps.len() >= MOST_STEPS {
            self.found.cut = Some("types are nested deeper than is looked");
            return self.end(id, offset, PathEnd::Unknown);
        }
        match &self.table.get(id).kind {
            TypeKind::Array { of, .. } => match self.table.size_of(*of) {
                Some(size) if size > 0 => {
                    self.step(PathStep::Element(offset / size), *of, offset % size);
                }
                _ => self.end(id, offset, PathEnd::Unknown),
            },
            TypeKind::Composite(composite) => self.members(id, composite, offset),
            TypeKind::Unread | TypeKind::Declared { .. } => {
                self.end(id, offset, PathEnd::Unknown);
            }
            _ => self.end(id, offset, PathEnd::Value),
        }
    }

    fn step(&mut self, step: PathStep, of: TypeId, offset: u64) {
        self.steps.push(step);
        self.enter(of, offset);
        self.steps.pop();
    }

    fn end(&mut self, of: TypeId, rest: u64, end: PathEnd) {
        match self.found.paths.len() < MOST_PATHS {
            true => {
                let steps = self.steps.clone();
                self.found.paths.push(MemberPath { steps, of, rest, end });
            }
            false => self.found.cut = Some("more ways lead there than are told"),
        }
    }

    fn members(&mut self, id: TypeId, composite: &Composite, offset: u64) {
        let before = self.found.paths.len();
        for number in self.table.members(composite) {
            let member = self.table.member(number);
            if !self.may_look() {
                break;
            }
            if let Some(start) = member.offset()
                && self.table.holds(member, offset)
            {
                self.step(PathStep::Member(number), member.of, offset - start);
            }
        }
        if composite.sort != CompositeKind::Union && !composite.has_variants {
            self.prefer_values(before);
        }
        if self.found.paths.len() > before {
            return;
        }
        match self.open_array(composite, offset) {
            Some((number, start)) => {
                let of = self.table.member(number).of;
                self.step(PathStep::Member(number), of, offset - start);
            }
            None => self.end(id, offset, PathEnd::Gap),
        }
    }

    /// Where bytes of members are others' padding, as those of empty bases
    /// are, the others are meant.
    fn prefer_values(&mut self, before: usize) {
        let new = &self.found.paths[before..];
        if new.iter().any(|path| path.end != PathEnd::Gap) {
            let mut at = 0;
            self.found.paths.retain(|path| {
                at += 1;
                at <= before || path.end != PathEnd::Gap
            });
        }
    }

    /// Whether a type ends with an array that may go on behind its end.
    fn goes_on(&mut self, id: TypeId, offset: u64) -> bool {
        match &self.table.get(self.table.resolved(id)).kind {
            TypeKind::Composite(composite) => self.open_array(composite, offset).is_some(),
            _ => false,
        }
    }

    /// The array without bounds, or of none, that a byte may be in.
    fn open_array(&mut self, composite: &Composite, offset: u64) -> Option<(MemberId, u64)> {
        let mut found = None;
        for number in self.table.members(composite) {
            let member = self.table.member(number);
            let start = member.offset()?;
            if !self.may_look() {
                return None;
            }
            let kind = &self.table.get(self.table.resolved(member.of)).kind;
            let is_open = matches!(kind, TypeKind::Array { count: None | Some(0), .. });
            found = (is_open && start <= offset).then_some((number, start)).or(found);
        }
        found
    }

    fn may_look(&mut self) -> bool {
        match self.looks.checked_sub(1) {
            Some(left) => self.looks = left,
            None => self.found.cut = Some("more members lie there than are looked at"),
        }
        self.looks > 0
    }
}

impl TypeTable {
    /// The array at the end of a structure that has as many elements as there
    /// is room for.
    pub fn open_array(&self, of: TypeId) -> Option<OpenArray> {
        let TypeKind::Composite(composite) = &self.get(self.resolved(of)).kind else {
            return None;
        };
        self.members(composite).find_map(|number| {
            let member = self.member(number);
            match self.get(self.resolved(member.of)).kind {
                TypeKind::Array { of: element, count: None | Some(0) } => {
                    Some(OpenArray { start: member.offset()?, element })
                }
                _ => None,
            }
        })
    }

    /// Whether a member has bits in a byte of what it is in.
    fn holds(&self, member: &TypeMember, offset: u64) -> bool {
        let Some(bit) = member.bit else { return false };
        match member.bits {
            Some(bits) => {
                let end = bit.saturating_add(bits);
                offset < end.div_ceil(8) && bit / 8 <= offset
            }
            None => {
                let size = self.size_of(member.of).unwrap_or(0);
                (bit / 8..(bit / 8).saturating_add(size)).contains(&offset)
            }
        }
    }

    /// A path in words of C: `a.b[3].c`; bases and variants as `<Base>`,
    /// `<Some>`, members without names left out.
    pub fn path_text(&self, steps: &[PathStep]) -> String {
        let mut text = String::new();
        for step in steps {
            let word = match *step {
                PathStep::Element(index) => {
                    text.push_str(&format!("[{index}]"));
                    continue;
                }
                PathStep::Member(member) => self.member_word(member),
            };
            if let Some(word) = word {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(&word);
            }
        }
        text
    }

    fn member_word(&self, member: MemberId) -> Option<String> {
        let member = self.member(member);
        let name = member.name.map(|name| self.text(name).to_owned());
        match member.sort {
            MemberKind::Base | MemberKind::VirtualBase => {
                Some(format!("<{}>", self.full_name(member.of)))
            }
            MemberKind::Variant(_) => name.map(|name| format!("<{name}>")),
            MemberKind::Discriminant => Some("<discriminant>".to_owned()),
            MemberKind::Field => name,
        }
    }
}
