//! What becomes of counted call chains.

use crate::query::glob::Glob;
use serde::Serialize;

/// How counted call chains are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainView {
    /// As the keys say, a row each.
    #[default]
    Rows,
    /// A row a routine, with all samples that it is on the chain of, each once,
    /// and those taken in itself.
    Inclusive,
    /// A tree of routines.
    Tree(TreeQuery),
}

/// A tree of routines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeQuery {
    /// Where it begins.
    pub order: TreeOrder,
    /// Nodes with a lesser part of the event's samples or periods, in millionths,
    /// are told together, by parent.
    pub least_millionths: u32,
}

/// Where a tree of call chains begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeOrder {
    /// At the outermost routine: below each what it called.
    #[default]
    Callees,
    /// At the sampled routine: below each who called it.
    Callers,
}

impl ChainView {
    /// Its word in a report's question; None: a row a key.
    pub fn word(self) -> Option<&'static str> {
        match self {
            ChainView::Rows => None,
            ChainView::Inclusive => Some("children"),
            ChainView::Tree(_) => Some("tree"),
        }
    }
}

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
