//! Rows that are elsewhere in the other build.

use super::counts::RowOfSides;
use crate::query::key::Key;
use std::collections::BTreeMap;

fn kept(keys: &[Key], names: &[String]) -> Option<Vec<String>> {
    // The routine, or its part, in another object.
    let [Key::Object, Key::Routine | Key::RoutineLine | Key::Operands] = keys else { return None };
    let name = names.get(1).filter(|name| !name.starts_with('['))?;
    Some(vec![name.clone()])
}

/// Joins each row that certainly only A has with the one that only B has and that keeps the same
/// of it, where each side has one such alone. Few samples are no evidence: what is rare is in
/// one run and not in the next.
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

#[cfg(test)]
mod tests {
    use super::join_moved;
    use crate::diff::counts::RowOfSides;
    use crate::diff::run_counts::RowSum;
    use crate::query::key::Key;

    /// A row with so many samples in each of two runs of A and of B.
    fn row(object: &str, a: [u64; 2], b: [u64; 2]) -> RowOfSides {
        let sums =
            |of: [u64; 2]| of.map(|samples| RowSum { samples, ..RowSum::default() }).to_vec();
        let keys = vec![object.to_owned(), "strlen".to_owned()];
        RowOfSides { keys, was: None, a: sums(a), b: sums(b) }
    }

    /// Whether a routine that A has in one object, and B in another, moved.
    fn moved(a: [u64; 2], b: [u64; 2]) -> bool {
        let mut rows = vec![row("ld.so", a, [0, 0]), row("libc.so", [0, 0], b)];
        join_moved(&[Key::Object, Key::Routine], &mut rows);
        rows.len() == 1 && rows[0].was.as_ref().is_some_and(|was| was[0] == "ld.so")
    }

    #[test]
    fn a_routine_moved_where_samples_are_no_chance() {
        assert!(moved([20, 25], [30, 14]));
        assert!(!moved([1, 0], [0, 2]), "rare routines are in one run and not in the next");
        assert!(!moved([20, 25], [3, 2]));
        assert!(!moved([45, 0], [30, 14]), "one run of A has none");
    }
}
