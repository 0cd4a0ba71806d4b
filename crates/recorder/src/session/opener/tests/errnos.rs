//! Each errno at each step: what comes of it, and the words.

use super::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The first event, on every CPU.
    First,
    /// The same, on CPU 2 only.
    LaterCpu,
    Member,
    Side,
    /// SET_OUTPUT of the first event.
    SetOutput,
    /// The first event, at the precision below the one that is too high.
    Lowered,
}

impl Step {
    const ALL: [Step; 6] =
        [Step::First, Step::LaterCpu, Step::Member, Step::Side, Step::SetOutput, Step::Lowered];

    fn plan(self) -> Plan {
        let precise = if self == Step::Lowered { 2 } else { 0 };
        let mut first = hardware("loads", precise);
        first.least_precise = precise.saturating_sub(1);
        let mut member = hardware("stores", 0);
        (member.attr.config, member.leader) = (0x2cd, Some(0));
        plan_of(vec![first, member])
    }

    fn hits(self, asked: &Asked) -> bool {
        let is_first = asked.hardware() && asked.attr.config == 0x1cd;
        match self {
            Step::First => is_first,
            Step::LaterCpu => is_first && asked.cpu == 2,
            Step::Member => asked.in_group,
            Step::Side => !asked.hardware() && !asked.question(),
            Step::SetOutput => false,
            Step::Lowered => is_first && asked.attr.precise_ip() < 2,
        }
    }

    fn kernel(self, errno: i32) -> Scripted {
        let too_precise = move |asked: &Asked| self == Step::Lowered && asked.attr.precise_ip() > 1;
        let kernel = Scripted::new(move |asked| match asked {
            asked if self.hits(asked) => Answer::No(errno),
            asked if too_precise(asked) => Answer::No(libc::EOPNOTSUPP),
            _ => Answer::Yes,
        });
        match self {
            Step::SetOutput => kernel.sharing(Answer::No(errno)),
            _ => kernel,
        }
    }

    /// What the line starts with.
    fn subject(self, name: &str) -> String {
        let (event, cpu, call) = match self {
            Step::First | Step::Lowered => ("loads", 0, "opening it"),
            Step::LaterCpu => ("loads", 2, "opening it"),
            Step::Member => ("stores", 0, "opening it"),
            Step::Side => ("load_latency", 0, "opening its side event"),
            Step::SetOutput => ("loads", 0, "sharing a ring"),
        };
        format!("{event} for process 4711 (thread 4712) on CPU {cpu}: {call} failed with {name}: ")
    }

    fn opens_hardware(self) -> bool {
        !matches!(self, Step::Side | Step::SetOutput)
    }
}

/// Errnos whose words do not depend on what was opened.
const ALIKE: [(i32, &str, &str); 4] = [
    (
        libc::EACCES,
        "EACCES",
        "process 4711 is not this user's, or guards itself (setuid, or not dumpable): be its owner \
         or root, or have CAP_PERFMON or CAP_SYS_PTRACE",
    ),
    (
        libc::EPERM,
        "EPERM",
        "a security module, a seccomp filter (a container's) or kernel lockdown forbids it: allow \
         perf_event_open(2) there (SELinux class perf_event, docker --cap-add PERFMON with a \
         seccomp profile), or run outside",
    ),
    (
        libc::E2BIG,
        "E2BIG",
        "what its group counts is too much to be read at once (16 KiB): sample fewer events \
         together",
    ),
    (
        libc::ENOMEM,
        "ENOMEM",
        "the kernel has no memory left for it: give smaller rings, end other \
         programs, or sample fewer CPUs",
    ),
];

#[test]
fn refusals_that_are_the_same_for_every_event() {
    for (errno, name, advice) in ALIKE {
        for step in Step::ALL {
            let text = refused(&step.plan(), &step.kernel(errno));
            assert_eq!(text, format!("{}{advice}", step.subject(name)), "{step:?}");
        }
    }
}

/// Errnos whose words depend on the PMU: for the event of `config`.
fn of_hardware(config: u64, cpu: u32) -> [(i32, &'static str, String); 6] {
    [
        (
            libc::EINVAL,
            "EINVAL",
            format!(
                "PMU cpu refuses config {config:#x} at interval 10007: the interval may be too \
                 short (some CPUs take none below 32 or 128), its bits may be reserved on this \
                 CPU, or its group may need more counters than are free (the NMI watchdog takes \
                 one: sysctl kernel.nmi_watchdog=0)"
            ),
        ),
        (
            libc::EOPNOTSUPP,
            "EOPNOTSUPP",
            "PMU cpu cannot sample that here: it has no interrupt (a virtual machine's often has \
             none), or no records of its own (PEBS, IBS) for a field that was asked for; ebs -h \
             lists the types that can be had here"
                .into(),
        ),
        (
            libc::ENOENT,
            "ENOENT",
            format!(
                "PMU cpu (type 4, config {config:#x}) is not there (virtual machines often have \
                 none), has no such event, or CPU {cpu} is not one of its own (of a hybrid's two \
                 kinds, see /sys/bus/event_source/devices/cpu/cpus); ebs -h lists the types that \
                 can be had here"
            ),
        ),
        (
            libc::ENODATA,
            "ENODATA",
            "this CPU tells latencies of loads only in a group that mem-loads-aux leads (event \
             0x8203), and /sys/bus/event_source/devices/cpu/events does not name that one: mount \
             sysfs at /sys, or sample l1_cache_miss, which needs none"
                .into(),
        ),
        (
            libc::EBUSY,
            "EBUSY",
            "somebody else has PMU cpu for itself (another profiler, a branch or trace recording): \
             end that one and try again"
                .into(),
        ),
        (
            libc::ENOSPC,
            "ENOSPC",
            "PMU cpu has no counter left for it: end other profilers, or free the NMI watchdog's \
             (sysctl kernel.nmi_watchdog=0), and try again"
                .into(),
        ),
    ]
}

#[test]
fn refusals_of_an_event_of_the_hardware() {
    for step in Step::ALL.into_iter().filter(|step| step.opens_hardware()) {
        let config = if step == Step::Member { 0x2cd } else { 0x1cd };
        let cpu = if step == Step::LaterCpu { 2 } else { 0 };
        for (errno, name, advice) in of_hardware(config, cpu) {
            let text = refused(&step.plan(), &step.kernel(errno));
            assert_eq!(text, format!("{}{advice}", step.subject(name)), "{step:?}");
        }
    }
}

#[test]
fn refusals_of_what_is_not_the_hardwares() {
    let advice = [
        (
            libc::EINVAL,
            "EINVAL",
            [
                "this kernel does not know a part of the event's description, even with newer \
                 parts left out; ebs -h lists the types that can be had here, and a newer kernel \
                 may help",
                "that ring has gone, or belongs to another CPU; try again",
            ],
        ),
        (
            libc::EBUSY,
            "EBUSY",
            ["somebody else holds it exclusively (another profiler, the NMI watchdog); end that \
              one, or wait, and try again"; 2],
        ),
        (
            libc::ENOSPC,
            "ENOSPC",
            ["the CPU has no counter left for it: end other profilers and try again"; 2],
        ),
    ];
    for (errno, name, [of_side, of_ring]) in advice {
        for (step, advice) in [(Step::Side, of_side), (Step::SetOutput, of_ring)] {
            let text = refused(&step.plan(), &step.kernel(errno));
            assert_eq!(text, format!("{}{advice}", step.subject(name)), "{step:?}");
        }
    }
}

/// The text of the error that opening the whole system's events ends with.
fn refused_of_all(plan: &Plan, kernel: &Scripted) -> String {
    let (samples, side) = (nothing(), nothing());
    let rings = vec![OutputRings { cpu: Cpu(0), samples: &samples, side: &side }];
    let mut opener = Opener::new(plan, kernel, rings, None).unwrap();
    opener.open(None).unwrap_err().to_string()
}

#[test]
fn a_thread_that_is_gone_is_no_error_at_any_step() {
    for step in Step::ALL {
        let opened = open_all(&step.plan(), &step.kernel(libc::ESRCH)).unwrap();
        assert_eq!(opened.set, None, "{step:?}");
    }
    // Of the whole system there is no thread to be gone.
    let plan = Plan { target: Target::System, ..Step::First.plan() };
    assert_eq!(
        refused_of_all(&plan, &Step::First.kernel(libc::ESRCH)),
        "loads for the whole system on CPU 0: opening it failed with ESRCH: it has exited \
         meanwhile; choose another target"
    );
}

#[test]
fn a_cpu_that_goes_offline_is_left_out_and_the_last_one_is_an_error() {
    let opened = open_all(&Step::LaterCpu.plan(), &Step::LaterCpu.kernel(libc::ENODEV)).unwrap();
    let cpus: Vec<u32> = opened.set.unwrap().into_iter().map(|(cpu, _)| cpu).collect();
    assert_eq!(cpus, [0, 1, 3]);
    for step in Step::ALL.into_iter().filter(|&step| step != Step::LaterCpu) {
        let opened = open_all(&step.plan(), &step.kernel(libc::ENODEV)).unwrap();
        assert_eq!(opened.set, None, "{step:?}: the task is ending");
        let plan = Plan { target: Target::System, ..step.plan() };
        assert_eq!(
            refused_of_all(&plan, &step.kernel(libc::ENODEV)),
            "none of the 4 CPUs to be sampled is online",
            "{step:?}"
        );
    }
}

#[test]
fn running_out_of_descriptors_tells_how_many_there_were_and_are_needed() {
    for errno in [libc::EMFILE, libc::ENFILE] {
        for step in Step::ALL {
            // Two events and a side event on each of CPUs 0 and 1.
            let opened = if step == Step::LaterCpu { 6 } else { 0 };
            assert_eq!(
                refused(&step.plan(), &step.kernel(errno)),
                format!(
                    "the limit of open files (1024) is reached after {opened} events on 4 CPUs; \
                     each thread needs 12: raise it with `ulimit -n`"
                ),
                "{step:?}"
            );
        }
    }
}

#[test]
fn attrs_too_new_for_the_kernel_are_made_shorter_where_that_loses_nothing() {
    // A sandbox that takes 112 bytes and no more, whatever they hold.
    let kernel = Scripted::new(|asked| match asked.size {
        113.. => Answer::Knows(112),
        _ => Answer::Yes,
    });
    let opened = open_all(&plan_of(vec![hardware("loads", 2)]), &kernel).unwrap();
    assert_eq!(opened.outcome.notes, [""; 0], "nothing is lost");
    assert_eq!(opened.outcome.attrs.events[0].attr.precise_ip(), 2);
    let sizes: Vec<u32> = kernel.asked().iter().map(|asked| asked.size).collect();
    assert_eq!(sizes, [[144].as_slice(), &[112; 8]].concat(), "found out once");
}

#[test]
fn attrs_too_new_that_cannot_be_made_shorter_say_what_is_too_new() {
    let kernel = || {
        Scripted::new(|asked| match asked.attr {
            Attr { config3: 0, config4: 0, .. } => Answer::Yes,
            Attr { config4: 0, .. } => Answer::Knows(128),
            _ => Answer::Knows(136),
        })
    };
    let subject = "loads for process 4711 (thread 4712) on CPU 0: opening it failed with E2BIG: ";
    let with = |config3, config4| {
        let mut event = hardware("loads", 0);
        (event.attr.config3, event.attr.config4) = (config3, config4);
        refused(&plan_of(vec![event]), &kernel())
    };
    assert_eq!(
        with(5, 0),
        format!(
            "{subject}it needs config3, which this kernel does not know (Linux 6.3; its event \
             descriptions have 128 bytes): leave that term out, or use a newer kernel"
        )
    );
    assert_eq!(
        with(5, 1),
        format!(
            "{subject}it needs config4, which this kernel does not know (Linux 6.18; its event \
             descriptions have 136 bytes): leave that term out, or use a newer kernel"
        )
    );
    let ancient = Scripted::new(|_| Answer::Knows(96));
    let mut event = hardware("loads", 0);
    event.attr.sample_regs_intr = 0xff_03ff;
    assert_eq!(
        refused(&plan_of(vec![event]), &ancient),
        format!(
            "{subject}this kernel takes event descriptions of 96 bytes only; it is older than any \
             that hardmeter was made for (Linux 4.1): use a newer kernel"
        )
    );
}

#[test]
fn ibs_and_the_whole_system_have_words_of_their_own() {
    let mut event = hardware("ibs_op/l1_cache_miss/", 0);
    event.pmu = "ibs_op".into();
    event.attr.config = 0;
    let mut plan = plan_of(vec![event]);
    let subject = "ibs_op/l1_cache_miss/ for process 4711 (thread 4712) on CPU 0: opening it \
                   failed with EINVAL: ";
    let refusing = |errno| {
        Scripted::new(move |asked: &Asked| match asked.hardware() {
            true => Answer::No(errno),
            false => Answer::Yes,
        })
    };
    assert_eq!(
        refused(&plan, &refusing(libc::EINVAL)),
        format!(
            "{subject}PMU ibs_op refuses config 0x0 at interval 10007: IBS takes intervals that \
             are multiples of 16, and before Linux 6.14 cannot leave out a mode: give -u and -k \
             both, without a modifier"
        )
    );
    plan.events[0].attr.flags.remove(AttrFlags::EXCLUDE_KERNEL);
    assert_eq!(
        refused(&plan, &refusing(libc::EACCES)),
        subject.replace("EINVAL", "EACCES")
            + "kernel mode is closed to this user; kernel.perf_event_paranoid is unknown: be root, \
               have CAP_PERFMON, or as root: sysctl kernel.perf_event_paranoid=1"
    );
    plan.target = Target::System;
    plan.access.paranoid = Some(2);
    let text = refused(&plan, &refusing(libc::EACCES));
    assert_eq!(
        text,
        "ibs_op/l1_cache_miss/ for the whole system (thread 4712) on CPU 0: opening it failed \
         with EACCES: kernel.perf_event_paranoid is 2: be root, have CAP_PERFMON, or as root: \
         sysctl kernel.perf_event_paranoid=0"
    );
}
