//! Names of threads as time goes by.

use record::{Task, Tid};
use std::collections::HashMap;

/// The command name of each thread at the time reached. Must be told in
/// order of time.
#[derive(Debug, Default)]
pub(super) struct Comms {
    names: HashMap<Tid, Box<[u8]>>,
}

impl Comms {
    /// A thread has this name from now on. A thread that has ended keeps
    /// its name: its last records may still come.
    pub(super) fn named(&mut self, tid: Tid, name: Box<[u8]>) {
        self.names.insert(tid, name);
    }

    /// A thread starts, with the name of the thread that made it, which is
    /// none where no record told of that one: an older thread of the same id
    /// leaves it nothing.
    pub(super) fn forked(&mut self, tid: Tid, parent: Task) {
        match self.of(parent.tid).map(Box::from) {
            Some(name) => self.names.insert(tid, name),
            None => self.names.remove(&tid),
        };
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
    }
}
