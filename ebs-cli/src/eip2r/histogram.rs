//! `--count`: how often each address, or each routine, came.

use super::arguments::{Arguments, By};
use super::input::Input;
use super::line::{BadLines, Line};
use super::names::{NameId, Named, Names};
use super::output::Output;
use super::shortfalls::Shortfalls;
use anyhow::Context;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Write};
use std::mem;

/// Addresses counted before their routines are, which are fewer.
const MOST_ADDRESSES: usize = 1 << 18;

type Counts<T> = FxHashMap<T, u64>;

struct Row {
    count: u64,
    /// An address, or a routine's first. None: all addresses together that
    /// lack a routine for one reason.
    address: Option<u64>,
    name: NameId,
    /// How far in its routine the address lies, where that is shown.
    offset: Option<u64>,
}

pub(super) fn print(
    mut input: Input<&File>,
    output: &mut Output,
    names: &mut Names,
    arguments: &Arguments,
) -> anyhow::Result<BadLines> {
    let mut bad = BadLines::default();
    let (mut addresses, mut routines) = (Counts::default(), Counts::default());
    while input.next_batch().context("cannot read the input")? {
        for line in input.lines() {
            bad.count(&line);
            if let Line::Address(address) = line {
                *addresses.entry(address).or_default() += 1;
            }
        }
        if arguments.by == By::Routine && addresses.len() > MOST_ADDRESSES {
            add_routines(&mut routines, mem::take(&mut addresses), names);
        }
    }
    let mut rows = match arguments.by {
        By::Address => by_address(addresses, names, arguments.offset),
        By::Routine => {
            add_routines(&mut routines, addresses, names);
            by_routine(routines, names)
        }
    };
    let rank = |row: &Row| (Reverse(row.count), row.address, &*names.get(row.name).text);
    rows.sort_unstable_by(|one, other| rank(one).cmp(&rank(other)));
    rows.iter()
        .try_for_each(|row| write(row, output, names))
        .and_then(|()| output.flush())
        .context("cannot write the output")?;
    let mut shortfalls = Shortfalls::default();
    for row in rows {
        if let Err(why) = &names.get(row.name).start {
            let number = shortfalls.number(why);
            shortfalls.add(number, row.count);
        }
    }
    shortfalls.report();
    Ok(bad)
}

fn by_address(addresses: Counts<u64>, names: &mut Names, with_offset: bool) -> Vec<Row> {
    let row = |(address, count)| {
        let Named { name, offset } = names.find(address);
        Row { count, address: Some(address), name, offset: offset.filter(|_| with_offset) }
    };
    addresses.into_iter().map(row).collect()
}

fn add_routines(routines: &mut Counts<NameId>, addresses: Counts<u64>, names: &mut Names) {
    for (address, count) in addresses {
        *routines.entry(names.find(address).name).or_default() += count;
    }
}

fn by_routine(routines: Counts<NameId>, names: &Names) -> Vec<Row> {
    let row = |(name, count)| {
        let address = names.get(name).start.as_ref().ok().copied();
        Row { count, address, name, offset: None }
    };
    routines.into_iter().map(row).collect()
}

fn write(row: &Row, output: &mut Output, names: &Names) -> io::Result<()> {
    write!(output, "{:7} ", row.count)?;
    match row.address {
        Some(address) => write!(output, "{address:016x}")?,
        None => write!(output, "{:>16}", "-")?,
    }
    write!(output, " {}", names.get(row.name).text)?;
    if let Some(offset) = row.offset {
        write!(output, "+{offset:#x}")?;
    }
    output.write_all(b"\n")
}
