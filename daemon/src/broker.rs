//! How a worker comes by events that its user may not open but policy
//! grants: it asks the supervisor, which opens them.
//!
//! A request is a fixed number of words. The supervisor makes the plan of a
//! grant itself, of a number in its own table, and opens no attr that asks
//! for more; a worker that somebody has taken over gets what its user was
//! granted, and nothing else.

mod ask;
mod client;
mod grant;
mod reservation;

pub(crate) use ask::{ANSWER_BYTES, ASK_BYTES, Answer, Ask, JobWords, KernelFile, Wanted};
pub(crate) use client::{Broker, Brokered, NotGranted};
pub(crate) use grant::{Grants, Kernel, Stranger, is_alive, pid_of};
pub(crate) use reservation::{Granted, Reservation, Unreserved};
