//! Streams and samples against recordings of others, published decoders, perf
//! itself, and arbitrary values.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that skips says why, and counts are told")]

mod byte_order;
mod perf_reads_ours;
mod pipe_recordings;
mod recordings;
mod sample {
    //! Samples against the manual and against published decoders, over arbitrary
    //! values and layouts.
    #![allow(clippy::cast_possible_truncation, reason = "the tests cut random words on purpose")]

    mod generate;
    mod oracles;
    mod round_trip;
}
mod synthesised;
#[path = "../synthesiser/mod.rs"]
mod synthesiser;
