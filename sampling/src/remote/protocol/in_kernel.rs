//! What a client wants of the daemon's programs in the kernel, in words of
//! the protocol.

use std::time::Duration;

use record::{Pid, Tid};
use serde::{Deserialize, Serialize};

use crate::in_kernel::{Duty, InKernel, Keep, SiteTables};

/// Counted, or chosen, in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireInKernel {
    /// What is to be done.
    pub duty: WireDuty,
    /// Sites that each CPU has room for, a power of two; the daemon chooses
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sites: Option<u32>,
    /// Sites of different processes are told apart.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_process: bool,
    /// Distances between data addresses are counted, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub strides: bool,
    /// An aggregate is sent so often, seconds; each minute otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u64>,
    /// Rings serve where the kernel takes no program.
    #[serde(default = "yes")]
    pub rings: bool,
    /// Which samples matter; all without.
    #[serde(default)]
    pub keep: WireKeep,
}

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireDuty {
    /// It counts.
    Aggregate,
    /// It chooses what reaches the rings.
    Filter,
}

/// Conditions that all must hold; none: all samples are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireKeep {
    /// Of one of these processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<i32>,
    /// Of one of these threads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tids: Vec<i32>,
    /// Below the control group of this number: the inode of its directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<u64>,
    /// Of threads of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm: Option<String>,
    /// Instruction pointers: the first and the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<(u64, u64)>,
    /// Data addresses: likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<(u64, u64)>,
    /// Each so many-th of those; all without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_in: Option<u64>,
    /// Weights from this on.
    #[serde(skip_serializing_if = "is_zero")]
    pub least_weight: u64,
    /// Data sources: a mask, and what is under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_src: Option<(u64, u64)>,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// An aggregate is sent so often, where nothing is said.
const EVERY: Duration = Duration::from_secs(60);

impl WireInKernel {
    /// In these words; `every` and `rings` are beside what the kernel does.
    pub fn of(in_kernel: &InKernel, every: Duration, rings: bool) -> WireInKernel {
        let Keep { pids, tids, cgroup, comm, ip, address, one_in, least_weight, data_src, .. } =
            in_kernel.keep.clone();
        let keep = WireKeep {
            pids: pids.into_iter().map(|pid| pid.0).collect(),
            tids: tids.into_iter().map(|tid| tid.0).collect(),
            cgroup,
            comm,
            ip,
            address,
            one_in: (one_in != 1).then_some(one_in),
            least_weight,
            data_src,
        };
        let (duty, tables) = match in_kernel.duty {
            Duty::Filter => (
                WireDuty::Filter,
                SiteTables { sites: SiteTables::AS_FITS, ..SiteTables::default() },
            ),
            Duty::Aggregate(tables) => (WireDuty::Aggregate, tables),
        };
        let SiteTables { sites, by_process, strides } = tables;
        let sites = (sites != SiteTables::AS_FITS).then_some(sites);
        let every_seconds = Some(every.as_secs());
        WireInKernel { duty, sites, by_process, strides, every_seconds, rings, keep }
    }

    /// What they mean; which of it can be is for [`Keep::check`] to say, and
    /// for who makes the tables.
    pub fn meaning(&self) -> InKernel {
        let keep = self.keep.clone();
        let duty = match self.duty {
            WireDuty::Filter => Duty::Filter,
            WireDuty::Aggregate => Duty::Aggregate(SiteTables {
                sites: self.sites.unwrap_or(SiteTables::AS_FITS),
                by_process: self.by_process,
                strides: self.strides,
            }),
        };
        let keep = Keep {
            pids: keep.pids.into_iter().map(Pid).collect(),
            tids: keep.tids.into_iter().map(Tid).collect(),
            cgroup: keep.cgroup,
            comm: keep.comm,
            ip: keep.ip,
            address: keep.address,
            one_in: keep.one_in.unwrap_or(1),
            least_weight: keep.least_weight,
            data_src: keep.data_src,
            user_only: false,
        };
        InKernel { duty, keep }
    }

    /// So often an aggregate is sent: each second at most.
    pub fn every(&self) -> Duration {
        self.every_seconds.map_or(EVERY, |seconds| Duration::from_secs(seconds.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_was_put_into_them() {
        let keep = Keep {
            pids: vec![Pid(3)],
            tids: vec![Tid(4), Tid(5)],
            cgroup: Some(6),
            comm: Some("storm".into()),
            ip: Some((1, u64::MAX)),
            address: Some((0, 9)),
            one_in: 7,
            least_weight: 8,
            data_src: Some((12, 4)),
            user_only: false,
        };
        let tables = SiteTables { sites: 128, by_process: true, strides: true };
        let every = Duration::from_secs(5);
        for in_kernel in [
            InKernel::aggregate(),
            InKernel { duty: Duty::Filter, keep: keep.clone() },
            InKernel { duty: Duty::Aggregate(tables), keep },
        ] {
            let wire = WireInKernel::of(&in_kernel, every, false);
            assert_eq!((wire.meaning(), wire.every(), wire.rings), (in_kernel, every, false));
            let text = serde_json::to_string(&wire).unwrap();
            assert_eq!(serde_json::from_str::<WireInKernel>(&text).unwrap(), wire, "{text}");
        }
    }

    #[test]
    fn little_need_be_said() {
        let wire: WireInKernel = serde_json::from_str(r#"{"duty":"aggregate"}"#).unwrap();
        let tables = SiteTables { sites: SiteTables::AS_FITS, ..SiteTables::default() };
        let duty = Duty::Aggregate(tables);
        assert_eq!(wire.meaning(), InKernel { duty, ..InKernel::aggregate() });
        assert_eq!((wire.every(), wire.rings), (EVERY, true));
        assert!(serde_json::from_str::<WireInKernel>(r#"{"duty":"execute"}"#).is_err());
    }
}
