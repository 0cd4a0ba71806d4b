//! A file of the cache, read in blocks that are checked.

use super::layout::{BLOCK, HEADER, Header, LARGEST};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Blocks kept: 32 MiB of them.
const MOST_KEPT: usize = 2048;

/// The tables of an index.
#[derive(Debug)]
pub(super) struct Blocks {
    file: File,
    pub(super) header: Header,
    /// CRC of each block.
    sums: Vec<u8>,
    /// Where the tables begin.
    at: u64,
    kept: FxHashMap<u64, Box<[u8]>>,
}

impl Blocks {
    /// Reads header and CRCs; the file must have the length that they tell.
    pub(super) fn open(file: File) -> Result<Blocks, String> {
        let length = file.metadata().map_err(told)?.len();
        let mut bytes = [0; HEADER];
        file.read_exact_at(&mut bytes, 0).map_err(told)?;
        let header = Header::read(&bytes)?;
        let at = header.counts.body_at();
        let expected = at + header.counts.body();
        if expected != length || expected > LARGEST {
            return Err(format!("it has {length} bytes, its header tells of {expected}"));
        }
        let sums = usize::try_from(4 * header.counts.blocks()).map_err(|_| "it is too long")?;
        let mut sums = vec![0; sums];
        file.read_exact_at(&mut sums, HEADER as u64).map_err(told)?;
        Header::check(&bytes, &sums)?;
        Ok(Blocks { file, header, sums, at, kept: FxHashMap::default() })
    }

    /// Bytes of a table, where a block holds them all.
    fn block(&mut self, number: u64) -> Result<&[u8], String> {
        if self.kept.len() >= MOST_KEPT && !self.kept.contains_key(&number) {
            self.kept.clear();
        }
        match self.kept.entry(number) {
            std::collections::hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::hash_map::Entry::Vacant(place) => {
                let block = read(&self.file, (&self.header, &self.sums), (self.at, number))?;
                Ok(place.insert(block))
            }
        }
    }

    /// Copies bytes of the tables; fewer come only at their end.
    pub(super) fn bytes(&mut self, at: u64, length: usize) -> Result<Vec<u8>, String> {
        let mut all = Vec::with_capacity(length.min(BLOCK));
        while all.len() < length {
            let next = at.saturating_add(all.len() as u64);
            let within = usize::try_from(next % BLOCK as u64).unwrap_or(0);
            let left = length - all.len();
            let block = self.block(next / BLOCK as u64)?;
            let part = block.get(within..).unwrap_or_default();
            if part.is_empty() {
                return Err(format!("its tables end before byte {next}"));
            }
            all.extend_from_slice(&part[..part.len().min(left)]);
        }
        Ok(all)
    }

    /// A number of a table of numbers.
    pub(super) fn number(&mut self, at: u64) -> Result<u32, String> {
        let within = usize::try_from(at % BLOCK as u64).unwrap_or(0);
        // Most do not lie across blocks.
        if let Some(bytes) = self.block(at / BLOCK as u64)?.get(within..)
            && let Some(bytes) = bytes.first_chunk()
        {
            return Ok(u32::from_le_bytes(*bytes));
        }
        match self.bytes(at, 4)?.first_chunk() {
            Some(bytes) => Ok(u32::from_le_bytes(*bytes)),
            None => Err("its tables end within a number".to_owned()),
        }
    }
}

fn read(
    file: &File,
    (header, sums): (&Header, &[u8]),
    (body, number): (u64, u64),
) -> Result<Box<[u8]>, String> {
    let ended = || format!("its tables end before block {number}");
    let start = number.checked_mul(BLOCK as u64).ok_or_else(ended)?;
    let left = header.counts.body().checked_sub(start).ok_or_else(ended)?;
    let size = usize::try_from(left.min(BLOCK as u64)).unwrap_or(BLOCK);
    let index = usize::try_from(number).unwrap_or(usize::MAX);
    let sum = sums.as_chunks::<4>().0.get(index).ok_or_else(ended)?;
    let mut block = vec![0; size].into_boxed_slice();
    file.read_exact_at(&mut block, body + start).map_err(told)?;
    match cfg!(fuzzing) || crc32fast::hash(&block).to_le_bytes() == *sum {
        true => Ok(block),
        false => Err(format!("the CRC of its block {number} differs")),
    }
}

fn told(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is cut short".to_owned(),
        _ => error.to_string(),
    }
}
