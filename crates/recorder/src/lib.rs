//! What this machine can sample, and the sampling itself: from a request to
//! records.
//!
//! A [`Request`] says what was asked for, [`Facts`] what the machine is; a
//! [`Plan`] is made of both, purely; a [`Session`] opens it and hands records
//! on, as a perf.data stream, with the account of all that were lost.
//!
//! ```no_run
//! use std::path::Path;
//! use std::time::Duration;
//!
//! use perfdata::stream::{StreamDecoder, StreamStep};
//! use recorder::{Facts, Modes, Request, Session, SessionSettings, Target, TargetState};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let request = Request::new("page_fault", Modes::USER, Target::Command);
//! let facts = Facts::read_for(Path::new("/"), &request)?;
//! let plan = recorder::plan(&request, &facts)?;
//! let settings = SessionSettings { command: vec!["ls".into()], ..SessionSettings::default() };
//! let mut session = Session::open(plan, settings)?;
//! let mut stream = Vec::new();
//! session.preamble(&facts, &["print-records".into()], &mut stream)?;
//! session.start(&mut stream)?;
//! while session.wait(Duration::from_millis(100), &[])?.target != TargetState::Gone {
//!     session.drain(&mut stream)?;
//! }
//! let ledger = session.finish(&mut stream)?;
//!
//! let (mut decoder, mut rest) = (StreamDecoder::new(), stream.as_slice());
//! while let StreamStep::Record { consumed, record } = decoder.step(rest)? {
//!     println!("{record:x?}");
//!     rest = &rest[consumed..];
//! }
//! println!("{} delivered, {} lost", ledger.delivered, ledger.lost.total());
//! # Ok(())
//! # }
//! ```
//!
//! It is not for reading recordings (`perfdata`), for names of addresses
//! (`symbolizer`) or for tables (`analysis`); and it gives nobody rights:
//! what the kernel refuses is refused, unless a daemon opens it
//! ([`remote`]).
//!
//! | room | what is in it |
//! |---|---|
//! | [`request`] | what was asked for: event, target, span; no look at the machine |
//! | [`machine`] | the machine as it is found: CPU, PMUs, rights, control groups |
//! | [`catalogue`] | the closed table of types, and what each promises |
//! | [`metrics`] | what is derived from counts: formulas, and how sure a value is |
//! | [`mod@plan`] | request and machine become attrs, or a refusal |
//! | [`source`] | who is to count: this machine's PMU, or the emulated one |
//! | [`session`] | from the first descriptor to the last record, and the ledger |
//! | [`in_kernel`] | programs that count where the sample is taken |
//! | [`counting`] | events that are counted, not sampled: groups, shares of time, estimates |
//! | [`emulated`] | sessions of the emulated PMU |
//! | [`remote`] | sessions that a daemon runs, and what is said to it |
//! | [`regions`] | parts of a run that programs mark themselves |
//! | [`heap`] | blocks that programs tell of, natively |
//! | `ring` | draining a ring buffer, whoever fills it |
//! | `spelling` | names that are like a mistyped one |
//! | [`sys`] | system calls and mapped memory: the only unsafe code |

pub mod catalogue;
pub mod counting;
pub mod emulated {
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
}
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod heap;
pub mod in_kernel;
pub mod machine;
pub mod metrics;
pub mod plan;
pub mod regions;
pub mod remote {
    //! Sampling that somebody else does: the daemon's protocol, its client's
    //! side, and a session there.

    pub mod client;
    pub mod protocol {
        //! What `ebsd` and its clients say to each other over a Unix socket: frames,
        //! and the control messages in them. Bytes in, values out; no I/O.
        //!
        //! docs/protocol.md is the specification; the examples there are checked
        //! against this code.

        mod frame;
        mod message;
        mod request;

        pub use frame::{
            FRAME_HEADER, FrameError, FrameKind, MAX_CLIENT_PAYLOAD, MAX_DAEMON_PAYLOAD, OLDEST,
            Parsed, ProtocolFrame, VERSION, common, frame, parse,
        };
        pub use message::{
            ErrorCode, ErrorReply, Joined, NamedTarget, Reply, SessionLine, StandingLine, Started,
            Stats, TypeLine, Verb, WHOLE, WhenSlow,
        };
        pub use request::{ClientRequest, request};

        pub use crate::session::ledger::{Account, EventTimes, RateLowered};

        #[cfg(test)]
        mod tests;
    }
    mod session;

    pub use session::RemoteSession;
}
pub mod request;
mod ring;
mod sampling;
pub mod session;
pub mod source;
mod spelling;
#[allow(unsafe_code, reason = "system calls and mapped memory; each block says why it holds")]
pub mod sys {
    //! System calls and memory that Rust cannot check. The only unsafe code of
    //! the library; everything it lends out is safe to use.

    pub(crate) mod bpf;
    pub mod child;
    pub mod event;
    pub mod inherited;
    pub mod mapping;
    pub mod procmap;
    pub(crate) mod spawn;
}

pub use catalogue::promises::Promises;
pub use heap::HeapSettings;
pub use in_kernel::LoadError;
pub use machine::{cgroup::Cgroup, facts::Facts};
pub use plan::refusal::Refusal;
pub use plan::{Fallback, Plan, PlannedEvent, RingPages, plan};
pub use request::event_spec::EventSpec;
pub use request::human_duration::{HumanDuration, HumanDurationError};
pub use request::{
    InKernel, Job, Modes, ProgramTask, Request, SampleConditions, SiteTables, Target,
};
pub use sampling::Sampling;
pub use session::command::{Command, CommandError, CommandStatus};
pub use session::ledger::{EventAccount, Filtered, Ledger, Lost};
pub use session::open_error::{FailedCall, OpenFailure, explain};
pub use session::synthesize::ProcVisibility;
pub use session::watched_place::misplaced;
pub use session::{
    AttachError, DrainPass, OpenError, Session, SessionError, SessionSettings, SessionWake, Sink,
    TargetState,
};
pub use source::{SourceChoice, SourcePlan};
pub use spelling::{did_you_mean, nearest};
