//! Which frames of a call chain are looked at.

use crate::query::glob::Glob;

/// What of each sample's call chain is looked at; all of it without any of
/// these. Keys of an instruction are those of the innermost frame that is left,
/// keys of callers go on from there. A pattern fits a frame by its routine,
/// with its parameters or without, or by its object, whole path or file name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameCut {
    /// The chain begins at the innermost such frame; samples without one are
    /// left out.
    pub callers: Option<Glob>,
    /// The chain ends at the outermost such frame; samples without one are left
    /// out.
    pub callees: Option<Glob>,
    /// The chain begins at the innermost frame that none of these fits.
    pub outside: Vec<Glob>,
}

impl FrameCut {
    /// Whether all of every chain is looked at.
    pub fn is_none(&self) -> bool {
        self.callers.is_none() && self.callees.is_none() && self.outside.is_empty()
    }

    /// Whether the innermost frame may be another than the sampled one.
    pub(crate) fn moves_sites(&self) -> bool {
        self.callers.is_some() || !self.outside.is_empty()
    }
}
