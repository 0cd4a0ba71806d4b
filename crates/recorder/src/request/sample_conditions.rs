//! Which samples matter, decided where they arise.

use perfdata::{Pid, Tid};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Conditions that all must hold; by default everything is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SampleConditions {
    /// Of one of these processes, at most [`SampleConditions::MAX_IDS`]; empty: any.
    #[serde(serialize_with = "serialize_pids", deserialize_with = "deserialize_pids")]
    pub pids: Vec<Pid>,
    /// Of one of these threads, at most [`SampleConditions::MAX_IDS`]; empty: any.
    #[serde(serialize_with = "serialize_tids", deserialize_with = "deserialize_tids")]
    pub tids: Vec<Tid>,
    /// In this control group of version 2 or below it: its id, the inode
    /// number of its directory. On Linux 5.15 and later.
    pub cgroup: Option<u64>,
    /// Of threads with this name, at most 15 bytes.
    pub comm: Option<String>,
    /// Instruction pointers from the first to the last, both included.
    pub ip: Option<(u64, u64)>,
    /// Data addresses from the first to the last, both included.
    pub address: Option<(u64, u64)>,
    /// Of what is left on a CPU, each such sample: 1 keeps all.
    pub one_in: u64,
    /// Weights from this on; 0: any.
    pub least_weight: u64,
    /// Data sources whose bits under the mask (not 0) are the value.
    pub data_src: Option<(u64, u64)>,
    /// Nothing that shows the kernel: its mode, or an instruction or data
    /// address in its half. What is dropped for that is lost, not filtered.
    /// Whoever knows the user's rights says it, and no client.
    #[serde(skip)]
    pub user_only: bool,
}

impl Default for SampleConditions {
    fn default() -> SampleConditions {
        SampleConditions {
            pids: Vec::new(),
            tids: Vec::new(),
            cgroup: None,
            comm: None,
            ip: None,
            address: None,
            one_in: 1,
            least_weight: 0,
            data_src: None,
            user_only: false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleConditionsError {
    #[error("{count} {what} to keep; at most {} are possible", SampleConditions::MAX_IDS)]
    TooMany { what: &'static str, count: usize },
    #[error("{number} is no {what}: they are 1 and above")]
    NoTask { what: &'static str, number: i32 },
    #[error("{0:?} is no thread's name: those have 1 to 15 bytes, none of them NUL")]
    Comm(String),
    #[error("{what} from {first:#x} to {last:#x}: the first is beyond the last")]
    Backwards { what: &'static str, first: u64, last: u64 },
    #[error("one sample in 0 is none; 1 keeps all")]
    OneInZero,
    #[error("0 is no control group's id")]
    CgroupZero,
    #[error(
        "data source {value:#x} under the mask {mask:#x}: no data source has bits outside of \
         its mask, and a mask of 0 keeps all"
    )]
    DataSrc { mask: u64, value: u64 },
}

impl SampleConditions {
    pub const MAX_IDS: usize = 8;
    /// Bytes of a thread's name, at most.
    pub const MAX_COMM: usize = 15;

    /// Whether it can be.
    ///
    /// # Errors
    /// The first condition that cannot.
    pub fn check(&self) -> Result<(), SampleConditionsError> {
        check_ids("process id", "process ids", self.pids.iter().map(|pid| pid.0))?;
        check_ids("thread id", "thread ids", self.tids.iter().map(|tid| tid.0))?;
        if self.cgroup == Some(0) {
            return Err(SampleConditionsError::CgroupZero);
        }
        if let Some(comm) = &self.comm {
            let fits =
                (1..=SampleConditions::MAX_COMM).contains(&comm.len()) && !comm.contains('\0');
            if !fits {
                return Err(SampleConditionsError::Comm(comm.clone()));
            }
        }
        for (what, range) in [("instruction pointers", self.ip), ("addresses", self.address)] {
            if let Some((first, last)) = range.filter(|(first, last)| first > last) {
                return Err(SampleConditionsError::Backwards { what, first, last });
            }
        }
        if self.one_in == 0 {
            return Err(SampleConditionsError::OneInZero);
        }
        match self.data_src {
            Some((mask, value)) if mask == 0 || value & !mask != 0 => {
                Err(SampleConditionsError::DataSrc { mask, value })
            }
            _ => Ok(()),
        }
    }
}

fn serialize_pids<S: Serializer>(pids: &[Pid], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(pids.iter().map(|pid| pid.0))
}

fn deserialize_pids<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Pid>, D::Error> {
    Vec::deserialize(from).map(|ids| ids.into_iter().map(Pid).collect())
}

fn serialize_tids<S: Serializer>(tids: &[Tid], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(tids.iter().map(|tid| tid.0))
}

fn deserialize_tids<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Tid>, D::Error> {
    Vec::deserialize(from).map(|ids| ids.into_iter().map(Tid).collect())
}

fn check_ids(
    one: &'static str,
    many: &'static str,
    ids: impl ExactSizeIterator<Item = i32>,
) -> Result<(), SampleConditionsError> {
    let count = ids.len();
    if count > SampleConditions::MAX_IDS {
        return Err(SampleConditionsError::TooMany { what: many, count });
    }
    match ids.into_iter().find(|&id| id < 1) {
        Some(number) => Err(SampleConditionsError::NoTask { what: one, number }),
        None => Ok(()),
    }
}
