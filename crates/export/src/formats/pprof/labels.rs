//! What samples of a profile are told apart by besides their stacks.

use super::tables::ProfileTables;
use crate::formats::protobuf::ProtoMessage;
use analysis::{NameNumber, SampleNames, SingleSample};

/// Addresses are told by the 4 KiB they lie in.
const BUCKET: u64 = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Detail {
    #[default]
    Whole,
    Unaddressed,
    Unlabelled,
}

impl Detail {
    /// The next that has less; None: there is none.
    pub(super) fn less(self) -> Option<Detail> {
        match self {
            Detail::Whole => Some(Detail::Unaddressed),
            Detail::Unaddressed => Some(Detail::Unlabelled),
            Detail::Unlabelled => None,
        }
    }

    pub(super) fn told(self) -> Option<&'static str> {
        match self {
            Detail::Whole => None,
            Detail::Unaddressed => Some("labels have no addresses: too many samples differ"),
            Detail::Unlabelled => Some("samples have no labels: too many of them differ"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SampleLabels {
    comm: Option<NameNumber>,
    tid: Option<i32>,
    level: Option<NameNumber>,
    tlb: Option<NameNumber>,
    snoop: Option<NameNumber>,
    of_type: Option<NameNumber>,
    member: Option<NameNumber>,
    variable: Option<NameNumber>,
    bucket: Option<u64>,
}

impl SampleLabels {
    pub(super) fn of(sample: &SingleSample) -> SampleLabels {
        SampleLabels {
            comm: sample.comm,
            tid: sample.task.map(|task| task.tid.0),
            level: sample.access.level,
            tlb: sample.access.tlb,
            snoop: sample.access.snoop,
            of_type: sample.of_type,
            member: sample.member,
            variable: sample.variable,
            bucket: sample.address.map(|address| address / BUCKET),
        }
    }

    pub(super) fn comm(&self) -> Option<NameNumber> {
        self.comm
    }

    pub(super) fn at(self, detail: Detail) -> SampleLabels {
        match detail {
            Detail::Whole => self,
            Detail::Unaddressed => SampleLabels { bucket: None, ..self },
            Detail::Unlabelled => SampleLabels::default(),
        }
    }

    pub(super) fn write(
        &self,
        names: &SampleNames<'_>,
        tables: &mut ProfileTables,
        sample: &mut ProtoMessage,
    ) {
        let name = |name: Option<NameNumber>| name.map(|name| names.name(name).to_owned());
        let thread = name(self.comm).map(|comm| match self.tid {
            Some(tid) => format!("{comm}/{tid}"),
            None => comm,
        });
        let bucket = self.bucket.map(|bucket| format!("{:#x}", bucket.saturating_mul(BUCKET)));
        for (key, value) in [
            ("thread", thread),
            ("level", name(self.level)),
            ("tlb", name(self.tlb)),
            ("snoop", name(self.snoop)),
            ("type", name(self.of_type)),
            ("member", name(self.member)),
            ("data", name(self.variable)),
            ("page", bucket),
        ] {
            if let Some(value) = value {
                let label = tables.label(key, &value);
                sample.message(3, &label);
            }
        }
    }
}
