//! What runs in the target: without std, and compiled twice, for the library
//! (its tests run it in process) and for the image.

mod arrival;
pub mod baton;
pub mod book;
pub mod branches;
mod call;
mod count;
pub mod header;
pub mod heap;
pub mod legs;
pub mod moved_object;
pub mod period;
pub mod record;
pub mod region;
pub mod ring;
mod slow_path;
pub mod stack;
pub mod stretch;
#[allow(unsafe_code, reason = "memory that translated code and other threads work on too")]
pub mod sys;
pub mod thread;
mod turn;
mod walk;

/// What `access` and `record` return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum NextMove {
    Resume = 0,
    /// From `access`: a record is due; call `record`.
    Record = 1,
    /// Stop with a breakpoint; EXIT says why. To go on, call `record` again:
    /// it writes the record that found no room, or has nothing more to do.
    Stop = 2,
}
