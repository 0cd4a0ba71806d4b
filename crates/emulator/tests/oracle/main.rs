//! The emulated PMU against witnesses that share none of its code: the
//! kernel's single step, programs that tell their own truth, a textbook's
//! cache, and counts done by hand.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says on stderr why it skips"
)]

mod accesses;
/// Programs do under the emulated PMU what they do natively.
mod behaviour;
mod bursts;
/// Counts done by hand: conflicts, capacity, strides, pages, shared lines.
mod counted;
mod exact;
mod left;
mod lru;
/// The oracle itself, against a program that knows.
mod own;
mod page_sizes;
/// Statistics of records far apart.
mod patterns;
mod periods;
/// Targets behind walls: other users, namespaces.
mod reach;
/// Addresses from the registers of each record.
mod recomputed;
mod regions;
mod run;
mod several;
mod steps;
#[allow(unsafe_code, reason = "ptrace(2) and memory of another process")]
mod sys;
mod truth;
/// Threads run one after the other.
mod turns;
mod workload;
