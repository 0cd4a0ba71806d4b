//! Names, each kept once.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Bytes of one name that are kept.
const LONGEST: usize = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

#[derive(Debug, Default)]
pub(crate) struct Names {
    texts: Vec<Arc<str>>,
    known: FxHashMap<Arc<str>, NameId>,
    /// Bytes that may still be kept.
    left: usize,
}

impl Names {
    pub(crate) fn new(left: usize) -> Names {
        Names { left, ..Names::default() }
    }

    /// None: there is no more room.
    pub(crate) fn keep(&mut self, raw: &[u8]) -> Option<NameId> {
        let text = String::from_utf8_lossy(&raw[..raw.len().min(LONGEST)]);
        if let Some(&known) = self.known.get(&*text) {
            return Some(known);
        }
        self.left = self.left.checked_sub(text.len() + 1)?;
        let id = NameId(u32::try_from(self.texts.len()).ok()?);
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.known.insert(text, id);
        Some(id)
    }

    pub(crate) fn text(&self, name: NameId) -> &str {
        usize::try_from(name.0).ok().and_then(|at| self.texts.get(at)).map_or("", |text| text)
    }

    pub(crate) fn find(&self, text: &str) -> Option<NameId> {
        self.known.get(text).copied()
    }
}
