//! What a program is attached to.

use perfdata::{Attr, SampleType};
use serde::{Deserialize, Serialize};

use super::CountedTracepoint;

/// Where the hits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitSource {
    /// Overflows of software events, breakpoints and PMUs.
    Overflow(Shows),
    /// Hits of a tracepoint.
    Tracepoint(CountedTracepoint),
}

impl HitSource {
    /// What its hits have.
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
    /// A data address.
    pub address: bool,
    /// A weight: the kernel's own sample is read, which takes its BTF.
    pub weight: bool,
    /// A data source: likewise.
    pub data_src: bool,
}

impl Shows {
    /// What samples of `attr` have.
    pub(crate) fn of(attr: &Attr) -> Shows {
        let has = |bits| attr.sample_type.intersects(bits);
        Shows {
            address: has(SampleType::ADDR),
            weight: has(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT),
            data_src: has(SampleType::DATA_SRC),
        }
    }

    /// Whether offsets of the running kernel are needed.
    pub(crate) fn needs_btf(self) -> bool {
        self.weight || self.data_src
    }
}
