//! Replies of the supervisor to its workers; descriptors come beside them.

use std::io;

use arrayvec::ArrayString;
use serde::{Deserialize, Serialize};

use crate::control::{StandingEntry, truncated};
use crate::guard::LimitReached;
use crate::policy::Permissions;

/// Bytes of a reason in words.
const MAX_REASON: usize = 512;

pub(crate) type BrokerReply = Result<BrokerAnswer, BrokerRefusal>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BrokerAnswer {
    Done,
    /// Of the grant or the reservation.
    Number(u64),
    Standing(StandingEntry),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BrokerRefusal {
    Errno(i32),
    /// Bits of the [`Permissions`] that are missing.
    Unpermitted(u32),
    /// The kernel knows attrs of this size only.
    AttrSize(u32),
    LimitReached(LimitReached),
    Reason(Box<ArrayString<MAX_REASON>>),
}

impl BrokerRefusal {
    pub(crate) fn missing(permissions: Permissions) -> BrokerRefusal {
        BrokerRefusal::Unpermitted(permissions.bits())
    }

    pub(crate) fn reason(why: &str) -> BrokerRefusal {
        BrokerRefusal::Reason(Box::new(truncated(why)))
    }
}

impl From<io::Error> for BrokerRefusal {
    fn from(error: io::Error) -> BrokerRefusal {
        BrokerRefusal::Errno(error.raw_os_error().unwrap_or(match error.kind() {
            io::ErrorKind::TimedOut => libc::ETIMEDOUT,
            io::ErrorKind::PermissionDenied => libc::EPERM,
            _ => libc::EIO,
        }))
    }
}

impl From<BrokerRefusal> for io::Error {
    fn from(refusal: BrokerRefusal) -> io::Error {
        io::Error::from_raw_os_error(match refusal {
            BrokerRefusal::Errno(errno) => errno,
            BrokerRefusal::Unpermitted(_) => libc::EACCES,
            BrokerRefusal::AttrSize(_) => libc::E2BIG,
            BrokerRefusal::LimitReached(limit) => return io::Error::other(limit),
            BrokerRefusal::Reason(why) => return io::Error::other(why.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::passed;

    #[test]
    fn replies_come_out_as_they_went_in() {
        let entry = StandingEntry::default();
        let free = u64::MAX;
        for reply in [
            Ok(BrokerAnswer::Done),
            Ok(BrokerAnswer::Number(u64::MAX)),
            Ok(BrokerAnswer::Standing(entry)),
            Err(BrokerRefusal::Errno(i32::MIN)),
            Err(BrokerRefusal::missing(Permissions::all())),
            Err(BrokerRefusal::AttrSize(136)),
            Err(BrokerRefusal::LimitReached(LimitReached::UserSessions { limit: 4 })),
            Err(BrokerRefusal::LimitReached(LimitReached::Memory {
                wanted: free,
                free,
                limit: free,
            })),
            Err(BrokerRefusal::reason(&"x".repeat(MAX_REASON + 1))),
        ] {
            assert_eq!(passed::<BrokerReply>(&reply), Some(reply));
        }
    }
}
