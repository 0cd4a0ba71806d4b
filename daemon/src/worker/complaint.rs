//! Refusals in the protocol's words.

use crate::protocol::{Complaint, ComplaintCode, Reply};
use crate::session::SessionError;
use crate::{AttachError, OpenError, Refusal};

/// A refusal of this kind.
pub(crate) fn complain(code: ComplaintCode, text: impl ToString) -> Reply {
    Reply::Refused(Complaint { code, text: text.to_string() })
}

/// What a plan's refusal is to a client.
pub(crate) fn of_refusal(refusal: &Refusal) -> Complaint {
    let code = match refusal {
        denial if denial.is_denial() => ComplaintCode::Denied,
        Refusal::NoProcess { .. } | Refusal::Zombie { .. } | Refusal::Thread { .. } => {
            ComplaintCode::NoTarget
        }
        _ => ComplaintCode::Unplannable,
    };
    Complaint { code, text: refusal.to_string() }
}

/// What a session's failure is to a client.
pub(crate) fn of_failure(error: &SessionError) -> Complaint {
    let code = match error {
        SessionError::Attach(AttachError::Open(open)) | SessionError::Open(open) => of_open(open),
        SessionError::Attach(_) => ComplaintCode::NoTarget,
        _ => ComplaintCode::Failed,
    };
    Complaint { code, text: error.to_string() }
}

fn of_open(error: &OpenError) -> ComplaintCode {
    match error {
        OpenError::Refused { failure, .. } => match failure.errno {
            libc::EACCES | libc::EPERM => ComplaintCode::Denied,
            libc::ESRCH => ComplaintCode::NoTarget,
            libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EBUSY => ComplaintCode::Exhausted,
            _ => ComplaintCode::Unplannable,
        },
        OpenError::Descriptors { .. } => ComplaintCode::Exhausted,
        OpenError::NoCpu { .. } | OpenError::Attr(_) => ComplaintCode::Unplannable,
    }
}
