//! `--count`: how often each address, or each routine, came.

use super::arguments::By;
use super::counts::Counts;
use super::input::Input;
use super::line::{Line, Lines};
use super::names::{NameId, Names};
use super::output::{Output, push_address, push_count};
use super::run::{BadLines, Format};
use anyhow::Context;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::io::{Read, Write};

/// Addresses taken from the text before they are counted: the processor then
/// has many counters under way at a time.
const BATCH: usize = 1024;

/// A line of output.
struct Row {
    count: u64,
    /// Address, or a routine's first; none for addresses without a routine.
    address: Option<u64>,
    name: NameId,
    offset: Option<u64>,
}

/// Reads everything, prints the histogram.
pub(super) fn print(
    input: &mut Input<impl Read>,
    output: &mut Output,
    names: &mut Names,
    (format, by): (Format, By),
) -> anyhow::Result<BadLines> {
    let (counts, bad) = count(input, names, format.position)?;
    let mut rows = match by {
        By::Address => by_address(counts, names),
        By::Routine => by_routine(counts, names),
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
        output.buffer.extend_from_slice(names.text(row.name).as_bytes());
        if let Some(offset) = row.offset.filter(|_| format.offset) {
            write!(output.buffer, "+{offset:#x}")?;
        }
        output.buffer.push(b'\n');
        output.settle().context("cannot write the output")?;
    }
    Ok(bad)
}

fn count(
    input: &mut Input<impl Read>,
    names: &Names,
    position: usize,
) -> anyhow::Result<(Counts, BadLines)> {
    let mut counts = Counts::new(names.dense());
    let mut bad = BadLines::default();
    let mut batch = [0; BATCH];
    while let Some(block) = input.next_block().context("cannot read the input")? {
        let mut lines = Lines::new(block, position);
        loop {
            let plain = lines.plain(&mut batch);
            counts.add_all(&batch[..plain]);
            bad.good(plain);
            if plain == batch.len() {
                continue;
            }
            match lines.next() {
                None => break,
                Some(Line::Address(address)) => {
                    counts.add_all(&[address]);
                    bad.good(1);
                }
                Some(Line::Comment(_)) => bad.good(1),
                Some(Line::Bad(line)) => bad.bad(line),
            }
        }
    }
    Ok((counts, bad))
}

fn by_address(counts: Counts, names: &mut Names) -> Vec<Row> {
    let sorted = counts.into_sorted();
    let row = |(address, count)| {
        let named = names.find(address, count);
        Row { count, address: Some(address), name: named.name, offset: named.offset }
    };
    sorted.into_iter().map(row).collect()
}

fn by_routine(counts: Counts, names: &mut Names) -> Vec<Row> {
    let mut routines: FxHashMap<NameId, u64> = FxHashMap::default();
    let mut last: Option<(NameId, u64)> = None;
    for (address, count) in counts.into_sorted() {
        let name = names.find(address, count).name;
        match &mut last {
            Some((same, sum)) if *same == name => *sum += count,
            _ => {
                if let Some((name, sum)) = last.replace((name, count)) {
                    *routines.entry(name).or_default() += sum;
                }
            }
        }
    }
    if let Some((name, sum)) = last {
        *routines.entry(name).or_default() += sum;
    }
    let row = |(name, count)| Row { count, address: names.start(name), name, offset: None };
    routines.into_iter().map(row).collect()
}
