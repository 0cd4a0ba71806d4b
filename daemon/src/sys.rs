//! System calls and memory that Rust cannot check. The only unsafe code of
//! the library; everything it lends out is safe to use.

pub(crate) mod bpf;
pub(crate) mod child;
pub(crate) mod event;
pub(crate) mod grace;
pub(crate) mod heap;
pub(crate) mod inherited;
pub(crate) mod mapping;
pub(crate) mod namespace;
pub(crate) mod oracle;
pub(crate) mod peer;
pub(crate) mod procmap;
pub(crate) mod ptrace;
pub(crate) mod shared_words;
pub(crate) mod spawn;
