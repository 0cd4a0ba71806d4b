//! Whatever the facts and the request: an attr with the safe bits only, or a
//! reason with a way out.

use perfdata::AttrFlags;
use proptest::prelude::*;

use super::*;
use crate::catalogue;

/// Bits that no session sets: signals to the target, other PMUs' output,
/// records and clocks that were not asked for, branches into the kernel.
const FORBIDDEN: AttrFlags = AttrFlags::SIGTRAP
    .union(AttrFlags::AUX_OUTPUT)
    .union(AttrFlags::REMOVE_ON_EXEC)
    .union(AttrFlags::INHERIT_THREAD)
    .union(AttrFlags::INHERIT_STAT)
    .union(AttrFlags::TEXT_POKE)
    .union(AttrFlags::CGROUP)
    .union(AttrFlags::BPF_EVENT)
    .union(AttrFlags::NAMESPACES)
    .union(AttrFlags::WRITE_BACKWARD)
    .union(AttrFlags::CONTEXT_SWITCH)
    .union(AttrFlags::USE_CLOCKID)
    .union(AttrFlags::PINNED)
    .union(AttrFlags::EXCLUSIVE)
    .union(AttrFlags::FREQ)
    .union(AttrFlags::EXCLUDE_HOST)
    .union(AttrFlags::EXCLUDE_GUEST)
    .union(AttrFlags::EXCLUDE_IDLE)
    .union(AttrFlags::PRECISE_IP)
    .union(AttrFlags::DEFER_CALLCHAIN)
    .union(AttrFlags::DEFER_OUTPUT);

fn any_event() -> impl Strategy<Value = String> {
    let names: Vec<_> = catalogue::all().map(|entry| entry.name.to_owned()).collect();
    prop_oneof![
        4 => prop::sample::select(names),
        2 => (any::<u64>(), 0..5_u32, "[rwx]{1,2}")
            .prop_map(|(address, shift, access)| format!("mem:{address:#x}/{}:{access}", 1 << shift)),
        1 => any::<u32>().prop_map(|address| format!("mem:{address:#x}:x")),
        1 => Just("sched:sched_switch".to_owned()),
        1 => Just("syscalls:sys_enter_write".to_owned()),
        1 => "[a-z:_0-9-]{0,20}",
    ]
}

fn any_request() -> impl Strategy<Value = Request> {
    let target = prop_oneof![
        Just(Target::Command),
        Just(Target::System),
        (-2..100_i32).prop_map(|pid| Target::Process(Pid(pid))),
    ];
    let interval = prop::option::of(prop_oneof![0..20_u64, any::<u64>()]);
    let ring = prop::option::of(any::<u32>());
    let ways = ["fp", "dwarf,8", "dwarf,57344", "lbr"].map(|how| how.parse().unwrap());
    let callers = prop::option::of(prop::sample::select(ways.to_vec()));
    (any_event(), any::<(bool, bool)>(), interval, target, ring, callers).prop_map(
        |(event, (user, kernel), interval, target, ring_pages, call_graph)| Request {
            interval,
            ring_pages,
            call_graph,
            ..Request::new(event, Modes { user, kernel }, target)
        },
    )
}

fn any_access() -> impl Strategy<Value = AccessFacts> {
    let limit =
        prop_oneof![Just(ResourceLimit::Unlimited), any::<u64>().prop_map(ResourceLimit::At)];
    let lockdown =
        prop::sample::select(vec![Lockdown::None, Lockdown::Integrity, Lockdown::Confidentiality]);
    let option = prop::option::of::<BoxedStrategy<ResourceLimit>>;
    (
        prop::option::of(0..3_u32),
        prop::option::of(any::<u64>()),
        prop::option::of(-1..5_i32),
        prop::option::of(prop_oneof![0..2000_u64, any::<u64>()]),
        option(limit.boxed()),
        prop::option::of(lockdown),
    )
        .prop_map(|(uid, capabilities, paranoid, mlock_kb, memlock, lockdown)| AccessFacts {
            uid,
            capabilities: capabilities.map(Capabilities),
            paranoid,
            mlock_kb,
            memlock,
            lockdown,
            ..AccessFacts::default()
        })
}

fn any_facts() -> impl Strategy<Value = Facts> {
    let tracepoint = prop_oneof![
        any::<u64>().prop_map(TracepointState::Id),
        Just(TracepointState::NoTracefs),
        Just(TracepointState::Missing { names: vec!["sched:sched_switch".to_owned()] }),
        Just(TracepointState::Forbidden("/t".into())),
    ];
    let process = prop_oneof![
        Just(ProcessState::Absent),
        (0..3_u32, 0..3_i32, any::<(bool, bool)>()).prop_map(
            |(uid, leader, (zombie, kernel_thread))| ProcessState::Present {
                uids: [uid; 3],
                leader: Pid(leader),
                zombie,
                kernel_thread,
            }
        ),
    ];
    let machine = prop::sample::select(vec!["x86_64", "aarch64", "riscv64"]);
    (
        any_access(),
        prop::option::of(0..300_u32),
        prop::option::of((0..24_u32).prop_map(|shift| 1_u64 << shift)),
        prop::option::of(any::<u64>()),
        prop::option::of(tracepoint),
        prop::option::of(process),
        machine,
    )
        .prop_map(|(access, cpus, page_size, memory_kib, tracepoint, process, machine)| {
            let mut facts = Facts { access, page_size, memory_kib, process, ..Facts::default() };
            for (event, state) in ["sched:sched_switch", "syscalls:sys_enter_write"]
                .into_iter()
                .zip(tracepoint.into_iter().cycle())
            {
                facts.tracepoints.insert(event.to_owned(), state);
            }
            facts.cpus.online = cpus.map(|count| (0..count).map(Cpu).collect());
            facts.kernel.machine = Some(machine.to_owned());
            facts
        })
}

const WAYS: [&str; 18] = [
    "say ",
    "use ",
    "ebs -h",
    "be root",
    "mount",
    "sysctl",
    "ulimit",
    "name ",
    "leave ",
    "write ",
    "watch",
    "Nearest",
    "choose",
    "try ",
    "check",
    "give",
    "ps -e",
    "be that user",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn plans_are_safe_and_refusals_help(request in any_request(), facts in any_facts()) {
        match plan(&request, &facts) {
            Ok(plan) => {
                for attr in [&plan.events[0].attr, &plan.side] {
                    prop_assert!(!attr.flags.intersects(FORBIDDEN), "{:?}", attr.flags);
                    prop_assert_eq!(attr.branch_sample_type.bits(), 0);
                    prop_assert_eq!((attr.sig_data, attr.aux_sample_size), (0, 0));
                    prop_assert!(attr.sample_period > 0 && attr.sample_period >> 63 == 0);
                    let registers = attr.sample_type.contains(SampleType::REGS_INTR);
                    prop_assert_eq!(registers, attr.sample_regs_intr != 0);
                    let registers = attr.sample_type.contains(SampleType::REGS_USER);
                    prop_assert_eq!(registers, attr.sample_regs_user != 0);
                }
                let flags = plan.events[0].attr.flags;
                prop_assert_eq!(flags.contains(AttrFlags::EXCLUDE_USER), !request.modes.user);
                prop_assert_eq!(flags.contains(AttrFlags::EXCLUDE_KERNEL), !request.modes.kernel);
                prop_assert!(!plan.events[0].attr.flags.contains(AttrFlags::MMAP));
                prop_assert!(plan.rings.samples.is_power_of_two());
                prop_assert!(plan.rings.side.is_power_of_two());
                prop_assert!(!plan.cpus.is_empty() && !plan.name.is_empty());
                prop_assert!(plan.notes.iter().all(|note| !note.is_empty()));
                if !(request.modes.kernel && facts.access.perfmon() == Some(false)) {
                    return Ok(());
                }
                prop_assert!(facts.access.paranoid.is_none_or(|level| level < 2));
            }
            Err(refusal) => {
                let text = refusal.to_string();
                prop_assert!(WAYS.iter().any(|way| text.contains(way)), "no way out: {text}");
                prop_assert!(!text.contains('\n'), "{text}");
            }
        }
    }
}
