//! Names and lines against programs built here, files made by others, llvm
//! and perf.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that skips says why, and counts are told")]

mod binaries;
mod damaged;
mod data;
mod discarded;
mod frames;
mod function_starts;
mod llvm;
mod names;
mod perf_names;
mod toolchain;
mod unwind;
