//! `--count`: how often each address, or each routine, came.

use super::arguments::By;
use super::bad_lines::BadLines;
use super::blocks::Blocks;
use super::counts::Counts;
use super::direct::Direct;
use super::input::{Buffer, Input};
use super::line::{Line, Lines};
use super::names::{NameId, Names};
use super::output::{Output, push_address, push_count};
use super::pieces::Pieces;
use super::run::Format;
use super::tally::{Sums, Tally};
use super::texts::WORTHWHILE;
use super::threads::{each_piece, on_threads};
use anyhow::Context;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::{Read, Write};

/// Addresses taken from the text before they are counted: the processor then
/// has many counters under way at a time.
const BATCH: usize = 1024;
/// Bytes that a thread takes at a time.
const PIECE: u64 = 4 << 20;

const UNREADABLE: &str = "cannot read the input";

/// What is counted; in the order in which equal counts are shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    Name(NameId),
    /// A routine by its number: its name is asked for when it is printed, as
    /// there may be a hundred thousand.
    Routine(u32),
    /// Addresses without a routine, all together.
    Nameless(NameId),
}

struct Row {
    count: u64,
    /// An address, or a routine's first.
    address: u64,
    shown: Shown,
}

pub(super) fn print(
    input: &File,
    output: &mut Output,
    names: &mut Names,
    (format, by): (Format, By),
) -> anyhow::Result<BadLines> {
    let (mut rows, bad) = match by {
        By::Address => {
            let mut counts = Counts::new(names.dense());
            let (input, mut buffer) = (Input::new(input), Buffer::new());
            let add_all = |batch: &[u64]| counts.add_all(batch);
            let bad = count(input, format.position, &mut buffer, add_all)?;
            (by_address(counts, names), bad)
        }
        By::Routine => {
            let is_long = input
                .metadata()
                .map_or(true, |metadata| !metadata.is_file() || metadata.len() >= WORTHWHILE);
            let direct = if is_long { names.direct() } else { Direct::default() };
            let (sums, bad) = tally(input, &direct, format)?;
            (by_routine(&sums, &direct, names), bad)
        }
    };
    let rank = |row: &Row| (!matches!(row.shown, Shown::Nameless(_)), row.address, row.shown);
    rows.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| rank(a).cmp(&rank(b))));
    for Row { count, address, shown } in rows {
        push_count(&mut output.buffer, count);
        output.buffer.push(b' ');
        match shown {
            Shown::Nameless(_) => output.buffer.extend_from_slice(b"               -"),
            _ => push_address(&mut output.buffer, address),
        }
        output.buffer.push(b' ');
        match shown {
            Shown::Name(name) | Shown::Nameless(name) => {
                output.buffer.extend_from_slice(names.text(name).as_bytes());
            }
            Shown::Routine(routine) => {
                names.push_routine(&mut output.buffer, routine, address);
            }
        }
        if format.offset
            && by == By::Address
            && let Some(offset) = names.look_up(address).offset
        {
            write!(output.buffer, "+{offset:#x}")?;
        }
        output.buffer.push(b'\n');
        output.settle().context("cannot write the output")?;
    }
    Ok(bad)
}

fn tally(input: &File, direct: &Direct, format: Format) -> anyhow::Result<(Sums, BadLines)> {
    let position = format.position;
    let (tallies, bad): (Vec<_>, _) = match Pieces::of(input, PIECE).context(UNREADABLE)? {
        Some(pieces) => {
            let own = || (Tally::new(direct), Vec::new(), Buffer::new());
            let states = each_piece(&pieces, format.threads, own, |own, index, piece| {
                let (tally, bad, buffer) = own;
                let input = Input::new(piece.context(UNREADABLE)?);
                bad.push((index, count(input, position, buffer, |batch| tally.add_all(batch))?));
                Ok(())
            })?;
            let states = states.into_iter().map(|(tally, bad, _)| (tally, bad));
            let (tallies, bad): (_, Vec<_>) = states.unzip();
            (tallies, BadLines::of_pieces(bad.into_iter().flatten().collect()))
        }
        None => {
            let blocks = Blocks::new(Input::new(input));
            let tallies = on_threads(format.threads, || {
                let (mut tally, mut buffer) = (Tally::new(direct), Buffer::new());
                while let Some((number, block)) = blocks.take(&mut buffer).context(UNREADABLE)? {
                    let mut bad = BadLines::default();
                    count_block(block, position, &mut bad, |batch| tally.add_all(batch));
                    blocks.done(number, bad);
                }
                Ok(tally)
            })?;
            (tallies, blocks.into_bad())
        }
    };
    let mut sums = Sums::default();
    tallies.into_iter().for_each(|tally| tally.add_to(&mut sums));
    Ok((sums, bad))
}

fn count(
    mut input: Input<impl Read>,
    position: usize,
    buffer: &mut Buffer,
    mut add_all: impl FnMut(&[u64]),
) -> anyhow::Result<BadLines> {
    let mut bad = BadLines::default();
    while let Some(block) = input.next_block(buffer).context(UNREADABLE)? {
        count_block(block, position, &mut bad, &mut add_all);
    }
    Ok(bad)
}

fn count_block(block: &[u8], position: usize, bad: &mut BadLines, mut add_all: impl FnMut(&[u64])) {
    let mut batch = [0; BATCH];
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
            Some(Line::Comment(_) | Line::Heading) => bad.good(1),
            Some(Line::Bad(line)) => bad.bad(line),
        }
    }
}

fn by_address(counts: Counts, names: &mut Names) -> Vec<Row> {
    let sorted = counts.into_sorted();
    let row = |(address, count)| {
        let shown = Shown::Name(names.find(address, count).name);
        Row { count, address, shown }
    };
    sorted.into_iter().map(row).collect()
}

fn by_routine(sums: &Sums, direct: &Direct, names: &mut Names) -> Vec<Row> {
    let mut others: FxHashMap<NameId, u64> = FxHashMap::default();
    let mut rows = Vec::with_capacity(sums.stretches().count());
    for (stretch, count) in sums.stretches() {
        let address = direct.start(stretch);
        match direct.routine(stretch) {
            Some(routine) if names.is_flat() => {
                rows.push(Row { count, address, shown: Shown::Routine(routine) });
            }
            _ => *others.entry(names.find(address, count).name).or_default() += count,
        }
    }
    for (&address, &count) in &sums.elsewhere {
        *others.entry(names.find(address, count).name).or_default() += count;
    }
    rows.extend(others.into_iter().map(|(name, count)| match names.start(name) {
        Some(address) => Row { count, address, shown: Shown::Name(name) },
        None => Row { count, address: 0, shown: Shown::Nameless(name) },
    }));
    rows
}
