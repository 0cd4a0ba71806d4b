//! Recordings that no machine made, byte for byte as the kernel and perf
//! would write them: from their layouts (perf_event_open(2),
//! `perf_output_sample()`, tools/perf/util/header.c), with nothing of the
//! crate that is tested.

#![allow(dead_code, reason = "each program that includes it uses a part")]

pub(crate) mod attr;
pub(crate) mod bytes;
pub(crate) mod data_source;
pub(crate) mod elf;
pub(crate) mod file;
pub(crate) mod flood;
pub(crate) mod sample;
pub(crate) mod scenes;
