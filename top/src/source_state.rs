//! Where samples come from, and whether more will.

/// What is said of the source in the first line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceState {
    /// What is sampled: a command, a process, a recording.
    pub title: String,
    /// Why no more comes; None: it may.
    pub ended: Option<String>,
}
