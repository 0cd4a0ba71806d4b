//! Where samples come from, and whether more will.

/// What is said of the source in the first line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceState {
    /// What is sampled: a command, a process, a recording.
    pub title: String,
    /// Why no more comes; None: it may.
    pub ended: Option<String>,
    /// Seconds for which nothing was heard of who counts, beyond an interval:
    /// names of large programs are read, and what comes meanwhile waits.
    pub behind: u64,
}
