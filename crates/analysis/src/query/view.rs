//! What is asked for besides rows.

use crate::cache_shape::{CacheShape, MissedLevel};
use crate::query::target::RoutineTarget;

/// A view of a recording, which a method of [`crate::Pipeline`] answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// Why misses came about: [`crate::Pipeline::causes`].
    Causes(KnownCaches),
    /// Lines that threads share: [`crate::Pipeline::shared_lines`]. Bytes of a line, a power of
    /// two up to 128.
    SharedLines(u64),
    /// Types that samples are on: [`crate::Pipeline::types`].
    Types,
    /// Accesses over time, by object and by set of these caches: [`crate::Pipeline::overview`].
    Maps(KnownCaches),
    /// Histograms, with sets of the first of these caches: [`crate::Pipeline::plots`].
    Plots(KnownCaches),
    /// What caches of other sizes would miss: [`crate::Pipeline::curves`].
    Curves,
    /// The instructions of routines: [`crate::Pipeline::annotate`] and
    /// [`crate::Pipeline::annotate_all`].
    Routines(Vec<RoutineTarget>),
}

/// The caches that misses are judged by: in spite of what the recording says, and where it says
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownCaches(pub Vec<KnownCache>);

/// A cache and whose word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownCache {
    /// Which.
    pub level: MissedLevel,
    /// What it is like.
    pub shape: CacheShape,
    /// Counts against what the recording says.
    pub is_typed: bool,
}

impl KnownCaches {
    /// The cache that misses of an event are judged by: the one that was typed, else that of the
    /// model which made the samples, else the machine's. None: none of them is known.
    pub(crate) fn shape(&self, level: MissedLevel, model: Option<&str>) -> Option<CacheShape> {
        // PMUs count as misses of the TLB what no level of it has; models tell both.
        let wanted = match (level, model) {
            (MissedLevel::Dtlb, None) => MissedLevel::Stlb,
            _ => level,
        };
        let of = |is_typed| self.0.iter().find(|it| it.level == wanted && it.is_typed == is_typed);
        let modelled = || model.and_then(|model| CacheShape::in_model(model, level));
        of(true).map(|it| it.shape).or_else(modelled).or_else(|| of(false).map(|it| it.shape))
    }
}
