//! The memory of one thread.

use super::header::Header;
use super::thread::Thread;
use crate::model::{Core, Filter, Pages};

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
        let thread = &mut *self.thread;
        Core {
            shape: &self.header.shape,
            words: self.words,
            data: Filter { keys: &mut thread.loads, hits: &mut thread.load_stamps },
            stores: &mut thread.stores,
            code: Filter { keys: &mut thread.fetches, hits: &mut thread.fetch_stamps },
            page: Pages(self.header.large_pages()),
        }
    }
}
