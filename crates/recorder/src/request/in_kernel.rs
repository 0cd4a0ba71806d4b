//! What is asked of the kernel: to count samples, or to choose among them.

use serde::{Deserialize, Serialize};

use super::SampleConditions;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InKernel {
    pub duty: ProgramTask,
    #[serde(default)]
    pub keep: SampleConditions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramTask {
    /// They reach the ring, the others do not.
    Filter,
    /// They are counted by site; none reaches a ring.
    Aggregate(SiteTables),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTables {
    /// Sites that one CPU has room for in an interval, a power of two from
    /// [`SiteTables::MIN_SITES`] to [`SiteTables::MAX_SITES`]. About three quarters can be
    /// used before a hit finds none of its 16 places free.
    #[serde(default = "auto_sites")]
    pub sites: u32,
    /// Whether one instruction of two processes is two sites.
    #[serde(default)]
    pub by_process: bool,
    /// Whether distances between addresses that follow each other are counted.
    #[serde(default)]
    pub strides: bool,
    /// Whether one instruction that is reached by two chains of calls is two
    /// sites; then processes are told apart, too. Plans set it, from
    /// [`Request::call_graph`](super::Request::call_graph).
    #[serde(default)]
    pub callers: bool,
}

impl SiteTables {
    /// What [`SiteTables::sites`] is where nobody says: 9 MiB a CPU, 17 with callers.
    pub const DEFAULT_SITES: u32 = 4096;
    /// As many as [`SiteTables::DEFAULT_SITES`], or fewer where there are many CPUs.
    pub const AUTO_SITES: u32 = 0;
    pub const MIN_SITES: u32 = 16;
    /// The largest: 2.3 GiB a CPU, 4.3 with callers.
    pub const MAX_SITES: u32 = 1 << 20;
}

fn auto_sites() -> u32 {
    SiteTables::AUTO_SITES
}

impl Default for SiteTables {
    fn default() -> SiteTables {
        SiteTables {
            sites: SiteTables::DEFAULT_SITES,
            by_process: false,
            strides: false,
            callers: false,
        }
    }
}

impl InKernel {
    /// Aggregates of everything, in tables of the usual size.
    pub fn aggregate() -> InKernel {
        InKernel {
            duty: ProgramTask::Aggregate(SiteTables::default()),
            keep: SampleConditions::default(),
        }
    }

    pub fn counts(&self) -> bool {
        self.tables().is_some()
    }

    /// Whether rings bring the same samples: what is kept is up to nobody in
    /// the kernel.
    pub(crate) fn may_be_rings(&self) -> bool {
        let user_only = self.keep.user_only;
        self.counts() && self.keep == SampleConditions { user_only, ..SampleConditions::default() }
    }

    pub fn tables(&self) -> Option<SiteTables> {
        match self.duty {
            ProgramTask::Aggregate(tables) => Some(tables),
            ProgramTask::Filter => None,
        }
    }
}
