//! Names and paths, each kept once.

use crate::demangle::demangle;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Bytes of a name that are shown. Longer ones are cut, and stay mangled.
const LONGEST: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(crate) struct StringInterner {
    /// By what debug info has.
    names: FxHashMap<Box<[u8]>, Arc<str>>,
    files: FxHashSet<Arc<str>>,
}

impl StringInterner {
    /// The name as the source has it.
    pub(crate) fn name(&mut self, raw: &[u8]) -> Arc<str> {
        let raw = &raw[..raw.len().min(LONGEST)];
        if let Some(known) = self.names.get(raw) {
            return Arc::clone(known);
        }
        let name: Arc<str> = demangle(raw).into();
        self.names.insert(raw.into(), Arc::clone(&name));
        name
    }

    /// The one copy of a path.
    pub(crate) fn file(&mut self, path: &str) -> Arc<str> {
        if let Some(known) = self.files.get(path) {
            return Arc::clone(known);
        }
        let file: Arc<str> = path.into();
        self.files.insert(Arc::clone(&file));
        file
    }
}
