//! Where regions that a program marks can be had.

use super::{OutputChoice, Serving};
use recorder::in_kernel::InKernel;
use recorder::{Request, Target};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionMisuse {
    #[error(
        "--regions needs a program that ebs starts, which finds in its environment where to mark \
         them; of a process that runs already, or of the system, there are none"
    )]
    NotStarted,
    #[error(
        "--regions goes into recordings: say -o FILE.data, then ebs report --by region FILE.data"
    )]
    NoRecording,
    #[error("--regions needs samples with times, which --in-kernel does not keep: leave one out")]
    InKernel,
    #[error("--regions is for sessions of ebs itself, not of the daemon: leave --daemon out")]
    Daemon,
}

/// Whether a job can have them.
///
/// # Errors
///
/// Why not.
pub(super) fn check(
    request: &Request,
    output: &OutputChoice,
    serving: &Serving,
) -> Result<(), RegionMisuse> {
    if request.target != Target::Command {
        return Err(RegionMisuse::NotStarted);
    }
    if request.in_kernel.as_ref().is_some_and(InKernel::counts) {
        return Err(RegionMisuse::InKernel);
    }
    if matches!(serving, Serving::Daemon(_)) {
        return Err(RegionMisuse::Daemon);
    }
    match output {
        OutputChoice::Stream(_) | OutputChoice::Unnamed => Ok(()),
        OutputChoice::Table { .. } | OutputChoice::Text(_) => Err(RegionMisuse::NoRecording),
    }
}
