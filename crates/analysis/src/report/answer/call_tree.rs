//! Counted chains become a tree.

use crate::collect::row_count::RowCount;
use crate::collect::sum::Sum;
use crate::name::key_value::KeyValue;
use crate::query::Weighting;
use crate::query::chain_view::TreeOrder;
use crate::report::{CallTree, OtherNodes, TreeNode};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// A node while chains are added; the first is above all.
#[derive(Debug, Default)]
struct GrowingNode {
    frame: usize,
    below: Vec<usize>,
    sum: Sum,
    own: Sum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TreeStep {
    node: usize,
    frame: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TreeShares {
    pub(super) whole: Sum,
    pub(super) weighting: Weighting,
    /// Of the lesser ones, 0 to 1.
    pub(super) least: f64,
}

pub(super) fn call_tree<'r>(
    order: TreeOrder,
    rows: impl Iterator<Item = (&'r [KeyValue], &'r RowCount)>,
    shares: TreeShares,
    mut frames: impl FnMut(KeyValue) -> Vec<usize>,
) -> CallTree {
    let TreeShares { whole, weighting, least } = shares;
    let mut nodes = vec![GrowingNode::default()];
    let mut steps: FxHashMap<TreeStep, usize> = FxHashMap::default();
    for (values, count) in rows {
        let Some(value) = values.first() else { continue };
        let mut path = frames(*value);
        if order == TreeOrder::Callees {
            path.reverse();
        }
        let mut at = 0;
        for frame in path {
            let next = *steps.entry(TreeStep { node: at, frame }).or_insert_with(|| {
                let next = nodes.len();
                nodes[at].below.push(next);
                nodes.push(GrowingNode { frame, ..GrowingNode::default() });
                next
            });
            nodes[next].sum.join(count.sum);
            at = next;
        }
        nodes[at].own.join(count.sum);
    }
    let mut tree = CallTree { order, least_share: least, nodes: Vec::new(), others: None };
    tree.others = shares.fold(&mut nodes, 0);
    let mut waiting: Vec<(usize, Option<usize>)> =
        nodes[0].below.iter().rev().map(|node| (*node, None)).collect();
    while let Some((node, parent)) = waiting.pop() {
        let others = shares.fold(&mut nodes, node);
        let index = tree.nodes.len();
        let GrowingNode { frame, below, sum, own } = &nodes[node];
        waiting.extend(below.iter().rev().map(|node| (*node, Some(index))));
        tree.nodes.push(TreeNode {
            parent,
            frame: *frame,
            count: sum.count,
            period: sum.period,
            share: sum.share(whole, weighting),
            self_count: own.count,
            self_period: own.period,
            self_share: own.share(whole, weighting),
            others,
        });
    }
    tree
}

impl TreeShares {
    /// Sorts what is below a node, most first, and takes out what is too small.
    fn fold(self, nodes: &mut [GrowingNode], node: usize) -> Option<OtherNodes> {
        let TreeShares { whole, weighting, least } = self;
        let mut below = std::mem::take(&mut nodes[node].below);
        below.sort_by_key(|it| Reverse(nodes[*it].sum.weight(weighting)));
        let kept = below.partition_point(|it| nodes[*it].sum.share(whole, weighting) >= least);
        let mut sum = Sum::default();
        below[kept..].iter().for_each(|it| sum.join(nodes[*it].sum));
        let folded = below.len() - kept;
        below.truncate(kept);
        nodes[node].below = below;
        (folded > 0).then(|| OtherNodes {
            nodes: u64::try_from(folded).unwrap_or(u64::MAX),
            count: sum.count,
            period: sum.period,
            share: sum.share(whole, weighting),
        })
    }
}
