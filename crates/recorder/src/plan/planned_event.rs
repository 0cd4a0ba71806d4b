//! One sampled event of a plan.

use perfdata::{Attr, Cpu, SampleFilter};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Promises;
use crate::sys::event::NATIVE_ORDER;

/// What is opened on each of its CPUs, and what its samples mean. A daemon's
/// clients are told all but where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedEvent {
    pub name: String,
    /// The PMU that counts it, as in /sys/bus/event_source/devices:
    /// `software`, `cpu`, `cpu_core`, `ibs_op`.
    pub pmu: String,
    /// What to ask the kernel for. `size` is the size to encode with.
    #[serde(serialize_with = "serialize_attr", deserialize_with = "deserialize_attr")]
    pub attr: Attr,
    /// CPUs it is opened on; None: all of the plan's.
    #[serde(skip)]
    pub cpus: Option<Vec<Cpu>>,
    /// The event that leads its group, by index; that one stands before it
    /// and leads itself. None: it leads itself.
    pub leader: Option<usize>,
    /// It helps its group and samples nothing (mem-loads-aux, trap 9): it is
    /// opened with a sample period of 0, and is in no account.
    pub carrier: bool,
    /// precise_ip may be lowered to this when the kernel refuses more
    /// (trap 3), and no further.
    pub least_precise: u8,
    pub promises: Promises,
    #[serde(serialize_with = "serialize_filter", deserialize_with = "deserialize_filter")]
    pub filter: SampleFilter,
}

/// Its bytes, as this machine's kernel has them.
fn serialize_attr<S: Serializer>(attr: &Attr, to: S) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    attr.encode(attr.size, NATIVE_ORDER, &mut bytes).map_err(serde::ser::Error::custom)?;
    bytes.serialize(to)
}

fn deserialize_attr<'de, D: Deserializer<'de>>(from: D) -> Result<Attr, D::Error> {
    let bytes = Vec::deserialize(from)?;
    Attr::decode(&bytes, NATIVE_ORDER).map_err(D::Error::custom)
}

fn serialize_filter<S: Serializer>(filter: &SampleFilter, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(filter)
}

fn deserialize_filter<'de, D: Deserializer<'de>>(from: D) -> Result<SampleFilter, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

impl PlannedEvent {
    pub fn is_on(&self, cpu: Cpu) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu))
    }
}
