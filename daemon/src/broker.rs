//! How a worker comes by events that its user may not open but policy
//! grants: it asks the supervisor, which opens them.
//!
//! A request is a fixed number of bytes. The supervisor makes the plan of a
//! grant itself, of a number in its own table, and opens no attr that asks
//! for more; a worker that somebody has taken over gets what its user was
//! granted, and nothing else.

mod answer;
mod ask;
mod client;
mod grant;
mod kernel;
mod program;
mod reservation;

pub(crate) use answer::{ANSWER_BYTES, BrokerAnswer};
pub(crate) use ask::{ASK_BYTES, ATTR_WORDS, Ask, JobNumbers, Rank, TaskOnCpu};
pub(crate) use client::{Broker, NotGranted, REASON_BYTES};
pub(crate) use grant::{Grants, Stranger};
pub(crate) use kernel::Brokered;
pub(crate) use program::ProgramNumbers;
pub(crate) use reservation::{GrantLease, Reservation, Unreserved};
