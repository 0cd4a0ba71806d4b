//! What this machine can sample, and the sampling itself: facts, catalogue,
//! plan, rings, sessions and their loss ledger.
//!
//! [`Facts::read_for`] looks, [`plan()`] decides (pure), a session acts.

pub mod catalogue;
pub mod event_spec;
pub mod facts;
pub mod open_error;
pub mod plan;
pub mod promises;
pub mod refusal;
pub mod request;

pub use event_spec::EventSpec;
pub use facts::Facts;
pub use open_error::{Call, OpenFailure, explain};
pub use plan::{Fallback, Plan, RingPages, plan};
pub use promises::Promises;
pub use refusal::Refusal;
pub use request::{Modes, Request, Target};
