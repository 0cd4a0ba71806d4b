//! Names once each, told apart by small numbers.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Gives out a number per distinct name.
#[derive(Debug, Default)]
pub(crate) struct NumberedNames {
    numbers: FxHashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl NumberedNames {
    /// The number of a name, new or known. Beyond 2^32 names, which need
    /// more memory than this program would get, the last one is shared.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name: Arc<str> = Arc::from(name);
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        number
    }

    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether a name has a number.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// The name of a number that was given out.
    pub(crate) fn name(&self, number: u32) -> Arc<str> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        self.names.get(index).map_or_else(|| Arc::from(""), Arc::clone)
    }
}
