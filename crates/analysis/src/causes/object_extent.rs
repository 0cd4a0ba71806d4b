//! Where an object is, and how large.

use serde::Serialize;

/// The bytes of an object at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectExtent {
    /// Its first byte, in the process that was sampled first.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// It is a variable's, as its file declares it; else from the lowest to the
    /// highest byte that samples of the instruction have.
    pub is_variable: bool,
}
