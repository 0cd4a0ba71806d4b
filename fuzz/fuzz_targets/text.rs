//! Any bytes as text records: no panic, and every record has a value or none
//! for each column of the header.
//!
//! Input: a byte for the architecture, then lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::Arch;
use perfdata::text::{Column, Parser, TextLine};

fuzz_target!(|input: &[u8]| {
    let Some((choice, text)) = input.split_first() else { return };
    let arch = Arch::ALL[usize::from(*choice) % Arch::ALL.len()];
    let mut parser = Parser::new(arch);
    let mut lines = 0;
    for line in text.split(|&byte| byte == b'\n') {
        lines += 1;
        match parser.line(line) {
            Ok(TextLine::Record(values)) => {
                let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
                assert_eq!(values.iter().count(), words.count());
                for (name, column, value) in values.iter() {
                    assert!(column.is_some() || value.is_none(), "{name}");
                    if let Some(column) = column {
                        assert_eq!(values.get(column), value, "{name}");
                        assert_eq!(Column::from_name(&column.name(arch), arch), Some(column));
                    }
                }
            }
            Ok(TextLine::Header | TextLine::Comment) => {}
            Err(error) => assert!(error.to_string().contains(&format!("line {lines}"))),
        }
        assert_eq!(parser.lines(), lines);
    }
});
