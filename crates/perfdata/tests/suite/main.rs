//! Streams and samples against recordings of others, published decoders, perf
//! itself, and arbitrary values.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that skips says why, and counts are told")]

mod byte_order;
mod perf_reads_ours;
mod pipe_recordings;
mod recordings;
mod sample;
mod synthesised;
#[path = "../synthesiser/mod.rs"]
mod synthesiser;
