//! What this machine can sample, and the sampling itself: facts, catalogue,
//! plan, rings, sessions and their loss ledger.
//!
//! [`Facts::read_for`] looks, [`plan()`] decides (pure), a session acts.

pub mod apart;
pub mod arguments;
pub mod attach;
mod broker;
mod build_id;
pub mod catalogue;
mod cgroup;
pub mod client;
pub mod command;
mod control;
mod credentials;
pub mod emulated;
pub mod event_spec;
pub mod facts;
#[cfg(fuzzing)]
pub mod fuzzing;
mod guard;
pub mod in_kernel;
mod incarnation;
pub mod ledger;
mod line;
pub mod log;
pub mod open_error;
mod open_files;
mod passing;
pub mod permission;
pub mod plan;
pub mod pmu_format;
mod program_headers;
pub mod promises;
pub mod protocol;
pub mod refusal;
pub mod request;
mod ring;
mod sampling;
pub mod session;
pub mod source;
mod span;
pub mod standing;
pub mod store;
pub mod supervisor;
mod synthesize;
#[allow(unsafe_code, reason = "system calls and mapped memory; each block says why it holds")]
mod sys;
mod watched_place;
mod worker;

pub use attach::AttachError;
pub use cgroup::Cgroup;
pub use command::{Command, CommandError, CommandStatus};
pub use event_spec::EventSpec;
pub use facts::Facts;
pub use in_kernel::{Duty, InKernel, Keep, Tables, Unloadable};
pub use ledger::{EventAccount, Filtered, Ledger, Lost};
pub use open_error::{Call, OpenFailure, explain};
pub use plan::{Fallback, Plan, PlannedEvent, RingPages, plan};
pub use promises::Promises;
pub use refusal::Refusal;
pub use request::{Modes, Request, Target};
pub use sampling::Sampling;
pub use session::{OpenError, Pass, Session, SessionError, Settings, Sink, TargetState, Woken};
pub use source::{Chosen, SourceChoice};
pub use span::{Span, SpanError};
pub use synthesize::Sight;
pub use watched_place::misplaced;
