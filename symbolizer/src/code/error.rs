//! Why the bytes of an instruction cannot be had.

use crate::Reason;

/// Why the bytes of an instruction cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    #[error(transparent)]
    Place(Reason),
    #[error("{file} is for another machine (ELF e_machine {machine})")]
    Machine { file: String, machine: u16 },
    #[error("the address is outside the code of {object}")]
    Outside { object: String },
    #[error(
        "{bytes} bytes in one piece: at most {} are read, so its symbol's size is wrong, or it is \
         no routine",
        super::MOST_TEXT
    )]
    TooLong { bytes: u64 },
    #[error("code of processes that have ended, or have let go of it, in memory without a file")]
    Gone,
    #[error("cannot read {what}: {why}")]
    Unreadable { what: String, why: String },
    #[error("kernel code that is not there any more")]
    KernelGone,
}
