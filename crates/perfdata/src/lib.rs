//! Bytes <-> values: `perf_event_attr`, samples, sideband records, perf.data
//! streams and hardmeter's text records. No I/O, no unsafe, nothing of ours
//! beneath it.

pub mod aggregate;
pub mod allocator_call;
pub mod arch;
pub mod attr;
pub mod bytes;
pub mod callchain;
pub mod data_src;
pub mod header;
pub mod heap_change;
pub mod heap_log;
pub mod ibs;
pub mod instruction_class;
pub mod ip_meaning;
pub mod kernel_list;
pub mod mapping_change;
pub mod miss_class;
mod named_enum;
pub mod printable;
pub mod recording;
pub mod region;
pub mod registers;
pub mod sample;
pub mod sample_filter;
pub mod segment;
pub mod sideband;
pub mod software_event;
pub mod stream;
pub mod text;
pub mod units;

pub use aggregate::Aggregate;
pub use allocator_call::AllocatorCall;
pub use arch::Arch;
pub use attr::{Attr, AttrFlags, EventType, ReadFormat, SampleType};
pub use bytes::ByteOrder;
pub use callchain::ChainContext;
pub use data_src::DataSrc;
pub use header::{CpuMode, Misc, RecordHeader, RecordType};
pub use heap_change::HeapChange;
pub use heap_log::HeapLogRecord;
pub use ibs::IbsOp;
pub use instruction_class::{InstructionClass, InstructionClasses};
pub use ip_meaning::IpMeaning;
pub use kernel_list::KernelList;
pub use mapping_change::{MappingCall, MappingChange};
pub use miss_class::{ClassifiedMiss, MissClass};
pub use region::{RegionMark, RegionSide};
pub use registers::Registers;
pub use sample::{Sample, SampleLayout};
pub use sample_filter::SampleFilter;
pub use sideband::{SampleId, SidebandRecord};
pub use software_event::SoftwareEvent;
pub use units::{Cpu, Pid, Task, Tid, Time};
