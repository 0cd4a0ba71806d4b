//! A type and a place in it in words.

use super::typed_operand::TypedPlace;
use types::{
    MemberPath, MembersAt, PathEnd, PathStep, ProgramTypes, TypeId, TypeKind, TypeLanguage,
    TypeTable,
};

/// Members that one byte can be of are shown, so many at most.
const MOST_SHOWN: usize = 3;

pub(crate) fn type_name(program: &ProgramTypes, of: TypeId) -> String {
    let types = &program.types;
    // A structure without a name is called as its first typedef.
    let of = program.alias(of).unwrap_or(of);
    let language = types.unit(of).language;
    let entry = types.get(of);
    match (&entry.kind, entry.name.is_some()) {
        (TypeKind::Composite(_) | TypeKind::Enumeration { .. }, true) => {
            let name = types.full_name(of);
            match language {
                TypeLanguage::C | TypeLanguage::Other => format!("{} {name}", types.keyword(of)),
                TypeLanguage::Cpp | TypeLanguage::Rust => name,
            }
        }
        _ => types.spelled(of, language),
    }
}

/// The member that a place is in: `table[].next`; empty: the type has none.
pub(crate) fn member_name(types: &TypeTable, place: TypedPlace, bytes: u64) -> String {
    if place.is_bytes(types) {
        return "[bytes]".to_owned();
    }
    if !matches!(types.get(place.of).kind, TypeKind::Composite(_)) {
        return String::new();
    }
    let Some(offset) = place.offset else { return "[some member]".to_owned() };
    let MembersAt { paths, .. } = types.member_at(place.of, offset);
    // Of a union, and of variants, those that have the size of the access.
    let fits =
        |path: &&MemberPath| bytes > 0 && path.rest == 0 && types.size_of(path.of) == Some(bytes);
    let fitting: Vec<&MemberPath> = paths.iter().filter(fits).collect();
    let shown = match fitting.is_empty() {
        true => paths.iter().collect(),
        false => fitting,
    };
    let mut names: Vec<String> = Vec::new();
    for path in shown {
        let name = match (path.end, path.steps.is_empty()) {
            (PathEnd::Gap, true) => "[hole]".to_owned(),
            (PathEnd::Gap, false) => format!("{}.[hole]", plain(types, &path.steps)),
            _ => plain(types, &path.steps),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.len() {
        0 => "[beyond]".to_owned(),
        1..=MOST_SHOWN => names.join("|"),
        _ => format!("{}|...", names[..MOST_SHOWN].join("|")),
    }
}

/// A path without the numbers of elements.
pub(crate) fn plain(types: &TypeTable, steps: &[PathStep]) -> String {
    let same: Vec<PathStep> = steps
        .iter()
        .map(|step| match step {
            PathStep::Element(_) => PathStep::Element(0),
            member => *member,
        })
        .collect();
    types.path_text(&same).replace("[0]", "[]")
}
