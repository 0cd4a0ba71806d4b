//! What one standing session is asked to do.

use std::path::PathBuf;
use std::time::Duration;

use recorder::request::CallGraph;
use recorder::{Modes, SiteTables};

use crate::store::RetentionLimits;

#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetDescription {
    /// The process whose number is in this file.
    PidFile(PathBuf),
    /// The processes of a systemd unit.
    Unit(String),
    /// Those of a control group, by its path below the hierarchy's root.
    Cgroup(PathBuf),
    /// The process of this name; the oldest of several.
    Comm(String),
    System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelCounting {
    /// One aggregate is recorded so often.
    pub every: Duration,
    /// What each CPU has room for in that time.
    pub tables: SiteTables,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingSpec {
    /// Letters, digits, `-` and `_`; 48 bytes at most.
    pub name: String,
    /// A type of the catalogue.
    pub event: String,
    pub modes: Modes,
    /// A sample every so many events; the type's default without.
    pub interval: Option<u64>,
    pub allow_skid: bool,
    /// How callers are recorded; None: they are not.
    pub call_graph: Option<CallGraph>,
    /// Counted in the kernel where it can do that; None: sampled.
    pub counted: Option<KernelCounting>,
    pub target: TargetDescription,
    pub kept: RetentionLimits,
}
