use super::*;
use crate::attr::{Attr, SampleType};
use crate::bytes::{ByteOrder, RecordWords};
use crate::header::Misc;
use crate::registers::{Registers, RegsAbi, general};
use crate::sample::Sample;
use crate::text::Columns;
use crate::units::{Cpu, Pid, Task, Tid, Time};
use proptest::prelude::*;

fn parse(lines: &[&str]) -> Result<Vec<(String, Option<u64>)>, TextError> {
    let mut parser = Parser::new(Arch::X86_64);
    let mut values = Vec::new();
    for line in lines {
        if let TextLine::Record(record) = parser.line(line.as_bytes())? {
            values.extend(record.iter().map(|(name, _, value)| (name.to_owned(), value)));
        }
    }
    Ok(values)
}

#[test]
fn lines_of_32_bits_are_read() {
    let lines =
        ["#eflags linear_ip eax ebx", "", "# a remark", "00000246 c01158f4 0000002a ffffffff"];
    let named = |name: &str, value| (name.to_owned(), Some(value));
    let expected = vec![
        named("eflags", 0x246),
        named("linear_ip", 0xc011_58f4),
        named("eax", 42),
        named("ebx", 0xffff_ffff),
    ];
    assert_eq!(parse(&lines), Ok(expected));
}

#[test]
fn a_column_from_the_future_is_passed_over() {
    let lines = ["#rflags linear_ip colour", "0 10 blue"];
    assert_eq!(parse(&lines).unwrap()[2], ("colour".to_owned(), None));
}

#[test]
fn errors_say_where_and_what() {
    let message = |lines: &[&str]| parse(lines).unwrap_err().to_string();
    assert!(message(&["", "0 1"]).starts_with("line 2: no header line before it"));
    let header = "#rflags linear_ip tid";
    assert_eq!(message(&[header, "0 1"]), "line 2 has 2 values, the header line names 3 columns");
    assert_eq!(
        message(&[header, "0 1 2 3"]),
        "line 2 has 4 values, the header line names 3 columns"
    );
    assert_eq!(
        message(&[header, "0 main 2"]),
        "line 2, column linear_ip: \"main\" is no hexadecimal number"
    );
    assert_eq!(message(&[header, "0 1 2a"]), "line 2, column tid: \"2a\" is no decimal number");
    assert_eq!(
        message(&["#rflags linear_ip rax eax"]),
        "line 1: the header line names the column eax twice"
    );
}

/// Comparing each name with all others takes hours: the test does not end.
#[test]
fn a_header_of_many_columns_takes_no_square() {
    let mut header = "#rflags linear_ip".to_owned();
    for column in 0..400_000 {
        header.push_str(&format!(" column{column}"));
    }
    assert_eq!(Parser::new(Arch::X86_64).line(header.as_bytes()), Ok(TextLine::Header));
    header.push_str(" column7");
    let error = parse(&[&header]).unwrap_err();
    assert_eq!(error, TextError::Twice { line: 1, column: "column7".to_owned() });
}

#[test]
fn the_next_line_can_be_read_after_a_bad_one() {
    let mut parser = Parser::new(Arch::X86_64);
    parser.line(b"#rflags linear_ip").unwrap();
    parser.line(b"0 zzz").unwrap_err();
    let TextLine::Record(values) = parser.line(b"0 7").unwrap() else { panic!("no record") };
    assert_eq!(values.get(Column::Ip), Some(7));
    assert_eq!(parser.lines(), 3);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        registers in any::<[u64; 18]>(),
        (ip, addr, time, period) in any::<(u64, u64, u64, u64)>(),
        (pid, tid, cpu, misc) in any::<(i32, i32, u32, u16)>(),
        lacking in any::<bool>(),
    ) {
        let attr = Attr {
            sample_type: SampleType::IP | SampleType::TID | SampleType::TIME | SampleType::ADDR
                | SampleType::CPU | SampleType::PERIOD | SampleType::REGS_INTR,
            sample_regs_intr: general(Arch::X86_64),
            ..Attr::default()
        };
        let words: Vec<u8> = registers.iter().flat_map(|word| word.to_le_bytes()).collect();
        let full = Registers {
            abi: RegsAbi::Bits64,
            mask: general(Arch::X86_64),
            words: RecordWords::new(&words, ByteOrder::Little),
        };
        let sample = Sample {
            misc: Misc(misc),
            ip: Some(ip),
            addr: Some(addr),
            time: Some(Time(time)),
            period: Some(period),
            task: Some(Task { pid: Pid(pid), tid: Tid(tid) }),
            cpu: Some(Cpu(cpu)),
            regs_intr: Some(if lacking { Registers::default() } else { full }),
            ..Sample::default()
        };
        let columns = Columns::of(&attr, Arch::X86_64);
        let (mut header, mut line) = (Vec::new(), Vec::new());
        columns.header(&mut header);
        columns.line(&sample, &mut line);

        let mut parser = Parser::new(Arch::X86_64);
        prop_assert_eq!(parser.line(&header), Ok(TextLine::Header));
        let Ok(TextLine::Record(values)) = parser.line(&line) else { panic!("no record") };
        let wide = |number: i32| Some(i64::from(number).cast_unsigned());
        prop_assert_eq!(values.get(Column::Ip), Some(ip));
        prop_assert_eq!(values.get(Column::Addr), Some(addr));
        prop_assert_eq!(values.get(Column::Time), Some(time));
        prop_assert_eq!(values.get(Column::Period), Some(period));
        prop_assert_eq!(values.get(Column::Pid), wide(pid));
        prop_assert_eq!(values.get(Column::Tid), wide(tid));
        prop_assert_eq!(values.get(Column::Cpu), Some(u64::from(cpu)));
        prop_assert_eq!(values.get(Column::Misc), Some(u64::from(misc)));
        for bit in (0..24).filter(|bit| ![8, 9].contains(bit)) {
            let expected = if lacking { None } else { full.get(bit) };
            prop_assert_eq!(values.get(Column::Register(bit)), expected);
        }
        prop_assert_eq!(values.get(Column::Flags), if lacking { None } else { full.get(9) });
    }

    #[test]
    fn no_line_panics(lines in prop::collection::vec("[#a-z0-9 .-]{0,40}", 0..8)) {
        let mut parser = Parser::new(Arch::X86_64);
        for line in &lines {
            let _ = parser.line(line.as_bytes());
        }
    }
}
