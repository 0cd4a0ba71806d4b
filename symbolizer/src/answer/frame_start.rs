//! Where a routine's frame begins.

/// Where the frame of code begins: a register and some bytes are the canonical frame address,
/// which the stack pointer was before the routine was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameStart {
    /// By DWARF's number.
    pub register: u8,
    /// Bytes added to it.
    pub offset: i64,
}
