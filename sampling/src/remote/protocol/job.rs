//! A sampling job as a client names it.

use serde::{Deserialize, Serialize};

use super::WireInKernel;

/// What to sample, by names of the daemon's own table: no path, no filter,
/// no word that is handed to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// A type of the catalogue, or `mem:ADDR...`.
    pub event: String,
    /// Event masks of the type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masks: Vec<String>,
    /// User code is sampled.
    #[serde(default)]
    pub user: bool,
    /// Kernel code is sampled.
    #[serde(default)]
    pub kernel: bool,
    /// A sample every so many events; the type's default otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u64>,
    /// Samples with skid will do.
    #[serde(default)]
    pub allow_skid: bool,
    /// Mappings of data are recorded, too.
    #[serde(default)]
    pub data_mappings: bool,
    /// The kernel's symbols go into the stream, where the kernel, or the
    /// daemon's policy, shows them to the user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kernel_symbols: bool,
    /// Pages of each sample ring; the daemon chooses otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_pages: Option<u32>,
    /// Samples after which sampling ends; without: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Counted, or chosen, in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_kernel: Option<Box<WireInKernel>>,
    /// Whose events.
    pub target: WireTarget,
    /// The client's command line, for the stream's header.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_line: Vec<String>,
}

/// Whose events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WireTarget {
    /// A child of the client that waits before its exec.
    Held {
        /// Its number, in the client's pid namespace.
        pid: i32,
        /// Field 22 of /proc/PID/stat, clock ticks since boot.
        start_time: u64,
    },
    /// A process.
    Process {
        /// Its number, in the client's pid namespace.
        pid: i32,
        /// Field 22 of /proc/PID/stat, clock ticks since boot: without it the
        /// number may have become another's.
        start_time: u64,
    },
    /// Every task on every CPU.
    System,
}

/// What is done about a client that takes its records too slowly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenSlow {
    /// The newest samples are dropped, counted, and the gap is in the
    /// stream.
    #[default]
    DropNewest,
    /// The client is disconnected.
    Disconnect,
}
