//! `ebs plan` on machines that are described, not there.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_cpu;
mod corners;
mod machine;
mod odd_trees;
mod review;
mod snapshots;
mod trees;
