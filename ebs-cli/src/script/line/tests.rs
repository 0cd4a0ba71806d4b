//! Lines that `perf script` 6.1 printed, made again.

use super::{Fields, Line, Named};
use crate::script::field::Field;
use record::bytes::Words;
use record::registers::RegsAbi;
use record::{Arch, ByteOrder, Cpu, Pid, Registers, Sample, Task, Tid, Time};

fn line(fields: Fields) -> String {
    let mut bytes = Vec::new();
    for value in [0_u64, 3, 0xffff_8881_0895_c400, 0x50246] {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    let registers = Registers {
        abi: RegsAbi::Bits64,
        mask: 1 | 1 << 1 | 1 << 6 | 1 << 9,
        words: Words::new(&bytes, ByteOrder::Little),
    };
    let sample = Sample {
        ip: Some(0xffff_ffff_8175_2b6a),
        task: Some(Task { pid: Pid(20257), tid: Tid(20258) }),
        time: Some(Time(2_038_033_287_999)),
        addr: Some(0x562e_20f1_f018),
        cpu: Some(Cpu(0)),
        period: Some(1),
        regs_intr: Some(registers),
        ..Sample::default()
    };
    let ip = Named {
        symbol: Some(("elf_load".to_owned(), 0x28a)),
        object: Some("[kernel.kallsyms]".to_owned()),
    };
    let line = Line {
        sample: &sample,
        comm: Some(b"t"),
        event: "page-faults",
        event_width: 11,
        ip: Some(&ip),
        addr: None,
        arch: Arch::X86_64,
    };
    let mut out = Vec::new();
    line.write(fields, &mut out);
    String::from_utf8(out).expect("is text")
}

#[test]
fn names_neither_end_the_line_nor_command_the_terminal() {
    for (name, shown) in [
        (&b"kworker/0:1"[..], &b"kworker/0:1"[..]),
        ("größe".as_bytes(), "größe".as_bytes()),
        (b"a\nb\x1b[2J\x7f", b"a?b?[2J?"),
        (b"\xc2\x9b0m \xff\n", b"?0m \xff?"),
    ] {
        let mut out = Vec::new();
        super::clean(name, &mut out);
        assert_eq!(out, shown);
    }
    let ip = Named { symbol: Some(("f\n".to_owned(), 1)), object: Some("/tmp/\x1bc".to_owned()) };
    let line = Line {
        sample: &Sample { ip: Some(0x10), ..Sample::default() },
        comm: Some(b"\t"),
        event: "x\ry",
        event_width: 4,
        ip: Some(&ip),
        addr: None,
        arch: Arch::X86_64,
    };
    let mut out = Vec::new();
    line.write(
        Fields::of([Field::Comm, Field::Event, Field::Ip, Field::Sym, Field::Dso]),
        &mut out,
    );
    let text = String::from_utf8(out).expect("is text");
    assert_eq!(text, "               ?  x?y:                10 f? (/tmp/?c)\n");
}

#[test]
fn columns_are_perfs() {
    use Field::{Addr, Comm, Cpu, Dso, Event, Ip, Iregs, Period, Pid, Sym, Symoff, Tid, Time};
    for (fields, expected) in [
        (vec![Ip, Sym], " ffffffff81752b6a elf_load\n"),
        (vec![Ip, Sym, Symoff], " ffffffff81752b6a elf_load+0x28a\n"),
        (vec![Ip, Dso], " ffffffff81752b6a ([kernel.kallsyms])\n"),
        (vec![Addr, Ip], "    562e20f1f018 ffffffff81752b6a\n"),
        (vec![Addr, Sym, Dso], "    562e20f1f018\n"),
        (vec![Comm, Event, Ip], "               t page-faults:  ffffffff81752b6a\n"),
        (vec![Comm, Tid, Cpu], "               t 20258 [000] \n"),
        (vec![Pid, Tid], "20257/20258 \n"),
        (vec![Time, Ip], " 2038.033287:  ffffffff81752b6a\n"),
        (vec![Period], "         1 \n"),
        (vec![Iregs], " ABI:2    AX:0x0    BX:0x3    BP:0xffff88810895c400 FLAGS:0x50246 \n"),
    ] {
        assert_eq!(line(Fields::of(fields.clone())), expected, "{fields:?}");
    }
}

#[test]
fn names_that_would_break_the_line_are_masked() {
    let sample = Sample { task: Some(Task { pid: Pid(1), tid: Tid(7) }), ..Sample::default() };
    let mut out = Vec::new();
    let mut line = Line {
        sample: &sample,
        comm: Some(b"a\nb\x1b[31m"),
        event: "e",
        event_width: 1,
        ip: None,
        addr: None,
        arch: Arch::X86_64,
    };
    line.write(Fields::of([Field::Comm]), &mut out);
    assert_eq!(out, b"        a?b?[31m \n");
    out.clear();
    line.comm = None;
    line.write(Fields::of([Field::Comm]), &mut out);
    assert_eq!(out, b"              :7 \n");
}
