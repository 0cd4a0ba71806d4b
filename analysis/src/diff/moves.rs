//! Rows that are elsewhere in the other build.

use super::counts::RowOfSides;
use crate::query::key::Key;
use std::collections::BTreeMap;

/// What a row that moved keeps.
fn kept(keys: &[Key], names: &[String]) -> Option<Vec<String>> {
    // The routine, or its part, in another object.
    let [Key::Object, Key::Routine | Key::RoutineLine | Key::Operands] = keys else { return None };
    let name = names.get(1).filter(|name| !name.starts_with('['))?;
    Some(vec![name.clone()])
}

/// Joins each row that only A has with the one that only B has and that keeps the same of it,
/// where each side has one such alone.
pub(super) fn join_moved(keys: &[Key], rows: &mut Vec<RowOfSides>) {
    let mut candidates: BTreeMap<Vec<String>, [Vec<usize>; 2]> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let side = match (row.is_only_of_a(), row.is_only_of_b()) {
            (true, false) => 0,
            (false, true) => 1,
            _ => continue,
        };
        if let Some(kept) = kept(keys, &row.keys) {
            candidates.entry(kept).or_default()[side].push(index);
        }
    }
    let mut joined: Vec<usize> = Vec::new();
    for pair in candidates.values() {
        let ([from], [to]) = (&pair[0][..], &pair[1][..]) else { continue };
        let Some(was) = rows.get(*from).cloned() else { continue };
        if let Some(row) = rows.get_mut(*to) {
            row.join(&was);
            row.was = Some(was.keys);
            joined.push(*from);
        }
    }
    joined.sort_unstable();
    for index in joined.into_iter().rev() {
        rows.remove(index);
    }
}
