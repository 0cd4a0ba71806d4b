//! Lines to values.

use super::column::{Base, Column};
use super::digits::{parse_decimal, parse_hexadecimal};
use super::writer::is_signed;
use crate::arch::Arch;
use std::collections::HashSet;

/// Reads text records line by line.
#[derive(Clone, Debug)]
pub struct Parser {
    arch: Arch,
    line: u64,
    header: Vec<Named>,
    values: Vec<Option<u64>>,
}

/// A column of the header line; `column` is None for names not known here,
/// whose values are not looked at.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    column: Option<Column>,
}

/// What a line is.
#[derive(Debug, PartialEq)]
pub enum TextLine<'p> {
    /// The columns have names now.
    Header,
    /// Nothing: empty, or a `#` line that names no columns.
    Comment,
    Record(Values<'p>),
}

/// The values of a record.
#[derive(Clone, Copy, Debug)]
pub struct Values<'p> {
    parser: &'p Parser,
}

impl PartialEq for Values<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Parser {
    /// A parser at the start of a file that was written on a machine of
    /// `arch`: register names depend on it.
    pub fn new(arch: Arch) -> Parser {
        Parser { arch, line: 0, header: Vec::new(), values: Vec::new() }
    }

    /// The machine whose registers header lines name.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Takes the names of header lines from here on for those of a machine.
    pub fn set_arch(&mut self, arch: Arch) {
        self.arch = arch;
    }

    /// Whether a header line has come.
    pub fn has_header(&self) -> bool {
        !self.header.is_empty()
    }

    /// Reads the next line; a line break at its end is not looked at.
    ///
    /// # Errors
    /// A line that is no record, with its number and what is wrong. The next
    /// line can be read after that.
    pub fn line(&mut self, line: &[u8]) -> Result<TextLine<'_>, TextError> {
        self.line += 1;
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(first) = words.next() else { return Ok(TextLine::Comment) };
        if let Some(first) = first.strip_prefix(b"#") {
            return self.header(first, words);
        }
        if self.header.is_empty() {
            return Err(TextError::NoHeader { line: self.line });
        }
        self.values.clear();
        for (index, word) in std::iter::once(first).chain(words).enumerate() {
            let Some(named) = self.header.get(index) else { continue };
            let value = value(named, word).map_err(|base| TextError::Number {
                line: self.line,
                column: named.name.clone(),
                text: String::from_utf8_lossy(word).into_owned(),
                base,
            })?;
            self.values.push(value);
        }
        let found = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
        if found != self.header.len() {
            let expected = self.header.len();
            return Err(TextError::Count { line: self.line, found, expected });
        }
        Ok(TextLine::Record(Values { parser: self }))
    }

    /// Lines read so far.
    pub fn lines(&self) -> u64 {
        self.line
    }

    fn header<'w>(
        &mut self,
        first: &[u8],
        rest: impl Iterator<Item = &'w [u8]>,
    ) -> Result<TextLine<'_>, TextError> {
        let known = |name: &str| Column::from_name(name, self.arch);
        let text = String::from_utf8_lossy(first);
        if known(&text) != Some(Column::Flags) {
            return Ok(TextLine::Comment);
        }
        let mut names = HashSet::new();
        let mut columns = HashSet::from([Column::Flags]);
        let mut header = vec![Named { name: text.into_owned(), column: Some(Column::Flags) }];
        for word in rest {
            let name = String::from_utf8_lossy(word).into_owned();
            let column = known(&name);
            let known_before = column.is_some_and(|column| !columns.insert(column));
            if known_before || !names.insert(word) {
                return Err(TextError::Twice { line: self.line, column: name });
            }
            header.push(Named { name, column });
        }
        self.header = header;
        Ok(TextLine::Header)
    }
}

impl<'p> Values<'p> {
    /// The value of a column; None when the record lacks it or the file has
    /// no such column. Negative thread ids are sign-extended to 64 bits.
    pub fn get(&self, column: Column) -> Option<u64> {
        self.iter().find(|(_, found, _)| *found == Some(column)).and_then(|(.., value)| value)
    }

    /// All columns: name, meaning if known, value if there.
    pub fn iter(&self) -> impl Iterator<Item = (&'p str, Option<Column>, Option<u64>)> + use<'p> {
        let columns = self.parser.header.iter().zip(&self.parser.values);
        columns.map(|(named, value)| (named.name.as_str(), named.column, *value))
    }
}

fn value(named: &Named, word: &[u8]) -> Result<Option<u64>, &'static str> {
    let Some(column) = named.column else { return Ok(None) };
    if word.len() == 16 && word.iter().all(|&byte| byte == b'-') {
        return Ok(None);
    }
    match column.base() {
        Base::Hexadecimal => parse_hexadecimal(word).map(Some).ok_or("hexadecimal"),
        Base::Decimal(_) => match word.strip_prefix(b"-") {
            Some(digits) if is_signed(column) => {
                let negative = |value| 0i64.checked_sub_unsigned(value).map(i64::cast_unsigned);
                parse_decimal(digits).and_then(negative).map(Some).ok_or("decimal")
            }
            _ => parse_decimal(word).map(Some).ok_or("decimal"),
        },
    }
}

/// What is wrong with a line; lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error(
        "line {line}: no header line before it; text records start with a line such as \
         `#rflags linear_ip ...` (was it cut off with grep -v '#'?)"
    )]
    NoHeader { line: u64 },
    #[error("line {line} has {found} values, the header line names {expected} columns")]
    Count { line: u64, found: usize, expected: usize },
    #[error("line {line}, column {column}: {text:?} is no {base} number")]
    Number { line: u64, column: String, text: String, base: &'static str },
    #[error("line {line} has more than {most} bytes")]
    Long { line: u64, most: u64 },
    #[error("line {line}, column {column}: {value} is too large")]
    TooLarge { line: u64, column: String, value: u64 },
    #[error(
        "line {line}: the header line names registers of {arch}, the one before it those of \
         {before}; read both files for themselves"
    )]
    Machine { line: u64, before: Arch, arch: Arch },
    #[error("line {line}: {reason}")]
    Unwritten { line: u64, reason: String },
    #[error("line {line}: the header line names the column {column} twice")]
    Twice { line: u64, column: String },
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            message(&[header, "0 1"]),
            "line 2 has 2 values, the header line names 3 columns"
        );
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
}
