//! Columns and lines of what the kernel counted.

use crate::print::text::Text;
use crate::report::{CommonBits, RowFacts, Stride, hex};
use crate::share_interval::ratio;
use render::{Cell, Head, percent};

/// What people are shown in words, then what programs have.
pub(crate) fn heads() -> [Head; 9] {
    let of_people = |heading| Head::whole(heading).of_group(heading);
    [
        of_people("addresses"),
        of_people("stride"),
        of_people("low bits"),
        Head::program("address_min"),
        Head::program("address_max"),
        Head::program("stride_from"),
        Head::program("stride_to"),
        Head::program("stride_share"),
        Head::program("low_bits"),
    ]
}

pub(crate) fn cells(facts: Option<&RowFacts>) -> [Cell<'static>; 9] {
    let words = |text: Option<String>| {
        text.filter(|text| !text.is_empty()).map_or(Cell::Nothing, Cell::words)
    };
    let range = facts.and_then(|facts| facts.address.as_ref()?.range);
    let most = facts.and_then(RowFacts::stride);
    let structures = facts.map(RowFacts::structures).unwrap_or_default();
    let all: Vec<String> = structures.into_iter().map(CommonBits::brief).collect();
    let of = |value: Option<u64>, cell: fn(u64) -> Cell<'static>| value.map_or(Cell::Nothing, cell);
    [
        words(facts.and_then(addresses)),
        words(most.map(|(most, share)| stride(most, share))),
        words(facts.map(self::structures)),
        of(range.map(|(min, _)| min), Cell::Address),
        of(range.map(|(_, max)| max), Cell::Address),
        of(most.map(|(most, _)| most.from), Cell::Count),
        of(most.map(|(most, _)| most.to), Cell::Count),
        most.map_or(Cell::Nothing, |(_, share)| Cell::Share(share)),
        words(Some(all.join("; "))),
    ]
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
