//! What runs in the target: without std, and compiled twice, for the library
//! (its tests run it in process) and for the image.

pub mod adapted_mean;
mod arrival;
pub mod branches;
pub mod burst_phase;
mod count;
mod element_iter;
pub mod event_counters;
pub mod header;
pub mod heap;
mod heap_call;
pub mod kernel;
pub mod moved_object;
pub mod period;
pub mod record;
pub mod region;
pub mod ring;
pub mod run_token;
mod slow_path;
pub mod stack;
#[allow(unsafe_code, reason = "memory that translated code and other threads work on too")]
pub mod sys;
mod syscall_kind;
pub mod thread;
pub mod time_slice;
mod turn;

/// What `access` and `record` return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum RuntimeAction {
    Resume = 0,
    /// From `access`: a record is due; call `record`.
    Record = 1,
    /// Stop with a breakpoint; EXIT says why. To go on, call `record` again:
    /// it writes the record that found no room, or has nothing more to do.
    Stop = 2,
}
