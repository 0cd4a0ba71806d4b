//! How long blocks of the heap, and mappings, lived that somebody asked about.

use super::heap_block::HeapBlock;
use perfdata::{Pid, Time};
use rustc_hash::FxHashMap;

/// Blocks that were asked about, in the order in which that happened first.
#[derive(Debug, Default)]
pub(crate) struct BlockLives {
    lives: Vec<BlockLife>,
    numbers: FxHashMap<BlockIdentity, u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BlockIdentity {
    pid: Pid,
    is_mapping: bool,
    number: u64,
}

impl BlockIdentity {
    fn of(pid: Pid, block: &HeapBlock) -> BlockIdentity {
        BlockIdentity { pid, is_mapping: block.is_mapping, number: block.number }
    }
}

#[derive(Clone, Copy, Debug)]
struct BlockLife {
    block: HeapBlock,
    died: Option<Time>,
}

impl BlockLives {
    /// The number by which the life of a block is told later.
    pub(crate) fn asked(&mut self, pid: Pid, block: &HeapBlock) -> u32 {
        let lives = &mut self.lives;
        *self.numbers.entry(BlockIdentity::of(pid, block)).or_insert_with(|| {
            lives.push(BlockLife { block: *block, died: None });
            u32::try_from(lives.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// A block is given back, or its process ends.
    pub(crate) fn ended(&mut self, pid: Pid, block: &HeapBlock, time: Time) {
        if let Some(life) = self.of(pid, block) {
            life.died = life.died.or(Some(time));
        }
    }

    /// A mapping has another place or length, and lives.
    pub(crate) fn changed(&mut self, pid: Pid, block: &HeapBlock) {
        if let Some(life) = self.of(pid, block) {
            *life = BlockLife { block: *block, died: None };
        }
    }

    fn of(&mut self, pid: Pid, block: &HeapBlock) -> Option<&mut BlockLife> {
        let number = self.numbers.get(&BlockIdentity::of(pid, block))?;
        self.lives.get_mut(usize::try_from(*number).ok()?)
    }

    /// A block in words: `64 bytes at 0x5581a2c0 (#17, 0.001200 to 0.300000 s)`, with seconds
    /// from the recording's first sample on. A mapping says that it is one.
    pub(crate) fn text(&self, number: u32, begin: Time) -> Option<String> {
        let BlockLife { block, died } = self.lives.get(usize::try_from(number).ok()?)?;
        let HeapBlock { start, size, number, born, is_mapping, .. } = *block;
        let since = |time: Time| {
            let micros = time.0.saturating_sub(begin.0) / 1000;
            format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
        };
        let life = match died {
            Some(died) => format!("{} to {} s", since(born), since(*died)),
            None => format!("from {} s on", since(born)),
        };
        let what = if is_mapping { "mapping of " } else { "" };
        Some(format!("{what}{size} bytes at {start:#x} (#{number}, {life})"))
    }
}
