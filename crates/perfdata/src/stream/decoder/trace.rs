//! Traces that processors write past the kernel: AUXTRACE records.

use super::StreamDecoder;

/// `enum auxtrace_type` (tools/perf/util/auxtrace.h), from 1 on.
const TRACES: [&str; 7] = [
    "Intel PT",
    "Intel BTS",
    "Arm CoreSight",
    "Arm SPE",
    "s390 CPU-measurement sampling",
    "HiSilicon PTT",
    "POWER dispatch trace log",
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trace {
    /// Of AUXTRACE_INFO.
    pub(super) kind: Option<u32>,
    pub(super) buffers: u64,
    /// In all buffers.
    pub(super) bytes: u64,
}

impl StreamDecoder {
    /// What of the recording is not decoded here, in sentences for people:
    /// traces, in which perf finds events of their own.
    pub fn undecoded(&self) -> Option<String> {
        let Trace { kind, buffers, bytes } = self.trace;
        if buffers == 0 {
            return None;
        }
        let name = kind.and_then(|kind| usize::try_from(kind).ok()?.checked_sub(1));
        let name = name.and_then(|index| TRACES.get(index)).copied();
        let name = name.unwrap_or("a kind not known here");
        Some(format!(
            "the recording holds {buffers} buffers of trace ({name}, {bytes} bytes), which is not \
             decoded: only what the kernel sampled besides is counted"
        ))
    }
}
