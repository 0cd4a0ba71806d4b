//! PERF_RECORD_SAMPLE: its fields, and the layout computed once per attr.

mod branch;
mod layout;
mod read;
mod weight;

pub use branch::{Branch, BranchFlags, BranchStack};
pub use layout::{EncodeError, LayoutError, SampleError, SampleLayout};
pub use read::{ReadValue, ReadValues};
pub use weight::{Weight, WeightClass, WeightPart};

use crate::bytes::RecordWords;
use crate::data_src::DataSrc;
use crate::header::Misc;
use crate::registers::Registers;
use crate::units::{Cpu, Task, Time};

/// One sample; a field is `Some` exactly when its bit is in the attr's
/// `sample_type`. Order of fields = order of bytes, as perf_output_sample()
/// (kernel/events/core.c) writes them (trap 31).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample<'a> {
    /// Privilege level and [`Misc::EXACT_IP`].
    pub misc: Misc,
    /// Event id, first so that it can be found without the layout.
    pub identifier: Option<u64>,
    /// Instruction pointer, address in the sampled task.
    pub ip: Option<u64>,
    /// Process and thread.
    pub task: Option<Task>,
    pub time: Option<Time>,
    /// Data address (PEBS, IBS), fault address (page faults), breakpoint
    /// address; 0 when the event has none.
    pub addr: Option<u64>,
    /// Event id of the group leader's child that fired.
    pub id: Option<u64>,
    /// Event id of this very event, children told apart.
    pub stream_id: Option<u64>,
    pub cpu: Option<Cpu>,
    /// Events this sample stands for.
    pub period: Option<u64>,
    pub read: Option<ReadValues>,
    /// Return addresses, innermost first, and whose they are
    /// ([`crate::callchain`]).
    pub callchain: Option<RecordWords<'a>>,
    /// Payload of a tracepoint, or IBS registers (trap 40).
    pub raw: Option<&'a [u8]>,
    pub branch_stack: Option<BranchStack<'a>>,
    /// User registers at the last entry to the kernel.
    pub regs_user: Option<Registers<'a>>,
    /// Copy of the user stack.
    pub stack_user: Option<StackUser<'a>>,
    /// Cost; what it counts depends on the event (trap 17).
    pub weight: Option<Weight>,
    /// Memory level, operation, snoop, TLB.
    pub data_src: Option<DataSrc>,
    /// TSX abort flags.
    pub transaction: Option<u64>,
    /// Registers at the interrupt, or at retirement when precise on Intel
    /// (trap 15).
    pub regs_intr: Option<Registers<'a>>,
    /// Physical address of `addr`; 0 when unknown.
    pub phys_addr: Option<u64>,
    /// Cgroup id (inode number).
    pub cgroup: Option<u64>,
    /// Bytes of the page holding `addr`.
    pub data_page_size: Option<u64>,
    /// Bytes of the page holding `ip`.
    pub code_page_size: Option<u64>,
    /// Snapshot of the AUX area.
    pub aux: Option<&'a [u8]>,
}

/// A copy of the user stack: `data` from the stack pointer up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackUser<'a> {
    /// As many bytes as the attr asked for.
    pub data: &'a [u8],
    /// How many of them are real; absent when `data` is empty.
    pub dyn_size: Option<u64>,
}
