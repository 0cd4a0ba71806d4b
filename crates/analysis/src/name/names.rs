//! Names once each, told apart by small numbers.

use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Gives out a number per distinct name: a text, or the bytes of one.
#[derive(Debug)]
pub(crate) struct NumberedNames<N: ?Sized = str> {
    numbers: FxHashMap<Arc<N>, u32>,
    names: Vec<Arc<N>>,
}

impl<N: ?Sized> Default for NumberedNames<N> {
    fn default() -> NumberedNames<N> {
        NumberedNames { numbers: FxHashMap::default(), names: Vec::new() }
    }
}

impl<N: Eq + Hash + ?Sized> NumberedNames<N>
where
    Arc<N>: Default + for<'n> From<&'n N>,
{
    /// The number of a name, new or known. Beyond 2^32 names, which need
    /// more memory than this program would get, the last one is shared.
    pub(crate) fn number(&mut self, name: &N) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name: Arc<N> = Arc::from(name);
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn knows(&self, name: &N) -> bool {
        self.numbers.contains_key(name)
    }

    pub(crate) fn name(&self, number: u32) -> Arc<N> {
        self.get(number).map_or_else(Arc::default, Arc::clone)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Arc<N>> {
        self.names.get(usize::try_from(number).ok()?)
    }
}
