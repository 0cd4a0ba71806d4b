//! Refusals in the protocol's words.

use std::io;

use recorder::remote::protocol::{ErrorCode, ErrorReply};
use recorder::session::SessionError;
use recorder::{AttachError, OpenError, Refusal};

pub(crate) fn of_refusal(refusal: &Refusal) -> ErrorReply {
    let code = match refusal {
        denial if denial.is_denial() => ErrorCode::Denied,
        Refusal::NoProcess { .. } | Refusal::Zombie { .. } | Refusal::Thread { .. } => {
            ErrorCode::NoTarget
        }
        _ => ErrorCode::Unplannable,
    };
    ErrorReply::new(code, refusal)
}

pub(crate) fn of_failure(error: &SessionError) -> ErrorReply {
    let code = match error {
        SessionError::Attach(AttachError::Open(open)) | SessionError::Open(open) => of_open(open),
        SessionError::Attach(_) => ErrorCode::NoTarget,
        _ => ErrorCode::Failed,
    };
    ErrorReply::new(code, error)
}

/// What the user was denied, and policy does not help with, for this reason.
pub(crate) fn of_refused_grant(error: &io::Error, denied: ErrorReply) -> ErrorReply {
    let (code, why) = match error.raw_os_error() {
        Some(libc::ESRCH) => (ErrorCode::NoTarget, "its process has ended".to_owned()),
        Some(libc::EMFILE) => (
            ErrorCode::Exhausted,
            "too many of your sessions are open by policy: stop one".to_owned(),
        ),
        Some(libc::ETIMEDOUT) => (
            ErrorCode::Busy,
            "it asked the kernel whether you may look at that process, and had no answer in time: \
             try again in a minute"
                .to_owned(),
        ),
        _ => (denied.code, error.to_string()),
    };
    let text = format!("{}; the daemon does not open it by policy either: {why}", denied.text);
    ErrorReply::new(code, text)
}

pub(crate) fn of_silence(error: &io::Error) -> ErrorReply {
    let text = format!(
        "the daemon is ending: its supervisor does not answer ({error}); try again, or see the \
         daemon's log"
    );
    ErrorReply::new(ErrorCode::Failed, text)
}

fn of_open(error: &OpenError) -> ErrorCode {
    match error {
        OpenError::Refused { failure, .. } => match failure.errno {
            libc::EACCES | libc::EPERM => ErrorCode::Denied,
            libc::ESRCH => ErrorCode::NoTarget,
            libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EBUSY => ErrorCode::Exhausted,
            _ => ErrorCode::Unplannable,
        },
        OpenError::Descriptors { .. } => ErrorCode::Exhausted,
        OpenError::NoCpu { .. } | OpenError::Offline { .. } | OpenError::Attr(_) => {
            ErrorCode::Unplannable
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::{Broker, BrokerError, WireJob};
    use crate::channel::channel;
    use recorder::Modes;

    #[test]
    fn a_supervisor_that_has_gone_is_named_not_the_kernel() {
        let (supervisor, worker) = channel().unwrap();
        drop(supervisor);
        let broker = Broker::new(worker);
        let job = WireJob {
            events: arrayvec::ArrayVec::new(),
            modes: Modes { user: true, kernel: false },
            allow_skid: false,
            call_graph: None,
            data_mappings: false,
            target: recorder::remote::protocol::NamedTarget::System,
            path: arrayvec::ArrayVec::new(),
        };
        let Err(BrokerError::Silent(error)) = broker.grant(job) else { panic!("an answer") };
        assert!(broker.is_silent());
        let refused = of_silence(&error);
        assert_eq!(refused.code, ErrorCode::Failed);
        assert!(refused.text.contains("supervisor does not answer"), "{}", refused.text);
    }

    #[test]
    fn a_refused_grant_says_both_what_the_kernel_and_what_the_daemon_refused() {
        let denied = || ErrorReply::new(ErrorCode::Denied, "no");
        let codes = [libc::ESRCH, libc::EMFILE, libc::EBADF, libc::ETIMEDOUT]
            .map(|errno| of_refused_grant(&io::Error::from_raw_os_error(errno), denied()));
        let [gone, full, other, late] = &codes;
        assert_eq!(gone.code, ErrorCode::NoTarget);
        assert_eq!(full.code, ErrorCode::Exhausted);
        assert_eq!(other.code, ErrorCode::Denied);
        assert_eq!(late.code, ErrorCode::Busy);
        assert!(late.text.contains("no answer in time"), "{}", late.text);
        assert!(codes.iter().all(|refused| refused.text.starts_with("no; the daemon")));
    }
}
