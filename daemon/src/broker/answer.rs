//! Answers of the supervisor to its workers.

use serde::{Deserialize, Serialize};

use crate::fixed_size;
use crate::guard::Full;

pub(crate) const ANSWER_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BrokerAnswer {
    /// 0: done; else an errno.
    pub(crate) errno: i32,
    /// The number of the grant or the reservation; with E2BIG the size that
    /// the kernel knows; with EACCES the permissions that are missing; where
    /// a limit is reached, what is left of it.
    pub(crate) value: u64,
    pub(crate) limit: u64,
}

impl BrokerAnswer {
    pub(crate) fn done(value: u64) -> BrokerAnswer {
        BrokerAnswer { errno: 0, value, limit: 0 }
    }

    pub(crate) fn refused(errno: i32) -> BrokerAnswer {
        BrokerAnswer { errno, value: 0, limit: 0 }
    }

    pub(crate) fn encode(self) -> [u8; ANSWER_BYTES] {
        fixed_size::encode(&self)
    }

    /// None: no answer.
    pub(crate) fn decode(bytes: &[u8; ANSWER_BYTES]) -> Option<BrokerAnswer> {
        fixed_size::decode(bytes)
    }

    pub(crate) fn full(full: Full) -> BrokerAnswer {
        let (errno, value, limit) = match full {
            Full::UserConnections { limit, .. } | Full::Connections { limit } => {
                (libc::EMFILE, 0, limit)
            }
            Full::UserSessions { limit } => (libc::EUSERS, 0, limit),
            Full::UserMemory { free, limit, .. } => (libc::EDQUOT, free, limit),
            Full::Memory { free, limit, .. } => (libc::ENOSPC, free, limit),
        };
        BrokerAnswer { errno, value, limit }
    }

    /// The limit that an answer to a request for so many bytes is about;
    /// None: none is reached.
    pub(crate) fn limit_reached(self, wanted: u64) -> Option<Full> {
        let BrokerAnswer { errno, value: free, limit } = self;
        match errno {
            libc::EUSERS => Some(Full::UserSessions { limit }),
            libc::EDQUOT => Some(Full::UserMemory { wanted, free, limit }),
            libc::ENOSPC => Some(Full::Memory { wanted, free, limit }),
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
            BrokerAnswer { errno: libc::EACCES, value: 9, limit: 0 },
            BrokerAnswer { errno: i32::MIN, value: u64::MAX, limit: u64::MAX },
        ] {
            assert_eq!(BrokerAnswer::decode(&answer.encode()), Some(answer));
        }
    }

    #[test]
    fn workers_hear_the_numbers() {
        for full in [
            Full::UserSessions { limit: 4 },
            Full::UserMemory { wanted: 26 << 20, free: 12 << 20, limit: 64 << 20 },
            Full::Memory { wanted: 26 << 20, free: 0, limit: 256 << 20 },
        ] {
            assert_eq!(BrokerAnswer::full(full).limit_reached(26 << 20), Some(full));
        }
        assert_eq!(BrokerAnswer::done(7).limit_reached(1), None);
    }
}
