//! Why a program does not sample.

use recorder::{Refusal, SessionError};

/// Why a program does not sample, or samples no more.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// The machine cannot be looked at.
    #[error("what this machine can sample cannot be found out: {0}")]
    Facts(#[source] recorder::machine::facts::FactsError),
    /// It cannot sample that.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// A call failed, or the kernel refused an event.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A child of fork(2) has a copy of its parent's sampler.
    #[error("the process that opened the sampler has it alone: open another in the child")]
    Forked,
    /// What the session wrote cannot be read: a fault of hardmeter.
    #[error("the session's own stream cannot be read: {0}; please report it")]
    Stream(#[from] perfdata::stream::StreamError),
    /// An event whose filter is not known, or another fault of hardmeter.
    #[error(transparent)]
    Analysis(#[from] analysis::Error),
}
