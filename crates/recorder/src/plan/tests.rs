//! Requests and facts to attrs or refusals.

mod callers;
mod imprecise;
mod named;
mod property;

use perfdata::{Arch, AttrFlags, EventType, Pid, ReadFormat, SampleType};

use super::*;
use crate::catalogue::promises::IpPromise;
use crate::machine::facts::{
    Capabilities, Hypervisor, Lockdown, Pmu, ProcessState, ResourceLimit, Tracefs, TracepointState,
};
use crate::{EventSpec, Modes};

const ALL_CAPABILITIES: u64 = 0x1ff_ffff_ffff;

/// A two-CPU x86-64 guest without a PMU, seen by root.
fn root() -> Facts {
    let mut facts = Facts {
        page_size: Some(4096),
        memory_kib: Some(16 << 20),
        hypervisor: Hypervisor::Guest("KVM".to_owned()),
        tracefs: Tracefs::Absent,
        ..Facts::default()
    };
    let pmu = |(name, kind): (&str, u32)| Pmu {
        name: name.to_owned(),
        kind: Some(EventType(kind)),
        ..Pmu::default()
    };
    facts.pmus = Some([("breakpoint", 5), ("software", 1), ("tracepoint", 2)].map(pmu).to_vec());
    facts.cpus.online = Some(vec![Cpu(0), Cpu(1)]);
    facts.kernel.machine = Some("x86_64".to_owned());
    facts.access.uid = Some(0);
    facts.access.capabilities = Some(Capabilities(ALL_CAPABILITIES));
    facts.access.paranoid = Some(2);
    facts.access.mlock_kb = Some(516);
    facts.access.memlock = Some(ResourceLimit::At(8 << 20));
    facts
}

fn user() -> Facts {
    let mut facts = root();
    facts.access.uid = Some(1000);
    facts.access.capabilities = Some(Capabilities(0));
    facts
}

fn request(event: &str, modes: Modes) -> Request {
    Request::new(event, modes, Target::Command)
}

fn planned(event: &str, modes: Modes) -> Plan {
    plan(&request(event, modes), &root()).unwrap()
}

fn refused(request: &Request, facts: &Facts) -> (String, bool) {
    let refusal = plan(request, facts).unwrap_err();
    (refusal.to_string(), refusal.is_usage())
}

#[test]
fn page_faults_of_a_command() {
    let plan = planned("page-faults", Modes::KERNEL);
    assert_eq!(plan.name, "page_fault");
    let event = &plan.events[0].attr;
    assert_eq!((event.kind, event.config), (EventType::SOFTWARE, 2));
    assert_eq!((event.size, event.sample_period), (112, 1));
    assert_eq!(
        event.sample_type,
        SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::CPU
            | SampleType::PERIOD
            | SampleType::REGS_INTR
    );
    assert_eq!(event.sample_regs_intr, 0xff_03ff);
    assert_eq!(
        event.flags,
        AttrFlags::DISABLED
            | AttrFlags::INHERIT
            | AttrFlags::ENABLE_ON_EXEC
            | AttrFlags::SAMPLE_ID_ALL
            | AttrFlags::WATERMARK
            | AttrFlags::EXCLUDE_USER
            | AttrFlags::EXCLUDE_HV
    );
    assert_eq!(
        event.read_format,
        ReadFormat::ID
            | ReadFormat::TOTAL_TIME_ENABLED
            | ReadFormat::TOTAL_TIME_RUNNING
            | ReadFormat::LOST
    );
    assert_eq!(plan.rings, RingPages { samples: 2048, side: 256 });
    assert_eq!((event.wakeup, plan.side.wakeup), (2 << 20, 256 << 10));
    assert_eq!(plan.cpus, [Cpu(0), Cpu(1)]);
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    assert_eq!(
        plan.events[0].promises.to_string(),
        "source=kernel-software;ip=causing-instruction;addr=faulting;regs=before-instruction;\
         weight=none"
    );
}

#[test]
fn intervals_that_cannot_be_drawn_are_primes_and_that_is_said() {
    let planned = |event: &str, interval, seed| {
        let request = Request { interval, seed, ..request(event, Modes::USER) };
        let plan = plan(&request, &root()).unwrap();
        (plan.events[0].attr.sample_period, plan.notes.join(" "))
    };
    for event in ["page_fault", "mem:0x4040c0:w"] {
        let (period, note) = planned(event, Some(100), Some(1));
        assert_eq!(period, 101, "{event}");
        assert!(note.contains("every 101 events, not 100") && note.contains("-i =100"), "{note}");
        for (interval, seed) in [(Some(100), None), (Some(101), Some(1)), (None, Some(1))] {
            let (period, note) = planned(event, interval, seed);
            assert_eq!((period, note.contains("prime")), (interval.unwrap_or(1), false), "{event}");
        }
    }
    let (nanoseconds, note) = planned("task_clock", Some(1_000_000), Some(1));
    assert_eq!((nanoseconds, note.contains("prime")), (1_000_000, false));
}

#[test]
fn software_events_with_an_interval_carry_no_period() {
    let sample_type = |event: &str, interval| {
        let request = Request { interval: Some(interval), ..request(event, Modes::BOTH) };
        let plan = plan(&request, &root()).unwrap();
        assert_eq!(plan.events[0].attr.sample_type, plan.side.sample_type);
        plan.events[0].attr.sample_type
    };
    for event in ["page_fault", "context_switch", "mem:0x4040c0:w"] {
        assert!(!sample_type(event, 100).contains(SampleType::PERIOD), "{event}");
        assert!(sample_type(event, 1).contains(SampleType::PERIOD), "{event}");
    }
    assert!(sample_type("task_clock", 1_000_000).contains(SampleType::PERIOD));
}

#[test]
fn side_events_carry_what_symbolizing_needs() {
    let plan = planned("page_fault", Modes::BOTH);
    let side = &plan.side;
    assert_eq!((side.kind, side.config), (EventType::SOFTWARE, 9));
    for flag in [
        AttrFlags::MMAP,
        AttrFlags::MMAP2,
        AttrFlags::COMM,
        AttrFlags::COMM_EXEC,
        AttrFlags::TASK,
        AttrFlags::BUILD_ID,
        AttrFlags::KSYMBOL,
        AttrFlags::SAMPLE_ID_ALL,
        AttrFlags::EXCLUDE_KERNEL,
    ] {
        assert!(side.flags.contains(flag), "{flag:?}");
    }
    assert_eq!(side.sample_type, plan.events[0].attr.sample_type);
    assert_eq!(plan.fallbacks, [Fallback::Lost, Fallback::BuildId, Fallback::Ksymbol]);
    let user = planned("page_fault", Modes::USER);
    assert!(!user.side.flags.contains(AttrFlags::KSYMBOL));
    assert_eq!(user.fallbacks, [Fallback::Lost, Fallback::BuildId]);
    assert!(!user.side.flags.contains(AttrFlags::MMAP_DATA), "only when asked for");
    let with_data = Request { data_mappings: true, ..request("page_fault", Modes::USER) };
    let data = super::plan(&with_data, &root()).unwrap();
    assert!(data.side.flags.contains(AttrFlags::MMAP_DATA));
}

#[test]
fn fallbacks_take_one_feature_out_of_both() {
    let mut plan = planned("page_fault", Modes::BOTH);
    for fallback in plan.fallbacks.clone() {
        let before = (plan.events[0].attr.clone(), plan.side.clone());
        fallback.apply(&mut plan.events[0].attr);
        fallback.apply(&mut plan.side);
        assert_ne!(before, (plan.events[0].attr.clone(), plan.side.clone()), "{fallback}");
    }
    assert!(!plan.side.flags.intersects(AttrFlags::BUILD_ID | AttrFlags::KSYMBOL));
    assert!(!plan.events[0].attr.read_format.contains(ReadFormat::LOST));
}

#[test]
fn targets_decide_inheritance() {
    let flags = |target| plan(&Request::new("page_fault", Modes::USER, target), &root()).unwrap();
    let process = flags(Target::Process(Pid(7))).events[0].attr.flags;
    assert!(process.contains(AttrFlags::INHERIT) && !process.contains(AttrFlags::ENABLE_ON_EXEC));
    let system = flags(Target::System).events[0].attr.flags;
    assert!(!system.intersects(AttrFlags::INHERIT | AttrFlags::ENABLE_ON_EXEC));
}

#[test]
fn clocks_keep_the_kernels_shortest_interval() {
    assert_eq!(planned("cpu_clock", Modes::BOTH).events[0].attr.sample_period, 1_000_000);
    let mut short = request("task_clock", Modes::USER);
    short.interval = Some(100);
    let plan = plan(&short, &root()).unwrap();
    assert_eq!(plan.events[0].attr.sample_period, 10_000);
    assert!(plan.notes[0].contains("100 ns"), "{:?}", plan.notes);
}

#[test]
fn scheduler_events_want_kernel_mode() {
    for event in ["context_switch", "cpu_migration"] {
        let (text, usage) = refused(&request(event, Modes::USER), &root());
        assert!(text.contains("use -k") && usage, "{text}");
        assert!(planned(event, Modes::BOTH).notes.is_empty());
    }
}

#[test]
fn what_x86_never_counts_is_said() {
    let plan = planned("alignment_fault", Modes::USER);
    assert!(plan.notes[0].contains("never count"), "{:?}", plan.notes);
}

#[test]
fn usage_errors() {
    let base = request("page_fault", Modes::USER);
    let cases: [(Request, &str); 7] = [
        (Request { interval: Some(0), ..base.clone() }, "interval 0"),
        (Request { interval: Some(1 << 63), ..base.clone() }, "9223372036854775808"),
        (Request { modes: Modes::default(), ..base.clone() }, "-u"),
        (Request { masks: vec!["a".into(), "b".into()], ..base.clone() }, "-m a,b"),
        (Request { ring_pages: Some(0), ..base.clone() }, "0 pages"),
        (Request { target: Target::Process(Pid(-3)), ..base.clone() }, "-3"),
        (Request { event: EventSpec::from("nonsense"), ..base.clone() }, "nonsense"),
    ];
    for (request, part) in cases {
        let (text, usage) = refused(&request, &root());
        assert!(text.contains(part) && usage, "{text}");
    }
}

#[test]
fn hardware_types_are_refused_in_one_line() {
    let (text, usage) = refused(&request("l1_cache_miss", Modes::KERNEL), &root());
    assert!(
        text.starts_with(
            "l1_cache_miss is not to be had here: no hardware PMU: KVM guest, no cpu device under \
             /sys/bus/event_source. Nearest: page_fault"
        ),
        "{text}"
    );
    assert!(!usage && !text.contains('\n'));
}

#[test]
fn breakpoints() {
    let plan = planned("mem:0x4040c0/8:w", Modes::USER);
    let event = &plan.events[0].attr;
    assert_eq!(event.kind, EventType::BREAKPOINT);
    assert_eq!((event.bp_type, event.config1, event.config2), (2, 0x40_40c0, 8));
    assert_eq!(plan.events[0].promises.ip, IpPromise::AfterCausing);

    let read = planned("mem:0x4040c0:r", Modes::USER);
    assert_eq!((read.name.as_str(), read.events[0].attr.bp_type), ("mem:0x4040c0/4:rw", 3));
    assert!(read.notes[0].contains("loads alone"), "{:?}", read.notes);

    let execute = planned("mem:0x401001:x", Modes::USER);
    assert_eq!((execute.events[0].attr.bp_type, execute.events[0].attr.config2), (4, 8));
    assert_eq!(execute.events[0].promises.ip, IpPromise::Causing);
}

#[test]
fn breakpoint_addresses_are_checked() {
    let kernel = "mem:0xffffffff81000000/8:w";
    assert!(refused(&request(kernel, Modes::USER), &root()).0.contains("use -k"));
    assert!(plan(&request(kernel, Modes::KERNEL), &root()).is_ok());
    let mut facts = user();
    facts.access.paranoid = Some(1);
    assert!(refused(&request(kernel, Modes::KERNEL), &facts).0.contains("CAP_SYS_ADMIN"));
    for nowhere in ["mem:0x8000000000000000:w", "mem:0x7fffffffeffc/8:w", "mem:0x7ffffffff000:w"] {
        let event = nowhere.replace("effc/8", "f000/8");
        let (text, usage) = refused(&request(&event, Modes::BOTH), &root());
        assert!(text.contains("nothing can access it") && usage, "{text}");
    }
}

#[test]
fn tracepoints() {
    let switch = request("sched:sched_switch", Modes::KERNEL);
    assert!(refused(&switch, &root()).0.contains("mount -t tracefs"));
    let mut facts = root();
    facts.tracefs = Tracefs::At("/sys/kernel/tracing".into());
    facts.tracepoints.insert("sched:sched_switch".to_owned(), TracepointState::Id(372));
    let found = plan(&switch, &facts).unwrap();
    assert_eq!(
        (found.events[0].attr.kind, found.events[0].attr.config),
        (EventType::TRACEPOINT, 372)
    );
    // perf script 6.1 crashes on raw fields that no stream describes.
    assert!(!found.events[0].attr.sample_type.contains(SampleType::RAW));
    let quiet = plan(&request("sched:sched_switch", Modes::USER), &facts).unwrap();
    assert!(quiet.notes[0].contains("-k only"), "{:?}", quiet.notes);

    let names = vec!["sched:sched_switch".to_owned(), "irq:irq_handler_entry".to_owned()];
    let missing = TracepointState::Missing { names };
    facts.tracepoints.insert("sched:sched_swich".to_owned(), missing);
    let (text, _) = refused(&request("sched:sched_swich", Modes::KERNEL), &facts);
    assert!(text.contains("did you mean sched:sched_switch?"), "{text}");
    let forbidden = TracepointState::Forbidden("/sys/kernel/tracing".into());
    facts.tracepoints.insert("sched:sched_switch".to_owned(), forbidden);
    assert!(refused(&switch, &facts).0.contains("/sys/kernel/tracing"));
}

#[test]
fn paranoid_levels() {
    let kernel = request("page_fault", Modes::KERNEL);
    let system = Request::new("page_fault", Modes::USER, Target::System);
    let mut facts = user();
    assert!(refused(&kernel, &facts).0.contains("kernel.perf_event_paranoid=1"));
    assert!(refused(&system, &facts).0.contains("kernel.perf_event_paranoid=0"));
    assert!(plan(&request("page_fault", Modes::USER), &facts).is_ok());
    facts.access.paranoid = Some(1);
    assert!(plan(&kernel, &facts).is_ok());
    assert!(plan(&system, &facts).is_err());
    facts.access.paranoid = Some(0);
    assert!(plan(&system, &facts).is_ok());
    facts.access.paranoid = Some(2);
    facts.access.capabilities = Some(Capabilities(1 << 38));
    assert!(plan(&kernel, &facts).is_ok() && plan(&system, &facts).is_ok());
    facts.access.capabilities = None;
    assert!(plan(&kernel, &facts).is_ok(), "unknown rights are the kernel's to judge");
}

#[test]
fn processes_that_cannot_be_sampled() {
    let present = |uid, leader, zombie, kernel_thread| {
        Some(ProcessState::Present { uids: [uid; 3], leader: Pid(leader), zombie, kernel_thread })
    };
    let request = Request::new("page_fault", Modes::USER, Target::Process(Pid(70)));
    let with = |process, mut facts: Facts| {
        facts.process = process;
        plan(&request, &facts).map_err(|refusal| refusal.to_string())
    };
    for (process, part) in [
        (Some(ProcessState::Absent), "no process has PID 70"),
        (present(1000, 70, true, false), "zombie"),
        (present(1000, 69, false, false), "use PID 69"),
        (present(0, 70, false, true), "thread of the kernel"),
        (present(0, 70, false, false), "belongs to user 0"),
    ] {
        let text = with(process, user()).unwrap_err();
        assert!(text.contains(part), "{text}");
    }
    assert!(with(present(1000, 70, false, false), user()).is_ok());
    assert!(with(present(1000, 70, false, false), root()).is_ok());
    assert!(with(None, user()).is_ok());
}

#[test]
fn rings_fit_the_locked_memory() {
    let rings = |facts: &Facts, pages| {
        let mut request = request("page_fault", Modes::USER);
        request.ring_pages = pages;
        let plan = plan(&request, facts).unwrap();
        (plan.rings.samples, plan.rings.side, plan.notes.len())
    };
    let mut facts = user();
    assert_eq!(rings(&facts, None), (1024, 64, 0), "8 MiB and 2 x 516 KiB for two CPUs");
    facts.access.memlock = Some(ResourceLimit::At(0));
    assert_eq!(rings(&facts, None), (64, 32, 1), "129 pages a CPU");
    assert_eq!(rings(&facts, Some(3)), (4, 64, 0));
    assert_eq!(rings(&facts, Some(1)), (1, 64, 0));
    assert_eq!(rings(&facts, Some(u32::MAX)), (64, 32, 1));
    facts.access.mlock_kb = Some(0);
    assert_eq!(rings(&facts, None), (1, 1, 1), "the kernel will refuse even that");
    facts.access.paranoid = Some(-1);
    assert_eq!(rings(&facts, None), (2048, 256, 0));
    facts.memory_kib = Some(256 << 10);
    assert_eq!(rings(&facts, None), (1024, 256, 0), "a sixteenth of 256 MiB for two CPUs");
    assert_eq!(rings(&root(), Some(512)), (512, 256, 0));
}

#[test]
fn shrinking_rings_ends() {
    let mut rings = RingPages { samples: 2048, side: 256 };
    let mut steps = 0;
    while let Some(smaller) = rings.smaller() {
        assert!(smaller.samples < rings.samples || smaller.side < rings.side);
        assert!(smaller.samples.is_power_of_two() && smaller.side.is_power_of_two());
        rings = smaller;
        steps += 1;
    }
    assert_eq!((rings, steps), (RingPages { samples: 1, side: 1 }, 19));
}

#[test]
fn registers_go_when_the_kernel_would_refuse_them() {
    let mut facts = root();
    facts.access.lockdown = Some(Lockdown::Confidentiality);
    let locked = plan(&request("page_fault", Modes::USER), &facts).unwrap();
    assert!(!locked.events[0].attr.sample_type.contains(SampleType::REGS_INTR));
    assert_eq!(locked.events[0].attr.sample_regs_intr, 0);
    assert!(locked.events[0].promises.to_string().contains("regs=none"));
    assert!(locked.notes[0].contains("locked down"));

    facts.access.lockdown = None;
    facts.kernel.machine = Some("sparc64".to_owned());
    assert_eq!(facts.kernel.arch(), Arch::Other);
    assert!(plan(&request("page_fault", Modes::USER), &facts).unwrap().notes.len() == 1);
}

#[test]
fn unknown_cpus_are_refused() {
    let mut facts = root();
    facts.cpus.online = None;
    assert!(refused(&request("page_fault", Modes::USER), &facts).0.contains("mount"));
}
