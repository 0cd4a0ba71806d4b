//! CPUs that are less precise than the plan would have it.

use super::*;

/// A CPU that takes precise_ip up to `max`, and says so with this errno.
fn up_to(max: u8, errno: i32) -> Scripted {
    Scripted::new(move |asked| match asked.attr.precise_ip() {
        level if level > max => Answer::No(errno),
        _ => Answer::Yes,
    })
}

const STEPPING: [i32; 3] = [libc::EOPNOTSUPP, libc::EINVAL, libc::ENOENT];

#[test]
fn precision_is_lowered_no_further_than_it_must_be() {
    for errno in STEPPING {
        for max in 0..=3 {
            let kernel = up_to(max, errno);
            let opened = open_all(&plan_of(vec![hardware("loads", 3)]), &kernel).unwrap();
            let event = &opened.outcome.attrs.events[0];
            assert_eq!(event.attr.precise_ip(), max);
            assert_eq!(opened.outcome.given_up, [], "{errno}: features stay");
            let tried: Vec<u8> = (max..=3).rev().collect();
            assert_eq!(kernel.levels(), [&tried[..], &[max; 3]].concat(), "other CPUs at once");
        }
    }
}

#[test]
fn what_a_lower_level_costs_is_promised_no_more_and_said() {
    let opened = |max| {
        let kernel = up_to(max, libc::EOPNOTSUPP);
        open_all(&plan_of(vec![hardware("loads", 3)]), &kernel).unwrap().outcome
    };
    let promises = |max| opened(max).attrs.events[0].promises.to_string();
    let exact = "source=pebs;ip=exact;addr=data;regs=after-retirement;weight=load-latency-cycles";
    assert_eq!((promises(3), promises(2)), (exact.to_owned(), exact.to_owned()));
    assert_eq!(promises(1), exact.replace("ip=exact", "ip=after-causing-instruction"));
    assert_eq!(promises(0), "source=counter;ip=skid;addr=none;regs=interrupt-time;weight=none");
    assert_eq!(opened(3).notes, [""; 0]);
    assert_eq!(
        [opened(2).notes, opened(1).notes, opened(0).notes].concat(),
        [
            "loads: precise_ip 2 of 3, as this kernel and CPU refuse more: IPs are exact, but not \
             as evenly distributed",
            "loads: precise_ip 1 of 3, as this kernel and CPU refuse more: IPs are of the \
             instruction after the one that caused the event",
            "loads: precise_ip 0 of 3, as this kernel and CPU refuse more: IPs skid, and there is \
             no data address",
        ]
    );
}

#[test]
fn a_promise_of_exact_ips_is_not_broken_but_told() {
    for errno in STEPPING {
        let name = crate::session::open_error::errno_name(errno);
        for max in 0..2 {
            let mut event = hardware("loads", 3);
            event.least_precise = 2;
            let kernel = up_to(max, errno);
            assert_eq!(
                refused(&plan_of(vec![event]), &kernel),
                format!(
                    "loads for process 4711 (thread 4712) on CPU 0: it promises exact IPs, and the \
                     kernel gives none here (precise_ip: {name} at 3, {name} at 2; a virtual \
                     machine often has no PEBS): --allow-skid samples with skid, ebs -h lists \
                     what is exact here"
                )
            );
            assert_eq!(kernel.levels(), [3, 2, 0], "the last to see whether precision is why");
        }
    }
}

#[test]
fn what_is_told_by_the_instruction_is_not_to_be_had_with_skid() {
    let mut event = hardware("x87_fp_retired", 3);
    event.least_precise = 2;
    event.filter = "class:x87".parse().unwrap();
    let text = refused(&plan_of(vec![event]), &up_to(1, libc::EOPNOTSUPP));
    assert!(text.contains("promises exact IPs") && !text.contains("--allow-skid"), "{text}");
}

#[test]
fn levels_may_be_refused_each_in_its_own_way() {
    let kernel = Scripted::new(|asked| match asked.attr.precise_ip() {
        3 => Answer::No(libc::EOPNOTSUPP),
        2 => Answer::No(libc::ENOENT),
        1 => Answer::No(libc::EINVAL),
        _ => Answer::Yes,
    });
    let mut event = hardware("loads", 3);
    event.least_precise = 1;
    let text = refused(&plan_of(vec![event]), &kernel);
    assert!(text.contains("(precise_ip: EOPNOTSUPP at 3, ENOENT at 2, EINVAL at 1; "), "{text}");
}

#[test]
fn precision_is_not_blamed_for_what_is_not_its() {
    // Nothing opens at any level: the PMU is not there.
    let kernel = Scripted::new(|asked| match asked.hardware() {
        true => Answer::No(libc::ENOENT),
        false => Answer::Yes,
    });
    let mut event = hardware("loads", 3);
    event.least_precise = 2;
    let text = refused(&plan_of(vec![event]), &kernel);
    assert!(text.contains("failed with ENOENT: PMU cpu (type 4, config 0x1cd) is not "), "{text}");
    assert!(!text.contains("--allow-skid"), "{text}");

    // A step ends with another errno: that one counts.
    let kernel = Scripted::new(|asked| match asked.attr.precise_ip() {
        3 => Answer::No(libc::EOPNOTSUPP),
        2 => Answer::No(libc::EBUSY),
        _ => Answer::Yes,
    });
    let mut event = hardware("loads", 3);
    event.least_precise = 1;
    assert!(refused(&plan_of(vec![event]), &kernel).contains("EBUSY: somebody else has PMU cpu "));
    assert_eq!(kernel.levels(), [3, 2]);
}

#[test]
fn each_core_type_of_a_hybrid_is_as_precise_as_it_can_be() {
    // P-cores 0 and 1 take 3; E-cores 2 and 3 have another PMU, and take 2.
    let kernel = Scripted::new(|asked| match (asked.attr.kind.0, asked.cpu) {
        (4, 2..) | (10, 0 | 1) => Answer::No(libc::ENOENT),
        (10, _) if asked.attr.precise_ip() > 2 => Answer::No(libc::EOPNOTSUPP),
        _ => Answer::Yes,
    });
    let mut core = hardware("cpu_core/loads/", 3);
    let mut atom = hardware("cpu_atom/loads/", 3);
    (core.cpus, atom.cpus) = (Some(vec![Cpu(0), Cpu(1)]), Some(vec![Cpu(2), Cpu(3)]));
    atom.attr.kind = EventType(10);
    let mut plan = plan_of(vec![core, atom]);
    let opened = open_all(&plan, &kernel).unwrap();
    assert_eq!(opened.set.unwrap(), [(0, vec![0]), (1, vec![0]), (2, vec![1]), (3, vec![1])]);
    let levels: Vec<u8> =
        opened.outcome.attrs.events.iter().map(|event| event.attr.precise_ip()).collect();
    assert_eq!(levels, [3, 2]);
    assert_eq!(opened.outcome.notes.len(), 1);
    assert!(opened.outcome.notes[0].starts_with("cpu_atom/loads/: precise_ip 2 of 3, "));

    // Had the plan the CPUs wrong, it would be said of the first wrong one;
    // and what one CPU took is not taken back for another.
    plan.events[0].cpus = Some((0..4).map(Cpu).collect());
    plan.events[0].pmu = "cpu_core".into();
    let text = refused(&plan, &kernel);
    assert!(
        text.starts_with("cpu_core/loads/ for process 4711 (thread 4712) on CPU 2: "),
        "{text}"
    );
    assert!(
        text.contains("or CPU 2 is not one of its own (of a hybrid's two kinds, see "),
        "{text}"
    );
}

#[test]
fn members_are_opened_in_their_leaders_group_and_carriers_count_nothing() {
    // SPR: ENODATA without mem-loads-aux ahead (trap 9).
    let kernel = Scripted::new(|asked| match asked.attr.config {
        0x1cd if !asked.in_group => Answer::No(libc::ENODATA),
        0x8203 if asked.attr.sample_period != 0 => Answer::No(libc::EINVAL),
        _ => Answer::Yes,
    });
    let mut aux = hardware("cpu/mem-loads-aux/", 0);
    (aux.carrier, aux.attr.config) = (true, 0x8203);
    let mut loads = hardware("loads", 3);
    loads.leader = Some(0);
    let opened = open_all(&plan_of(vec![aux, loads.clone()]), &kernel).unwrap();
    assert_eq!(opened.set.unwrap()[0], (0, vec![0, 1]));
    loads.leader = None;
    let text = refused(&plan_of(vec![loads]), &kernel);
    assert!(text.contains("ENODATA: this CPU tells latencies of loads only in a group"), "{text}");
}

#[test]
fn a_leader_that_has_moved_costs_neither_features_nor_precision() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let moves = AtomicU32::new(0);
    // The first thread that it makes takes the leader away, three times.
    let kernel = Scripted::new(move |asked| match asked.in_group {
        true if moves.fetch_add(1, Ordering::Relaxed) < 3 => Answer::No(libc::EINVAL),
        _ => Answer::Yes,
    });
    let mut member = hardware("stores", 3);
    member.leader = Some(0);
    let plan = plan_of(vec![hardware("loads", 3), member]);
    let opened = open_all(&plan, &kernel).unwrap();
    assert_eq!((opened.outcome.notes.len(), opened.set.unwrap().len()), (0, 4));
    assert!(kernel.levels().iter().all(|&level| level == 3), "{:?}", kernel.levels());
    let leaders = kernel.asked().iter().filter(|a| a.hardware() && !a.in_group).count();
    assert_eq!(leaders, 3 + 4, "opened anew with its member");
}

#[test]
fn what_ibs_does_not_take_over_is_promised_as_a_counters() {
    // AMD without its IBS driver: precise cycles are not there.
    let mut event = hardware("cycles", 2);
    event.promises.source = crate::catalogue::promises::SampleSource::Ibs;
    let opened = open_all(&plan_of(vec![event]), &up_to(0, libc::ENOENT)).unwrap().outcome;
    let promises = opened.attrs.events[0].promises.to_string();
    assert_eq!(promises, "source=counter;ip=skid;addr=none;regs=interrupt-time;weight=none");
    assert!(opened.notes[0].contains("IPs skid"), "{:?}", opened.notes);
}
