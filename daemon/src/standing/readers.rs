//! How many read a standing session at a time, of each user and in all: each
//! has a thread, or a queue.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// Of one user.
const MAX_OF_USER: u32 = 4;
/// Of all together whom others may keep out.
const MAX_TOTAL: u32 = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct ReaderLimit(Rc<RefCell<BTreeMap<u32, u32>>>);

/// One who reads, until this is dropped.
#[derive(Debug)]
pub(super) struct ReaderPermit {
    readers: ReaderLimit,
    reader: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooManyReaders {
    OfUser(u32),
    Total(u32),
}

impl fmt::Display for TooManyReaders {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooManyReaders::OfUser(number) => write!(to, "{number} clients of yours"),
            TooManyReaders::Total(number) => write!(to, "{number} others"),
        }
    }
}

impl ReaderLimit {
    /// Admits one more; None is always admitted, and counts for no limit.
    pub(super) fn admit(&self, reader: Option<u32>) -> Result<ReaderPermit, TooManyReaders> {
        if let Some(uid) = reader {
            let mut readers = self.0.borrow_mut();
            if readers.get(&uid).is_some_and(|own| *own >= MAX_OF_USER) {
                return Err(TooManyReaders::OfUser(MAX_OF_USER));
            }
            if readers.values().sum::<u32>() >= MAX_TOTAL {
                return Err(TooManyReaders::Total(MAX_TOTAL));
            }
            *readers.entry(uid).or_default() += 1;
        }
        Ok(ReaderPermit { readers: self.clone(), reader })
    }
}

impl Drop for ReaderPermit {
    fn drop(&mut self) {
        let Some(uid) = self.reader else { return };
        let mut readers = self.readers.0.borrow_mut();
        if let Some(own) = readers.get_mut(&uid) {
            *own -= 1;
            if *own == 0 {
                readers.remove(&uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_slots_and_the_superuser_needs_none() {
        let readers = ReaderLimit::default();
        let mut held: Vec<ReaderPermit> =
            (0..MAX_OF_USER).map(|_| readers.admit(Some(1)).unwrap()).collect();
        assert_eq!(readers.admit(Some(1)).unwrap_err(), TooManyReaders::OfUser(MAX_OF_USER));
        let others: Vec<ReaderPermit> = (0..MAX_TOTAL - MAX_OF_USER)
            .map(|at| readers.admit(Some(2 + at / MAX_OF_USER)).unwrap())
            .collect();
        assert_eq!(readers.admit(Some(99)).unwrap_err(), TooManyReaders::Total(MAX_TOTAL));
        let root: Vec<ReaderPermit> = (0..9).map(|_| readers.admit(None).unwrap()).collect();
        held.pop();
        let last = readers.admit(Some(99)).unwrap();
        assert_eq!(readers.admit(Some(1)).unwrap_err(), TooManyReaders::Total(MAX_TOTAL));
        drop((held, others, root, last));
        assert!(readers.0.borrow().is_empty());
    }
}
