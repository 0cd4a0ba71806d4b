//! What goes wrong with a request.

/// Why a file did not come.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server does not have it.
    #[cfg_attr(not(feature = "debuginfod"), allow(dead_code, reason = "nobody is asked"))]
    Absent,
    /// The server does not answer, or too slowly.
    Dead(String),
    Other(String),
}
