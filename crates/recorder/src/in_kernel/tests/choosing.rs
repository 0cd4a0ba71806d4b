//! Conditions: what is kept, what is dropped, and the reason that is counted.

use perfdata::{Attr, Pid, SampleType, Tid};
use proptest::prelude::*;

use super::hits::{
    Counted, PAGE, cpus, in_none, in_sites, load, open, page_faults, samples, touch, untouched,
};
use crate::in_kernel::{InKernel, ProgramTask, SampleConditions, SampleConditionsError};
use crate::sys::mapping::RingMapping;

const PAGES: usize = 60;

fn keeping(keep: SampleConditions) -> InKernel {
    InKernel { keep, ..InKernel::aggregate() }
}

/// How many of a number of faults are kept, and the reasons of the others.
fn kept(keep: SampleConditions) -> (u64, u64, Vec<(&'static str, u64)>) {
    let mut counted = Counted::new(&keeping(keep), &page_faults());
    let both = counted.during(|| touch::<0>(&mut untouched(PAGES), PAGE));
    let seen = counted.reader.hit_counts();
    let kept = in_sites(&both.aggregate);
    assert_eq!(seen.seen, both.kernel);
    assert_eq!(kept + in_none(&both.aggregate), both.kernel);
    (kept, both.kernel, seen.dropped)
}

fn all_kept(keep: SampleConditions) {
    let (kept, kernel, dropped) = kept(keep.clone());
    assert_eq!((kept, &dropped[..]), (kernel, &[][..]), "{keep:?}");
    assert!(kernel >= PAGES as u64);
}

fn none_kept(keep: SampleConditions, reason: &'static str) {
    let (kept, kernel, dropped) = kept(keep.clone());
    assert_eq!((kept, &dropped[..]), (0, &[(reason, kernel)][..]), "{keep:?}");
    assert!(kernel >= PAGES as u64);
}

#[test]
fn processes_and_threads() {
    if super::hits::refused() {
        return;
    }
    let own = Pid(i32::try_from(std::process::id()).unwrap());
    let thread = Tid(rustix::thread::gettid().as_raw_nonzero().get());
    all_kept(SampleConditions { pids: vec![own], ..SampleConditions::default() });
    // Numbers go up to 4,194,303.
    let (nobody, no_thread) = (Pid(4_194_303), Tid(4_194_303));
    all_kept(SampleConditions {
        pids: vec![nobody, Pid(4_194_302), own],
        ..SampleConditions::default()
    });
    none_kept(SampleConditions { pids: vec![nobody], ..SampleConditions::default() }, "pid");
    all_kept(SampleConditions { tids: vec![no_thread, thread], ..SampleConditions::default() });
    let others = (4_194_296..=4_194_303).map(Tid).collect();
    none_kept(SampleConditions { tids: others, ..SampleConditions::default() }, "tid");
}

/// Numbers of processes are those of the namespace of who asks.
#[test]
fn processes_of_another_namespace() {
    if super::hits::refused() {
        return;
    }
    let tests = [
        "in_kernel::tests::choosing::processes_and_threads",
        "in_kernel::tests::aggregates::processes_are_told_apart_where_asked",
    ];
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--pid", "--fork", "--mount-proc"]).arg(std::env::current_exe().unwrap());
    let output = match unshare.args(tests).args(["--exact", "--test-threads=1"]).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: there is no unshare(1) here");
            return;
        }
        output => output.unwrap(),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("2 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn names() {
    if super::hits::refused() {
        return;
    }
    let named = |name: &str, check: fn(SampleConditions)| {
        let keep = SampleConditions { comm: Some(name.to_owned()), ..SampleConditions::default() };
        let thread = std::thread::Builder::new().name("fifteen_letters".to_owned());
        thread.spawn(move || check(keep)).unwrap().join().unwrap();
    };
    named("fifteen_letters", all_kept);
    named("fifteen_letter", |keep| none_kept(keep, "comm"));
    named("another", |keep| none_kept(keep, "comm"));
}

#[test]
fn control_groups() {
    if super::hits::refused() {
        return;
    }
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = text.lines().find_map(|line| line.strip_prefix("0::"));
    let group = path.and_then(|path| {
        crate::Cgroup::open(std::path::Path::new("/"), std::path::Path::new(path)).ok()
    });
    let Some(group) = group else {
        eprintln!("skipped: no control group of version 2 holds this process: {text:?}");
        return;
    };
    let id = rustix::fs::fstat(&group).unwrap().st_ino;
    all_kept(SampleConditions { cgroup: Some(id), ..SampleConditions::default() });
    none_kept(
        SampleConditions { cgroup: Some(u64::MAX - 1), ..SampleConditions::default() },
        "cgroup",
    );
    // Each is below the root, whose id is 1.
    all_kept(SampleConditions { cgroup: Some(1), ..SampleConditions::default() });
}

#[test]
fn instructions_and_modes() {
    if super::hits::refused() {
        return;
    }
    all_kept(SampleConditions { ip: Some((0, u64::MAX)), ..SampleConditions::default() });
    none_kept(
        SampleConditions { ip: Some((u64::MAX - 1, u64::MAX)), ..SampleConditions::default() },
        "ip",
    );
    all_kept(SampleConditions { user_only: true, ..SampleConditions::default() });
}

#[test]
fn what_shows_the_kernel_is_lost_where_it_must_not_be_seen() {
    if super::hits::refused() {
        return;
    }
    let everything = perfdata::AttrFlags::DISABLED;
    let attr = Attr { flags: everything, ..page_faults() };
    let keep = SampleConditions { user_only: true, ..SampleConditions::default() };
    let mut counted = Counted::new(&keeping(keep), &attr);
    // The kernel faults in the pages that it reads into.
    let both = counted.during(|| {
        touch::<0>(&mut untouched(5), PAGE);
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        let read = rustix::io::read(&zeros, &mut untouched(PAGES)[..]).unwrap();
        assert_eq!(read, PAGES * PAGE);
    });
    let [(cause, scrubbed)] = &both.aggregate.lost[..] else { panic!("{:?}", both.aggregate.lost) };
    assert_eq!(cause, "scrubbed");
    assert!(*scrubbed >= PAGES as u64);
    assert_eq!(in_sites(&both.aggregate) + scrubbed, both.kernel);
    assert_eq!(counted.reader.hit_counts().dropped, [("scrubbed", *scrubbed)]);
}

#[test]
fn weights_and_data_sources_are_those_of_the_ring() {
    if super::hits::refused() {
        return;
    }
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        eprintln!("skipped: this kernel has no /sys/kernel/btf/vmlinux");
        return;
    }
    let plain = page_faults();
    let more = SampleType::WEIGHT | SampleType::DATA_SRC;
    let attr = Attr { sample_type: plain.sample_type | more, ..plain };
    let event = open(&attr, None).unwrap();
    let mut ring = RingMapping::new(&event, 64).unwrap();
    event.enable().unwrap();
    touch::<0>(&mut untouched(20), PAGE);
    event.disable().unwrap();
    let mut sampled = Vec::new();
    samples(&mut ring, &attr, |sample| sampled.push(sample.data_src.unwrap().0));
    sampled.dedup();
    let mut counted = Counted::new(&InKernel::aggregate(), &attr);
    let both = counted.during(|| touch::<0>(&mut untouched(20), PAGE));
    let hits = both.aggregate.sites.iter().flat_map(|site| &site.taken);
    let mut seen: Vec<(u64, u64)> = hits.map(|hit| (hit.weight, hit.data_src)).collect();
    seen.dedup();
    assert_eq!(seen, [(0, sampled[0])]);
    assert_eq!(sampled.len(), 1);
    let drops = |keep: SampleConditions, reason: &str| {
        let mut counted = Counted::new(&keeping(keep), &attr);
        let both = counted.during(|| touch::<0>(&mut untouched(20), PAGE));
        assert_eq!(both.aggregate.lost, [(format!("filtered_{reason}"), both.kernel)]);
    };
    drops(SampleConditions { least_weight: 1, ..SampleConditions::default() }, "weight");
    drops(
        SampleConditions {
            data_src: Some((0xf, !sampled[0] & 0xf)),
            ..SampleConditions::default()
        },
        "data_src",
    );
}

#[test]
fn a_filter_lets_into_the_ring_what_is_kept() {
    if super::hits::refused() {
        return;
    }
    let mut memory = untouched(400);
    let start = memory.as_ptr().addr() as u64;
    let kept = (start + 100 * 4096, start + 200 * 4096 - 1);
    let keep = SampleConditions { address: Some(kept), ..SampleConditions::default() };
    let in_kernel = InKernel { duty: ProgramTask::Filter, keep };
    let attr = page_faults();
    let program = load(&in_kernel, &attr);
    let event = open(&attr, None).unwrap();
    let mut ring = RingMapping::new(&event, 64).unwrap();
    program.attach(&event).unwrap();
    let mut reader = program.reader().unwrap();
    event.enable().unwrap();
    touch::<0>(&mut memory, PAGE);
    event.disable().unwrap();
    let mut sampled = Vec::new();
    samples(&mut ring, &attr, |sample| sampled.push(sample.addr.unwrap()));
    let expected: Vec<u64> = (100..200).map(|page| start + page * 4096).collect();
    assert_eq!(sampled, expected);
    let taken = reader.take().unwrap();
    let seen = reader.hit_counts();
    assert_eq!(seen.seen, event.counts().unwrap().count);
    assert_eq!(seen.dropped, [("address", seen.seen - 100)]);
    assert_eq!(taken.sites, []);
    assert_eq!(taken.lost, [("filtered_address".to_owned(), seen.seen - 100)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_range_and_share_is_what_arithmetic_says(
        pages in 1..200usize,
        ends in (0..210u64, 0..210u64),
        one_in in 1..20u64,
    ) {
        if super::hits::refused() {
            return Ok(());
        }
        let mut memory = untouched(pages);
        let start = memory.as_ptr().addr() as u64;
        let (first, last) = (ends.0.min(ends.1), ends.0.max(ends.1));
        let range = (start + first * 4096, start + last * 4096);
        let keep = SampleConditions { address: Some(range), one_in, ..SampleConditions::default() };
        let mut counted = Counted::new(&keeping(keep), &page_faults());
        let both = counted.during(|| touch::<0>(&mut memory, PAGE));
        let inside = (last.min(pages as u64 - 1) + 1).saturating_sub(first);
        let dropped = |reason: &str| {
            let all = counted.reader.hit_counts().dropped;
            all.iter().find(|(name, _)| *name == reason).map_or(0, |(_, count)| *count)
        };
        prop_assert_eq!(dropped("address"), both.kernel - inside);
        // Each CPU has begun to count to `one_in`.
        let kept = in_sites(&both.aggregate);
        let cpus = cpus().len() as u64;
        prop_assert!(kept <= inside / one_in && kept + cpus > inside / one_in);
        prop_assert_eq!(dropped("one_in"), inside - kept);
    }

    #[test]
    fn what_can_be_is_loaded_and_the_rest_refused(
        pids in prop::collection::vec(-1..5i32, 0..10),
        comm in prop::option::of("[a-z\0]{0,17}"),
        ip in prop::option::of((0..4u64, 0..4u64)),
        one_in in 0..3u64,
        data_src in prop::option::of((0..4u64, 0..4u64)),
    ) {
        let keep = SampleConditions {
            pids: pids.iter().copied().map(Pid).collect(),
            comm: comm.clone(),
            ip,
            one_in,
            data_src,
            ..SampleConditions::default()
        };
        let good = pids.len() <= 8
            && pids.iter().all(|&pid| pid > 0)
            && comm.is_none_or(|comm| (1..16).contains(&comm.len()) && !comm.contains('\0'))
            && ip.is_none_or(|(first, last)| first <= last)
            && one_in > 0
            && data_src.is_none_or(|(mask, value)| mask != 0 && value | mask == mask);
        prop_assert_eq!(keep.check().is_ok(), good);
    }
}

#[test]
fn what_cannot_be_says_why() {
    let why = |keep: SampleConditions| keep.check().unwrap_err().to_string();
    let nine = (1..=9).map(Pid).collect();
    let text = why(SampleConditions { pids: nine, ..SampleConditions::default() });
    assert_eq!(text, "9 process ids to keep; at most 8 are possible");
    let text = why(SampleConditions {
        comm: Some("sixteen letters!".into()),
        ..SampleConditions::default()
    });
    assert!(text.contains("1 to 15 bytes"), "{text}");
    let text = why(SampleConditions { address: Some((2, 1)), ..SampleConditions::default() });
    assert_eq!(text, "addresses from 0x2 to 0x1: the first is beyond the last");
    let zero = SampleConditions { cgroup: Some(0), ..SampleConditions::default() };
    assert_eq!(zero.check(), Err(SampleConditionsError::CgroupZero));
}
