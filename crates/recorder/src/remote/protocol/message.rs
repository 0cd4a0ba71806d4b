//! Control messages: what a client asks, what the daemon answers.

use serde::{Deserialize, Serialize};

use crate::machine::incarnation::Incarnation;
use crate::session::ledger::Account;
use crate::{Job, PlannedEvent};

/// Why the stream of a standing session ends of which nothing is missing.
pub const WHOLE: &str = "that is all";

/// A request. Fields that a daemon does not know are of newer clients, and
/// ignored; a verb that it does not know is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Verb {
    /// The first word on every connection.
    Hello {
        /// The oldest version that the client speaks.
        oldest: u16,
        newest: u16,
        /// Program and version, for the log.
        client: String,
    },
    /// Which types can this machine sample?
    Types,
    /// What would be opened for this job?
    Plan {
        job: Box<Job>,
        /// Whose events.
        target: NamedTarget,
    },
    /// Open a session, and send its stream on this connection.
    Start {
        job: Box<Job>,
        /// Whose events.
        target: NamedTarget,
        /// What happens when this client is slow.
        #[serde(default)]
        when_slow: WhenSlow,
    },
    /// Send the stream of a session that runs already.
    Attach {
        /// Its number, of one's own sessions.
        session: u64,
        /// What happens when this client is slow.
        #[serde(default)]
        when_slow: WhenSlow,
    },
    /// How is a session doing?
    Stats {
        /// Its number.
        session: u64,
    },
    /// Sample more or less often from now on.
    SetInterval {
        /// Its number.
        session: u64,
        /// A sample every so many events.
        interval: u64,
    },
    /// End a session; its stream ends with the account.
    Stop {
        /// Its number.
        session: u64,
    },
    /// Which sessions are mine?
    Sessions,
    /// Which standing sessions may I read?
    Standing,
    /// Send what a standing session recorded, then what it records.
    Follow {
        /// Its name in the configuration.
        name: String,
        /// From so many seconds ago on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since_seconds: Option<u64>,
        /// Whether to go on with live records.
        #[serde(default)]
        live: bool,
    },
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// To hello.
    Welcome {
        /// The version that is spoken from here on.
        version: u16,
        /// Program and version.
        daemon: String,
        /// The user that the daemon takes the client for.
        uid: u32,
        /// What policy grants that user beyond what the kernel does.
        permissions: Vec<String>,
    },
    Types {
        /// Every type.
        types: Vec<TypeLine>,
    },
    /// To plan.
    Planned {
        /// Notes for the user.
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
        /// One line for each.
        sessions: Vec<SessionLine>,
    },
    Standing {
        /// One line for each.
        sessions: Vec<StandingLine>,
    },
    /// After the last data frame.
    End {
        /// Why the stream ends.
        reason: String,
        /// What was told in the stream on the way: `key=value` pairs joined
        /// with `;`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        /// What the session counted.
        session: Account,
        /// What of it this client was sent.
        client: Account,
    },
    /// The request was refused.
    Refused(Complaint),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeLine {
    pub name: String,
    /// What it counts.
    pub meaning: String,
    /// Why it cannot be had; None: it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// A session that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its number, for other requests.
    pub session: u64,
    /// Random, of this stream alone.
    pub stream: String,
    /// The event's name as shown to users.
    pub name: String,
    /// For the user.
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

/// A stream that was joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// Random, of this stream alone.
    pub stream: String,
    /// The event's name as shown to users.
    pub name: String,
    /// For the user.
    pub notes: Vec<String>,
}

/// How a session is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Since it began.
    pub seconds: f64,
    /// What the session counted so far.
    pub session: Account,
    /// Clients that are sent its stream.
    pub clients: u32,
    /// Bytes that wait in their queues.
    pub queued: u64,
    /// Events a sample, now.
    pub interval: u64,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLine {
    /// Its number.
    pub session: u64,
    /// The event's name.
    pub name: String,
    /// The process, for sessions of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// Since it began.
    pub seconds: u64,
    /// Clients that are sent its stream.
    pub clients: u32,
}

/// A standing session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingLine {
    /// Its name in the configuration.
    pub name: String,
    /// The event's name.
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

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// For programs.
    pub code: ComplaintCode,
    /// For the user: what is wrong and what to do.
    pub text: String,
}

/// Kinds of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComplaintCode {
    /// No message, or one in the wrong place.
    BadRequest,
    /// No version in common.
    Incompatible,
    /// A verb of another version.
    UnknownVerb,
    /// The kernel, and policy, do not let this user.
    Denied,
    /// The target is not there, or not to be seen.
    NoTarget,
    /// The request cannot be served on this machine.
    Unplannable,
    /// No such session of this user.
    NoSession,
    /// A budget or a limit is used up.
    Exhausted,
    /// The daemon is ending, a guard holds it back, or the kernel did not
    /// answer it in time.
    Busy,
    /// Something failed that should not.
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
    Held(Incarnation),
    /// A process, its number likewise.
    Process(Incarnation),
    /// Every task on every CPU.
    System,
    /// A control group; for standing sessions alone.
    Cgroup {
        /// Its number.
        id: u64,
        /// Bytes of its path below the hierarchy's root, which come behind
        /// the message.
        path_bytes: u64,
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
    /// The client is disconnected.
    Disconnect,
}
