//! Requests to what the emulation is told.

use perfdata::{Pid, SampleLayout};

use super::*;
use crate::EventSpec;
use crate::catalogue::all;
use crate::request::EventRequest;

fn here() -> Facts {
    let mut facts = Facts::default();
    facts.kernel.machine = Some("x86_64".to_owned());
    facts
}

fn model() -> Model {
    Model {
        geometry: Geometry::default(),
        tlbs_asked: false,
        prefetch: true,
        burst: Some(Burst { on: 5, every: 100, warm: None }),
        classify: false,
        heap: false,
        layouts: Vec::new(),
    }
}

fn planned(event: &str) -> Result<EmulatedPlan, Refusal> {
    plan(&Request::new(event, Modes::USER, Target::Command), model(), &here())
}

#[test]
fn a_miss_has_everything_that_a_record_can_hold() {
    let mut request = Request::new("l1_cache_miss", Modes::USER, Target::Process(Pid(7)));
    request.interval = Some(100);
    request.ring_pages = Some(5);
    request.data_mappings = true;
    let plan = plan(&request, model(), &here()).unwrap();
    assert_eq!((plan.modelled[0].counts, plan.ring_pages), (EmulatedEvent::L1DataMiss, 8));
    assert!(plan.data_mappings && plan.side.flags.contains(AttrFlags::MMAP_DATA));
    assert!(!plan.side.flags.contains(AttrFlags::BUILD_ID));
    let attr = &plan.events[0].attr;
    assert_eq!(attr.sample_period, 100);
    let fields = SampleType::IDENTIFIER
        | SampleType::IP
        | SampleType::TID
        | SampleType::TIME
        | SampleType::ADDR
        | SampleType::CPU
        | SampleType::PERIOD
        | SampleType::REGS_INTR
        | SampleType::DATA_SRC
        | SampleType::WEIGHT_STRUCT;
    assert_eq!(attr.sample_type, fields);
    assert_eq!(plan.side.sample_type, fields, "readers may look at one attr only");
    SampleLayout::new(attr, perfdata::ByteOrder::Little).unwrap();
    assert!(attr.flags.contains(AttrFlags::EXCLUDE_KERNEL));
    // No PMU of any kernel has such a number, and it is not perf's own.
    assert!(attr.kind.0 > i32::MAX.cast_unsigned() + 1);
    assert_eq!(pmu().kind, Some(attr.kind));
    assert_eq!(attr.config, 1, "the same for ever");
}

#[test]
fn names_and_notes_say_what_it_is() {
    let plan = planned("l1_cache_miss").unwrap();
    assert_eq!(
        (plan.name.as_str(), plan.events[0].name.as_str()),
        ("l1_cache_miss", "emulated/l1_cache_miss/")
    );
    let promises = plan.events[0].promises.to_string();
    assert_eq!(
        promises,
        "source=emulated;ip=exact;addr=data;regs=before-instruction;weight=modelled-latency-cycles"
    );
    let note = plan.model.note();
    assert!(
        note.starts_with("model=") && note.ends_with(";prefetch=on;burst=5/100;warm_up=95"),
        "{note}"
    );
    assert_eq!(note.matches(';').count(), 3, "the model's name ends no value: {note}");
    assert!(
        plan.model.to_string().ends_with("on, 5 of every 100 instructions after 95 to warm up")
    );
    assert!(plan.notes[0].contains("--burst 5/1000"), "{:?}", plan.notes);
}

#[test]
fn misses_of_data_caches_tell_why_if_all_accesses_are_seen() {
    let whole = || Model { prefetch: false, burst: None, classify: true, ..model() };
    let planned = |events: &str, model| {
        let (first, others) = events.split_once(',').unwrap_or((events, ""));
        let mut request = Request::new(first, Modes::USER, Target::Command);
        let others = others.split(',').filter(|name| !name.is_empty());
        request.also = others
            .map(|name| EventRequest { event: name.into(), interval: None, seed: None })
            .collect();
        plan(&request, model, &here())
    };
    let of = |events| {
        let plan = planned(events, whole()).unwrap();
        assert!(plan.model.note().ends_with(";classes=exact"));
        let events = plan.events.iter();
        events.map(|event| event.attr.sample_type.contains(SampleType::RAW)).collect::<Vec<_>>()
    };
    assert_eq!(of("l1_cache_miss,memory_loads,l3_cache_miss"), [true, false, true]);
    assert_eq!(of("l2_cache_miss"), [true]);
    let refused = |events, model| planned(events, model).unwrap_err().to_string();
    assert!(refused("page_walk", whole()).contains("no event is about misses of a data cache"));
    let prefetches = Model { prefetch: true, ..whole() };
    assert!(refused("l1_cache_miss", prefetches).contains("leave --prefetch out"));
    let bursts = Model { burst: model().burst, ..whole() };
    assert!(refused("l1_cache_miss", bursts).contains("leave --burst out"));
    let mut none = whole();
    none.geometry.l3 = None;
    let told = refused("l3_cache_miss", none);
    assert!(told.contains("has no L3") && told.contains("leave l3=off out"), "{told}");
}

#[test]
fn tlbs_are_modelled_for_those_who_count_or_name_them() {
    let has = |event, tlbs_asked| {
        let request = Request::new(event, Modes::USER, Target::Command);
        plan(&request, Model { tlbs_asked, ..model() }, &here())
            .unwrap()
            .model
            .geometry
            .dtlb
            .is_some()
    };
    assert!(has("dtlb_all_miss", false) && has("page_walk", false));
    assert!(!has("l1_cache_miss", false) && !has("memory_loads", false));
    assert!(has("l1_cache_miss", true));
}

#[test]
fn an_instruction_without_an_access_has_no_address() {
    let plan = planned("packed_dp").unwrap();
    let event = &plan.events[0];
    assert_eq!(event.promises.address, AddressPromise::None);
    assert!(!event.attr.sample_type.intersects(SampleType::DATA_SRC | SampleType::WEIGHT_STRUCT));
}

#[test]
fn every_type_has_a_plan_or_a_reason() {
    let mut configs = Vec::new();
    for entry in all() {
        let is_form = entry.name.contains(':');
        match planned(entry.name) {
            Ok(plan) => {
                assert_eq!(plan.name, entry.name);
                assert_eq!(plan.events[0].attr.sample_period, entry.default_interval);
                configs.push(plan.events[0].attr.config);
            }
            Err(refusal) => {
                let text = refusal.to_string();
                assert!(is_form || text.starts_with(entry.name), "{text}");
                assert!(!text.contains('\n') && !text.contains("no such event"), "{text}");
            }
        }
    }
    let count = configs.len();
    configs.sort_unstable();
    configs.dedup();
    assert!(configs.len() == count && count > 20, "each has a number of its own");
    let text = planned("page_fault").unwrap_err().to_string();
    assert!(text.contains("the kernel itself counts it"), "{text}");
    let text = planned("MEM_LOAD_RETIRED.L1_MISS").unwrap_err().to_string();
    assert!(text.contains("no type"), "{text}");
}

#[test]
fn callers_come_from_copies_of_the_stack() {
    let of = |how| {
        let base = Request::new("l1_cache_miss", Modes::USER, Target::Command);
        plan(&Request { call_graph: Some(how), ..base }, model(), &here())
    };
    let plan = of("dwarf,4096".parse().unwrap()).unwrap();
    let attr = &plan.events[0].attr;
    let fields = SampleType::CALLCHAIN | SampleType::REGS_USER | SampleType::STACK_USER;
    assert!(attr.sample_type.contains(fields), "as perf's: {:?}", attr.sample_type);
    assert_eq!((attr.sample_stack_user, attr.sample_regs_user), (4096, 0xff_03ff));
    assert!(plan.data_mappings);
    for how in [CallGraph::FramePointers, CallGraph::BranchStack] {
        let refusal = of(how).unwrap_err();
        let text = format!("--call-graph {how} is the machine's");
        assert!(refusal.to_string().contains(&text) && refusal.is_usage(), "{refusal}");
    }
}

#[test]
fn several_events_share_a_model_that_has_what_each_needs() {
    let of = |events: &[(&str, u64)]| {
        let mut request = Request::new(events[0].0, Modes::USER, Target::Command);
        (request.interval, request.seed) = (Some(events[0].1), Some(7));
        request.also = events[1..]
            .iter()
            .map(|(name, interval)| EventRequest {
                event: EventSpec::from(*name),
                interval: Some(*interval),
                seed: Some(7),
            })
            .collect();
        plan(&request, model(), &here())
    };
    let plan = of(&[("l1_cache_miss", 10), ("instr_retired", 1), ("l2_cache_miss", 30)]).unwrap();
    assert_eq!(plan.name, "l1_cache_miss,instr_retired,l2_cache_miss");
    let periods: Vec<u64> = plan.events.iter().map(|event| event.attr.sample_period).collect();
    assert_eq!(periods, [10, 1, 30]);
    let seeds: Vec<Option<u64>> = plan.modelled.iter().map(|of| of.seed).collect();
    assert_eq!(seeds, [Some(7), None, Some(7)], "of one event there is nothing to draw");
    assert!(plan.model.geometry.dtlb.is_none());
    assert!(!plan.events[1].attr.sample_type.contains(SampleType::DATA_SRC));
    let plan = of(&[("memory_loads", 1), ("page_walk", 1)]).unwrap();
    assert!(plan.model.geometry.dtlb.is_some(), "one of them counts its misses");
    let twice = of(&[("l1_cache_miss", 1), ("l1_cache_miss", 2)]).unwrap_err();
    assert!(matches!(twice, Refusal::Twice { .. }), "{twice}");
    let many = of(&[("l1_cache_miss", 1); EmulationSettings::MAX_EVENTS + 1]).unwrap_err();
    assert_eq!(many, Refusal::TooManyEvents { count: 25, most: 24 });
}

#[test]
fn masks_and_odd_numbers_are_refused() {
    let base = Request::new("l1_cache_miss", Modes::USER, Target::Command);
    for (request, part) in [
        (Request { masks: vec!["miss".into()], ..base.clone() }, "-m miss"),
        (Request { interval: Some(0), ..base.clone() }, "interval 0"),
        (Request { ring_pages: Some(0), ..base.clone() }, "0 pages"),
        (Request { modes: Modes::default(), ..base.clone() }, "-u"),
    ] {
        let refusal = plan(&request, model(), &here()).unwrap_err();
        assert!(refusal.to_string().contains(part) && refusal.is_usage(), "{refusal}");
    }
}
