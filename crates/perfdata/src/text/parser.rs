//! Lines to values.

use super::column::{Base, Column};
use super::digits::{parse_decimal, parse_hexadecimal};
use super::error::TextError;
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
    /// A record.
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

#[cfg(test)]
mod tests;
