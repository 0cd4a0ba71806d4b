//! Glossary: the quantities that records carry, a type for each.

use std::fmt;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

quantity! {
    /// Nanoseconds of the session's clock (`sched_clock` unless the attr has
    /// `use_clockid`; trap 37).
    Time(u64)
}
quantity! {
    /// Process id in the recorder's pid namespace; -1 for a task that has
    /// left it, 0 for the idle task.
    Pid(i32)
}
quantity! {
    /// Thread id, same ranges as [`Pid`].
    Tid(i32)
}
quantity! {
    /// Logical CPU number as in /proc/cpuinfo.
    Cpu(u32)
}

/// A thread and the process it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// The process (thread group).
    pub pid: Pid,
    pub tid: Tid,
}
