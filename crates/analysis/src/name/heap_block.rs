//! A block of memory, and who asked for it.

use crate::name::key_value::Missing;
use crate::typed::block_votes::{BlockOrigin, BlockPlace};
use perfdata::Time;
use symbolizer::Place;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeapBlock {
    pub(crate) start: u64,
    /// Bytes that were asked for.
    pub(crate) size: u64,
    /// Its number among all blocks, or all mappings, from 1 on.
    pub(crate) number: u64,
    /// It is a mapping of the program's own.
    pub(crate) is_mapping: bool,
    pub(crate) asker: BlockAsker,
    pub(crate) born: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockAsker {
    pub(crate) site: Result<Place, Missing>,
    /// The calls that led there, by number.
    pub(crate) chain: Option<u32>,
}

impl HeapBlock {
    /// Where in blocks like this one an address is; None: it is not known who asked for it.
    pub(crate) fn place(&self, address: u64) -> Option<BlockPlace> {
        let origin = BlockOrigin { chain: self.asker.chain?, size: self.size };
        Some(BlockPlace { origin, offset: address.checked_sub(self.start)? })
    }

    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add(self.size.max(1))
    }
}
