//! Bursts: a stretch under the model, a stretch that is only counted.

use super::engine::Engine;
use super::trouble::Trouble;

impl Engine {
    /// A thread's count of instructions ran out; its state is in `guest`.
    pub(crate) fn burst(&mut self, tid: i32, _instructions: u32) -> Result<(), Trouble> {
        self.enter_and_go(tid)
    }
}
