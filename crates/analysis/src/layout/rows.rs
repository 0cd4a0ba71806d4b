//! What was sampled of each row of a layout.

use crate::layout::collect::PlaceAccesses;
use crate::layout::object_visits::PlaceInType;
use crate::layout::type_report::{MemberUse, SampledType, in_words};
use crate::typed::member_name::{member_name, plain};
use crate::typed::typed_operand::TypedPlace;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use types::{ClassLayout, LayoutRow, MemberId, MemberPath, PathEnd, PathStep, TypeTable};

/// What was sampled of a row of a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct RowUse {
    /// Which one; None: padding, and what lies behind the end.
    pub row: Option<usize>,
    /// All in all.
    pub whole: MemberUse,
    /// What of it other names say better: members of its type, and those that
    /// share its bytes; in order of place.
    pub parts: Vec<PartUse>,
}

/// What was sampled of a part of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartUse {
    /// As tables have it: `corner[].north`.
    pub name: String,
    /// Bytes from the start of the whole to the first one that was accessed.
    pub offset: u64,
    /// What was sampled of it.
    #[serde(rename = "use")]
    pub sampled: MemberUse,
}

#[derive(Debug, Default)]
struct RowSum {
    whole: PlaceAccesses,
    /// As members are called.
    name: String,
    parts: BTreeMap<String, PartSum>,
}

#[derive(Debug)]
struct PartSum {
    offset: u64,
    sum: PlaceAccesses,
}

impl SampledType {
    /// What was sampled of the rows of this type's layout, in their order; each
    /// sample whose member is known is of one.
    pub fn rows(&self, layout: &ClassLayout) -> Vec<RowUse> {
        let types = &self.program.types;
        let rows = RowsByMember::new(layout);
        let mut sums: BTreeMap<(bool, usize), RowSum> = BTreeMap::new();
        for (at, place) in self.places() {
            let found = rows.find(types, layout, *at);
            // What no row has comes last.
            let key = found.as_ref().map_or((true, 0), |found| (false, found.row));
            let sum = sums.entry(key).or_default();
            sum.whole.join(place);
            let part = TypedPlace { of: self.of, offset: Some(at.offset) };
            let name = member_name(types, part, at.bytes);
            if let Some(found) = &found {
                sum.name.clone_from(&found.name);
            }
            if found.is_none_or(|found| found.name != name) {
                let new = || PartSum { offset: at.offset, sum: PlaceAccesses::default() };
                sum.parts.entry(name).or_insert_with(new).sum.join(place);
            }
        }
        let told = sums.into_iter().map(|((is_beyond, row), sum)| {
            let mut parts: Vec<PartUse> = sum
                .parts
                .into_iter()
                .map(|(name, part)| {
                    let sampled = in_words(&part.sum, &self.events);
                    PartUse { name, offset: part.offset, sampled }
                })
                .collect();
            parts.sort_by_key(|part| part.offset);
            // That elements of an array are accessed is no news.
            parts.retain(|part| part.name.replace("[]", "") != sum.name);
            let whole = in_words(&sum.whole, &self.events);
            RowUse { row: (!is_beyond).then_some(row), whole, parts }
        });
        told.collect()
    }
}

#[derive(Debug)]
struct FoundRow {
    row: usize,
    /// What it is called, as members are.
    name: String,
}

/// Rows of members, by member: a type without a name may be there several
/// times.
struct RowsByMember {
    rows: FxHashMap<MemberId, Vec<usize>>,
}

impl RowsByMember {
    fn new(layout: &ClassLayout) -> RowsByMember {
        let mut rows: FxHashMap<MemberId, Vec<usize>> = FxHashMap::default();
        for (number, row) in layout.rows.iter().enumerate() {
            if let LayoutRow::Member(row) = row {
                rows.entry(row.member).or_default().push(number);
            }
        }
        RowsByMember { rows }
    }

    fn find(&self, types: &TypeTable, layout: &ClassLayout, at: PlaceInType) -> Option<FoundRow> {
        let paths = types.member_at(layout.id, at.offset).paths;
        let fits = |path: &&MemberPath| {
            path.rest == 0 && types.size_of(path.of) == Some(at.bytes) && at.bytes > 0
        };
        let path = paths.iter().find(fits).or(paths.first())?;
        for (index, step) in path.steps.iter().enumerate().rev() {
            let PathStep::Member(member) = step else { continue };
            let known = self.rows.get(member).map(Vec::as_slice).unwrap_or_default();
            // The last one that begins in front of it.
            let starts = |row: &&usize| offset(layout, **row).is_some_and(|it| it <= at.offset);
            let row = known.iter().rev().find(starts).or(known.first());
            if let Some(row) = row {
                let steps = path.steps.get(..=index).unwrap_or_default();
                return Some(FoundRow { row: *row, name: plain(types, steps) });
            }
        }
        let holds = |row: &LayoutRow| match *row {
            LayoutRow::Hole { offset, bytes, .. } => {
                (offset..offset.saturating_add(bytes)).contains(&at.offset)
            }
            _ => false,
        };
        let is_gap = path.end == PathEnd::Gap;
        let row = layout.rows.iter().position(holds).filter(|_| is_gap)?;
        Some(FoundRow { row, name: "[hole]".to_owned() })
    }
}

fn offset(layout: &ClassLayout, row: usize) -> Option<u64> {
    match layout.rows.get(row)? {
        LayoutRow::Member(row) => row.offset,
        _ => None,
    }
}
