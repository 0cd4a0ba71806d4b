//! The emulated PMU against witnesses that share none of its code: the
//! kernel's single step, programs that tell their own truth, a textbook's
//! cache, and counts done by hand.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says on stderr why it skips"
)]

/// The accesses of an instruction.
mod accesses;
/// Programs do under the emulated PMU what they do natively.
mod behaviour;
/// A part of a program emulated.
mod bursts;
/// Counts done by hand: conflicts, capacity, strides, pages, shared lines.
mod counted;
/// Records against truth and single steps.
mod exact;
/// Programs that are left run on natively.
mod left;
/// A plain cache.
mod lru;
/// The oracle itself, against a program that knows.
mod own;
/// Large pages as the mappings have them.
mod page_sizes;
/// Statistics of records far apart.
mod patterns;
/// Periods that are drawn.
mod periods;
/// Targets behind walls: other users, namespaces.
mod reach;
/// Addresses from the registers of each record.
mod recomputed;
/// Regions that a program marks.
mod regions;
/// Running a program under the emulated PMU.
mod run;
/// Several events in one run.
mod several;
/// Single steps.
mod steps;
#[allow(unsafe_code, reason = "ptrace(2) and memory of another process")]
mod sys;
/// What a program tells.
mod truth;
/// Threads run one after the other.
mod turns;
/// Test programs.
mod workload;
