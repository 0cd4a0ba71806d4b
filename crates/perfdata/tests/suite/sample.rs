//! Samples against the manual and against published decoders, over arbitrary
//! values and layouts.
#![allow(clippy::cast_possible_truncation, reason = "the tests cut random words on purpose")]

mod generate;
mod oracles;
mod round_trip;
