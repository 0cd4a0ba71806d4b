//! Loops of which the address of each instruction is known, and the memory
//! that they run on.

#[cfg(target_arch = "x86_64")]
mod circle;
#[cfg(target_arch = "x86_64")]
mod loops;
#[cfg(target_arch = "x86_64")]
mod region;

#[cfg(target_arch = "x86_64")]
pub(super) use circle::{Circle, LINK};
#[cfg(target_arch = "x86_64")]
pub(super) use loops::{
    BLOCKED, BRANCHES, CALLS, CHASE, COLUMNS, COMPUTE, Label, Loop, Path, STORES, TURNS, WALK,
};
#[cfg(target_arch = "x86_64")]
pub(super) use region::Region;
