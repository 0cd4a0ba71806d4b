//! Facts from trees written by hand, and once from this machine.

use std::fs;
use std::path::Path;

use perfdata::{Cpu, EventType, Pid};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{Modes, Request, Target};

fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    root
}

fn read(files: &[(&str, &str)]) -> Result<Facts, FactsError> {
    Facts::read(tree(files).path())
}

#[test]
fn an_empty_tree_is_all_unknown() {
    let facts = read(&[]).unwrap();
    assert_eq!(facts, Facts::default());
    assert_eq!(facts.page_bytes(), 4096);
    assert!(!facts.has_core_pmu());
    assert_eq!(facts.cache_line(), None);
}

#[test]
fn this_machine_is_known() {
    let facts = Facts::read(Path::new("/")).unwrap();
    assert!(facts.kernel.version.unwrap() >= Version(4, 0, 0), "{:?}", facts.kernel);
    assert!(!facts.cpus.online.as_ref().unwrap().is_empty());
    assert_eq!(facts.page_size.unwrap(), u64::try_from(rustix::param::page_size()).unwrap());
    assert_eq!(facts.access.uid.unwrap(), rustix::process::getuid().as_raw());
    assert!(
        facts
            .pmus
            .as_ref()
            .unwrap()
            .iter()
            .any(|pmu| { pmu.name == "software" && pmu.kind == Some(EventType::SOFTWARE) })
    );
    let nofile = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let expected = nofile.current.map_or(ResourceLimit::Unlimited, ResourceLimit::At);
    assert_eq!(facts.access.nofile, Some(expected));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_cpu_tells_what_cpuinfo_tells() {
    let facts = Facts::read(Path::new("/")).unwrap();
    let mut asked = Cpus::default();
    asked.ask_cpu();
    let identity = |cpus: &Cpus| (cpus.vendor.clone(), cpus.family, cpus.model, cpus.stepping);
    assert!(asked.vendor.is_some() && asked.family > Some(0), "{asked:?}");
    assert_eq!(identity(&asked), identity(&facts.cpus));
    let mut known = Cpus { vendor: Some("Other".to_owned()), model: Some(7), ..asked.clone() };
    known.ask_cpu();
    assert_eq!((known.vendor.as_deref(), known.model), (Some("Other"), Some(7)));
}

#[test]
fn cpu_lists() {
    let list = |text| cpu::cpu_list(text).map(|cpus| cpus.into_iter().map(|Cpu(n)| n).collect());
    assert_eq!(list("0-3,8,10-11\n"), Ok(vec![0, 1, 2, 3, 8, 10, 11]));
    assert_eq!(list("7"), Ok(vec![7]));
    assert_eq!(listed(&cpu::cpu_list("0-3,8,10-11").unwrap()), "0-3,8,10-11");
    assert_eq!(listed(&[]), "");
    assert_eq!(list("2,1,1-2"), Ok(vec![1, 2]));
    for (text, token) in
        [("", ""), ("0-", "0-"), ("0,x", "x"), ("3-1", "3-1"), ("0-99999999", "0-99999999")]
    {
        assert_eq!(list(text), Err(token.to_owned()), "{text:?}");
    }
}

#[test]
fn malformed_files_are_named_by_path_line_and_word() {
    let cases = [
        ("sys/devices/system/cpu/online", "0-1,q", "online:1: \"q\" is no CPU or range of CPUs"),
        ("proc/sys/kernel/perf_event_paranoid", "two", "paranoid:1: \"two\" is no number"),
        ("proc/sys/kernel/osrelease", "generic", "osrelease:1: \"generic\" is no kernel release"),
        ("proc/self/status", "Name:\tx\nCapEff:\tzz\n", "status:2: \"zz\" is no hex mask"),
        ("proc/self/limits", "Max open files  many\n", "limits:1: \"many\" is no limit"),
        ("proc/meminfo", "MemTotal:  lots kB\n", "meminfo:1: \"lots\" is no size"),
        ("sys/kernel/security/lockdown", "none integrity", "\"none integrity\" is no lockdown"),
        ("sys/bus/event_source/devices/cpu/type", "four", "type:1: \"four\" is no number"),
        ("proc/cpuinfo", "vendor_id : X\nmodel : nine\n", "cpuinfo:2: \"nine\" is no number"),
        (
            "sys/devices/system/node/node0/meminfo",
            "\nNode 0 MemFree:  lots kB\n",
            "node0/meminfo:2: \"lots\" is no size",
        ),
    ];
    for (path, content, expected) in cases {
        let error = read(&[(path, content)]).unwrap_err().to_string();
        assert!(error.contains(expected), "{path}: {error}");
    }
}

#[test]
fn rights_and_limits() {
    let facts = read(&[
        ("proc/self/status", "Uid:\t1000\t0\t0\t0\nCapEff:\t0000004000000000\n"),
        ("proc/self/uid_map", "         0          0 4294967295\n"),
        (
            "proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max open files            1024                 524288               files     \n\
             Max locked memory         unlimited            unlimited            bytes     \n",
        ),
        ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
        ("proc/sys/kernel/perf_event_mlock_kb", "516\n"),
        ("sys/kernel/security/lockdown", "none integrity [confidentiality]\n"),
        ("proc/meminfo", "MemTotal:        8054180 kB\nMemFree: 1 kB\n"),
    ])
    .unwrap();
    assert_eq!(facts.access.uid, Some(1000));
    assert_eq!(facts.access.perfmon(), Some(true));
    assert_eq!(facts.access.has(Capability::SysAdmin), Some(false));
    assert_eq!(facts.access.nofile, Some(ResourceLimit::At(1024)));
    assert_eq!(facts.access.memlock, Some(ResourceLimit::Unlimited));
    assert_eq!(facts.access.paranoid, Some(-1));
    assert_eq!(facts.access.lockdown, Some(Lockdown::Confidentiality));
    assert_eq!(facts.memory_kib, Some(8_054_180));
}

#[test]
fn nodes_of_memory() {
    let facts = read(&[
        ("sys/devices/system/node/possible", "0-1\n"),
        ("sys/devices/system/node/node10/meminfo", "Node 10 MemTotal: 7 kB\n"),
        (
            "sys/devices/system/node/node2/meminfo",
            "Node 2 MemTotal:       21063892 kB\nNode 2 MemFree:         4748112 kB\n",
        ),
        ("sys/devices/system/node/node2/cpulist", "0-1,4\n"),
        ("sys/devices/system/node/node3/cpulist", "2\n"),
    ])
    .unwrap();
    let node = |number, total_kib, free_kib, cpus: &str| NodeFacts {
        number,
        total_kib,
        free_kib,
        cpus: cpus.into(),
    };
    assert_eq!(facts.nodes, [node(2, 21_063_892, 4_748_112, "0-1,4"), node(10, 7, 0, "")]);
}

#[test]
fn capabilities_of_a_user_namespace_do_not_count() {
    let facts = read(&[
        ("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n"),
        ("proc/self/uid_map", "0 1000 1\n"),
    ])
    .unwrap();
    assert_eq!(facts.access.perfmon(), Some(false));
}

#[test]
fn cpus_caches_and_hypervisor() {
    let cache = "sys/devices/system/cpu/cpu0/cache";
    let facts = read(&[
        (
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\
             model name\t: Xeon: Test\nstepping\t: unknown\nflags\t\t: fpu lm hypervisor\n\n\
             processor\t: 1\nmodel\t\t: 1\n",
        ),
        ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock \n"),
        (&format!("{cache}/index0/level"), "1\n"),
        (&format!("{cache}/index0/type"), "Instruction\n"),
        (&format!("{cache}/index10/level"), "3\n"),
        (&format!("{cache}/index10/type"), "Unified\n"),
        (&format!("{cache}/index10/size"), "32M\n"),
        (&format!("{cache}/index2/level"), "1\n"),
        (&format!("{cache}/index2/type"), "Data\n"),
        (&format!("{cache}/index2/size"), "48K\n"),
        (&format!("{cache}/index2/coherency_line_size"), "64\n"),
    ])
    .unwrap();
    assert_eq!(facts.cpus.name.as_deref(), Some("Xeon: Test"));
    assert_eq!((facts.cpus.family, facts.cpus.model), (Some(6), Some(143)));
    assert_eq!(facts.cpus.stepping, None);
    assert_eq!(facts.hypervisor.to_string(), "KVM guest");
    assert_eq!(facts.kernel.machine.as_deref(), Some("x86_64"));
    assert_eq!(facts.cache_line(), Some(64));
    let sizes: Vec<_> = facts.caches.iter().map(|cache| cache.bytes).collect();
    assert_eq!(sizes, [None, Some(48 << 10), Some(32 << 20)]);
}

#[test]
fn core_pmus_are_told_from_others() {
    let with = |name: &str| {
        let path = format!("sys/bus/event_source/devices/{name}/type");
        read(&[(&path, "4")]).unwrap().has_core_pmu()
    };
    for name in ["cpu", "cpu_core", "cpu_atom", "armv8_pmuv3_0", "ibs_op"] {
        assert!(with(name), "{name}");
    }
    for name in ["software", "msr", "uncore_imc_0", "power", "breakpoint", "amd_l3"] {
        assert!(!with(name), "{name}");
    }
}

const STATUS: &str = "Name:\tx\nState:\tS (sleeping)\nTgid:\t70\nUid:\t5\t6\t7\t8\nKthread:\t0\n";

#[test]
fn processes() {
    let root = tree(&[("proc/1/status", "Uid:\t0\t0\t0\t0\n"), ("proc/71/status", STATUS)]);
    let process = |pid| {
        let request = Request::new("page_fault", Modes::USER, Target::Process(Pid(pid)));
        Facts::read_for(root.path(), &request).unwrap().process
    };
    assert_eq!(
        process(71),
        Some(ProcessState::Present {
            uids: [5, 6, 7],
            leader: Pid(70),
            zombie: false,
            kernel_thread: false,
        })
    );
    assert_eq!(process(72), Some(ProcessState::Absent));
    fs::remove_dir_all(root.path().join("proc/1")).unwrap();
    assert_eq!(process(72), None, "a hidden /proc proves nothing");
}

#[test]
fn tracepoints() {
    let look = |root: &TempDir, event: &str| {
        let request = Request::new(event, Modes::KERNEL, Target::Command);
        Facts::read_for(root.path(), &request).unwrap().tracepoints.remove(event).unwrap()
    };
    let root = tree(&[
        ("proc/self/mounts", "proc /proc proc rw 0 0\nnodev /a\\040b tracefs rw 0 0\n"),
        ("a b/events/sched/sched_switch/id", "372\n"),
        ("a b/available_events", "sched:sched_switch\nsched:sched_wakeup\n"),
    ]);
    assert_eq!(look(&root, "sched:sched_switch"), TracepointState::Id(372));
    let TracepointState::Missing { names } = look(&root, "sched:sched_swich") else { panic!() };
    assert_eq!(names.len(), 2);
    let bare = tree(&[("proc/self/mounts", "proc /proc proc rw 0 0\n")]);
    assert_eq!(look(&bare, "sched:sched_switch"), TracepointState::NoTracefs);
}

#[test]
fn formats_of_tracepoints() {
    let files = [
        ("proc/self/mounts", "nodev /t tracefs rw 0 0\n"),
        ("t/events/header_page", "page"),
        ("t/events/header_event", "event"),
        ("t/events/sched/sched_switch/id", "372\n"),
        ("t/events/sched/sched_switch/format", "name: sched_switch\n"),
    ];
    let of = |files: &[(&str, &str)], points: &[(&str, u64)]| {
        let root = tree(files);
        let facts = Facts::read(root.path()).unwrap();
        facts.tracing_data(root.path(), points).map_err(|why| why.to_string())
    };
    let twice = [("sched:sched_switch", 372), ("sched:sched_switch:u", 372)];
    let data = of(&files, &twice).unwrap();
    assert_eq!((data.header_page, data.header_event), (b"page".to_vec(), b"event".to_vec()));
    assert_eq!(data.formats.len(), 1, "each once");
    assert_eq!(data.formats[0].format, b"name: sched_switch\n");
    for (points, why) in [
        ([("sched:sched_switch", 371)], "no tracepoint sched:sched_switch of number 371"),
        ([("switch", 372)], "no tracepoint switch of number 372"),
        ([("..:sched", 372)], "no tracepoint ..:sched of number 372"),
        ([("sched:none", 372)], "t/events/sched/none/format is not there"),
    ] {
        let said = of(&files, &points).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
    assert!(of(&files[2..], &twice).unwrap_err().contains("not mounted"));
}

proptest! {
    #[test]
    fn any_text_in_any_file_is_a_fact_or_an_error(
        index in 0..8_usize,
        content in "[\\x00-\\x7f]{0,80}",
    ) {
        let path = [
            "proc/self/status", "proc/self/limits", "proc/cpuinfo", "proc/meminfo",
            "proc/self/mounts", "sys/devices/system/cpu/online", "proc/sys/kernel/osrelease",
            "sys/devices/system/cpu/cpu0/cache/index0/level",
        ][index];
        if let Err(error) = read(&[(path, &content)]) {
            prop_assert!(error.to_string().contains(path));
        }
    }
}
