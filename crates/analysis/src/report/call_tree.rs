//! Call chains of an event as a tree of routines.

use crate::query::chain_view::TreeOrder;
use serde::Serialize;

/// Routines with those that they called below them, or with their callers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallTree {
    /// Where it begins.
    pub order: TreeOrder,
    /// Nodes with a lesser share are not told apart.
    pub least_share: f64,
    /// Each before those below it, those of one parent by share.
    pub nodes: Vec<TreeNode>,
    /// Those at the top that are not told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<OtherNodes>,
}

/// A routine on a path of the tree. Its count is that of the nodes below it, of
/// those that are not told apart, and of the samples whose chain ends in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeNode {
    /// Index of the node above it.
    pub parent: Option<usize>,
    /// Number of its frame among the report's.
    pub frame: usize,
    /// Samples with this path.
    pub count: u64,
    /// Events that they stand for.
    pub period: u64,
    /// Part of the event's counted samples or periods, 0 to 1.
    pub share: f64,
    /// Samples whose chain ends here: taken in the routine itself, or in a tree of
    /// callers those that nothing is known to have called.
    pub self_count: u64,
    /// Events that these stand for.
    pub self_period: u64,
    /// Part of the event's counted samples or periods that these are, 0 to 1.
    pub self_share: f64,
    /// Nodes below it that are not told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<OtherNodes>,
}

/// Nodes that are told together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OtherNodes {
    /// How many.
    pub nodes: u64,
    /// Their samples.
    pub count: u64,
    /// Events that they stand for.
    pub period: u64,
    /// Part of the event's counted samples or periods, 0 to 1.
    pub share: f64,
}
