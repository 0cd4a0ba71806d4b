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
