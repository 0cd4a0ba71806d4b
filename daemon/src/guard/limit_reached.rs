//! A limit that is reached, with its numbers.

use serde::{Deserialize, Serialize};

use super::Size;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub(crate) enum LimitReached {
    #[error(
        "user {uid} has {limit} connections open, as many as one user may (limits.\
         connections_per_user in the daemon's configuration): close one"
    )]
    UserConnections { uid: u32, limit: u64 },
    #[error(
        "{limit} connections are open, as many as there may be (limits.connections in the \
         daemon's configuration): try again later"
    )]
    Connections { limit: u64 },
    #[error(
        "{limit} sessions of this user's run, as many as one user may (limits.sessions_per_user \
         in the daemon's configuration): stop one, `ebs sessions` lists them"
    )]
    UserSessions { limit: u64 },
    #[error(
        "{} more are needed, and of the {} that this user's sessions may take {} are left \
         (limits.memory_per_user in the daemon's configuration): stop a session, or give smaller \
         rings", Size(*.wanted), Size(*.limit), Size(*.free)
    )]
    UserMemory { wanted: u64, free: u64, limit: u64 },
    #[error(
        "{} more are needed, and of the {} that all sessions together may take {} are left \
         (limits.memory in the daemon's configuration): give smaller rings, or try again later",
        Size(*.wanted), Size(*.limit), Size(*.free)
    )]
    Memory { wanted: u64, free: u64, limit: u64 },
}

impl LimitReached {
    /// Bytes that would be given.
    pub(crate) fn free(self) -> Option<u64> {
        match self {
            LimitReached::UserMemory { free, .. } | LimitReached::Memory { free, .. } => Some(free),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_read_the_numbers() {
        let text = LimitReached::UserMemory { wanted: 26 << 20, free: 12 << 20, limit: 64 << 20 };
        let text = text.to_string();
        assert!(["26.0 MiB", "12.0 MiB", "64.0 MiB"].iter().all(|n| text.contains(n)), "{text}");
    }
}
