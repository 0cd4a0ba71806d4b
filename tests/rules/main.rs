//! Rules about the source. Each rule is a pure function from text (or from
//! what cargo says) to a list of complaints; it is run on the real tree, and
//! on a planted violation that it must catch.
#![allow(clippy::unwrap_used, reason = "a test that cannot read the tree must fail")]
#![allow(clippy::print_stderr, reason = "a test that skips says why")]

/// Which part may use which.
mod arrows;
/// The rooms of a crate form no circle.
mod circles;
/// What every decision and every page under docs/ must hold to.
mod docs;
/// Sizes, names and maps of source files.
mod files;
/// Every dependency says what it is for.
mod manifests;
/// Names that are unique within a crate.
mod names;
/// What is compiled for the kernel.
mod objects;
/// What fetches packages.
mod registries;
/// The command that runs the tests.
mod runner;
/// Rust text without comments and literals.
mod source;
/// The files of the tree the rules run on.
mod tree;
/// Where `unsafe` may be.
mod unsafety;
