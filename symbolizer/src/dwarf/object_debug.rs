//! The debug info of an object, where its addresses are not the file's.

use super::lazy_debug_file::LazyDebugFile;
use crate::Reason;
use crate::answer::{Depth, Frames, NoDebug};
use std::sync::Arc;

/// The debug info of an object, and which of its addresses a place has.
#[derive(Debug)]
pub(crate) struct ObjectDebug {
    pub(crate) file: Box<LazyDebugFile>,
    /// As shown in answers.
    pub(crate) path: Arc<str>,
    /// Subtracted from a place's address, modulo 2^64.
    pub(crate) moved: u64,
    /// Bytes from there on that are the file's.
    pub(crate) size: u64,
}

impl ObjectDebug {
    pub(crate) fn frames(&mut self, address: u64) -> Result<Frames, NoDebug> {
        let file = || Arc::clone(&self.path);
        let linked = address.wrapping_sub(self.moved);
        if linked >= self.size {
            return Err(NoDebug::NotCovered { file: file() });
        }
        let damaged = |why: Reason| NoDebug::Damaged { file: file(), why: why.to_string().into() };
        let frames = self.file.frames(linked).map_err(damaged)?;
        match frames.depth {
            Depth::Debug | Depth::Lines(_) => Ok(frames),
            Depth::Symbols(why) => Err(why),
        }
    }
}
