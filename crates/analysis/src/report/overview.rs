//! Several answers of one reading.

use crate::error::Error;
use crate::report::{CauseReport, CurveReport, MapReport, Report, SharingReport, TypeReport};

/// What [`crate::Pipeline::overview`] answers: each is as its own method would have it.
#[derive(Debug)]
pub struct Overview {
    /// The query's rows, and what was counted in all.
    pub rows: Report,
    /// Why misses came about.
    ///
    /// # Errors
    /// Without misses.
    pub causes: Result<CauseReport, Error>,
    /// Lines that several threads used.
    pub sharing: SharingReport,
    /// Types that samples are on.
    pub types: TypeReport,
    /// Where accesses are over time.
    pub maps: MapReport,
    /// What caches of other sizes would miss.
    pub curves: CurveReport,
}
