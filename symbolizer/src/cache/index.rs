//! Looks addresses up in a file of the cache.

use super::answers;
use super::blocks::Blocks;
use super::layout::{FRAME, NONE, Tables};
use crate::frames::{Depth, Frame, Frames, Source};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::sync::Arc;

/// Calls inlined into each other; debug info with more is not read either.
const MOST_NESTED: usize = 300;
/// Bytes of one text.
const LONGEST_TEXT: u32 = 64 << 10;
/// Texts and answers kept.
const MOST_KEPT: usize = 1 << 16;

/// The answers of one ELF file's debug info.
///
/// Nothing is read but what an answer needs, and nothing is believed: every
/// number that leads elsewhere is checked.
#[derive(Debug)]
pub struct Index {
    blocks: Blocks,
    tables: Tables,
    /// Added to an address, modulo 2^64, to look it up.
    moved: u64,
    texts: FxHashMap<u32, Arc<str>>,
    last: Option<(u32, Frames)>,
}

impl Index {
    /// Reads the start of a file of the cache. `lowest`: where the first part
    /// of the program is loaded.
    ///
    /// # Errors
    /// It cannot be read, is no index, one of another version or build, or
    /// damaged; in words.
    pub fn open(file: File, build_id: &[u8], lowest: u64) -> Result<Index, String> {
        let blocks = Blocks::open(file)?;
        if blocks.header.build_id != build_id {
            return Err("it is of another build".to_owned());
        }
        let tables = blocks.header.counts.tables();
        let moved = blocks.header.lowest.wrapping_sub(lowest);
        Ok(Index { blocks, tables, moved, texts: FxHashMap::default(), last: None })
    }

    /// Lines and inlined callers at a link-time address. `file` is what the
    /// program is called here and now.
    ///
    /// # Errors
    /// The index is damaged; in words.
    pub fn frames(&mut self, address: u64, file: &Arc<str>) -> Result<Frames, String> {
        let Some(stretch) = self.stretch(address)? else {
            return Ok(answers::nothing(file));
        };
        if let Some((known, frames)) = &self.last
            && *known == stretch
        {
            return Ok(frames.clone());
        }
        let of = |table: u64| table + 4 * u64::from(stretch);
        let innermost = self.blocks.number(of(self.tables.answers.start))?;
        let depth = match self.blocks.number(of(self.tables.depths.start))? {
            NONE => Depth::Debug,
            text => answers::decode(&self.text(text)?, file)?,
        };
        let frames = Frames { frames: self.chain(innermost)?.into(), depth };
        self.last = Some((stretch, frames.clone()));
        Ok(frames)
    }

    /// The last stretch that begins at or before an address.
    fn stretch(&mut self, address: u64) -> Result<Option<u32>, String> {
        let address = address.wrapping_add(self.moved);
        let Some(distance) = address.checked_sub(self.blocks.header.base) else { return Ok(None) };
        let distance = u32::try_from(distance).unwrap_or(u32::MAX);
        let (mut from, mut to) = (0, self.blocks.header.counts.stretches);
        while from < to {
            let middle = from + (to - from) / 2;
            let start = self.blocks.number(self.tables.starts.start + 4 * u64::from(middle))?;
            if start <= distance { from = middle + 1 } else { to = middle }
        }
        Ok(from.checked_sub(1))
    }

    fn chain(&mut self, innermost: u32) -> Result<Vec<Frame>, String> {
        let mut frames = Vec::new();
        let mut next = innermost;
        while next != NONE {
            if next >= self.blocks.header.counts.frames || frames.len() >= MOST_NESTED {
                return Err(format!("frame {next} leads nowhere"));
            }
            let at = self.tables.frames.start + FRAME * u64::from(next);
            let bytes = self.blocks.bytes(at, 20)?;
            let numbers: Vec<u32> =
                bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            let &[name, file, line, column, caller] = &numbers[..] else {
                return Err(format!("frame {next} is cut short"));
            };
            // Callers come before what is inlined into them: no circles.
            if caller != NONE && caller >= next {
                return Err(format!("frame {next} is inlined into frame {caller}"));
            }
            let name = if name == NONE { None } else { Some(self.text(name)?) };
            let source = match file {
                NONE => None,
                file => Some(Source { file: self.text(file)?, line, column }),
            };
            frames.push(Frame { name, source, inlined: caller != NONE });
            next = caller;
        }
        Ok(frames)
    }

    fn text(&mut self, number: u32) -> Result<Arc<str>, String> {
        if let Some(text) = self.texts.get(&number) {
            return Ok(Arc::clone(text));
        }
        if number >= self.blocks.header.counts.texts {
            return Err(format!("there is no text {number}"));
        }
        let at = self.tables.ends.start + 4 * u64::from(number);
        let end = self.blocks.number(at)?;
        let start = if number == 0 { 0 } else { self.blocks.number(at - 4)? };
        let length = end.checked_sub(start).filter(|length| *length <= LONGEST_TEXT);
        let length = length.ok_or_else(|| format!("text {number} ends before it begins"))?;
        if end > self.blocks.header.counts.text {
            return Err(format!("text {number} is beyond all texts"));
        }
        let length = usize::try_from(length).unwrap_or(0);
        let bytes = self.blocks.bytes(self.tables.text.start + u64::from(start), length)?;
        let text: Arc<str> =
            String::from_utf8(bytes).map_err(|_| format!("text {number} is no UTF-8"))?.into();
        if self.texts.len() >= MOST_KEPT {
            self.texts.clear();
        }
        self.texts.insert(number, Arc::clone(&text));
        Ok(text)
    }
}
