//! The truth of `programs/walk.S`: every access that it makes, by number.

/// Rounds of its walk.
pub(crate) const ROUNDS: u64 = 20_000;
/// Loads that it makes: two a round.
pub(crate) const LOADS: u64 = 2 * ROUNDS;
/// Stores: two a node, and one that closes the ring.
pub(crate) const STORES: u64 = 2 * NODES + 1;
/// Nodes that it walks over.
pub(crate) const NODES: u64 = 256;
/// Where the nodes lie, and how far apart.
pub(crate) const ARENA: u64 = 0x2000_0000_0000;
const APART: u64 = 0x2000;
/// The two loads: symbols of the program, which is linked at a fixed address.
pub(crate) const MISS: u64 = 0x40_1200;
pub(crate) const HIT: u64 = 0x40_1204;

/// Registers whose values last through the walk, and these.
const PINNED: [(&str, u64); 10] = [
    ("rbx", 0xb0b0),
    ("rbp", 0xb1b1),
    ("r8", 0x0808),
    ("r9", 0x0909),
    ("r10", 0x1010),
    ("r11", 0x1111),
    ("r12", 0x1212),
    ("r13", 0x1313),
    ("r14", 0x1414),
    ("r15", 0x1515),
];

/// A load, as the CPU has retired it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) ip: u64,
    pub(crate) addr: u64,
    /// Register and value.
    pub(crate) registers: Vec<(&'static str, u64)>,
}

/// The load of this number, counted from 1.
pub(crate) fn load(number: u64) -> Load {
    let round = (number - 1) / 2;
    let misses = number % 2 == 1;
    let node = round % NODES;
    let place = |node: u64| ARENA + node % NODES * APART;
    let mut registers = PINNED.to_vec();
    registers.push(("rcx", ROUNDS - round));
    registers.push(("rsi", node));
    // The sum of the numbers of all nodes before: whole turns, and the rest.
    let sum = |count: u64| count * count.saturating_sub(1) / 2;
    registers.push(("rdx", round / NODES * sum(NODES) + sum(node)));
    registers.push(("rdi", place(if misses { node } else { node + 1 })));
    Load {
        ip: if misses { MISS } else { HIT },
        addr: place(node) + if misses { 8 } else { 0 },
        registers,
    }
}

/// Instructions of a round, by their addresses: `walk.S` has them.
const ROUND: [u64; 5] = [MISS, HIT, 0x40_1207, 0x40_120a, 0x40_120c];

/// How many instructions of the walk came before one of it, from its address
/// and what rcx holds there; None: it is not of the walk.
pub(crate) fn place(ip: u64, rcx: u64) -> Option<u64> {
    let within = ROUND.iter().position(|at| *at == ip)? as u64;
    // The last one comes after rcx was counted down.
    let round = ROUNDS.checked_sub(rcx)?.checked_sub(u64::from(within == 4))?;
    Some(round * ROUND.len() as u64 + within)
}

/// The same of the load of this number.
pub(crate) fn place_of_load(number: u64) -> u64 {
    (number - 1) / 2 * ROUND.len() as u64 + (number - 1) % 2
}

/// Whether an address is that of a node, where the cache has the line.
pub(crate) fn hits_at(addr: u64) -> bool {
    misses_at(addr.wrapping_add(8))
}

/// Whether an address is that of a node's number, where the first cache
/// misses.
pub(crate) fn misses_at(addr: u64) -> bool {
    let offset = addr.wrapping_sub(ARENA);
    offset < NODES * APART && offset % APART == 8
}
