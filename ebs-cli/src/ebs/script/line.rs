//! One record as a line, column for column as `perf script` prints it.

use super::column::{blanks, hex, id, right};
use super::field::{Field, LineFields};
pub(super) use perfdata::printable::push_printable as clean;
use perfdata::sample::{BranchStack, Weight};
use perfdata::text::decimal;
use perfdata::{Misc, MissClass, Sample};

/// What stands at an address, as it is printed: ` SYMBOL+0xOFFSET (OBJECT)`,
/// in one piece, since lines are printed in any order of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    text: Box<[u8]>,
    /// Where the symbol ends.
    symbol: usize,
    /// Where the offset ends.
    offset: usize,
}

impl Named {
    /// Symbol and bytes from its start, and object.
    pub(super) fn new(symbol: Option<(&str, u64)>, object: Option<&str>) -> Named {
        let mut text = b" ".to_vec();
        clean(symbol.map_or(UNKNOWN, |(name, _)| name).as_bytes(), &mut text);
        let name = text.len();
        if let Some((_, offset)) = symbol {
            text.extend_from_slice(b"+0x");
            hex(offset, 0, &mut text);
        }
        let offset = text.len();
        text.extend_from_slice(b" (");
        clean(object.unwrap_or(UNKNOWN).as_bytes(), &mut text);
        text.push(b')');
        Named { text: text.into(), symbol: name, offset }
    }

    /// Appends what of it is among the fields.
    fn write(&self, fields: LineFields, out: &mut Vec<u8>) {
        let (symbol, offset) = (fields.has(Field::Sym), fields.has(Field::Symoff));
        let object = fields.has(Field::Dso);
        match (symbol, offset, object) {
            (true, true, true) => out.extend_from_slice(&self.text),
            _ => {
                let end = if offset { self.offset } else { self.symbol };
                out.extend_from_slice(if symbol { &self.text[..end] } else { &[] });
                out.extend_from_slice(if object { &self.text[self.offset..] } else { &[] });
            }
        }
    }

    /// Appends the object, in brackets.
    pub(super) fn write_object(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text[self.offset + 1..]);
    }
}

/// What stands for a name that is not known.
const UNKNOWN: &str = "[unknown]";

/// What a line starts with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    /// The record.
    pub(super) sample: &'a Sample<'a>,
    /// Command name of its thread; None prints `:TID`.
    pub(super) comm: Option<&'a [u8]>,
    /// Whether the name is padded: not before a call chain.
    pub(super) padded: bool,
    /// Events that it stands for.
    pub(super) period: Option<u64>,
    /// Name of its event, padded to the longest of this recording.
    pub(super) event: &'a [u8],
}

impl Start<'_> {
    /// Appends everything up to the event's name.
    pub(super) fn write(&self, fields: LineFields, out: &mut Vec<u8>) {
        self.write_task(fields, out);
        let sample = self.sample;
        if let (true, Some(cpu)) = (fields.has(Field::Cpu), sample.cpu) {
            out.push(b'[');
            decimal(cpu.0.into(), 3, out);
            out.extend_from_slice(b"] ");
        }
        if fields.has(Field::Misc) {
            write_misc(sample.misc, out);
        }
        if let (true, Some(time)) = (fields.has(Field::Time), sample.time) {
            right(time.0 / 1_000_000_000, 5, out);
            out.push(b'.');
            decimal(time.0 % 1_000_000_000 / 1000, 6, out);
            out.extend_from_slice(b": ");
        }
        if let (true, Some(period)) = (fields.has(Field::Period), self.period) {
            right(period, 10, out);
            out.push(b' ');
        }
        if fields.has(Field::Event) {
            out.extend_from_slice(self.event);
            out.extend_from_slice(b": ");
        }
    }

    fn write_task(&self, fields: LineFields, out: &mut Vec<u8>) {
        let task = self.sample.task;
        if fields.has(Field::Comm) {
            let width: usize = if self.padded { 16 } else { 0 };
            match (self.comm, task) {
                (Some(comm), _) => {
                    blanks(width.saturating_sub(comm.len()), out);
                    clean(comm, out);
                }
                (None, task) => {
                    let tid = task.map_or(-1, |task| task.tid.0);
                    let mut unnamed = Vec::from(b":");
                    id(tid, 0, &mut unnamed);
                    blanks(width.saturating_sub(unnamed.len()), out);
                    out.extend_from_slice(&unnamed);
                }
            }
            out.push(b' ');
        }
        let Some(task) = task else {
            return;
        };
        let (pid, tid) = (fields.has(Field::Pid), fields.has(Field::Tid));
        if pid {
            id(task.pid.0, 5, out);
        }
        if pid && tid {
            out.push(b'/');
            let start = out.len();
            id(task.tid.0, 0, out);
            out.resize(out.len().max(start + 5), b' ');
        } else if tid {
            id(task.tid.0, 5, out);
        }
        if pid || tid {
            out.push(b' ');
        }
    }
}

/// The letters of the privilege level. perf looks at each bit of it alone.
fn write_misc(misc: Misc, out: &mut Vec<u8>) {
    let end = out.len() + 6;
    for (bits, letter) in [(1, b'K'), (2, b'U'), (3, b'H'), (4, b'G'), (5, b'g')] {
        if misc.0 & bits == bits {
            out.push(letter);
        }
    }
    out.resize(end, b' ');
}

/// Appends a data address, and what is there if that is known.
pub(super) fn write_addr(addr: u64, named: Option<&Named>, fields: LineFields, out: &mut Vec<u8>) {
    hex(addr, 16, out);
    if let Some(named) = named {
        named.write(fields, out);
    }
}

/// Appends what the instruction before accessed; `-` where that is not known.
pub(super) fn write_before(address: Option<u64>, out: &mut Vec<u8>) {
    out.push(b' ');
    match address {
        Some(address) => hex(address, 16, out),
        None => out.extend_from_slice(b"               -"),
    }
}

/// Appends why a miss is one; `-` where that was not told.
pub(super) fn write_class(class: Option<MissClass>, out: &mut Vec<u8>) {
    let word = class.map_or("-", MissClass::word);
    blanks(9_usize.saturating_sub(word.len()), out);
    out.extend_from_slice(word.as_bytes());
}

/// Appends what an access cost.
pub(super) fn write_weight(weight: Weight, fields: LineFields, out: &mut Vec<u8>) {
    let (cost, instruction) = match weight {
        Weight::Full(weight) => (weight, None),
        Weight::Struct { var1, var2, .. } => (u64::from(var1), Some(var2)),
    };
    if fields.has(Field::Weight) {
        out.push(b' ');
        right(cost, 15, out);
    }
    if let (true, Some(instruction)) = (fields.has(Field::InsLat), instruction) {
        right(instruction.into(), 16, out);
    }
}

/// Appends an address, and the symbol and object there.
pub(super) fn write_ip(ip: u64, named: Option<&Named>, fields: LineFields, out: &mut Vec<u8>) {
    hex(ip, 16, out);
    if let Some(named) = named {
        named.write(fields, out);
    }
}

/// Appends branches, newest first; with the objects that `named` knows.
pub(super) fn write_branches<'n>(
    stack: &BranchStack<'_>,
    mut named: impl FnMut(u64, &mut Vec<u8>) + 'n,
    out: &mut Vec<u8>,
) {
    for branch in stack.branches() {
        let flags = branch.flags;
        out.extend_from_slice(b" 0x");
        hex(branch.from, 0, out);
        named(branch.from, out);
        out.extend_from_slice(b"/0x");
        hex(branch.to, 0, out);
        named(branch.to, out);
        out.extend_from_slice(match (flags.mispredicted(), flags.predicted()) {
            (_, true) => b"/P/",
            (true, false) => b"/M/",
            (false, false) => b"/-/",
        });
        out.extend_from_slice(if flags.in_transaction() { b"X/" } else { b"-/" });
        out.extend_from_slice(if flags.aborted() { b"A/" } else { b"-/" });
        right(flags.cycles().into(), 0, out);
        out.push(b'/');
        out.extend_from_slice(flags.kind_name().as_bytes());
        out.push(b' ');
    }
}

/// Appends the size of a page as perf abbreviates it: 4K, 2M, 1024M.
pub(super) fn write_page_size(size: u64, out: &mut Vec<u8>) {
    out.push(b' ');
    if size == 0 {
        return out.extend_from_slice(b"N/A");
    }
    let mut left = size;
    let mut unit = 0;
    while left / 1024 > 1 && unit < 3 {
        left /= 1024;
        unit += 1;
    }
    right(left, 0, out);
    out.push(b"BKMG"[unit]);
}

#[cfg(test)]
mod tests;
