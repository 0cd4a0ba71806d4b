//! System calls and memory that Rust cannot check. The only unsafe code of
//! the library; everything it lends out is safe to use.

pub(crate) mod bpf;
pub mod child;
pub mod event;
pub mod inherited;
pub mod mapping;
pub mod procmap;
pub(crate) mod ptrace;
pub(crate) mod spawn;
