//! Where a target stands, and how its process ended.

/// How the process of the target ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By exit(2), with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// Where the target stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetStanding {
    /// At least one process is emulated, or is to be.
    Emulated,
    /// All that lives runs on natively: stopped, or the count is reached.
    Left,
    /// No process is left.
    Gone,
}

/// What [`Emulation::wait`](crate::Emulation::wait) saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulationWake {
    /// A quarter of the ring is filled, or a thread waits for room in it.
    pub records: bool,
    /// Where the target stands.
    pub standing: TargetStanding,
}
