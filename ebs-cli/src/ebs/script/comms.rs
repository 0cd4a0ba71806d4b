//! Names of threads as time goes by.

use record::{Task, Tid};
use std::collections::HashMap;

/// Threads whose names are kept, some 70 bytes each, and bytes of a name: the
/// kernel's have 15. A packed recording of a few megabytes may name more
/// threads than memory holds.
const MOST_NAMES: usize = 1 << 20;
const LONGEST_NAME: usize = 256;

/// The command name of each thread at the time reached. Must be told in
/// order of time.
#[derive(Debug)]
pub(super) struct Comms {
    names: HashMap<Tid, Box<[u8]>>,
    most: usize,
    /// How often a name was not kept.
    left_out: u64,
}

impl Default for Comms {
    fn default() -> Comms {
        Comms { names: HashMap::new(), most: MOST_NAMES, left_out: 0 }
    }
}

impl Comms {
    /// A thread has this name from now on. A thread that has ended keeps
    /// its name: its last records may still come.
    pub(super) fn named(&mut self, tid: Tid, name: Box<[u8]>) {
        self.keep(tid, name);
    }

    /// A thread without room for its name has none, and never the one of
    /// before.
    fn keep(&mut self, tid: Tid, name: Box<[u8]>) {
        let is_short = name.len() <= LONGEST_NAME;
        if is_short && (self.names.len() < self.most || self.names.contains_key(&tid)) {
            self.names.insert(tid, name);
        } else {
            self.left_out += 1;
            self.names.remove(&tid);
        }
    }

    /// What a reader must know of names that are not kept.
    pub(super) fn note(&self) -> Option<String> {
        let (left_out, most) = (self.left_out, self.most);
        (left_out > 0).then(|| {
            format!(
                "{left_out} names of threads were not kept, as the recording names more than \
                 {most} threads, or has names of more than {LONGEST_NAME} bytes: they are \
                 shown as :TID"
            )
        })
    }

    /// A thread starts, with the name of the thread that made it, which is
    /// none where no record told of that one: an older thread of the same id
    /// leaves it nothing.
    pub(super) fn forked(&mut self, tid: Tid, parent: Task) {
        match self.of(parent.tid).map(Box::from) {
            Some(name) => self.keep(tid, name),
            None => {
                self.names.remove(&tid);
            }
        }
    }

    /// The name of a thread; the idle task has perf's.
    pub(super) fn of(&self, tid: Tid) -> Option<&[u8]> {
        match self.names.get(&tid) {
            Some(name) => Some(name),
            None if tid == Tid(0) => Some(b"swapper"),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Pid;

    #[test]
    fn threads_inherit_and_change_names() {
        let mut comms = Comms::default();
        comms.named(Tid(1), Box::from(*b"sh"));
        comms.forked(Tid(2), Task { pid: Pid(1), tid: Tid(1) });
        assert_eq!(comms.of(Tid(2)), Some(&b"sh"[..]));
        comms.named(Tid(2), Box::from(*b"make"));
        comms.forked(Tid(3), Task { pid: Pid(0), tid: Tid(0) });
        assert_eq!(comms.of(Tid(3)), Some(&b"swapper"[..]));
        comms.forked(Tid(3), Task { pid: Pid(2), tid: Tid(9) });
        assert_eq!(comms.of(Tid(3)), None, "its maker may have had another than its process");
        assert_eq!(comms.of(Tid(1)), Some(&b"sh"[..]));
        assert_eq!(comms.of(Tid(0)), Some(&b"swapper"[..]));
        assert_eq!(comms.of(Tid(7)), None);
        assert_eq!(comms.note(), None);
    }

    #[test]
    fn a_thread_without_room_has_no_name_and_that_is_told() {
        let mut comms = Comms { most: 2, ..Comms::default() };
        for tid in 1..=3 {
            comms.named(Tid(tid), Box::from(*b"sh"));
        }
        comms.forked(Tid(4), Task { pid: Pid(1), tid: Tid(1) });
        assert_eq!((comms.of(Tid(2)), comms.of(Tid(3))), (Some(&b"sh"[..]), None));
        assert_eq!((comms.of(Tid(4)), comms.names.len()), (None, 2));
        // Who has a name changes it; to one that no thread has, loses it.
        comms.named(Tid(1), Box::from(*b"make"));
        assert_eq!(comms.of(Tid(1)), Some(&b"make"[..]));
        comms.named(Tid(1), Box::from([b'x'; 300]));
        assert_eq!(comms.of(Tid(1)), None);
        assert!(comms.note().is_some_and(|note| note.starts_with("3 names of threads")));
    }
}
