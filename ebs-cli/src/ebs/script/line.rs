//! One record as a line, column for column as `perf script` prints it.

use super::column::{blanks, hex, id, right};
use super::field::{Field, LineFields};
pub(super) use perfdata::printable::push_printable as clean;
use perfdata::sample::{BranchStack, Weight};
use perfdata::stream::{EventDescription, note};
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

const UNKNOWN: &str = "[unknown]";

#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
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
    let word = class.map_or("-", MissClass::name);
    blanks(9_usize.saturating_sub(word.len()), out);
    out.extend_from_slice(word.as_bytes());
}

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

/// Appends what was modelled as a comment line, `# emulated: ...`, if the
/// event is one of the emulated PMU.
pub(super) fn write_emulation(event: &EventDescription, out: &mut Vec<u8>) {
    let says = |key: &str| event.notes.iter().find_map(|text| note::value(text, key));
    if let Some(phrase) = analysis::emulation(says) {
        out.extend_from_slice(b"# ");
        clean(phrase.as_bytes(), out);
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    //! Lines that `perf script` 6.1 printed, made again.

    use super::*;
    use crate::ebs::script::registers::RegisterNames;
    use perfdata::bytes::RecordWords;
    use perfdata::registers::RegsAbi;
    use perfdata::{Arch, ByteOrder, Cpu, Pid, Registers, Task, Tid, Time};

    fn line(fields: LineFields) -> String {
        let mut bytes = Vec::new();
        for value in [0_u64, 3, 0xffff_8881_0895_c400, 0x50246] {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        let registers = Registers {
            abi: RegsAbi::Bits64,
            mask: 1 | 1 << 1 | 1 << 6 | 1 << 9,
            words: RecordWords::new(&bytes, ByteOrder::Little),
        };
        let sample = Sample {
            task: Some(Task { pid: Pid(20257), tid: Tid(20258) }),
            time: Some(Time(2_038_033_287_999)),
            cpu: Some(Cpu(0)),
            ..Sample::default()
        };
        let ip = Named::new(Some(("elf_load", 0x28a)), Some("[kernel.kallsyms]"));
        let comm = Some(&b"t"[..]);
        let mut out = Vec::new();
        Start { sample: &sample, comm, padded: true, period: Some(1), event: b"page-faults" }
            .write(fields, &mut out);
        if fields.has(Field::Addr) {
            write_addr(0x562e_20f1_f018, None, fields, &mut out);
        }
        if fields.has(Field::Ip) {
            out.push(b' ');
            write_ip(0xffff_ffff_8175_2b6a, Some(&ip), fields, &mut out);
        }
        if fields.has(Field::Iregs) {
            RegisterNames::new(Arch::X86_64).write(&registers, &mut out);
        }
        String::from_utf8(out).expect("is text")
    }

    #[test]
    fn names_neither_end_the_line_nor_command_the_terminal() {
        for (name, shown) in [
            (&b"kworker/0:1"[..], &b"kworker/0:1"[..]),
            ("größe".as_bytes(), "größe".as_bytes()),
            (b"a\nb\x1b[2J\x7f", br"a\nb\u{1b}[2J\u{7f}"),
            (b"\xc2\x9b0m \xff\n", br"\u{9b}0m \xff\n"),
        ] {
            let mut out = Vec::new();
            super::clean(name, &mut out);
            assert_eq!(out, shown);
        }
        let ip = Named::new(Some(("f\n", 1)), Some("/tmp/\x1bc"));
        let mut out = Vec::new();
        write_ip(0x10, Some(&ip), LineFields::of([Field::Sym, Field::Dso]), &mut out);
        assert_eq!(out, br"              10 f\n (/tmp/\u{1b}c)");
    }

    #[test]
    fn columns_are_perfs() {
        use Field::{Addr, Comm, Cpu, Dso, Event, Ip, Iregs, Period, Pid, Sym, Symoff, Tid, Time};
        for (fields, expected) in [
            (vec![Ip, Sym], " ffffffff81752b6a elf_load"),
            (vec![Ip, Sym, Symoff], " ffffffff81752b6a elf_load+0x28a"),
            (vec![Ip, Dso], " ffffffff81752b6a ([kernel.kallsyms])"),
            (vec![Addr, Ip], "    562e20f1f018 ffffffff81752b6a"),
            (vec![Addr, Sym, Dso], "    562e20f1f018"),
            (vec![Comm, Event, Ip], "               t page-faults:  ffffffff81752b6a"),
            (vec![Comm, Tid, Cpu], "               t 20258 [000] "),
            (vec![Pid, Tid], "20257/20258 "),
            (vec![Time, Ip], " 2038.033287:  ffffffff81752b6a"),
            (vec![Period], "         1 "),
            (vec![Iregs], " ABI:2    AX:0x0    BX:0x3    BP:0xffff88810895c400 FLAGS:0x50246 "),
        ] {
            assert_eq!(line(LineFields::of(fields.clone())), expected, "{fields:?}");
        }
    }

    #[test]
    fn tasks_without_a_name_have_their_number() {
        let sample = Sample { task: Some(Task { pid: Pid(1), tid: Tid(7) }), ..Sample::default() };
        let start = |sample, comm, padded| {
            let mut out = Vec::new();
            Start { sample, comm, padded, period: None, event: b"e" }
                .write(LineFields::of([Field::Comm]), &mut out);
            String::from_utf8(out).expect("is text")
        };
        assert_eq!(start(&sample, Some(&b"a\nb\x1b[31m"[..]), true), "        a\\nb\\u{1b}[31m ");
        assert_eq!(start(&sample, None, true), "              :7 ");
        assert_eq!(start(&sample, None, false), ":7 ");
        assert_eq!(start(&Sample::default(), None, true), "             :-1 ");
    }

    #[test]
    fn privilege_levels_are_perfs_letters() {
        for (misc, letters) in
            [(1, "K     "), (2, "U     "), (3, "KUH   "), (4, "G     "), (0x4002, "U     ")]
        {
            let mut out = Vec::new();
            write_misc(Misc(misc), &mut out);
            assert_eq!(out, letters.as_bytes());
        }
    }

    #[test]
    fn an_access_that_is_not_known_keeps_its_column() {
        let written = |address| {
            let mut out = Vec::new();
            write_before(address, &mut out);
            String::from_utf8(out).expect("is text")
        };
        assert_eq!(written(Some(0x7fa5_b2bb_4000)), "     7fa5b2bb4000");
        assert_eq!(written(None), "                -");
    }

    #[test]
    fn pages_are_abbreviated_as_perf_does() {
        for (size, text) in [
            (0, " N/A"),
            (512, " 512B"),
            (4096, " 4K"),
            (65536, " 64K"),
            (2 << 20, " 2M"),
            (1 << 30, " 1024M"),
            (16 << 30, " 16G"),
            (1 << 45, " 32768G"),
        ] {
            let mut out = Vec::new();
            write_page_size(size, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }

    #[test]
    fn branches_are_perfs() {
        let words = [0x10, 0x20, 0x1, 0x30, 0x40, 0x2 | 7 << 4 | 4 << 20, 0x50, 0x60, 0xc];
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
        let entries = RecordWords::new(&bytes, ByteOrder::Little);
        let stack = BranchStack { hw_index: None, entries, counters: None };
        let mut out = Vec::new();
        write_branches(&stack, |address, out| out.extend(format!("({address})").bytes()), &mut out);
        let expected = " 0x10(16)/0x20(32)/M/-/-/0/  0x30(48)/0x40(64)/P/-/-/7/CALL  \
                    0x50(80)/0x60(96)/-/X/A/0/ ";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
