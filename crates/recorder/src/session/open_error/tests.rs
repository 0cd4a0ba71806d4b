//! Every errno on every kind of plan says what and how out.

use std::path::Path;

use perfdata::{Cpu, Pid, Tid};

use perfdata::AttrFlags;

use super::*;
use crate::machine::facts::{Capabilities, Facts, ResourceLimit, Tracefs, TracepointState};
use crate::{Modes, Request, plan};

fn unprivileged() -> Facts {
    let mut facts = Facts::default();
    facts.cpus.online = Some(vec![Cpu(0), Cpu(1)]);
    facts.access.uid = Some(1000);
    facts.access.capabilities = Some(Capabilities(0));
    facts.access.paranoid = Some(2);
    facts.access.mlock_kb = Some(516);
    facts.access.memlock = Some(ResourceLimit::At(8 << 20));
    facts.access.nofile = Some(ResourceLimit::At(1024));
    facts.tracefs = Tracefs::At(Path::new("/t").to_owned());
    facts.tracepoints.insert("syscalls:sys_enter_write".to_owned(), TracepointState::Id(7));
    facts.kernel.machine = Some("x86_64".to_owned());
    facts
}

fn planned(event: &str, target: Target) -> Plan {
    plan(&Request::new(event, Modes::USER, target), &unprivileged()).unwrap()
}

fn said(plan: &Plan, call: FailedCall, errno: i32) -> String {
    let task = Some(Tid(4712));
    explain(&OpenFailure { errno, cpu: Some(Cpu(3)), task, ..OpenFailure::of(call) }, plan)
}

#[test]
fn a_line_names_event_target_thread_cpu_and_errno() {
    let text = said(
        &planned("page_fault", Target::Process(Pid(4711))),
        FailedCall::OpenEvent,
        libc::EACCES,
    );
    for part in ["page_fault", "process 4711", "thread 4712", "CPU 3", "EACCES", "CAP_PERFMON"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn each_errno_says_what_to_change() {
    let fault = planned("page_fault", Target::Command);
    let point = planned("mem:0x1000:w", Target::Command);
    let trace = planned("syscalls:sys_enter_write", Target::Command);
    let open = FailedCall::OpenEvent;
    let cases = [
        (&fault, FailedCall::Map { pages: 128 }, libc::EPERM, "ulimit -l"),
        (&fault, FailedCall::Map { pages: 128 }, libc::EPERM, "516 KiB"),
        (&fault, FailedCall::Map { pages: 128 }, libc::EPERM, "8192 KiB"),
        (&fault, FailedCall::Map { pages: 128 }, libc::ENOMEM, "smaller rings"),
        (&fault, open, libc::EMFILE, "ulimit -n"),
        (&fault, open, libc::EMFILE, "1024 here"),
        (&fault, open, libc::EPERM, "seccomp"),
        (&fault, open, libc::ENOSYS, "seccomp"),
        (&fault, open, libc::ENODEV, "cpu3/online"),
        (&fault, open, libc::ESRCH, "exited"),
        (&fault, open, libc::EBUSY, "exclusively"),
        (&fault, open, libc::EOPNOTSUPP, "ebs -h"),
        (&fault, open, libc::EOVERFLOW, "kernel.perf_event_max_stack"),
        (&fault, open, libc::E2BIG, "16 KiB"),
        (&fault, open, libc::ENOENT, "type 1, config 0x2"),
        (&point, open, libc::ENOSPC, "debug registers"),
        (&fault, open, libc::ENOSPC, "counter"),
        (&point, open, libc::EINVAL, "0x1000"),
        (&point, open, libc::EPERM, "CAP_SYS_ADMIN"),
        (&trace, open, libc::ENOENT, "number 7"),
        (&fault, open, 9999, "errno 9999"),
    ];
    for (plan, call, errno, part) in cases {
        let text = said(plan, call, errno);
        assert!(text.contains(part), "{errno} on {}: {part} is not in: {text}", plan.name);
    }
}

#[test]
fn eacces_names_the_sysctl_that_is_in_the_way() {
    let mut plan = planned("page_fault", Target::Command);
    plan.access.paranoid = Some(3);
    assert!(said(&plan, FailedCall::OpenEvent, libc::EACCES).contains("paranoid=2"));
    plan.access.paranoid = Some(2);
    plan.events[0].attr.flags.remove(AttrFlags::EXCLUDE_KERNEL);
    assert!(said(&plan, FailedCall::OpenEvent, libc::EACCES).contains("paranoid=1"));
    plan.target = Target::System;
    assert!(said(&plan, FailedCall::OpenEvent, libc::EACCES).contains("paranoid=0"));
}

#[test]
fn every_errno_fits_one_line() {
    let plans = ["page_fault", "cpu_clock", "mem:0x1000:w", "syscalls:sys_enter_write"]
        .map(|event| planned(event, Target::Process(Pid(1))));
    let calls = [
        FailedCall::OpenEvent,
        FailedCall::OpenSide,
        FailedCall::Map { pages: 1 },
        FailedCall::SetOutput,
        FailedCall::SetProgram,
        FailedCall::Enable,
    ];
    for plan in &plans {
        for call in calls {
            for errno in 0..=133 {
                let text = said(plan, call, errno);
                assert!(!text.contains('\n') && text.len() > 60, "{text}");
            }
        }
    }
}
