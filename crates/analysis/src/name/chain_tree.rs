//! Call chains, each kept once: a tree from the outermost frame inwards.
//!
//! A chain is the node of its innermost frame, and each node's parent that of
//! its caller: chains that begin alike share what they have in common, and the
//! callers of a frame are a walk to the root.

use rustc_hash::FxHashMap;
use symbolizer::ChainEnd;

/// Nodes that are kept: what a hash table of 2^21 slots holds, some 50 MB.
const MOST_NODES: usize = (1 << 21) / 8 * 7;

/// A frame as chains keep it: two are one where routine and object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChainFrame {
    /// The number of the routine's name, or of why it has none.
    pub(crate) name: u32,
    /// The number of the object's name.
    pub(crate) object: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainTop {
    /// The recorded chain says no more.
    Recorded,
    /// Unwinding ended there.
    Unwound(ChainEnd),
    /// Frames that were not asked for.
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ChainNode {
    /// Another node, or from the last number down what is at the top.
    parent: u32,
    frame: u32,
}

#[derive(Debug, Default)]
pub(crate) struct ChainTree {
    frames: Vec<ChainFrame>,
    by_frame: FxHashMap<ChainFrame, u32>,
    nodes: Vec<ChainNode>,
    by_node: FxHashMap<ChainNode, u32>,
    /// Of the chain that was asked for last, outermost first, and their numbers.
    last: Vec<ChainNode>,
    last_numbers: Vec<u32>,
}

impl ChainTree {
    pub(crate) fn frame(&mut self, frame: ChainFrame) -> u32 {
        let frames = &mut self.frames;
        *self.by_frame.entry(frame).or_insert_with(|| {
            frames.push(frame);
            index(frames.len() - 1)
        })
    }

    pub(crate) fn frame_at(&self, index: u32) -> Option<ChainFrame> {
        self.frames.get(usize::try_from(index).ok()?).copied()
    }

    /// The chain of these frames, innermost first, by their indices. None: there
    /// are none, or there is no room for more chains.
    pub(crate) fn chain(&mut self, frames: &[u32], top: ChainTop) -> Option<u32> {
        let root = top.number();
        // Chains one after the other mostly have callers in common.
        let is_alike = self.last.first().is_some_and(|node| node.parent == root);
        let alike = frames.iter().rev().zip(&self.last);
        let alike = alike.take_while(|(frame, node)| is_alike && **frame == node.frame).count();
        self.last.truncate(alike);
        self.last_numbers.truncate(alike);
        let mut parent = self.last_numbers.last().copied().unwrap_or(root);
        for frame in frames.iter().rev().skip(alike) {
            let node = ChainNode { parent, frame: *frame };
            parent = match self.by_node.get(&node) {
                Some(known) => *known,
                None if self.nodes.len() >= MOST_NODES => return None,
                None => {
                    let number = index(self.nodes.len());
                    self.nodes.push(node);
                    self.by_node.insert(node, number);
                    number
                }
            };
            self.last.push(node);
            self.last_numbers.push(parent);
        }
        (!frames.is_empty()).then_some(parent)
    }

    /// The nodes of a chain from the innermost frame on, each the chain from
    /// there on, and the indices of their frames.
    pub(crate) fn walk(&self, chain: u32) -> impl Iterator<Item = ChainStep> + '_ {
        let step = move |chain: u32| {
            let node = self.nodes.get(usize::try_from(chain).ok()?)?;
            Some(ChainStep { chain, frame: node.frame, caller: node.parent })
        };
        std::iter::successors(step(chain), move |last| step(last.caller))
    }

    /// The numbers of the names of a chain's frames, innermost first.
    pub(crate) fn names(&self, chain: u32) -> impl Iterator<Item = u32> + '_ {
        self.walk(chain).filter_map(|step| Some(self.frame_at(step.frame)?.name))
    }

    pub(crate) fn top(&self, chain: u32) -> ChainTop {
        let last = self.walk(chain).last();
        last.map_or(ChainTop::Recorded, |step| ChainTop::of(step.caller))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainStep {
    /// The chain from this frame on.
    pub(crate) chain: u32,
    pub(crate) frame: u32,
    caller: u32,
}

impl ChainTop {
    /// Why the chain ends before its outermost frame, in short.
    pub(crate) fn cut_off(self) -> Option<&'static str> {
        match self {
            ChainTop::Unwound(end) if end != ChainEnd::Root => Some(end.tag()),
            _ => None,
        }
    }

    fn number(self) -> u32 {
        let from_last = match self {
            ChainTop::Recorded => 0,
            ChainTop::Asked => 1,
            ChainTop::Unwound(end) => {
                let place = ChainEnd::ALL.iter().position(|it| *it == end);
                2 + index(place.unwrap_or_default())
            }
        };
        u32::MAX - from_last
    }

    fn of(number: u32) -> ChainTop {
        match u32::MAX - number {
            0 => ChainTop::Recorded,
            1 => ChainTop::Asked,
            other => {
                let place = usize::try_from(other - 2).unwrap_or(usize::MAX);
                ChainEnd::ALL.get(place).map_or(ChainTop::Recorded, |end| ChainTop::Unwound(*end))
            }
        }
    }
}

/// Fewer than 2^32 of anything fit in memory.
fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn chains_come_back_as_they_went_and_share_their_callers() {
        let mut tree = ChainTree::default();
        let [a, b, c] = [1, 2, 3].map(|name| tree.frame(ChainFrame { name, object: 0 }));
        assert_eq!(tree.frame(ChainFrame { name: 2, object: 0 }), b);
        let frames = |tree: &ChainTree, chain| -> Vec<u32> {
            tree.walk(chain).map(|step| step.frame).collect()
        };
        let long = tree.chain(&[c, b, a], ChainTop::Recorded).unwrap();
        let short = tree.chain(&[b, a], ChainTop::Recorded).unwrap();
        assert_eq!(frames(&tree, long), [c, b, a]);
        assert_eq!(tree.walk(long).nth(1).unwrap().chain, short);
        assert_eq!(tree.nodes.len(), 3);
        assert_eq!(tree.chain(&[], ChainTop::Recorded), None);
        let tops = ChainEnd::ALL.map(ChainTop::Unwound);
        for top in tops.into_iter().chain([ChainTop::Asked, ChainTop::Recorded]) {
            let chain = tree.chain(&[b, a], top).unwrap();
            assert_eq!(tree.top(chain), top);
            assert_eq!(frames(&tree, chain), [b, a]);
        }
    }

    proptest! {
        #[test]
        fn equal_chains_have_one_number_and_others_another(
            chains in prop::collection::vec((prop::collection::vec(0_u32..3, 1..6), 0..3_usize), 0..40),
        ) {
            let mut tree = ChainTree::default();
            (0..3).for_each(|name| { tree.frame(ChainFrame { name, object: 0 }); });
            let tops = [ChainTop::Recorded, ChainTop::Asked, ChainTop::Unwound(ChainEnd::Root)];
            let mut numbers: BTreeMap<(Vec<u32>, usize), u32> = BTreeMap::new();
            for (frames, top) in chains {
                let chain = tree.chain(&frames, tops[top]).unwrap();
                let found: Vec<u32> = tree.walk(chain).map(|step| step.frame).collect();
                prop_assert_eq!((&found, tree.top(chain)), (&frames, tops[top]));
                let known = *numbers.entry((frames, top)).or_insert(chain);
                prop_assert_eq!(known, chain);
            }
            let distinct: BTreeSet<u32> = numbers.values().copied().collect();
            prop_assert_eq!(distinct.len(), numbers.len());
        }
    }
}
