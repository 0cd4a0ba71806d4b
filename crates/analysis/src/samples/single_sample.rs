//! Samples in words, one by one, for who writes them down.

use crate::collect::event::PeriodUnit;
use crate::name::place_names::PlaceNames;
use crate::query::Weighting;
use crate::samples::sampled_stacks::{FrameId, NameNumber, NamedFrame, SampledStacks, StackId};
use perfdata::{Cpu, CpuMode, DataSrc, MissClass, Task, Time};
use std::fmt;
use std::io;

/// Takes the counted samples of a recording, one after the other.
///
/// What is taken is what a report of the same [`Query`](crate::Query) counts:
/// of each event the sum of [`SingleSample::samples`] is its
/// [`Totals::counted`](crate::report::Totals), that of [`SingleSample::period`]
/// its `period`.
pub trait SampleSink: fmt::Debug + Send {
    /// Takes a sample; its names are those of `names`.
    ///
    /// # Errors
    /// It cannot be written.
    fn take(&mut self, sample: &SingleSample, names: &SampleNames<'_>) -> io::Result<()>;

    /// The recording has ended: `names` are told for the last time.
    ///
    /// # Errors
    /// What was kept of samples cannot be written.
    fn end(&mut self, names: &SampleNames<'_>) -> io::Result<()>;
}

/// A counted sample; or hits of one place that the kernel counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingleSample {
    /// Number of its event, for [`SampleNames::event`]. Events of one request
    /// have one.
    pub event: usize,
    /// Samples: 1, or as many hits as the kernel counted together.
    pub samples: u64,
    /// Events that they stand for; of clocks nanoseconds.
    pub period: u64,
    /// Whether the instruction pointer is exact (PERF_RECORD_MISC_EXACT_IP).
    pub is_exact: bool,
    /// Privilege level.
    pub mode: CpuMode,
    /// When, by the recording's clock; None: not recorded, or several at once.
    pub time: Option<Time>,
    /// Process and thread.
    pub task: Option<Task>,
    /// Name of the thread.
    pub comm: Option<NameNumber>,
    /// Logical CPU.
    pub cpu: Option<Cpu>,
    /// Instruction pointer as sampled, a run-time address.
    pub ip: Option<u64>,
    /// The routine, or in brackets why it has no name.
    pub routine: Result<NameNumber, NameNumber>,
    /// What holds the instruction.
    pub object: Option<NameNumber>,
    /// The stack, the sampled instruction innermost: alone where no call chain
    /// was recorded.
    pub stack: StackId,
    /// The data address.
    pub address: Option<u64>,
    /// Variable, or memory, that holds it.
    pub variable: Option<NameNumber>,
    /// Type of what is accessed.
    pub of_type: Option<NameNumber>,
    /// Member of that.
    pub member: Option<NameNumber>,
    /// Where the program asked for the block of the heap: routine and offset.
    pub allocation: Option<NameNumber>,
    /// What served the access, in words.
    pub access: NamedAccess,
    /// The same as recorded.
    pub data_src: Option<DataSrc>,
    /// The weight as recorded, of three parts the first.
    pub weight: Option<u64>,
    /// Cycles that the access took, where the weight says so.
    pub latency: Option<u64>,
    /// Why a miss is one.
    pub miss: Option<MissClass>,
}

/// Answers of a data source; None: the machine does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedAccess {
    /// What the instruction did.
    pub operation: Option<NameNumber>,
    /// What served the access, and how far away.
    pub level: Option<NameNumber>,
    /// What other caches answered.
    pub snoop: Option<NameNumber>,
    /// Translation of the data address.
    pub tlb: Option<NameNumber>,
    /// Whether the access was locked.
    pub lock: Option<NameNumber>,
    /// What the access had to wait for.
    pub blocked: Option<NameNumber>,
}

/// An event whose samples are handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenEvent {
    /// As in a report.
    pub name: String,
    /// What periods count.
    pub unit: PeriodUnit,
    /// What a report's shares are of.
    pub weighting: Weighting,
    /// Whether its weights are latencies.
    pub has_latency: bool,
}

/// What the numbers in samples mean. A number keeps its meaning to the end of
/// the recording.
#[derive(Debug)]
pub struct SampleNames<'n> {
    pub(crate) places: &'n PlaceNames,
    pub(crate) stacks: &'n SampledStacks,
    pub(crate) events: &'n [Option<TakenEvent>],
}

impl SampleNames<'_> {
    /// A name.
    pub fn name(&self, name: NameNumber) -> &str {
        self.places.text(name.0)
    }

    /// An event of a sample.
    pub fn event(&self, event: usize) -> Option<&TakenEvent> {
        self.events.get(event)?.as_ref()
    }

    /// The frames of a stack, innermost first.
    pub fn frames(&self, stack: StackId) -> impl Iterator<Item = FrameId> + '_ {
        self.stacks.frames(stack)
    }

    /// The stack of the caller of a stack's innermost frame; None: it has none.
    pub fn caller(&self, stack: StackId) -> Option<StackId> {
        self.stacks.caller(stack)
    }

    /// A frame.
    pub fn frame(&self, frame: FrameId) -> Option<&NamedFrame> {
        self.stacks.named(frame)
    }

    /// The innermost frame of a stack.
    pub fn innermost(&self, stack: StackId) -> Option<&NamedFrame> {
        self.frame(self.frames(stack).next()?)
    }
}
