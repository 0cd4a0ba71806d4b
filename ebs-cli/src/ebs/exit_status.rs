//! What the program tells its caller.

use crate::ebs::arguments::UsageError;
use crate::ebs::compare::CompareUsageError;
use crate::ebs::diff::DiffUsageError;
use crate::ebs::script::FieldError;
use crate::terminal::{causes, say};
use analysis::{KeyError, QueryError, QueryFilterError, SiteError, SortError, TimeError};
use recorder::Refusal;
use recorder::counting::CountingRefusal;
use recorder::request::event_spec::EventSpecError;
use std::io::ErrorKind;

pub const SUCCESS: u8 = 0;
pub const FAILURE: u8 = 1;
/// The command line has no meaning.
pub const USAGE: u8 = 2;
/// A change is beyond a limit of `ebs diff`.
pub const BEYOND: u8 = 3;

/// The status for an error, and whether it is worth a message: a reader that
/// has seen enough is none.
pub fn of_error(error: &anyhow::Error) -> (u8, bool) {
    if is_closed_pipe(error) {
        (SUCCESS, false)
    } else if is_usage(error) {
        (USAGE, true)
    } else {
        (FAILURE, true)
    }
}

/// The status of what was done; an error is told first.
pub(crate) fn status_of(result: anyhow::Result<u8>) -> u8 {
    result.unwrap_or_else(|error| {
        let (status, tell) = of_error(&error);
        if tell {
            say("ebs", &causes::told(&error));
        }
        status
    })
}

/// Whether a reader went away: nobody wants to know more.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let of_sink = match cause.downcast_ref() {
            Some(analysis::Error::Sink { kind, .. }) => Some(*kind),
            _ => None,
        };
        io.or(of_sink) == Some(ErrorKind::BrokenPipe)
    })
}

fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<UsageError>()
        || error.is::<DiffUsageError>()
        || error.is::<CompareUsageError>()
        || error.is::<EventSpecError>()
        || error.is::<FieldError>()
        || error.is::<KeyError>()
        || error.is::<QueryFilterError>()
        || error.is::<QueryError>()
        || error.is::<SortError>()
        || error.is::<SiteError>()
        || error.is::<TimeError>()
        || error.downcast_ref::<CountingRefusal>().is_some_and(CountingRefusal::is_usage)
        || error.downcast_ref::<Refusal>().is_some_and(Refusal::is_usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn statuses_tell_misuse_from_failure() {
        let pipe = io::Error::from(ErrorKind::BrokenPipe);
        assert_eq!(of_error(&anyhow::Error::new(pipe).context("stdout")), (SUCCESS, false));
        assert_eq!(of_error(&UsageError::TypeMissing.into()), (USAGE, true));
        assert_eq!(of_error(&Refusal::ModeMissing.into()), (USAGE, true));
        let full = io::Error::from(ErrorKind::StorageFull);
        assert_eq!(of_error(&full.into()), (FAILURE, true));
        assert_eq!(of_error(&anyhow::anyhow!("odd")), (FAILURE, true));
    }
}
