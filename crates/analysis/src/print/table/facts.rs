//! Columns and lines of what the kernel counted.

use super::columns::{self, Align};
use super::{NOTHING, Text, percent};
use crate::causes::share_interval::ratio;
use crate::report::{Row, RowFacts, Stride, hex};

#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    addresses: bool,
    strides: bool,
    structures: bool,
}

impl Columns {
    pub(super) fn of(rows: &[Row]) -> Columns {
        let has =
            |any: fn(&RowFacts) -> bool| rows.iter().any(|row| row.facts.as_ref().is_some_and(any));
        Columns {
            addresses: has(|facts| facts.address.is_some()),
            strides: has(|facts| !facts.strides.is_empty()),
            structures: has(|facts| !facts.structures().is_empty()),
        }
    }

    pub(super) fn add(self, columns: &mut columns::Columns) {
        let all = [
            (self.addresses, "addresses"),
            (self.strides, "stride"),
            (self.structures, "low bits"),
        ];
        for (_, name) in all.into_iter().filter(|(is_there, _)| *is_there) {
            columns.add(name, Align::Whole);
        }
    }

    pub(super) fn row(self, row: &Row, line: &mut Vec<String>) {
        let facts = row.facts.as_ref();
        let mut push = |is_there: bool, text: Option<String>| {
            if is_there {
                line.push(
                    text.filter(|text| !text.is_empty()).unwrap_or_else(|| NOTHING.to_owned()),
                );
            }
        };
        push(self.addresses, facts.and_then(addresses));
        push(
            self.strides,
            facts.and_then(RowFacts::stride).map(|(most, share)| stride(most, share)),
        );
        push(self.structures, facts.map(structures));
    }
}

fn addresses(facts: &RowFacts) -> Option<String> {
    let (min, max) = facts.address.as_ref()?.range?;
    Some(if min == max { hex(min) } else { format!("{min:#x}-{max:#x}") })
}

fn stride(Stride { from, to, .. }: Stride, share: f64) -> String {
    let share = percent(share);
    if from == to { format!("{from} B {share}") } else { format!("{from}-{to} B {share}") }
}

/// Registers that a row names; all of them are in JSON and CSV.
const SHOWN: usize = 2;

/// What rows say of registers whose low bits never change.
pub(super) fn structures(facts: &RowFacts) -> String {
    let all = facts.structures();
    let mut shown: Vec<_> = all.iter().take(SHOWN).map(|common| common.brief()).collect();
    if all.len() > SHOWN {
        shown.push(format!("+{}", all.len() - SHOWN));
    }
    shown.join("; ")
}

pub(super) fn registers(facts: &RowFacts, out: &mut Text) {
    for common in facts.registers.iter().chain(&facts.address) {
        out.text.push_str(&common.finding());
        out.text.push('\n');
    }
    let all = facts.strides.iter().fold(0u64, |sum, one| sum.saturating_add(one.count));
    for one in &facts.strides {
        let share = ratio(one.count, all);
        out.text.push_str(&format!("distance: {}\n", stride(*one, share)));
    }
}
