//! Puts an index together: answers side by side, each different one once.

use super::answers;
use super::layout::{BLOCK, Counts, Header, LARGEST, LONGEST_ID, NONE};
use crate::frames::{Depth, Frame, Frames};
use rustc_hash::FxHashMap;

/// An index that is being made.
#[derive(Debug, Default)]
pub(super) struct Builder {
    base: u64,
    starts: Vec<u32>,
    answers: Vec<u32>,
    depths: Vec<u32>,
    frames: Vec<[u32; 5]>,
    known: FxHashMap<[u32; 5], u32>,
    texts: FxHashMap<Box<str>, u32>,
    ends: Vec<u32>,
    text: Vec<u8>,
    /// Whether debug info answered at all.
    any: bool,
}

impl Builder {
    /// The answer from an address on, up to the next one added. In ascending
    /// order.
    ///
    /// # Errors
    /// The program is too large for an index.
    pub(super) fn add(&mut self, address: u64, frames: &Frames) -> Result<(), String> {
        if self.starts.is_empty() {
            self.base = address;
        }
        let distance = u32::try_from(address - self.base);
        let distance = distance.map_err(|_| "its code spans more than 4 GiB".to_owned())?;
        self.any |= frames.depth == Depth::Debug && !frames.frames.is_empty();
        let depth = match answers::encode(&frames.depth) {
            Some(why) => self.text(&why)?,
            None => NONE,
        };
        let mut answer = NONE;
        for frame in frames.frames.iter().rev() {
            answer = self.frame(frame, answer)?;
        }
        if self.answers.last() == Some(&answer) && self.depths.last() == Some(&depth) {
            return Ok(());
        }
        self.starts.push(distance);
        self.answers.push(answer);
        self.depths.push(depth);
        Ok(())
    }

    fn frame(&mut self, frame: &Frame, caller: u32) -> Result<u32, String> {
        let name = match &frame.name {
            Some(name) => self.text(name)?,
            None => NONE,
        };
        let (file, line, column) = match &frame.source {
            Some(source) => (self.text(&source.file)?, source.line, source.column),
            None => (NONE, 0, 0),
        };
        let key = [name, file, line, column, caller];
        let next = number(self.frames.len())?;
        Ok(*self.known.entry(key).or_insert_with(|| {
            self.frames.push(key);
            next
        }))
    }

    fn text(&mut self, text: &str) -> Result<u32, String> {
        if let Some(&known) = self.texts.get(text) {
            return Ok(known);
        }
        let next = number(self.ends.len())?;
        self.text.extend_from_slice(text.as_bytes());
        self.ends.push(number(self.text.len())?);
        self.texts.insert(text.into(), next);
        Ok(next)
    }

    /// The bytes of the file. `lowest`: where the program's first part is
    /// loaded.
    ///
    /// # Errors
    /// Debug info answered nothing, or the index would be too large.
    pub(super) fn finish(self, build_id: &[u8], lowest: u64) -> Result<Vec<u8>, String> {
        if !self.any {
            return Err("its debug info answers nothing".to_owned());
        }
        if build_id.is_empty() || build_id.len() > LONGEST_ID {
            return Err(format!("its build id has {} bytes", build_id.len()));
        }
        let counts = Counts {
            stretches: number(self.starts.len())?,
            frames: number(self.frames.len())?,
            texts: number(self.ends.len())?,
            text: number(self.text.len())?,
        };
        let size = counts.body_at() + counts.body();
        if size > LARGEST {
            return Err(format!("its index would have {size} bytes, at most {LARGEST}"));
        }
        let mut body = Vec::with_capacity(usize::try_from(counts.body()).unwrap_or(0));
        let mut push = |numbers: &[u32]| numbers.iter().for_each(|n| body.extend(n.to_le_bytes()));
        push(&self.starts);
        push(&self.answers);
        push(&self.depths);
        push(self.frames.as_flattened());
        push(&self.ends);
        body.extend(self.text);
        let sums: Vec<u32> = body.chunks(BLOCK).map(crc32fast::hash).collect();
        let header = Header { build_id: build_id.to_vec(), base: self.base, lowest, counts };
        let mut bytes = header.write(&sums);
        bytes.append(&mut body);
        Ok(bytes)
    }
}

fn number(count: usize) -> Result<u32, String> {
    match u32::try_from(count) {
        Ok(number) if number < NONE => Ok(number),
        _ => Err("it has more than four thousand million of something".to_owned()),
    }
}
