//! Why the bytes of an instruction cannot be had.

use crate::Reason;

/// Why the bytes of an instruction cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// For the same reason that it would have no name.
    #[error(transparent)]
    Place(Reason),
    /// The file holds no x86 code.
    #[error("{file} is for another machine (ELF e_machine {machine})")]
    Machine { file: String, machine: u16 },
    /// The address lies in no part of the file that is mapped.
    #[error("the address is outside the code of {object}")]
    Outside { object: String },
    /// More than a routine has.
    #[error(
        "{bytes} bytes in one piece: at most {} are read, so its symbol's size is wrong, or it is \
         no routine",
        super::MOST_TEXT
    )]
    TooLong { bytes: u64 },
    /// The process has ended, or runs something else by now.
    #[error("code of processes that have ended, or have let go of it, in memory without a file")]
    Gone,
    /// The system refuses.
    #[error("cannot read {what}: {why}")]
    Unreadable { what: String, why: String },
    /// The kernel has nothing at that address any more.
    #[error("kernel code that is not there any more")]
    KernelGone,
}
