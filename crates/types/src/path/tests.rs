use super::*;
use crate::table::builder::TableBuilder;
use crate::table::{NumberSort, TypeEntry};
use proptest::prelude::*;
use std::ops::Range;

/// A type to be made.
#[derive(Clone, Debug)]
enum Made {
    Number(u64),
    Array(Box<Made>, u64),
    /// Members, each so many bytes behind the last or the start.
    Struct(Vec<(Made, u64)>),
    Union(Vec<Made>),
    /// Bit fields, each so many bits behind the last, of so many.
    Bits(Vec<(u64, u64)>),
}

fn made() -> impl Strategy<Value = Made> {
    let leaf = prop_oneof![
        (0_u32..4).prop_map(|power| Made::Number(1 << power)),
        prop::collection::vec((0_u64..9, 1_u64..20), 1..5).prop_map(Made::Bits),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), 1_u64..4).prop_map(|(of, count)| Made::Array(Box::new(of), count)),
            prop::collection::vec((inner.clone(), 0_u64..5), 1..4).prop_map(Made::Struct),
            prop::collection::vec(inner, 1..4).prop_map(Made::Union),
        ]
    })
}

fn entry(kind: TypeKind, size: Option<u64>) -> TypeEntry {
    TypeEntry { kind, name: None, size, align: None, scope: None, unit: 0 }
}

fn field(of: TypeId, bit: u64, bits: Option<u64>) -> TypeMember {
    let (bit, sort) = (Some(bit), MemberSort::Field);
    TypeMember { name: None, of, bit, bits, align: None, sort }
}

fn add(builder: &mut TableBuilder, kind: TypeKind, size: Option<u64>) -> TypeId {
    let id = builder.reserve();
    builder.set(id, entry(kind, size));
    id
}

fn composite(
    builder: &mut TableBuilder,
    sort: CompositeSort,
    members: Vec<TypeMember>,
    size: u64,
) -> TypeId {
    let members = builder.members(members);
    let kind = TypeKind::Composite(Composite { sort, members, has_variants: false });
    add(builder, kind, Some(size))
}

/// Puts a type into the arena; gives its place and size.
fn make(builder: &mut TableBuilder, made: &Made) -> (TypeId, u64) {
    match made {
        Made::Number(size) => {
            (add(builder, TypeKind::Number(NumberSort::Unsigned), Some(*size)), *size)
        }
        Made::Array(of, count) => {
            let (of, size) = make(builder, of);
            (add(builder, TypeKind::Array { of, count: Some(*count) }, None), size * count)
        }
        Made::Struct(parts) => {
            let (mut members, mut end) = (Vec::new(), 0);
            for (part, behind) in parts {
                let (of, size) = make(builder, part);
                members.push(field(of, (end + behind) * 8, None));
                end += behind + size;
            }
            (composite(builder, CompositeSort::Struct, members, end + 1), end + 1)
        }
        Made::Union(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| make(builder, part)).collect();
            let size = parts.iter().map(|part| part.1).max().unwrap_or(0);
            let members = parts.iter().map(|part| field(part.0, 0, None)).collect();
            (composite(builder, CompositeSort::Union, members, size), size)
        }
        Made::Bits(parts) => {
            let number = add(builder, TypeKind::Number(NumberSort::Unsigned), Some(4));
            let (mut members, mut end) = (Vec::new(), 0);
            for (behind, bits) in parts {
                members.push(field(number, end + behind, Some(*bits)));
                end += behind + bits;
            }
            let size = end.div_ceil(8) + 1;
            (composite(builder, CompositeSort::Struct, members, size), size)
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
    let number = add(&mut builder, TypeKind::Number(NumberSort::Unsigned), Some(4));
    let rest = add(&mut builder, TypeKind::Array { of: number, count: None }, None);
    let members = vec![field(number, 0, None), field(rest, 32, None)];
    let id = composite(&mut builder, CompositeSort::Struct, members, 4);
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
    let kind =
        TypeKind::Composite(Composite { sort: CompositeSort::Union, members, has_variants: false });
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
