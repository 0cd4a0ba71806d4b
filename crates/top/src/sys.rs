//! The edge to the kernel: signals after which nothing of this program runs
//! but one handler.

pub(crate) mod faults;
