//! What a program is attached to.

use perfdata::{Attr, SampleType};
use serde::{Deserialize, Serialize};

use super::CountedTracepoint;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitSource {
    Overflow(Shows),
    Tracepoint(CountedTracepoint),
}

impl HitSource {
    pub(super) fn shows(self) -> Shows {
        match self {
            HitSource::Overflow(shows) => shows,
            HitSource::Tracepoint(_) => Shows::default(),
        }
    }
}

/// What samples of an event have besides registers and period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shows {
    pub address: bool,
    /// A weight: the kernel's own sample is read, which takes its BTF.
    pub weight: bool,
    /// A data source: likewise.
    pub data_src: bool,
}

impl Shows {
    pub(crate) fn of(attr: &Attr) -> Shows {
        let has = |bits| attr.sample_type.intersects(bits);
        Shows {
            address: has(SampleType::ADDR),
            weight: has(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT),
            data_src: has(SampleType::DATA_SRC),
        }
    }

    pub(crate) fn needs_btf(self) -> bool {
        self.weight || self.data_src
    }
}
