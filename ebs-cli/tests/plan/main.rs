//! `ebs plan` on machines that are described, not there.

mod odd_trees;
mod review;
mod snapshots;
mod trees;
