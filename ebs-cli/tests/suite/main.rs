//! The commands as their users run them: on recordings, made and found, on
//! machines that are described, and on damage.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that skips says why, and counts are told")]

mod bombs;
mod convert;
mod damage;
mod deferred;
mod eip2r;
mod first_page;
mod plan {
    //! `ebs plan` on machines that are described, not there.

    mod by_cpu;
    mod corners;
    mod machine;
    mod odd_trees;
    mod review;
    mod snapshots;
    mod trees;
}
mod recordings;
mod reports;
mod synthesised;
#[path = "../../../crates/perfdata/tests/synthesiser/mod.rs"]
mod synthesiser;
