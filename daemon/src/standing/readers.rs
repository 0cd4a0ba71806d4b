//! How many read a standing session at a time, of each user and in all: each
//! has a thread, or a queue.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// Of one user.
const MOST_OF_ONE: u32 = 4;
/// Of all together whom others may keep out.
const MOST: u32 = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Readers(Rc<RefCell<BTreeMap<u32, u32>>>);

/// One who reads, until this is dropped.
#[derive(Debug)]
pub(super) struct Reading {
    readers: Readers,
    reader: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crowd {
    OfOne(u32),
    OfAll(u32),
}

impl fmt::Display for Crowd {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Crowd::OfOne(number) => write!(to, "{number} clients of yours"),
            Crowd::OfAll(number) => write!(to, "{number} others"),
        }
    }
}

impl Readers {
    /// Lets one more in; None is never kept out, and keeps nobody out.
    pub(super) fn admit(&self, reader: Option<u32>) -> Result<Reading, Crowd> {
        if let Some(uid) = reader {
            let mut readers = self.0.borrow_mut();
            if readers.get(&uid).is_some_and(|own| *own >= MOST_OF_ONE) {
                return Err(Crowd::OfOne(MOST_OF_ONE));
            }
            if readers.values().sum::<u32>() >= MOST {
                return Err(Crowd::OfAll(MOST));
            }
            *readers.entry(uid).or_default() += 1;
        }
        Ok(Reading { readers: self.clone(), reader })
    }
}

impl Drop for Reading {
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
        let readers = Readers::default();
        let mut held: Vec<Reading> =
            (0..MOST_OF_ONE).map(|_| readers.admit(Some(1)).unwrap()).collect();
        assert_eq!(readers.admit(Some(1)).unwrap_err(), Crowd::OfOne(MOST_OF_ONE));
        let others: Vec<Reading> = (0..MOST - MOST_OF_ONE)
            .map(|at| readers.admit(Some(2 + at / MOST_OF_ONE)).unwrap())
            .collect();
        assert_eq!(readers.admit(Some(99)).unwrap_err(), Crowd::OfAll(MOST));
        let root: Vec<Reading> = (0..9).map(|_| readers.admit(None).unwrap()).collect();
        held.pop();
        let last = readers.admit(Some(99)).unwrap();
        assert_eq!(readers.admit(Some(1)).unwrap_err(), Crowd::OfAll(MOST));
        drop((held, others, root, last));
        assert!(readers.0.borrow().is_empty());
    }
}
