//! System calls and memory that Rust cannot check. The only unsafe code of
//! the daemon; everything it lends out is safe to use.

pub(crate) mod heap;
pub(crate) mod namespace;
pub(crate) mod oracle;
pub(crate) mod peer;
