//! Which threads did something, as far as they are kept.

use perfdata::Tid;

/// Threads that are told apart.
const MOST: usize = 256;

/// Threads, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadSet {
    known: Vec<Tid>,
    /// Whether there are more.
    is_cut: bool,
}

impl ThreadSet {
    pub(crate) fn extend(&mut self, threads: impl IntoIterator<Item = Tid>) {
        for thread in threads {
            if let Err(at) = self.known.binary_search_by_key(&thread.0, |known| known.0) {
                match self.known.len() < MOST {
                    true => self.known.insert(at, thread),
                    false => self.is_cut = true,
                }
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Tid> + '_ {
        self.known.iter().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.known.len() + usize::from(self.is_cut)
    }

    /// Whether one of these is none of the others.
    pub(crate) fn has_another_than(&self, others: &ThreadSet) -> bool {
        self.iter().any(|thread| others.known.binary_search_by_key(&thread.0, |it| it.0).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(threads: &[i32]) -> ThreadSet {
        let mut set = ThreadSet::default();
        set.extend(threads.iter().copied().map(Tid));
        set
    }

    #[test]
    fn threads_are_counted_once_and_up_to_a_bound() {
        assert_eq!(set(&[3, 1, 3, 2, 1]).iter().map(|it| it.0).collect::<Vec<_>>(), [1, 2, 3]);
        let many: Vec<i32> = (0..1000).collect();
        assert_eq!(set(&many).len(), MOST + 1);
    }

    #[test]
    fn one_thread_alone_has_no_other() {
        assert!(!set(&[1]).has_another_than(&set(&[1, 2])));
        assert!(set(&[1, 3]).has_another_than(&set(&[1, 2])));
        assert!(!set(&[]).has_another_than(&set(&[1])));
    }
}
