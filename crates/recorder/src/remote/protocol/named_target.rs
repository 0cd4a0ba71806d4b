//! Whose events, by numbers that mean the same to both sides.

use serde::{Deserialize, Serialize};

use crate::machine::incarnation::Incarnation;

/// Whose events. A process is named by numbers that no other ever has: whoever
/// is asked opens what they name by itself. Between the supervisor and its
/// workers it goes as a few bytes, between clients and workers as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamedTarget {
    /// A child of the client that waits before its exec, its number in the
    /// client's pid namespace.
    Held(Incarnation),
    /// A process, its number likewise.
    Process(Incarnation),
    /// Every task on every CPU.
    System,
    /// A control group; for standing sessions alone.
    Cgroup {
        /// Its number.
        id: u64,
        /// Bytes of its path below the hierarchy's root, which come behind
        /// the message.
        path_bytes: u64,
    },
}
