//! `ebs plan`: what its options mean.

use super::{EmulationChoice, Misuse, names_modes, request};
use crate::ebs::arguments::PlanArguments;
use recorder::{Modes, Request, Target};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanJob {
    pub request: Request,
    pub emulation: EmulationChoice,
    /// A description of another machine.
    pub root: Option<PathBuf>,
    /// Another Linux version: major, minor.
    pub version: Option<(u32, u32)>,
    pub json: bool,
}

impl PlanJob {
    pub(super) fn new(arguments: &PlanArguments) -> Result<PlanJob, Misuse> {
        let modes = Modes { user: arguments.user, kernel: arguments.kernel };
        let mut request = request(&arguments.event, modes, Target::Command)?;
        if request.modes == Modes::default() && !names_modes(&request) {
            request.modes = Modes::BOTH;
        }
        let version = arguments.version.as_deref().map(version).transpose()?;
        let emulation = EmulationChoice::new(&arguments.emulation)?;
        let root = arguments.root.clone();
        Ok(PlanJob { request, emulation, root, version, json: arguments.json })
    }
}

fn version(text: &str) -> Result<(u32, u32), Misuse> {
    let numbers = text.split_once('.').and_then(|(major, rest)| {
        let minor = rest.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    numbers.ok_or_else(|| Misuse::Version(text.to_owned()))
}
