//! `union perf_mem_data_src`: where a load or store found its data.

/// The word as the kernel wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DataSrc(pub u64);
