//! What threads tell the one that has the screen.

use analysis::Report;

/// A part of a stream, from whoever reads it.
#[derive(Debug)]
pub(super) enum StreamPart {
    Bytes(Vec<u8>),
    /// No more comes, for this reason; None: it has ended as it should.
    End(Option<String>),
}

/// What whoever counts tells.
#[derive(Debug)]
pub(super) enum TopNews {
    /// What was counted since the last time, and in how many seconds.
    Interval(Box<Report>, f64),
    /// An interval in which nothing could be counted: there is no event yet.
    Nothing,
    /// All that there was has been counted; what was wrong with it.
    End(Option<String>),
    /// The text of a routine, or why there is none.
    Routine(String),
}
