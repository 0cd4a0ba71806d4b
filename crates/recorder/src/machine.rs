//! The machine as it is found: CPU, PMUs, rights, control groups, processes.

pub mod build_id;
pub mod cgroup;
pub mod facts;
pub mod incarnation;
pub mod open_files;
pub mod pidfd;
pub mod pmu_format;
pub(crate) mod program_headers;
mod tracepoint;

pub use tracepoint::Tracepoint;
