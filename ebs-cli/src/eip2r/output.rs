//! Where lines go: stdout or a file, in large pieces.

use crate::outputs::NamedOutput;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes kept before they are written.
const PIECE: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Output {
    file: File,
    pub(super) buffer: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    /// Writing would destroy what is to be read, or never end.
    #[error("the output is the input file; give another one with -o")]
    IsInput,
    #[error(transparent)]
    Open(#[from] io::Error),
}

impl Output {
    /// Opens `path`, or stdout for none and for `-`, and empties it unless it
    /// is what `input` reads.
    pub(super) fn open(path: Option<&Path>, input: &File) -> Result<Output, OutputError> {
        let path = path.filter(|path| path.as_os_str() != "-");
        let file = match path {
            Some(path) => NamedOutput::find(path)?.open(&mut || false)?,
            None => File::from(io::stdout().as_fd().try_clone_to_owned()?),
        };
        let (own, other) = (file.metadata()?, input.metadata()?);
        if own.is_file() && (own.dev(), own.ino()) == (other.dev(), other.ino()) {
            return Err(OutputError::IsInput);
        }
        if path.is_some() && own.is_file() {
            file.set_len(0)?;
        }
        Ok(Output { file, buffer: Vec::with_capacity(2 * PIECE) })
    }

    /// Writes once enough has come together.
    #[inline]
    pub(super) fn settle(&mut self) -> io::Result<()> {
        if self.buffer.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    pub(super) fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.flush()?;
        self.file.write_all(piece)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Appends a number as 16 hexadecimal digits.
pub(super) fn push_address(out: &mut Vec<u8>, address: u64) {
    out.extend_from_slice(&hex_digits(address));
}

/// A number as 16 hexadecimal digits.
#[inline]
pub(super) fn hex_digits(number: u64) -> [u8; 16] {
    // Each step spreads the digits over twice the room, until each has a byte.
    let digits = |half: u32| {
        let wide = u64::from(half);
        let wide = (wide | wide << 16) & 0x0000_ffff_0000_ffff;
        let wide = (wide | wide << 8) & 0x00ff_00ff_00ff_00ff;
        let wide = (wide | wide << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        let letters = (wide + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
        wide + 0x3030_3030_3030_3030 + letters * u64::from(b'a' - b'0' - 10)
    };
    let [high, low] = halves(number);
    (u128::from(digits(high)) << 64 | u128::from(digits(low))).to_be_bytes()
}

fn halves(address: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = address.to_be_bytes();
    [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])]
}

/// Appends a count as `uniq -c` does: in seven columns or more.
pub(super) fn push_count(out: &mut Vec<u8>, count: u64) {
    let mut digits = [b' '; 20];
    let (mut rest, mut at) = (count, digits.len());
    while at == digits.len() || rest > 0 {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - 7)..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_as_format_writes_them(number: u64, small in 0_u64..20_000_000) {
            for number in [number, small] {
                let mut out = Vec::new();
                push_address(&mut out, number);
                push_count(&mut out, number);
                prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{number:016x}{number:7}"));
            }
        }
    }
}
