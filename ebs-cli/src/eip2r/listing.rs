//! Without `--count`: a line of output for each line of input.

use super::input::Input;
use super::line::{Line, Lines};
use super::names::{Named, Names};
use super::output::{Output, push_address};
use super::run::{BadLines, Format};
use anyhow::Context;
use std::io::{Read, Write};

/// Answers kept, by address; a power of two.
const KEPT: usize = 1 << 16;
/// Addresses taken from the text at a time.
const BATCH: usize = 256;
/// What stands in the output for a line without a number.
const NO_NUMBER: &[u8] = b"- [no-number]\n";

/// Reads everything, prints as it goes.
pub(super) fn print(
    input: &mut Input<impl Read>,
    output: &mut Output,
    names: &mut Names,
    format: Format,
) -> anyhow::Result<BadLines> {
    let mut listing = Listing { output, names, kept: vec![None; KEPT], format };
    let mut bad = BadLines::default();
    let mut batch = [0; BATCH];
    while let Some(block) = input.next_block().context("cannot read the input")? {
        let mut lines = Lines::new(block, format.position);
        loop {
            let plain = lines.plain(&mut batch);
            bad.good(plain);
            for &address in &batch[..plain] {
                listing.address(address)?;
            }
            if plain == batch.len() {
                continue;
            }
            match lines.next() {
                None => break,
                Some(Line::Address(address)) => {
                    bad.good(1);
                    listing.address(address)?;
                }
                Some(Line::Comment(line)) => {
                    bad.good(1);
                    listing.output.buffer.extend_from_slice(line);
                    listing.output.buffer.push(b'\n');
                }
                Some(Line::Bad(line)) => {
                    bad.bad(line);
                    listing.output.buffer.extend_from_slice(NO_NUMBER);
                }
            }
            listing.output.settle().context("cannot write the output")?;
        }
    }
    Ok(bad)
}

struct Listing<'a> {
    output: &'a mut Output,
    names: &'a mut Names,
    kept: Vec<Option<(u64, Named)>>,
    format: Format,
}

impl Listing<'_> {
    #[inline]
    fn address(&mut self, address: u64) -> anyhow::Result<()> {
        let named = self.name(address);
        let out = &mut self.output.buffer;
        push_address(out, address);
        out.push(b' ');
        out.extend_from_slice(self.names.text(named.name).as_bytes());
        if let Some(offset) = named.offset.filter(|_| self.format.offset) {
            write!(out, "+{offset:#x}")?;
        }
        out.push(b'\n');
        self.output.settle().context("cannot write the output")
    }

    #[inline]
    fn name(&mut self, address: u64) -> Named {
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let slot = usize::try_from(mixed).unwrap_or(0) & (KEPT - 1);
        match self.kept[slot] {
            // Addresses without a name are counted, so each is asked for anew.
            Some((known, named)) if known == address && named.offset.is_some() => named,
            _ => {
                let named = self.names.find(address, 1);
                self.kept[slot] = Some((address, named));
                named
            }
        }
    }
}
