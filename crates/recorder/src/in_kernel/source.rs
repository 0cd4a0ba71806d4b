//! What a program is attached to.

use perfdata::{Attr, SampleType};
use serde::{Deserialize, Serialize};

use super::CountedTracepoint;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitSource {
    Overflow(SampleContents),
    Tracepoint(CountedTracepoint),
}

impl HitSource {
    pub(super) fn contents(self) -> SampleContents {
        match self {
            HitSource::Overflow(contents) => contents,
            HitSource::Tracepoint(_) => SampleContents::default(),
        }
    }
}

/// What samples of an event have besides registers and period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleContents {
    pub address: bool,
    /// A weight: the kernel's own sample is read, which takes its BTF.
    pub weight: bool,
    /// A data source: likewise.
    pub data_src: bool,
}

impl SampleContents {
    pub(crate) fn of(attr: &Attr) -> SampleContents {
        let has = |bits| attr.sample_type.intersects(bits);
        SampleContents {
            address: has(SampleType::ADDR),
            weight: has(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT),
            data_src: has(SampleType::DATA_SRC),
        }
    }

    pub(crate) fn needs_btf(self) -> bool {
        self.weight || self.data_src
    }
}
