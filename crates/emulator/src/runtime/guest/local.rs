//! The memory of one thread.

use super::header::Header;
use super::thread::Thread;
use crate::model::Core;

/// A thread's block, the model's words behind it, and its space's head.
#[derive(Debug)]
pub struct Local<'a> {
    /// The block.
    pub thread: &'a mut Thread,
    /// `private_words` of them.
    pub words: &'a mut [u64],
    /// What does not change.
    pub header: &'a Header,
}

impl Local<'_> {
    /// The parts that the model works on.
    #[inline(always)]
    pub fn core(&mut self) -> Core<'_> {
        Core { shape: &self.header.shape, words: self.words, tables: &mut self.thread.tables }
    }
}
