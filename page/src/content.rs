//! What a page shows, as plain data.

use analysis::Report;

/// A section's content; or, in a sentence, why the recording has none.
pub type SectionContent<T> = Result<T, String>;

/// A recording, a field a section.
#[derive(Clone, Debug)]
pub struct PageContent {
    /// What the recording is called.
    pub name: String,
    /// What made the page: program and version.
    pub made_by: String,
    /// Rows by site, all of them or the top ones; also what was sampled, what
    /// that promises, and what was lost.
    pub sites: Report,
    /// Call chains as a tree that begins at the outermost routine.
    pub callers: SectionContent<Report>,
    /// What went wrong with the recording, in sentences: it is damaged.
    pub damage: Option<String>,
}
