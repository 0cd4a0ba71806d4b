//! How a worker comes by events that its user may not open but policy
//! grants: it asks the supervisor, which opens them.
//!
//! A request is one message of bounded size. The supervisor makes the plan of a
//! grant itself, of a number in its own table, and opens no attr that asks
//! for more; a worker that somebody has taken over gets what its user was
//! granted, and nothing else.

mod client;
mod grant;
mod kernel;
mod program;
mod reply;
mod request;
mod reservation;

pub(crate) use client::{Broker, BrokerError};
pub(crate) use grant::{Grants, PtraceCheck};
pub(crate) use program::WireProgram;
pub(crate) use reply::{BrokerAnswer, BrokerRefusal, BrokerReply};
pub(crate) use request::{ATTR_WORDS, BrokerRequest, EventOpening, GroupRole, TaskOnCpu, WireJob};
pub(crate) use reservation::{GrantLease, Reservation};
