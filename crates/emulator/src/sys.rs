//! The edge to the kernel: all `unsafe` of the tracer.

pub(crate) mod alarm;
pub(crate) mod mapping;
pub(crate) mod pagemap;
pub(crate) mod ptrace;
pub(crate) mod remote;
