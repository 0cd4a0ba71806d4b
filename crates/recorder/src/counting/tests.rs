//! Plans on machines that are not here, and bounds against the truth.

use std::time::Duration;

use super::*;
use crate::machine::facts::{Facts, FixtureTrees};
use crate::metrics::{Estimate, MetricGroup, NotCounted};
use crate::{Modes, Target};

fn facts(machine: &str) -> Facts {
    let mut facts = FixtureTrees::of(&[machine]).facts(machine);
    facts.cpus.online = Some((0..4).map(perfdata::Cpu).collect());
    facts
}

fn of_groups(groups: &[MetricGroup], target: Target) -> CountingRequest {
    let metrics = groups.iter().copied().map(MetricChoice::Group).collect();
    CountingRequest { metrics, events: Vec::new(), modes: Modes::USER, target }
}

/// Every metric's events are in one group, and no group is larger than the
/// counters.
#[test]
fn what_makes_one_ratio_is_counted_together() {
    let mut facts = facts("skylake-x-rtm");
    let request = of_groups(&MetricGroup::ALL, Target::Command);
    for (watchdog, counters) in [(None, 4), (Some(true), 3)] {
        facts.kernel.nmi_watchdog = watchdog;
        let plan = plan(&request, false, &facts).unwrap();
        for group in plan.groups.iter().filter(|group| group.pmu == "cpu") {
            let metrics = plan.figures.iter().filter(|figure| {
                std::ptr::eq(&raw const plan.groups[figure.group], &raw const *group)
            });
            let needed = group.events.iter().filter(|event| !event.is_fixed()).count();
            assert!(needed <= counters || metrics.count() == 1, "{group:?}");
        }
        for figure in &plan.figures {
            let names = figure.metric.0.formula.names();
            let has = |name: &&&str| figure.parts.contains_key(**name) || **name == "wall_ns";
            assert!(names.iter().all(|name| has(&name)), "{figure:?}");
            let events = plan.groups[figure.group].events.len();
            assert!(figure.parts.values().flatten().all(|event| *event < events));
        }
        let of =
            |group: MetricGroup| plan.figures.iter().any(|figure| figure.metric.0.group == group);
        assert!(MetricGroup::ALL.into_iter().all(of), "{:?}", plan.unavailable);
        assert_eq!(plan.passes().len(), plan.groups.len());
        let figures: usize = plan.passes().iter().map(|pass| pass.figures.len()).sum();
        assert_eq!(figures, plan.figures.len());
    }
}

#[test]
fn counted_events_sample_nothing() {
    let facts = facts("skylake-x-rtm");
    let request = CountingRequest {
        events: vec!["r81d0".into(), "l1_cache_miss".into(), "cpu/event=0xd1,umask=0x8/pp".into()],
        ..of_groups(&[], Target::Command)
    };
    let plan = plan(&request, false, &facts).unwrap();
    let codes: Vec<u64> = plan.groups.iter().map(|group| group.events[0].attr.config).collect();
    assert_eq!(codes, [0x81d0, 0x8d1, 0x8d1]);
    for event in plan.groups.iter().flat_map(|group| &group.events) {
        assert_eq!((event.attr.precise_ip(), event.attr.sample_period), (0, 0), "{event:?}");
        let attr = crate::plan::attrs::counted(&event.attr, Target::Command, true);
        assert!(attr.sample_type.is_empty() && attr.flags.contains(perfdata::AttrFlags::INHERIT));
    }
}

/// As `ebs -t` does: without a PMU user code can be emulated, whatever modes were left open.
#[test]
fn a_mistyped_event_has_the_types_like_it_without_a_pmu() {
    let mut facts = facts("skylake-x-rtm");
    facts.pmus.iter_mut().for_each(|pmus| pmus.retain(|pmu| pmu.name != "cpu"));
    for modes in [Modes::USER, Modes::BOTH] {
        let request = CountingRequest {
            events: vec!["l1_cach_miss".into()],
            modes,
            ..of_groups(&[], Target::Command)
        };
        let text = plan(&request, false, &facts).unwrap_err().to_string();
        assert!(text.contains("did you mean l1_cache_miss"), "{text}");
    }
}

/// Of the original's types some are classes of instructions or IBS samples.
#[test]
fn what_only_samples_tell_is_refused() {
    let facts = facts("skylake-x-rtm");
    let asked = |event: &str| CountingRequest {
        events: vec![event.into()],
        ..of_groups(&[], Target::Command)
    };
    let error = plan(&asked("packed_dp_retired"), false, &facts).unwrap_err().to_string();
    assert!(error.contains("packed_dp_retired") && error.contains("samples alone"), "{error}");
    let error = plan(&asked("l1_cach_miss"), false, &facts).unwrap_err();
    assert!(error.is_usage(), "{error}");
    let nothing = plan(&of_groups(&[], Target::Command), false, &facts).unwrap_err().to_string();
    assert!(nothing.contains("-m"), "{nothing}");
}

#[test]
fn without_a_pmu_the_emulated_one_counts_in_one_group() {
    let facts = Facts::default();
    let request = of_groups(&[MetricGroup::Cache, MetricGroup::Topdown], Target::Command);
    let refused = plan(&request, false, &facts).unwrap_err().to_string();
    assert!(refused.contains("no hardware PMU"), "{refused}");
    let plan = plan(&request, true, &facts).unwrap();
    assert_eq!((plan.groups.len(), plan.groups[0].pmu.as_str()), (1, "emulated"));
    assert_eq!(plan.unavailable[0].name, "topdown");
}

#[test]
fn a_missing_count_leaves_its_metrics_out() {
    let request = of_groups(&[MetricGroup::Cache], Target::Command);
    let plan = plan(&request, true, &Facts::default()).unwrap();
    let whole = |count| EventCount::whole(count, Duration::from_secs(1));
    let mut group: Vec<EventCount> = plan.groups[0].events.iter().map(|_| whole(8)).collect();
    let missing = plan.groups[0].events.iter().position(|event| event.name == "l1_cache_miss");
    group[missing.unwrap()].figure = Err(NotCounted::Never);
    let counts = TotalCounts { groups: vec![group], wall: Duration::from_secs(1) };
    for figure in &plan.figures {
        let value = figure.value(&counts);
        let has = figure.parts.contains_key("l1_cache_miss");
        assert_eq!(value.is_err(), has, "{:?}", figure.metric);
    }
}

#[test]
fn what_was_counted_whole_is_exact() {
    let slice = |counted, enabled, running| TimeSlice { counted, enabled, running };
    let of = |slices: &[TimeSlice]| {
        let mut sums = SliceSums::default();
        slices.iter().for_each(|slice| sums.add(*slice));
        SliceSums::figure(&[sums])
    };
    assert_eq!(of(&[slice(7, 10, 10); 3]), Ok(Estimate::exact(21.0)));
    assert_eq!(of(&[slice(0, 10, 0)]), Err(NotCounted::Never));
    assert_eq!(of(&[slice(0, 0, 0)]), Ok(Estimate::exact(0.0)), "it did not run");
    assert_eq!(SliceSums::figure(&[]), Err(NotCounted::Never));
    let few = of(&[slice(10, 20, 10)]).unwrap();
    assert_eq!((few.value, few.low, few.high), (20.0, 10.0, f64::INFINITY));
}

/// Numbers that are the same at each run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn happens(&mut self, of_1000: u64) -> bool {
        self.below(1000) < of_1000
    }
}

/// What a program does in each millisecond.
type Behaviour = fn(u64, &mut Draws) -> u64;

const BEHAVIOURS: [(&str, Behaviour); 6] = [
    ("steady", |_, draws| 1000 + draws.below(100)),
    ("phases", |at, draws| if (at / 137).is_multiple_of(2) { 2000 } else { draws.below(50) }),
    ("ramp", |at, _| at),
    ("bursts", |_, draws| if draws.happens(20) { 5000 } else { 10 }),
    ("rare", |_, draws| u64::from(draws.happens(5))),
    ("waves", |at, draws| (at % 383).abs_diff(191) * 10 + draws.below(20)),
];

/// A run of so many milliseconds, on a counter that takes turns of 4 ms with
/// others, looked at every 10 ms.
#[derive(Clone, Copy)]
struct SharedRun {
    groups: u64,
    milliseconds: u64,
}

fn shared_run(behaviour: Behaviour, run: SharedRun, draws: &mut Draws) -> Option<(u64, Estimate)> {
    let SharedRun { groups, milliseconds } = run;
    const MILLISECOND: u64 = 1_000_000;
    let begin = draws.below(100);
    let (mut sums, mut slice, mut truth) = (SliceSums::default(), TimeSlice::default(), 0);
    for at in 0..milliseconds {
        let events = behaviour(at, draws);
        truth += events;
        slice.enabled += MILLISECOND;
        if ((at + begin) / 4).is_multiple_of(groups) {
            slice.running += MILLISECOND;
            slice.counted += events;
        }
        if at % 10 == 9 {
            sums.add(std::mem::take(&mut slice));
        }
    }
    SliceSums::figure(&[sums]).ok().map(|estimate| (truth, estimate))
}

/// The acceptance of bounds: 100 runs of each kind of program, and the truth
/// inside at least 95 times.
#[test]
fn bounds_hold_the_truth_95_times_of_100() {
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    let mut wrong = Vec::new();
    for (name, behaviour) in BEHAVIOURS {
        for groups in [2, 3, 5] {
            let (mut inside, mut width) = (0, 0.0);
            for _ in 0..100 {
                let run = SharedRun { groups, milliseconds: 2000 };
                let (truth, estimate) = shared_run(behaviour, run, &mut draws).unwrap();
                let truth = f64::from(u32::try_from(truth).unwrap());
                inside += u32::from((estimate.low..=estimate.high).contains(&truth));
                width += (estimate.high - estimate.low) / truth.max(1.0) / 100.0;
            }
            // Bounds that say nothing would hold anything.
            if inside < 95 || width > 2.0 && name != "rare" {
                wrong.push(format!("{name}, {groups} groups: {inside} of 100, {width} wide"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Shorter runs and more groups have few turns of an event: what these do not
/// tell has no upper bound.
#[test]
fn bounds_of_few_turns_hold_the_truth_too() {
    let mut draws = Draws(0x2545_f491_4f6c_dd1d);
    let mut wrong = Vec::new();
    for (name, behaviour) in BEHAVIOURS {
        for (groups, milliseconds) in [(2, 250), (5, 250), (14, 250), (5, 1000), (14, 8000)] {
            let run = SharedRun { groups, milliseconds };
            let runs = (0..100).filter_map(|_| shared_run(behaviour, run, &mut draws));
            let outside = runs.filter(|(truth, estimate)| {
                let truth = f64::from(u32::try_from(*truth).unwrap());
                !(estimate.low..=estimate.high).contains(&truth)
            });
            let outside = outside.count();
            if outside > 5 {
                wrong
                    .push(format!("{name}, {groups} groups, {milliseconds} ms: {outside} outside"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
