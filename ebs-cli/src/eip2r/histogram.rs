//! `--count`: how often each address, or each routine, came.

use super::arguments::By;
use super::bad_lines::BadLines;
use super::counts::Counts;
use super::direct::Direct;
use super::input::Input;
use super::line::{Line, Lines};
use super::names::{NameId, Names};
use super::output::{Output, push_address, push_count};
use super::pieces::Pieces;
use super::run::Format;
use super::tally::Tally;
use super::threads::each_piece;
use anyhow::Context;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::fs::File;
use std::io::{Read, Write};

/// Addresses taken from the text before they are counted: the processor then
/// has many counters under way at a time.
const BATCH: usize = 1024;
/// Bytes that a thread takes at a time.
const PIECE: u64 = 4 << 20;

/// A line of output.
struct Row {
    count: u64,
    /// Address, or a routine's first; none for addresses without a routine.
    address: Option<u64>,
    /// None: what the address has, which is asked for when it is printed.
    name: Option<NameId>,
    offset: Option<u64>,
}

/// Reads everything, prints the histogram.
pub(super) fn print(
    input: &File,
    output: &mut Output,
    names: &mut Names,
    (format, by): (Format, By),
) -> anyhow::Result<BadLines> {
    let (mut rows, bad) = match by {
        By::Address => {
            let mut counts = Counts::new(names.dense());
            let bad = count(Input::new(input), format.position, |batch| counts.add_all(batch))?;
            (by_address(counts, names), bad)
        }
        By::Routine => {
            let direct = names.direct();
            let (tally, bad) = tally(input, &direct, format)?;
            (by_routine(&tally, &direct, names), bad)
        }
    };
    rows.sort_unstable_by_key(|row| (Reverse(row.count), row.address, row.name));
    for row in rows {
        push_count(&mut output.buffer, row.count);
        output.buffer.push(b' ');
        match row.address {
            Some(address) => push_address(&mut output.buffer, address),
            None => output.buffer.extend_from_slice(b"               -"),
        }
        output.buffer.push(b' ');
        match (row.name, row.address) {
            (Some(name), _) => output.buffer.extend_from_slice(names.text(name).as_bytes()),
            (None, Some(address)) => names.push_name(&mut output.buffer, address),
            (None, None) => {}
        }
        if let Some(offset) = row.offset.filter(|_| format.offset) {
            write!(output.buffer, "+{offset:#x}")?;
        }
        output.buffer.push(b'\n');
        output.settle().context("cannot write the output")?;
    }
    Ok(bad)
}

/// Counts by routine, on several threads where the input is a regular file.
fn tally<'a>(
    input: &File,
    direct: &'a Direct,
    format: Format,
) -> anyhow::Result<(Tally<'a>, BadLines)> {
    let Some(pieces) = Pieces::of(input, PIECE).context("cannot read the input")? else {
        let mut tally = Tally::new(direct);
        let bad = count(Input::new(input), format.position, |batch| tally.add_all(batch))?;
        return Ok((tally, bad));
    };
    let own = || (Tally::new(direct), Vec::new());
    let states = each_piece(&pieces, format.threads, own, |(tally, bad), index, piece| {
        let input = Input::new(piece.context("cannot read the input")?);
        bad.push((index, count(input, format.position, |batch| tally.add_all(batch))?));
        Ok(())
    })?;
    let (mut sum, mut bad) = own();
    for (tally, of_pieces) in states {
        sum.merge(tally);
        bad.extend(of_pieces);
    }
    Ok((sum, BadLines::of_pieces(bad)))
}

/// Hands all addresses on, many at a time.
fn count(
    mut input: Input<impl Read>,
    position: usize,
    mut add_all: impl FnMut(&[u64]),
) -> anyhow::Result<BadLines> {
    let mut bad = BadLines::default();
    let mut batch = [0; BATCH];
    while let Some(block) = input.next_block().context("cannot read the input")? {
        let mut lines = Lines::new(block, position);
        loop {
            let plain = lines.plain(&mut batch);
            add_all(&batch[..plain]);
            bad.good(plain);
            if plain == batch.len() {
                continue;
            }
            match lines.next() {
                None => break,
                Some(Line::Address(address)) => {
                    add_all(&[address]);
                    bad.good(1);
                }
                Some(Line::Comment(_)) => bad.good(1),
                Some(Line::Bad(line)) => bad.bad(line),
            }
        }
    }
    Ok(bad)
}

fn by_address(counts: Counts, names: &mut Names) -> Vec<Row> {
    let sorted = counts.into_sorted();
    let row = |(address, count)| {
        let named = names.find(address, count);
        Row { count, address: Some(address), name: Some(named.name), offset: named.offset }
    };
    sorted.into_iter().map(row).collect()
}

fn by_routine(tally: &Tally<'_>, direct: &Direct, names: &mut Names) -> Vec<Row> {
    let mut routines: FxHashMap<NameId, u64> = FxHashMap::default();
    let mut rows = Vec::with_capacity(tally.stretches().count());
    for (stretch, count) in tally.stretches() {
        let start = direct.start(stretch);
        if names.is_flat() && !direct.is_gap(stretch) {
            // There may be a hundred thousand: their names are not kept.
            rows.push(Row { count, address: Some(start), name: None, offset: None });
        } else {
            *routines.entry(names.find(start, count).name).or_default() += count;
        }
    }
    for (address, count) in tally.elsewhere() {
        *routines.entry(names.find(address, count).name).or_default() += count;
    }
    rows.extend(routines.into_iter().map(|(name, count)| {
        let address = names.start(name);
        Row { count, address, name: Some(name), offset: None }
    }));
    rows
}
