//! What a page shows, as plain data.

use analysis::Report;
use analysis::annotate::Annotation;
use analysis::c2c::SharingReport;
use analysis::causes::CauseReport;
use analysis::curve::CurveReport;
use analysis::layout::TypeReport;
use analysis::maps::MapReport;
use std::collections::BTreeMap;

/// A section's content; or, in a sentence, why the recording has none.
pub type SectionContent<T> = Result<T, String>;

#[derive(Clone, Debug)]
pub struct AnnotatedRoutine {
    pub annotation: Annotation,
    /// Text of source lines, by file as debug info names it, and number from 1; as
    /// far as it can be had.
    pub sources: BTreeMap<String, BTreeMap<u32, String>>,
}

#[derive(Clone, Debug)]
pub struct PageContent {
    pub name: String,
    /// What made the page: program and version.
    pub made_by: String,
    /// Rows by site, all of them or the top ones; also what was sampled, what
    /// that promises, and what was lost.
    pub sites: Report,
    /// Rows by name and number of the thread.
    pub threads: SectionContent<Report>,
    /// Call chains as a tree that begins at the outermost routine.
    pub callers: SectionContent<Report>,
    /// Why accesses miss, and what to change.
    pub causes: SectionContent<CauseReport>,
    /// What caches of other sizes would miss; with a curve.
    pub curve: SectionContent<CurveReport>,
    /// Rows by level, with latencies.
    pub levels: SectionContent<Report>,
    pub sharing: SectionContent<SharingReport>,
    pub types: SectionContent<TypeReport>,
    pub maps: SectionContent<MapReport>,
    pub routines: SectionContent<Vec<AnnotatedRoutine>>,
    /// What went wrong with the recording, in sentences: it is damaged.
    pub damage: Option<String>,
}
