//! How much of everything there may be.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub connections_per_user: u32,
    pub connections: u32,
    pub sessions_per_user: u32,
    /// Rings and queues of one user, bytes.
    pub memory_per_user: Size,
    /// Rings and queues in all, bytes.
    pub memory: Size,
    /// What may wait for one client, bytes.
    pub queue: Size,
    /// The smallest interval that users without permissions may ask for.
    pub least_interval: u64,
    /// CPU time of a worker, percent of one CPU, beyond which its sessions
    /// are slowed, then no more begin, then the newest are stopped.
    pub cpu_percent: u32,
    /// What a worker may hold in memory beyond rings and queues, bytes, with
    /// the same consequences.
    pub overhead: Size,
    /// Seconds over which both are looked at.
    pub guard_seconds: u32,
    /// Seconds that an attach may take before it makes do with the threads
    /// that it has.
    pub attach_seconds: u32,
    /// Events, and so descriptors, that a session opens before it makes do
    /// with the threads that it has.
    pub events_per_session: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        const MIB: u64 = 1024 * 1024;
        Limits {
            connections_per_user: 16,
            connections: 64,
            sessions_per_user: 4,
            memory_per_user: Size(192 * MIB),
            memory: Size(768 * MIB),
            queue: Size(8 * MIB),
            least_interval: 1,
            cpu_percent: 80,
            overhead: Size(64 * MIB),
            guard_seconds: 10,
            attach_seconds: 2,
            events_per_session: 16_384,
        }
    }
}

/// So many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        let text = String::deserialize(deserializer)?;
        let size: bytesize::ByteSize = text.parse().map_err(|_| {
            D::Error::custom(format!("{text:?} is no size, such as \"8 MiB\" or \"512 KiB\""))
        })?;
        Ok(Size(size.as_u64()))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bytesize::ByteSize(self.0).display().iec().fmt(f)
    }
}
