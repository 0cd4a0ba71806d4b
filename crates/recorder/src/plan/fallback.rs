//! Parts of an attr that older kernels refuse.

use std::fmt;

use perfdata::{Attr, AttrFlags, ReadFormat, SampleType};

use crate::machine::facts::Version;

/// One thing that a kernel too old for it answers with EINVAL (trap 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fallback {
    /// Without PERF_FORMAT_LOST (Linux 6.0): what a ring lost is then known
    /// with its next record, and what it lost at its very end never (trap 26),
    /// but for events whose count says how many samples there are.
    Lost,
    /// PERF_SAMPLE_WEIGHT instead of WEIGHT_STRUCT (Linux 5.12): one latency
    /// in place of up to three.
    WeightStruct,
    /// Without build ids in MMAP2 records (Linux 5.12).
    BuildId,
    /// Without KSYMBOL records (Linux 5.1).
    Ksymbol,
}

impl Fallback {
    /// Every fallback, newest feature first.
    pub const ALL: [Fallback; 4] =
        [Fallback::Lost, Fallback::WeightStruct, Fallback::BuildId, Fallback::Ksymbol];

    /// Its name in notes of streams.
    pub fn key(self) -> &'static str {
        match self {
            Fallback::Lost => "lost",
            Fallback::WeightStruct => "weight-struct",
            Fallback::BuildId => "build-id",
            Fallback::Ksymbol => "ksymbol",
        }
    }

    /// The fallback of this name; None: it is a newer version's.
    pub fn of_key(key: &str) -> Option<Fallback> {
        Fallback::ALL.into_iter().find(|fallback| fallback.key() == key)
    }

    pub fn feature(self) -> &'static str {
        match self {
            Fallback::Lost => "PERF_FORMAT_LOST",
            Fallback::WeightStruct => "PERF_SAMPLE_WEIGHT_STRUCT",
            Fallback::BuildId => "build ids of mappings",
            Fallback::Ksymbol => "BPF symbols",
        }
    }

    /// Those whose feature is in one of the attrs, newest first.
    pub fn of<'a>(attrs: impl IntoIterator<Item = &'a Attr>) -> Vec<Fallback> {
        let attrs: Vec<&Attr> = attrs.into_iter().collect();
        let changes = |fallback: &Fallback| {
            attrs.iter().any(|&attr| {
                let mut without = attr.clone();
                fallback.apply(&mut without);
                without != *attr
            })
        };
        Fallback::ALL.into_iter().filter(changes).collect()
    }

    /// The first Linux that has the feature.
    pub fn since(self) -> Version {
        match self {
            Fallback::Lost => Version(6, 0, 0),
            Fallback::WeightStruct | Fallback::BuildId => Version(5, 12, 0),
            Fallback::Ksymbol => Version(5, 1, 0),
        }
    }

    pub fn apply(self, attr: &mut Attr) {
        match self {
            Fallback::Lost => attr.read_format.remove(ReadFormat::LOST),
            Fallback::WeightStruct => {
                if attr.sample_type.contains(SampleType::WEIGHT_STRUCT) {
                    attr.sample_type.remove(SampleType::WEIGHT_STRUCT);
                    attr.sample_type.insert(SampleType::WEIGHT);
                }
            }
            Fallback::BuildId => attr.flags.remove(AttrFlags::BUILD_ID),
            Fallback::Ksymbol => attr.flags.remove(AttrFlags::KSYMBOL),
        }
    }
}

impl fmt::Display for Fallback {
    /// One line for the user: what is missing now, and what that costs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fallback::Lost => {
                "this kernel has no PERF_FORMAT_LOST (Linux 6.0): what a ring loses can only be \
                 told with its next record, and not at its end, where the event's count does not \
                 tell"
            }
            Fallback::WeightStruct => {
                "this kernel has no PERF_SAMPLE_WEIGHT_STRUCT (Linux 5.12): samples carry one \
                 latency, not the instruction's beside the cache's"
            }
            Fallback::BuildId => {
                "this kernel puts no build ids into mappings (Linux 5.12): replaced files may \
                 go unnoticed"
            }
            Fallback::Ksymbol => {
                "this kernel does not announce BPF code (Linux 5.1): such kernel addresses may \
                 stay without a name"
            }
        })
    }
}
