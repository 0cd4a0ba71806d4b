//! What the options of programs in the kernel mean.

mod keep;

use crate::ebs::arguments::{InKernelArguments, InKernelMode};
use keep::Kept;
use recorder::in_kernel::{Duty, InKernel, SiteTables};
use std::path::PathBuf;
use std::time::Duration;

/// What a job wants of programs in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KernelDemand {
    pub(super) in_kernel: InKernel,
    /// How often what was counted is taken out; None: as is usual.
    pub(super) every: Option<Duration>,
    /// Rings serve where no program is taken.
    pub(super) rings: bool,
    /// See [`SampleJob::cgroup`](super::SampleJob::cgroup).
    pub(super) cgroup: Option<PathBuf>,
}

/// Why options of programs in the kernel mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InKernelMisuse {
    /// `--keep` without `=`.
    #[error("--keep {word}: say KEY=VALUE; keys are {}", keep::KEYS.join(", "))]
    NoKey {
        /// As given.
        word: String,
    },
    #[error("--keep {word}: no key is called {key:?}; keys are {}", keep::KEYS.join(", "))]
    Key {
        /// As given.
        word: String,
        /// Before the `=`.
        key: String,
    },
    /// A value that the key cannot have.
    #[error("--keep {0}: {1}")]
    Value(String, &'static str),
    /// A key that takes one value, given again.
    #[error("--keep {0}: {1} is given already, and takes one value")]
    Again(String, &'static str),
    /// `--sites` is no size of a table.
    #[error(
        "--sites {text}: say a power of two from {} to {}",
        SiteTables::FEWEST,
        SiteTables::MOST
    )]
    Sites {
        /// As given.
        text: String,
    },
    /// `--every 0s`.
    #[error("--every 0s: say a second or more")]
    Every,
    /// An option of counting, beside `--in-kernel=filter`.
    #[error("{0} is of --in-kernel=aggregate: a filter leaves samples as they are")]
    NotOfFilter(&'static str),
    /// `--in-kernel=filter` that keeps all.
    #[error("--in-kernel=filter keeps every sample: say which with --keep KEY=VALUE")]
    NothingToFilter,
    /// Text records of aggregates.
    #[error(
        "what the kernel counts has no text records: leave -o out for the table, or say -o \
         FILE.data for `ebs report`"
    )]
    Text,
}

/// What is asked of the kernel, and how; None: nothing.
pub(super) fn in_kernel(
    arguments: &InKernelArguments,
) -> Result<Option<KernelDemand>, InKernelMisuse> {
    let Some(mode) = arguments.in_kernel else { return Ok(None) };
    let Kept { keep, cgroup, .. } = Kept::parse(&arguments.keep)?;
    let duty = match mode {
        InKernelMode::Aggregate => Duty::Aggregate(tables(arguments)?),
        InKernelMode::Filter => {
            let counting = [
                ("--sites", arguments.sites.is_some()),
                ("--by-process", arguments.by_process),
                ("--strides", arguments.strides),
                ("--every", arguments.every.is_some()),
            ];
            if let Some((option, _)) = counting.into_iter().find(|(_, given)| *given) {
                return Err(InKernelMisuse::NotOfFilter(option));
            }
            if arguments.keep.is_empty() {
                return Err(InKernelMisuse::NothingToFilter);
            }
            Duty::Filter
        }
    };
    let every = arguments.every.map(|span| span.0);
    if every.is_some_and(|every| every.is_zero()) {
        return Err(InKernelMisuse::Every);
    }
    let in_kernel = InKernel { duty, keep };
    Ok(Some(KernelDemand { in_kernel, every, rings: !arguments.no_rings, cgroup }))
}

fn tables(arguments: &InKernelArguments) -> Result<SiteTables, InKernelMisuse> {
    let mut tables = SiteTables {
        sites: SiteTables::AS_FITS,
        by_process: arguments.by_process,
        strides: arguments.strides,
        callers: false,
    };
    if let Some(text) = &arguments.sites {
        let size = |sites: &u32| {
            sites.is_power_of_two() && (SiteTables::FEWEST..=SiteTables::MOST).contains(sites)
        };
        let sites = text.parse().ok().filter(size);
        tables.sites = sites.ok_or_else(|| InKernelMisuse::Sites { text: text.clone() })?;
    }
    Ok(tables)
}
