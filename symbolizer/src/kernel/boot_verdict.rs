//! Whether a recording is of the running kernel's boot, without all of its
//! symbols: making the whole list takes the kernel tens of milliseconds.

use super::load;
use super::recorded::Recording;
use super::view::check;
use crate::Reason;
use std::path::Path;

/// What the running kernel's first symbols tell of a recording.
#[derive(Debug)]
pub(super) enum BootVerdict {
    /// Nothing says that it is of another.
    Here,
    Other(Reason),
    /// They are hidden, or lack what the recording names.
    Untold,
}

impl BootVerdict {
    pub(super) fn of(root: &Path, recording: &Recording) -> BootVerdict {
        let Recording { anchor, release, .. } = recording;
        let here = load::release(root);
        if let Some(recorded) = release.clone().filter(|recorded| *recorded != here) {
            return BootVerdict::Other(Reason::KernelOtherRelease { recorded, here });
        }
        if anchor.is_none() {
            return BootVerdict::Here;
        }
        let Ok(head) = load::read_head(&root.join("proc/kallsyms")) else {
            return BootVerdict::Untold;
        };
        match check(|symbol| head.address_of(symbol), anchor.as_ref()) {
            Ok(()) => BootVerdict::Here,
            Err(reason @ Reason::KernelOtherBoot { .. }) => BootVerdict::Other(reason),
            Err(_) => BootVerdict::Untold,
        }
    }
}
