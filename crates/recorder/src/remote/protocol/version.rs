//! Which versions of the protocol are spoken here.

/// The newest that is spoken, and the one that frames are marked with.
pub const VERSION: u16 = 3;
/// The oldest that is still spoken.
pub const OLDEST: u16 = 3;

/// The newest version that both sides speak, given the other side's oldest
/// and newest; None: there is none.
pub fn common(oldest: u16, newest: u16) -> Option<u16> {
    let version = newest.min(VERSION);
    (version >= oldest.max(OLDEST) && oldest <= newest).then_some(version)
}
