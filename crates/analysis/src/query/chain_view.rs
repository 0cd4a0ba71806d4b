//! What becomes of counted call chains.

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
