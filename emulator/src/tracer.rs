//! The thread that traces the target by ptrace(2).

mod attach;
mod birth;
mod bookkeeping;
mod buffers;
mod call;
mod code;
mod emulation;
mod engine;
mod enter;
mod features;
mod filter;
mod fixed;
mod halt;
mod injection;
mod leave;
mod lend;
mod limits;
mod maps;
mod page_sizes;
mod place;
mod progress;
mod region;
pub(crate) mod registers;
mod rights;
mod settle;
mod side;
mod signal;
mod smaps;
mod space;
mod status;
mod step;
mod tracing;
mod trap;
mod trouble;
mod turns;

pub use emulation::Emulation;
