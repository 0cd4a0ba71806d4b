//! The system calls of a worker (seccomp(2)).
//!
//! Three filters, of which the kernel takes the strictest answer:
//! - what a worker is for is let through, all else is EPERM: a call that a
//!   newer C library comes to make costs what it was for, not the user's
//!   sessions;
//! - what only somebody who has taken the worker over would try ends it;
//! - clone3(2), whose flags a filter cannot see, is ENOSYS, so that the C
//!   library takes clone(2), which may make threads only.

pub(super) mod calls;

use std::collections::BTreeMap;
use std::io;

use calls::{
    ABSENT, ArgumentRule, CallRule, DEADLY, DEADLY_IF, OLDER, PLAIN, PLAIN_IF, READING_IF,
    RECORDING, RECORDING_IF,
};
use libc::c_long;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

/// What a worker does with files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Files {
    /// Reads what its user may read.
    #[default]
    Read,
    /// The same, and keeps the segments of a standing session.
    Record,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Confines this thread, and those it makes.
pub(super) fn apply(files: Files) -> io::Result<()> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else {
        tracing::warn!("no filter of system calls is known for this machine's architecture");
        return Ok(());
    };
    for program in programs(files, arch).map_err(io::Error::other)? {
        apply_filter(&program).map_err(|error| {
            io::Error::other(format!("the worker's system calls cannot be confined: {error}"))
        })?;
    }
    Ok(())
}

/// The filter that forbids seccomp(2) itself is the last.
fn programs(files: Files, arch: TargetArch) -> Result<[BpfProgram; 3], Error> {
    let errno = |errno: i32| SeccompAction::Errno(errno.unsigned_abs());
    let compile = |rules, otherwise, matched| -> Result<BpfProgram, Error> {
        Ok(SeccompFilter::new(rules, otherwise, matched, arch)?.try_into()?)
    };
    let needed = match files {
        Files::Read => rules(&[PLAIN, OLDER], &[PLAIN_IF, READING_IF])?,
        Files::Record => rules(&[PLAIN, OLDER, RECORDING], &[PLAIN_IF, RECORDING_IF])?,
    };
    Ok([
        compile(rules(&[DEADLY], &[DEADLY_IF])?, SeccompAction::Allow, SeccompAction::KillProcess)?,
        compile(rules(&[ABSENT], &[])?, SeccompAction::Allow, errno(libc::ENOSYS))?,
        compile(needed, errno(libc::EPERM), SeccompAction::Allow)?,
    ])
}

/// Calls that match always, and calls that match with some arguments.
fn rules(always: &[&[c_long]], by_arguments: &[&[CallRule]]) -> Result<Rules, Error> {
    let mut rules: Rules =
        always.iter().copied().flatten().map(|&call| (call, Vec::new())).collect();
    for CallRule { call, one_of } in by_arguments.iter().copied().flatten() {
        rules.insert(*call, one_of.iter().map(rule).collect::<Result<_, Error>>()?);
    }
    Ok(rules)
}

fn rule(of: &ArgumentRule) -> Result<SeccompRule, Error> {
    let operator = SeccompCmpOp::MaskedEq(of.mask.into());
    let length = SeccompCmpArgLen::Dword;
    let condition = SeccompCondition::new(of.argument, length, operator, of.value.into())?;
    Ok(SeccompRule::new(vec![condition])?)
}
