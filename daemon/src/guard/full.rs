//! A limit that is reached, with its numbers.

use crate::broker::Answer;
use crate::supervisor::Size;

/// What there is no more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
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

impl Full {
    /// As the supervisor says it to a worker.
    pub(crate) fn answer(self) -> Answer {
        let (errno, value, limit) = match self {
            Full::UserConnections { limit, .. } | Full::Connections { limit } => {
                (libc::EMFILE, 0, limit)
            }
            Full::UserSessions { limit } => (libc::EUSERS, 0, limit),
            Full::UserMemory { free, limit, .. } => (libc::EDQUOT, free, limit),
            Full::Memory { free, limit, .. } => (libc::ENOSPC, free, limit),
        };
        Answer { errno, value, limit }
    }

    /// What an answer to a request for so many bytes says; None: no limit is
    /// reached.
    pub(crate) fn of(answer: Answer, wanted: u64) -> Option<Full> {
        let Answer { errno, value: free, limit } = answer;
        match errno {
            libc::EUSERS => Some(Full::UserSessions { limit }),
            libc::EDQUOT => Some(Full::UserMemory { wanted, free, limit }),
            libc::ENOSPC => Some(Full::Memory { wanted, free, limit }),
            _ => None,
        }
    }

    /// Bytes that would be given.
    pub(crate) fn free(self) -> Option<u64> {
        match self {
            Full::UserMemory { free, .. } | Full::Memory { free, .. } => Some(free),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_hear_the_numbers() {
        for full in [
            Full::UserSessions { limit: 4 },
            Full::UserMemory { wanted: 26 << 20, free: 12 << 20, limit: 64 << 20 },
            Full::Memory { wanted: 26 << 20, free: 0, limit: 256 << 20 },
        ] {
            assert_eq!(Full::of(full.answer(), 26 << 20), Some(full));
        }
        assert_eq!(Full::of(Answer::done(7), 1), None);
        let text = Full::UserMemory { wanted: 26 << 20, free: 12 << 20, limit: 64 << 20 };
        let text = text.to_string();
        assert!(["26.0 MiB", "12.0 MiB", "64.0 MiB"].iter().all(|n| text.contains(n)), "{text}");
    }
}
