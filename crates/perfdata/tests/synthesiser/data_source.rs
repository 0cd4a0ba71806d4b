//! `union perf_mem_data_src`.

/// mem_op.
pub(crate) const LOAD: u64 = 1 << 1;
pub(crate) const STORE: u64 = 1 << 2;
/// mem_lvl: deprecated, still what perf 6.1 prints.
pub(crate) const HIT: u64 = 1 << (5 + 1);
pub(crate) const MISS: u64 = 1 << (5 + 2);
pub(crate) const L1: u64 = 1 << (5 + 3);
pub(crate) const LFB: u64 = 1 << (5 + 4);
pub(crate) const L2: u64 = 1 << (5 + 5);
pub(crate) const L3: u64 = 1 << (5 + 6);
pub(crate) const LOCAL_RAM: u64 = 1 << (5 + 7);
pub(crate) const REMOTE_RAM_1: u64 = 1 << (5 + 8);
pub(crate) const REMOTE_RAM_2: u64 = 1 << (5 + 9);
pub(crate) const REMOTE_CACHE_1: u64 = 1 << (5 + 10);
pub(crate) const REMOTE_CACHE_2: u64 = 1 << (5 + 11);
pub(crate) const IO: u64 = 1 << (5 + 12);
pub(crate) const UNCACHED: u64 = 1 << (5 + 13);
/// mem_lvl that says nothing: the level is in mem_lvl_num.
pub(crate) const LEVEL_NA: u64 = 1 << 5;
/// mem_snoop.
pub(crate) const SNOOP_NONE: u64 = 1 << (19 + 1);
pub(crate) const SNOOP_HIT: u64 = 1 << (19 + 2);
pub(crate) const SNOOP_MISS: u64 = 1 << (19 + 3);
pub(crate) const SNOOP_HITM: u64 = 1 << (19 + 4);
/// mem_lock; without a bit the access is told to be not locked.
pub(crate) const LOCKED: u64 = 1 << 25;
/// mem_dtlb.
pub(crate) const TLB_HIT: u64 = 1 << (26 + 1);
pub(crate) const TLB_MISS: u64 = 1 << (26 + 2);
pub(crate) const TLB_L1: u64 = 1 << (26 + 3);
pub(crate) const TLB_L2: u64 = 1 << (26 + 4);
pub(crate) const TLB_WALKER: u64 = 1 << (26 + 5);
/// mem_remote.
pub(crate) const REMOTE: u64 = 1 << 37;
/// mem_snoopx: forwarded, and from a peer.
pub(crate) const SNOOP_FORWARD: u64 = 1 << 38;
pub(crate) const SNOOP_PEER: u64 = 1 << 39;

/// mem_lvl_num.
pub(crate) const L4: u64 = level(4);
pub(crate) const CXL: u64 = level(9);
pub(crate) const ANY_CACHE: u64 = level(0xb);
pub(crate) const RAM: u64 = level(0xd);
pub(crate) const PMEM: u64 = level(0xe);

pub(crate) const fn level(number: u64) -> u64 {
    number << 33
}

/// mem_hops: 1 another core, 2 another node, 3 another socket, 4 another
/// board.
pub(crate) const fn hops(number: u64) -> u64 {
    number << 43
}
