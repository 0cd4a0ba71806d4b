//! The emulated PMU as a source of samples: what it counts for each type,
//! its plan, and a session on it.
//!
//! The ring that the emulation fills is laid out as the kernel's; from there
//! on samples go the way of all others.

mod plan;
mod program;
mod session;

pub use crate::catalogue::emulated::{NotEmulated, has_address, kind, meaning};
pub use plan::{EmulatedPlan, Model, ModelledEvent, outline, plan};
pub use session::{EmulatedSession, NO_PAUSE, ProgramRules};
