//! Answers of the supervisor to its workers.

use serde::{Deserialize, Serialize};

use crate::fixed_size;
use crate::guard::LimitReached;

pub(crate) const REPLY_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BrokerReply {
    /// 0: done; else an errno.
    pub(crate) errno: i32,
    /// The number of the grant or the reservation; with E2BIG the size that
    /// the kernel knows; with EACCES the permissions that are missing; where
    /// a limit is reached, what is left of it.
    pub(crate) value: u64,
    pub(crate) limit: u64,
}

impl BrokerReply {
    pub(crate) fn done(value: u64) -> BrokerReply {
        BrokerReply { errno: 0, value, limit: 0 }
    }

    pub(crate) fn refused(errno: i32) -> BrokerReply {
        BrokerReply { errno, value: 0, limit: 0 }
    }

    pub(crate) fn encode(self) -> [u8; REPLY_BYTES] {
        fixed_size::encode(&self)
    }

    /// None: no answer.
    pub(crate) fn decode(bytes: &[u8; REPLY_BYTES]) -> Option<BrokerReply> {
        fixed_size::decode(bytes)
    }

    pub(crate) fn full(full: LimitReached) -> BrokerReply {
        let (errno, value, limit) = match full {
            LimitReached::UserConnections { limit, .. } | LimitReached::Connections { limit } => {
                (libc::EMFILE, 0, limit)
            }
            LimitReached::UserSessions { limit } => (libc::EUSERS, 0, limit),
            LimitReached::UserMemory { free, limit, .. } => (libc::EDQUOT, free, limit),
            LimitReached::Memory { free, limit, .. } => (libc::ENOSPC, free, limit),
        };
        BrokerReply { errno, value, limit }
    }

    /// The limit that an answer to a request for so many bytes is about;
    /// None: none is reached.
    pub(crate) fn limit_reached(self, wanted: u64) -> Option<LimitReached> {
        let BrokerReply { errno, value: free, limit } = self;
        match errno {
            libc::EUSERS => Some(LimitReached::UserSessions { limit }),
            libc::EDQUOT => Some(LimitReached::UserMemory { wanted, free, limit }),
            libc::ENOSPC => Some(LimitReached::Memory { wanted, free, limit }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_out_as_they_went_in() {
        for answer in [
            BrokerReply { errno: libc::EACCES, value: 9, limit: 0 },
            BrokerReply { errno: i32::MIN, value: u64::MAX, limit: u64::MAX },
        ] {
            assert_eq!(BrokerReply::decode(&answer.encode()), Some(answer));
        }
    }

    #[test]
    fn workers_receive_the_numbers() {
        for full in [
            LimitReached::UserSessions { limit: 4 },
            LimitReached::UserMemory { wanted: 26 << 20, free: 12 << 20, limit: 64 << 20 },
            LimitReached::Memory { wanted: 26 << 20, free: 0, limit: 256 << 20 },
        ] {
            assert_eq!(BrokerReply::full(full).limit_reached(26 << 20), Some(full));
        }
        assert_eq!(BrokerReply::done(7).limit_reached(1), None);
    }
}
