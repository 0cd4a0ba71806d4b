//! Why a request cannot be planned, and the way out.

/// A request that cannot be served here. Every text says what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Neither user nor kernel mode was asked for.
    #[error("no mode given: say -u (user), -k (kernel), or both")]
    ModeMissing,
}

impl Refusal {
    /// Whether the request itself is malformed (exit status 2), rather than
    /// not to be had on this machine (exit status 1).
    pub fn is_usage(&self) -> bool {
        match self {
            Refusal::ModeMissing => true,
        }
    }
}
