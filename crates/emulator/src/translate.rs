//! Turns the program's instructions into instructions that do the same and
//! tell the model about every access to memory.
//!
//! In translated code all registers are the program's own, but for scratch
//! registers whose values wait in the block's REGISTERS; flags are always the
//! program's; its stack never holds addresses of the code cache. Nothing here
//! makes a system call: code is written to memory that the caller maps.

mod access;
mod assembler;
mod check;
mod emitter;
mod flow;
mod location;
mod mark;
mod register;
mod settings;
mod special;
pub(crate) mod stop;
mod stubs;
mod trace;

pub(crate) use assembler::{Assembler, reach};
pub(crate) use emitter::{BlockHead, DirectBranch, Emitter};
pub(crate) use flow::{ENTRY_MATCHED, write_entry};
pub use location::{CodeVariant, InstructionPhase, Location};
pub(crate) use mark::{BlockMark, ColdMark, MarkPhase, StateMark};
pub use settings::{
    CodeSource, Countdown, CpuFeatures, EventCountdown, Instrumentation, RuntimeAddresses,
    Translation,
};
pub(crate) use special::MARK_BYTES;
pub use stop::CodeStop;
pub(crate) use stubs::{Stubs, write as write_stubs};
#[cfg(test)]
mod tests;

pub(crate) use trace::{TraceContext, TraceRequest, TraceWriter};
