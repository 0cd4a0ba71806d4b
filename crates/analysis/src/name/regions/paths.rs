//! Regions one inside the other, each nesting once.

use crate::name::names::NumberedNames;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Nestings kept. Programs have some dozens; a stream that never ends what it
/// begins could ask for any number.
const MOST_PATHS: usize = 1 << 20;
/// Regions of one nesting that are named, and looked through for the one that
/// ends.
const MOST_NAMED: usize = 64;

/// The regions that a thread is in, outermost first, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegionPath(pub(crate) u32);

impl RegionPath {
    /// In none.
    pub const NONE: RegionPath = RegionPath(0);
    /// In more than there was room for.
    pub const NOT_KEPT: RegionPath = RegionPath(u32::MAX);
}

#[derive(Clone, Copy, Debug)]
struct PathNode {
    around: RegionPath,
    name: u32,
}

#[derive(Debug, Default)]
pub(super) struct RegionPaths {
    names: NumberedNames<[u8]>,
    /// Of path 1 and those after it.
    nodes: Vec<PathNode>,
    inside: FxHashMap<(RegionPath, u32), RegionPath>,
}

impl RegionPaths {
    pub(super) fn name(&mut self, name: &[u8]) -> u32 {
        self.names.number(name)
    }

    fn node(&self, path: RegionPath) -> Option<PathNode> {
        let index = usize::try_from(path.0.checked_sub(1)?).ok()?;
        self.nodes.get(index).copied()
    }

    pub(super) fn inside(&mut self, around: RegionPath, name: u32) -> RegionPath {
        if around == RegionPath::NOT_KEPT {
            return around;
        }
        if let Some(path) = self.inside.get(&(around, name)) {
            return *path;
        }
        if self.nodes.len() >= MOST_PATHS {
            return RegionPath::NOT_KEPT;
        }
        self.nodes.push(PathNode { around, name });
        let path = RegionPath(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.inside.insert((around, name), path);
        path
    }

    /// Without the innermost, or without the innermost of a name; None: it is
    /// in no such region.
    pub(super) fn without(&mut self, path: RegionPath, name: Option<u32>) -> Option<RegionPath> {
        if path == RegionPath::NOT_KEPT {
            return Some(path);
        }
        let mut inner = Vec::new();
        let mut at = path;
        while inner.len() < MOST_NAMED {
            let node = self.node(at)?;
            if name.is_none_or(|name| name == node.name) {
                let left = inner.iter().rev();
                return Some(left.fold(node.around, |path, name| self.inside(path, *name)));
            }
            inner.push(node.name);
            at = node.around;
        }
        None
    }

    /// The names, innermost first; of very deep nestings not all.
    pub(super) fn names(&self, path: RegionPath) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        let mut at = self.node(path);
        while let Some(node) = at.filter(|_| names.len() < MOST_NAMED) {
            let name = self.names.name(node.name);
            names.push(Arc::from(String::from_utf8_lossy(&name)));
            at = self.node(node.around);
        }
        if at.is_some() {
            names.push(Arc::from("..."));
        }
        names
    }
}
