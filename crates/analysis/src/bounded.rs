//! Answers that are remembered, up to a bound.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// What was worked out once. It forgets all when `MOST` answers are in it: a recording has that
/// many only if it was made to.
#[derive(Clone, Debug)]
pub(crate) struct Bounded<K, V, const MOST: usize>(FxHashMap<K, V>);

/// Answers remembered about what may differ from sample to sample.
pub(crate) const MOST_REMEMBERED: usize = 1 << 16;

/// The same about code.
pub(crate) const MOST_PLACES: usize = (1 << 19) / 8 * 7;

impl<K, V, const MOST: usize> Default for Bounded<K, V, MOST> {
    fn default() -> Bounded<K, V, MOST> {
        Bounded(FxHashMap::default())
    }
}

impl<K: Eq + Hash, V, const MOST: usize> Bounded<K, V, MOST> {
    #[inline]
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key)
    }

    pub(crate) fn insert(&mut self, key: K, answer: V) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(key, answer);
    }

    /// What is known, or else what `answer` works out.
    pub(crate) fn or_insert_with(&mut self, key: K, answer: impl FnOnce() -> V) -> &mut V {
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            self.0.clear();
        }
        self.0.entry(key).or_insert_with(answer)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }
}
