//! Which samples are counted.
//!
//! ```text
//! FILTER := TERM { " and " TERM }
//! TERM   := routine OP GLOB | object OP GLOB | comm OP GLOB | variable OP GLOB
//!         | frame OP GLOB
//!         | pid OP NUMBER | tid OP NUMBER | cpu OP NUMBER
//!         | addr OP RANGE | ip OP RANGE
//!         | level OP GLOB | op OP GLOB | snoop OP GLOB | tlb OP GLOB
//!         | lock OP GLOB | blk OP GLOB | weight OP DECIMALS
//!         | miss OP (cold | sharing | conflict | edge | capacity)
//!         | mode OP (user | kernel | hypervisor | guest-kernel | guest-user)
//! OP     := "=" | "!="
//! RANGE  := HEX | HEX "-" HEX | HEX "-"
//! DECIMALS := the same in decimal digits
//! ```
//!
//! A range holds its start and not its end, as in /proc/PID/maps. An object
//! matches by its whole path or its file name, a frame by its routine or its
//! object, and of the frames of a call chain one must, the sampled one included. A sample that lacks the field
//! passes neither `=` nor `!=`.

mod parse;
#[cfg(test)]
mod tests;

pub use parse::QueryFilterError;

use crate::query::glob::Glob;
use crate::query::key::Key;
use crate::query::time::TimeRange;
use perfdata::data_src::DataSrcAspect;
use perfdata::{CpuMode, MissClass};
use std::fmt;

/// One condition; a sample is counted when it meets all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    /// What must hold.
    pub condition: FilterCondition,
    /// Or must not (`!=`).
    pub negated: bool,
}

/// What a filter looks at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FilterCondition {
    /// Name of the routine, demangled, with its parameters or without.
    Routine(Glob),
    /// Path or file name of the object.
    Object(Glob),
    /// Routine or object of any frame of the call chain.
    Frame(Glob),
    /// Command name at the time of the sample.
    Comm(Glob),
    /// A region that the thread was in, or all of them as they are shown.
    Region(Glob),
    /// Process id.
    Pid(i32),
    /// Thread id.
    Tid(i32),
    /// Logical CPU.
    Cpu(u32),
    /// Data address.
    Addr(AddressRange),
    /// Instruction pointer, run-time address.
    Ip(AddressRange),
    /// Name of the variable, or of the memory, that holds the data address.
    Variable(Glob),
    /// What the data source says of the access, in one of its parts, with or
    /// without "hit" and "miss".
    Access(DataSrcAspect, Glob),
    /// Weight; of a weight of three parts the first.
    Weight(AddressRange),
    /// Why the sampled miss is one.
    Miss(MissClass),
    /// Privilege level.
    Mode(CpuMode),
    /// Part of the run.
    Time(TimeRange),
}

/// Addresses, or other numbers, from `start` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressRange {
    /// First address.
    pub start: u64,
    /// Last address.
    pub last: u64,
}

impl AddressRange {
    /// Whether `address` is in the range.
    pub fn contains(self, address: u64) -> bool {
        (self.start..=self.last).contains(&address)
    }
}

impl AddressRange {
    fn decimal(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last.checked_add(1) {
            Some(end) if end == self.start + 1 => write!(f, "{}", self.start),
            Some(end) => write!(f, "{}-{end}", self.start),
            None => write!(f, "{}-", self.start),
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last.checked_add(1) {
            Some(end) if end == self.start + 1 => write!(f, "{:x}", self.start),
            Some(end) => write!(f, "{:x}-{end:x}", self.start),
            None => write!(f, "{:x}-", self.start),
        }
    }
}

impl FilterCondition {
    /// The word before the operator.
    pub fn field(&self) -> &'static str {
        match self {
            FilterCondition::Routine(_) => "routine",
            FilterCondition::Object(_) => "object",
            FilterCondition::Frame(_) => "frame",
            FilterCondition::Comm(_) => "comm",
            FilterCondition::Region(_) => "region",
            FilterCondition::Pid(_) => "pid",
            FilterCondition::Tid(_) => "tid",
            FilterCondition::Cpu(_) => "cpu",
            FilterCondition::Addr(_) => "addr",
            FilterCondition::Ip(_) => "ip",
            FilterCondition::Variable(_) => "variable",
            FilterCondition::Access(aspect, _) => Key::aspect_word(*aspect),
            FilterCondition::Weight(_) => "weight",
            FilterCondition::Miss(_) => "miss",
            FilterCondition::Mode(_) => "mode",
            FilterCondition::Time(_) => "time",
        }
    }
}

/// As it can be typed again.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.negated { "!=" } else { "=" };
        write!(f, "{}{operator}", self.condition.field())?;
        match &self.condition {
            FilterCondition::Routine(glob)
            | FilterCondition::Object(glob)
            | FilterCondition::Frame(glob)
            | FilterCondition::Comm(glob)
            | FilterCondition::Region(glob)
            | FilterCondition::Variable(glob)
            | FilterCondition::Access(_, glob) => write!(f, "{glob}"),
            FilterCondition::Weight(range) => range.decimal(f),
            FilterCondition::Pid(number) | FilterCondition::Tid(number) => write!(f, "{number}"),
            FilterCondition::Cpu(number) => write!(f, "{number}"),
            FilterCondition::Addr(range) | FilterCondition::Ip(range) => write!(f, "{range}"),
            FilterCondition::Miss(class) => write!(f, "{class}"),
            FilterCondition::Mode(mode) => f.write_str(parse::mode_word(*mode)),
            FilterCondition::Time(range) => write!(f, "{range}"),
        }
    }
}
