//! The sample_id trailer's values. Bytes: [`crate::SampleLayout::trailer`].

use crate::units::{Cpu, Task, Time};

/// The trailer of side records under `sample_id_all`; fields as the attr's
/// sample_type says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleId {
    /// Thread that the record is about, or was made by.
    pub task: Option<Task>,
    /// When.
    pub time: Option<Time>,
    /// Event id.
    pub id: Option<u64>,
    /// Event id, children told apart.
    pub stream_id: Option<u64>,
    /// CPU.
    pub cpu: Option<Cpu>,
    /// Event id, last.
    pub identifier: Option<u64>,
}
