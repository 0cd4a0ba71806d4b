//! Control messages: what a client asks, what the daemon answers.

use serde::{Deserialize, Serialize};

use crate::machine::process_identity::ProcessIdentity;
use crate::session::ledger::Account;
use crate::{Job, PlannedEvent};

/// Why the stream of a standing session ends of which nothing is missing.
pub const WHOLE: &str = "that is all";

/// A request. Fields that a daemon does not know are of newer clients, and
/// ignored; a verb that it does not know is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Verb {
    Hello {
        oldest: u16,
        newest: u16,
        /// Program and version, for the log.
        client: String,
    },
    Types,
    Plan {
        job: Box<Job>,
        target: NamedTarget,
    },
    Start {
        job: Box<Job>,
        target: NamedTarget,
        #[serde(default)]
        when_slow: WhenSlow,
    },
    Attach {
        /// Its number, of one's own sessions.
        session: u64,
        #[serde(default)]
        when_slow: WhenSlow,
    },
    Stats {
        session: u64,
    },
    SetInterval {
        session: u64,
        /// A sample every so many events.
        interval: u64,
    },
    /// End a session; its stream ends with the account.
    Stop {
        session: u64,
    },
    Sessions,
    Standing,
    /// Send what a standing session recorded, then what it records.
    Follow {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since_seconds: Option<u64>,
        #[serde(default)]
        live: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    Welcome {
        /// The version that is spoken from here on.
        version: u16,
        /// Program and version.
        daemon: String,
        uid: u32,
        permissions: Vec<String>,
    },
    Types {
        types: Vec<TypeLine>,
    },
    Planned {
        notes: Vec<String>,
        /// Names of the events that would be opened.
        events: Vec<String>,
        /// Bytes that rings and queues would take of the budget.
        bytes: u64,
    },
    /// To start: data frames follow.
    Started(Started),
    /// To attach, and to follow: data frames follow.
    Joined(Joined),
    Stats(Stats),
    /// To `set_interval` and stop.
    Done,
    Sessions {
        sessions: Vec<SessionLine>,
    },
    Standing {
        sessions: Vec<StandingLine>,
    },
    /// After the last data frame.
    End {
        reason: String,
        /// What was told in the stream on the way: `key=value` pairs joined
        /// with `;`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        session: Account,
        /// What of it this client was sent.
        client: Account,
    },
    Refused(ErrorReply),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeLine {
    pub name: String,
    pub meaning: String,
    /// Why it cannot be had; None: it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its number, for other requests.
    pub session: u64,
    /// Random, of this stream alone.
    pub stream: String,
    pub name: String,
    pub notes: Vec<String>,
    /// Why the daemon's rights were needed; None: the user's own did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<String>,
    /// What a program in the kernel does, in words, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_kernel: Option<String>,
    /// The plan's events.
    pub planned: Vec<PlannedEvent>,
    /// The same as the kernel took them.
    pub opened: Vec<PlannedEvent>,
    /// What had to be given up for the kernel to open the events, by the keys
    /// that notes of streams have for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// Random, of this stream alone.
    pub stream: String,
    pub name: String,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Since it began.
    pub seconds: f64,
    pub session: Account,
    pub clients: u32,
    /// Bytes that wait in their queues.
    pub queued: u64,
    /// Events a sample, now.
    pub interval: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLine {
    pub session: u64,
    pub name: String,
    /// The process, for sessions of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// Since it began.
    pub seconds: u64,
    pub clients: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingLine {
    pub name: String,
    pub event: String,
    /// What it does now: running, waiting for its target, stopped and why.
    pub state: String,
    /// Bytes that its records take on disk.
    pub bytes: u64,
    /// Samples that went to disk since its worker was started.
    #[serde(default)]
    pub written: u64,
    /// Samples that did not, by stage.
    #[serde(default)]
    pub lost: std::collections::BTreeMap<String, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReply {
    pub code: ErrorCode,
    /// For the user: what is wrong and what to do.
    pub text: String,
}

impl ErrorReply {
    pub fn new(code: ErrorCode, text: impl ToString) -> ErrorReply {
        ErrorReply { code, text: text.to_string() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    BadRequest,
    Incompatible,
    UnknownVerb,
    /// The kernel, and policy, do not let this user.
    Denied,
    /// The target is not there, or not to be seen.
    NoTarget,
    Unplannable,
    /// No such session of this user.
    NoSession,
    Exhausted,
    /// The daemon is ending, a guard holds it back, or the kernel did not
    /// answer it in time.
    Busy,
    Failed,
    /// A code of a newer daemon.
    #[serde(other)]
    Other,
}

/// Whose events. A process is named by numbers that no other ever has: whoever
/// is asked opens what they name by itself. Between the supervisor and its
/// workers it goes as a few bytes, between clients and workers as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamedTarget {
    /// A child of the client that waits before its exec, its number in the
    /// client's pid namespace.
    Held(ProcessIdentity),
    /// A process, its number likewise.
    Process(ProcessIdentity),
    System,
    /// A control group; for standing sessions alone.
    Cgroup {
        id: u64,
    },
}

/// What is done about a client that takes its records too slowly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenSlow {
    /// The newest samples are dropped, counted, and the gap is in the
    /// stream.
    #[default]
    DropNewest,
    Disconnect,
}
