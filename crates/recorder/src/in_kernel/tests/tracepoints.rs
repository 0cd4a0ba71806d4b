//! Hits of tracepoints: of commands, of this process, of everybody.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process;

use perfdata::attr::AttrFlags;
use perfdata::{Attr, Cpu, EventType, Pid, SampleLayout, SampleType};
use rustix::process::getppid;

use super::hits::{by_ip, cpus};
use crate::in_kernel::{
    CountedTracepoint, HitScope, HitSource, InKernel, KernelProgram, LoadError, ProgramTask,
    SampleConditions, SiteTables,
};
use crate::ring;
use crate::session::command::Command;
use crate::sys::event::{EncodedAttr, EventPlace, NATIVE_ORDER, PerfEvent};
use crate::sys::mapping::RingMapping;

const EVENTS: &str = "/sys/kernel/tracing/events";

/// Its number; None, said, where tracefs or the tracepoint is not there.
fn id(name: &str) -> Option<u64> {
    let path = Path::new(EVENTS).join(name.replace(':', "/")).join("id");
    match fs::read_to_string(&path) {
        Ok(text) => Some(text.trim().parse().unwrap()),
        Err(error) => {
            eprintln!("skipped: {}: {error}", path.display());
            None
        }
    }
}

fn of(id: u64, scope: HitScope) -> HitSource {
    let of_system_call = false;
    HitSource::Tracepoint(CountedTracepoint {
        id,
        scope,
        interval: 1,
        user_only: false,
        of_system_call,
    })
}

fn load(in_kernel: &InKernel, source: HitSource) -> KernelProgram {
    KernelProgram::load(in_kernel, source, &cpus()).unwrap()
}

/// Every hit of a command and its children from its exec on, in a ring.
struct Ring {
    event: PerfEvent,
    ring: RingMapping,
}

fn rings(id: u64, pid: Pid) -> Vec<Ring> {
    let attr = Attr {
        kind: EventType::TRACEPOINT,
        config: id,
        sample_period: 1,
        sample_type: SampleType::IP,
        flags: AttrFlags::DISABLED | AttrFlags::INHERIT | AttrFlags::ENABLE_ON_EXEC,
        ..Attr::default()
    };
    let open = |cpu: Cpu| {
        let place = EventPlace {
            pid: pid.0,
            cpu: i32::try_from(cpu.0).unwrap(),
            leader: None,
            leads: false,
            cgroup: None,
        };
        let event = PerfEvent::open(&mut EncodedAttr::new(&attr).unwrap(), place).unwrap();
        let ring = RingMapping::new(&event, 256).unwrap();
        Ring { event, ring }
    };
    cpus().into_iter().map(open).collect()
}

/// What the rings have, by instruction pointer, and what the kernel counted.
fn drained(rings: &mut [Ring]) -> (BTreeMap<u64, u64>, u64) {
    let attr = Attr { sample_type: SampleType::IP, ..Attr::default() };
    let layout = SampleLayout::new(&attr, NATIVE_ORDER).unwrap();
    let mut counts = BTreeMap::new();
    for each in rings.iter_mut() {
        ring::drain(&mut each.ring, |lent| {
            let payload = [&lent.first[8..], lent.second].concat();
            *counts.entry(layout.peek_ip(&payload).unwrap()).or_default() += 1;
        });
    }
    (counts, rings.iter().map(|each| each.event.counts().unwrap().count).sum())
}

/// An event such as a session's, without which no task counts: 0 is this
/// thread.
fn counting(id: u64, pid: i32) -> PerfEvent {
    let attr = Attr {
        kind: EventType::TRACEPOINT,
        config: id,
        flags: AttrFlags::INHERIT,
        ..Attr::default()
    };
    let place = EventPlace { pid, cpu: -1, leader: None, leads: false, cgroup: None };
    PerfEvent::open(&mut EncodedAttr::new(&attr).unwrap(), place).unwrap()
}

fn shell(script: &str) -> Command {
    hold(&["sh", "-c", script])
}

fn hold(words: &[&str]) -> Command {
    let words: Vec<OsString> = words.iter().map(Into::into).collect();
    Command::hold(&words).unwrap()
}

fn run(mut command: Command) {
    command.release().unwrap();
    let pid = rustix::process::Pid::from_raw(command.pid().0).unwrap();
    let ended = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(rustix::process::WaitId::Pid(pid), ended).unwrap();
}

/// Forks, execs and ends that the sites and the counts have to survive.
const FORKS: &str = "for i in 1 2 3 4 5 6 7 8 9 10; do (exit 1); ls / > /dev/null; done; exit 0";

#[test]
fn of_a_command_that_forks_each_site_is_what_ring_and_kernel_say() {
    if super::hits::refused() {
        return;
    }
    let all = [
        "raw_syscalls:sys_enter",
        "syscalls:sys_enter_close",
        "kmem:kmalloc",
        "kmem:kfree",
        "sched:sched_switch",
        "sched:sched_wakeup",
        "exceptions:page_fault_user",
        "task:task_newtask",
    ];
    for name in all {
        let Some(id) = id(name) else { continue };
        let command = shell(FORKS);
        let scope = HitScope::Held(command.pid());
        let of_system_call = name.starts_with("syscalls:");
        let point = CountedTracepoint { id, scope, interval: 1, user_only: false, of_system_call };
        let program = load(&InKernel::aggregate(), HitSource::Tracepoint(point));
        let mut rings = rings(id, command.pid());
        run(command);
        let mut reader = program.reader().unwrap();
        let aggregate = reader.take().unwrap();
        let (ring, kernel) = drained(&mut rings);
        assert_eq!(by_ip(&aggregate), ring, "{name}");
        // Of the scheduler's, perf counts some that it writes no sample of.
        let certain = !name.starts_with("sched:");
        assert!(aggregate.count() == kernel || !certain, "{name}: {kernel}");
        assert_eq!((reader.hits(), reader.hit_counts().seen), (aggregate.count(), reader.hits()));
        assert_eq!((aggregate.lost, reader.kernel_busy()), (vec![], Some(0)), "{name}");
        assert!(kernel > 0, "{name}: {kernel} hits");
    }
}

/// A shell of its own that root may make set-user-ID, run by nobody.
struct Shell {
    _place: tempfile::TempDir,
    program: std::path::PathBuf,
}

impl Shell {
    fn new(mode: u32) -> Shell {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        let program = place.path().join("sh");
        fs::copy("/bin/sh", &program).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(mode)).unwrap();
        Shell { _place: place, program }
    }

    /// Hits of a tracepoint in setpriv, which becomes the shell, and in the
    /// shell: as counted in the kernel, which perf's own ring confirms.
    #[track_caller]
    fn hits(&self, name: &str, script: &str) -> u64 {
        let id = id(name).unwrap();
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let shell = [self.program.to_str().unwrap(), "-c", script];
        let command = hold(&[&nobody[..], &shell].concat());
        let scope = HitScope::Held(command.pid());
        let of_system_call = name.starts_with("syscalls:");
        let point = CountedTracepoint { id, scope, interval: 1, user_only: false, of_system_call };
        let loaded = load(&InKernel::aggregate(), HitSource::Tracepoint(point));
        let mut rings = rings(id, command.pid());
        run(command);
        let aggregate = loaded.reader().unwrap().take().unwrap();
        let (ring, kernel) = drained(&mut rings);
        assert_eq!(by_ip(&aggregate), ring);
        assert_eq!(aggregate.count(), kernel);
        kernel
    }
}

/// How many calls the loader makes before is the machine's own affair: what
/// counts is whether the program's calls are among them.
#[test]
fn a_set_user_id_program_is_not_counted_as_perf_does_not_sample_it() {
    if super::hits::refused() {
        return;
    }
    let (any_call, listing) = ("raw_syscalls:sys_enter", "syscalls:sys_enter_getdents64");
    if id(any_call).is_none() || id(listing).is_none() {
        return;
    }
    let (own, roots) = (Shell::new(0o755), Shell::new(0o4755));
    let script = "for i in 1 2 3 4 5 6 7 8 9; do (exit 1); ls / > /dev/null; done";
    let before = own.hits(listing, "exit 0");
    assert!(own.hits(listing, script) >= before + 9, "nobody's own program is counted");
    assert_eq!(roots.hits(listing, script), before, "only what came before it is counted");
    assert!(roots.hits(any_call, script) > 0, "what came before it");
}

/// Calls a system call of which nothing else makes any meanwhile.
fn call(times: u64) {
    for _ in 0..times {
        let _parent = getppid();
    }
}

#[test]
fn of_a_process_what_lies_between_start_and_stop_counts() {
    if super::hits::refused() {
        return;
    }
    let Some(id) = id("syscalls:sys_enter_getppid") else { return };
    let source = of(id, HitScope::Process(Pid(process::id().cast_signed())));
    let program = load(&InKernel::aggregate(), source);
    // As a worker gets it from the supervisor.
    let program =
        KernelProgram::from_descriptors(&InKernel::aggregate(), source, program.into_descriptors());
    let program = program.unwrap();
    let mut reader = program.reader().unwrap();
    let _event = counting(id, 0);
    call(5);
    assert_eq!(reader.take().unwrap().count(), 0);
    program.start().unwrap();
    let mut counted = 0;
    for times in [1, 10_000, 0, 77] {
        call(times);
        let aggregate = reader.take().unwrap();
        assert_eq!(aggregate.count(), times);
        counted += times;
    }
    std::thread::spawn(|| call(3)).join().unwrap();
    program.stop().unwrap();
    call(5);
    assert_eq!(reader.take().unwrap().count(), 3);
    assert_eq!((reader.hits(), reader.kernel_busy()), (counted + 3, Some(0)));
}

#[test]
fn every_seventh_hit_of_a_cpu_is_a_sample_of_seven() {
    if super::hits::refused() {
        return;
    }
    let Some(id) = id("syscalls:sys_enter_getppid") else { return };
    let scope = HitScope::Process(Pid(process::id().cast_signed()));
    let point =
        CountedTracepoint { id, scope, interval: 7, user_only: false, of_system_call: true };
    let program = load(&InKernel::aggregate(), HitSource::Tracepoint(point));
    let mut reader = program.reader().unwrap();
    let _event = counting(id, 0);
    program.start().unwrap();
    call(7_000);
    let aggregate = reader.take().unwrap();
    let period: u64 = aggregate.sites.iter().map(|site| site.period).sum();
    assert_eq!(reader.hits(), 7_000);
    assert_eq!(period, aggregate.count() * 7);
    // The rest of each CPU is below an interval.
    let rest = reader.hits() - period;
    assert!(rest <= 6 * cpus().len() as u64, "{rest}");
}

#[test]
fn who_was_forked_before_or_by_others_does_not_count() {
    if super::hits::refused() {
        return;
    }
    let Some(id) = id("raw_syscalls:sys_enter") else { return };
    let stranger = shell("ls / > /dev/null; exit 0");
    let counted = shell("(exit 0); ls / > /dev/null; exit 0");
    let tables = SiteTables { by_process: true, ..SiteTables::default() };
    let in_kernel =
        InKernel { duty: ProgramTask::Aggregate(tables), keep: SampleConditions::default() };
    let program = load(&in_kernel, of(id, HitScope::Held(counted.pid())));
    let (strange, own) = (stranger.pid(), counted.pid());
    let _events = [counting(id, strange.0), counting(id, own.0)];
    run(stranger);
    let mut reader = program.reader().unwrap();
    assert_eq!(reader.take().unwrap().sites, []);
    run(counted);
    let sites = reader.take().unwrap().sites;
    let processes: Vec<_> = sites.iter().filter_map(|site| site.process).collect();
    assert!(processes.contains(&own), "{processes:?}");
    assert!(processes.iter().any(|&process| process != own), "no child: {processes:?}");
    assert!(!processes.contains(&strange), "{processes:?}");
    assert!(!processes.contains(&Pid(process::id().cast_signed())), "{processes:?}");
}

#[test]
fn a_number_that_becomes_another_process_does_not_count() {
    if super::hits::refused() {
        return;
    }
    let Some(id) = id("raw_syscalls:sys_enter") else { return };
    let last = Path::new("/proc/sys/kernel/ns_last_pid");
    let counted = shell("exit 0");
    let program = load(&InKernel::aggregate(), of(id, HitScope::Held(counted.pid())));
    let number = counted.pid();
    let _event = counting(id, number.0);
    run(counted);
    let mut reader = program.reader().unwrap();
    assert!(reader.take().unwrap().count() > 0);
    for _ in 0..100 {
        if let Err(error) = fs::write(last, (number.0 - 1).to_string()) {
            eprintln!("skipped: {}: {error}", last.display());
            return;
        }
        let other = shell("exit 0");
        let is_it = other.pid() == number;
        let _event = counting(id, other.pid().0);
        run(other);
        if is_it {
            assert_eq!(reader.take().unwrap().sites, []);
            return;
        }
    }
    eprintln!("skipped: nobody got the number {number} in 100 forks");
}

#[test]
fn of_everybody_all_that_is_called_counts() {
    if super::hits::refused() {
        return;
    }
    let Some(id) = id("syscalls:sys_enter_getppid") else { return };
    let program = load(&InKernel::aggregate(), of(id, HitScope::Everyone));
    let mut reader = program.reader().unwrap();
    program.start().unwrap();
    call(1_000);
    let aggregate = reader.take().unwrap();
    // Shells call it when they start.
    assert!((1_000..2_000).contains(&aggregate.count()), "{}", aggregate.count());
}

#[test]
fn hits_of_user_mode_alone_are_none_of_the_kernels() {
    if super::hits::refused() {
        return;
    }
    let Some(id) = id("kmem:kmalloc") else { return };
    let point = CountedTracepoint {
        id,
        scope: HitScope::Everyone,
        interval: 1,
        user_only: true,
        of_system_call: false,
    };
    let program = load(&InKernel::aggregate(), HitSource::Tracepoint(point));
    program.start().unwrap();
    run(shell(FORKS));
    let mut reader = program.reader().unwrap();
    assert_eq!((reader.take().unwrap().count(), reader.hits()), (0, 0));
}

#[test]
fn what_cannot_be_says_why() {
    let nowhere = tempfile::tempdir().unwrap();
    let load = |in_kernel: &InKernel, scope| {
        KernelProgram::load_at(nowhere.path(), in_kernel, of(1, scope), &cpus()).unwrap_err()
    };
    let filter = InKernel { duty: ProgramTask::Filter, keep: SampleConditions::default() };
    assert_eq!(load(&filter, HitScope::Everyone), LoadError::FilteredTracepoint);
    assert_eq!(load(&InKernel::aggregate(), HitScope::Everyone), LoadError::NoBtf);
    let kernel = nowhere.path().join("proc/sys/kernel");
    fs::create_dir_all(&kernel).unwrap();
    for (release, is_old) in [("5.10.0-46-cloud-amd64\n", true), ("5.12.0\n", false)] {
        fs::write(kernel.join("osrelease"), release).unwrap();
        let why = load(&InKernel::aggregate(), HitScope::Everyone);
        let old = LoadError::OldKernel { release: release.trim().into() };
        assert_eq!(why, if is_old { old } else { LoadError::NoBtf });
    }
    // Any file but the initial namespace's.
    let proc = nowhere.path().join("proc/self/ns");
    fs::create_dir_all(&proc).unwrap();
    fs::write(proc.join("pid"), "").unwrap();
    assert_eq!(load(&InKernel::aggregate(), HitScope::Process(Pid(1))), LoadError::PidNamespace);
    assert_eq!(load(&InKernel::aggregate(), HitScope::Held(Pid(1))), LoadError::PidNamespace);
}
