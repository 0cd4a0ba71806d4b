//! `ebs plan` on machines that are described, not there.

mod by_cpu;
mod corners;
mod machine;
mod odd_trees;
mod review;
mod snapshots;
mod trees;
