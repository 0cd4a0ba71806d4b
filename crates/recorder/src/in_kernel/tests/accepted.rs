//! What is asked for is compiled in, so each combination is a program of its
//! own that the verifier has to accept.

use perfdata::{Pid, Tid};

use super::hits::cpus;
use crate::in_kernel::{
    HitSource, InKernel, KernelProgram, ProgramTask, SampleConditions, SampleContents, SiteTables,
};

type Ask = fn(&mut InKernel, &mut SampleContents);

/// Places of what takes the kernel's types.
const WEIGHT: usize = 11;
const DATA_SRC: usize = 12;

const ASKS: [Ask; 16] = [
    |to, _| to.keep.pids = vec![Pid(1)],
    |to, _| to.keep.tids = (1..=8).map(Tid).collect(),
    |to, _| to.keep.cgroup = Some(1),
    |to, _| to.keep.comm = Some("name".to_owned()),
    |to, _| to.keep.ip = Some((1, 2)),
    |to, _| to.keep.address = Some((1, 2)),
    |to, _| to.keep.one_in = 7,
    |to, _| to.keep.least_weight = 9,
    |to, _| to.keep.data_src = Some((6, 2)),
    |to, _| to.keep.user_only = true,
    |_, contents| contents.address = true,
    |_, contents| contents.weight = true,
    |_, contents| contents.data_src = true,
    |to, _| tables(to, |tables| tables.by_process = true),
    |to, _| tables(to, |tables| tables.callers = true),
    |to, _| tables(to, |tables| tables.strides = true),
];

fn tables(of: &mut InKernel, change: impl FnOnce(&mut SiteTables)) {
    if let ProgramTask::Aggregate(tables) = &mut of.duty {
        change(tables);
    }
}

fn accepted(duty: ProgramTask, asked: impl Fn(usize) -> bool) {
    let (mut in_kernel, mut contents) =
        (InKernel { duty, keep: SampleConditions::default() }, SampleContents::default());
    let has_types = std::path::Path::new("/sys/kernel/btf/vmlinux").exists();
    for (_, ask) in ASKS.iter().enumerate().filter(|(index, _)| asked(*index)) {
        ask(&mut in_kernel, &mut contents);
    }
    if !has_types {
        (contents.weight, contents.data_src) = (false, false);
    }
    let program = KernelProgram::load(&in_kernel, HitSource::Overflow(contents), &cpus());
    assert!(program.is_ok(), "{in_kernel:?} {contents:?}: {}", program.unwrap_err());
}

#[test]
fn each_alone_all_but_each_and_all() {
    if super::hits::refused() {
        return;
    }
    let few = SiteTables { sites: 16, ..SiteTables::default() };
    for duty in [ProgramTask::Filter, ProgramTask::Aggregate(few)] {
        accepted(duty, |_| false);
        accepted(duty, |_| true);
        for one in 0..ASKS.len() {
            accepted(duty, |index| index == one);
            // Parsing the kernel's types takes a while.
            accepted(duty, |index| index != one && ![WEIGHT, DATA_SRC].contains(&index));
        }
    }
}

#[test]
fn tables_of_any_size() {
    if super::hits::refused() {
        return;
    }
    for sites in [SiteTables::MIN_SITES, 1024, SiteTables::DEFAULT_SITES, 1 << 14] {
        let tables = SiteTables { sites, by_process: true, strides: true, callers: true };
        accepted(ProgramTask::Aggregate(tables), |index| index == 10);
    }
}
