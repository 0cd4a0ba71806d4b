//! Parts of an attr that older kernels refuse.

use std::fmt;

use record::{Attr, AttrFlags, ReadFormat};

/// One thing that a kernel too old for it answers with EINVAL (trap 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fallback {
    /// Without PERF_FORMAT_LOST (Linux 6.0): losses at the very end of a
    /// ring are then unseen (trap 26).
    Lost,
    /// Without build ids in MMAP2 records (Linux 5.12).
    BuildId,
    /// Without KSYMBOL records (Linux 5.1).
    Ksymbol,
}

impl Fallback {
    /// Every fallback, newest feature first.
    pub const ALL: [Fallback; 3] = [Fallback::Lost, Fallback::BuildId, Fallback::Ksymbol];

    /// Those whose feature is in one of the attrs, newest first.
    pub(super) fn of(event: &Attr, side: &Attr) -> Vec<Fallback> {
        let changes = |fallback: &Fallback| {
            let (mut event_without, mut side_without) = (event.clone(), side.clone());
            fallback.apply(&mut event_without, &mut side_without);
            event_without != *event || side_without != *side
        };
        Fallback::ALL.into_iter().filter(changes).collect()
    }

    /// Takes the feature out of both attrs.
    pub fn apply(self, event: &mut Attr, side: &mut Attr) {
        for attr in [event, side] {
            match self {
                Fallback::Lost => attr.read_format.remove(ReadFormat::LOST),
                Fallback::BuildId => attr.flags.remove(AttrFlags::BUILD_ID),
                Fallback::Ksymbol => attr.flags.remove(AttrFlags::KSYMBOL),
            }
        }
    }
}

impl fmt::Display for Fallback {
    /// One line for the user: what is missing now, and what that costs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fallback::Lost => {
                "this kernel has no PERF_FORMAT_LOST (Linux 6.0): records lost at the end of a \
                 ring cannot be counted"
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
