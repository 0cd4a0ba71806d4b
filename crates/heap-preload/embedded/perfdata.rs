//! The files of `perfdata` that the library needs, which need no package themselves:
//! `ebs-cli/build.rs` compiles the library without cargo.

/// The files that the crate has, too.
#[path = "../../perfdata/src"]
mod source {
    pub mod allocator_call;
    pub mod heap_log;
    pub mod mapping_change;
    pub mod units;
}

pub use source::allocator_call::AllocatorCall;
pub use source::heap_log::{self, HeapLogRecord};
pub use source::mapping_change::{MappingCall, MappingChange};
pub use source::units::{Cpu, Pid, Task, Tid, Time};
