//! Marks of regions, as far as the tracer has a part in them.

use super::engine::Engine;
use super::trouble::Trouble;
use crate::block::{self, NAME};
use crate::runtime::guest::region::RDI;
use crate::sys::remote;

impl Engine {
    /// Reads the name of a region for a thread whose filter may end who reads it
    /// itself; the thread stands in the runtime, which asks again.
    pub(crate) fn read_name(&mut self, tid: i32) -> Result<(), Trouble> {
        let setup = self.plan.setup.clone();
        let (space, number) = self.block_of(tid)?;
        let address = space.get(number, block::REGISTERS + 8 * RDI);
        let mut name = [0; NAME];
        let there = remote::read(tid, address, &mut name).unwrap_or(0);
        let name = name.get(..there).unwrap_or_default();
        setup.put_name(space.block_words(number), name);
        Ok(())
    }

    /// Whether a thread that stands in the runtime has a mark to write.
    pub(crate) fn is_at_mark(&mut self, tid: i32) -> Result<bool, Trouble> {
        let setup = self.plan.setup.clone();
        let (space, number) = self.block_of(tid)?;
        Ok(setup.has_mark(space.block_words(number)))
    }
}
