//! What callers cost an attr, and where they are not to be had.

use perfdata::attr::BranchSampleType;

use super::*;
use crate::machine::facts::FixtureTrees;
use crate::request::{CallGraph, InKernel, StackBytes};

const ALL: [CallGraph; 3] =
    [CallGraph::FramePointers, CallGraph::Stack(StackBytes::DEFAULT), CallGraph::BranchStack];

fn with_callers(event: &str, modes: Modes, how: CallGraph) -> Request {
    Request { call_graph: Some(how), ..request(event, modes) }
}

#[test]
fn each_way_asks_for_what_it_takes() {
    let (frames, stack) =
        (CallGraph::FramePointers, CallGraph::Stack(StackBytes::new(100).unwrap()));
    let of = |how, modes| plan(&with_callers("page_fault", modes, how), &root()).unwrap();
    let chains = AttrFlags::EXCLUDE_CALLCHAIN_KERNEL | AttrFlags::EXCLUDE_CALLCHAIN_USER;
    for modes in [Modes::USER, Modes::KERNEL, Modes::BOTH] {
        let kernel_hidden =
            if modes.kernel { AttrFlags::empty() } else { AttrFlags::EXCLUDE_CALLCHAIN_KERNEL };
        let bare = plan(&request("page_fault", modes), &root()).unwrap();
        let plan = of(frames, modes);
        let attr = &plan.events[0].attr;
        assert_eq!(attr.sample_type - bare.events[0].attr.sample_type, SampleType::CALLCHAIN);
        assert_eq!(attr.flags & chains, kernel_hidden);
        assert!(!plan.side.flags.contains(AttrFlags::MMAP_DATA));
        let plan = of(stack, modes);
        let attr = &plan.events[0].attr;
        let more = SampleType::CALLCHAIN | SampleType::REGS_USER | SampleType::STACK_USER;
        assert_eq!(attr.sample_type - bare.events[0].attr.sample_type, more);
        assert_eq!((attr.sample_stack_user, attr.sample_regs_user), (104, 0xff_03ff));
        assert_eq!(attr.flags & chains, kernel_hidden | AttrFlags::EXCLUDE_CALLCHAIN_USER);
        let side = &plan.side;
        assert_eq!(side.sample_type, attr.sample_type, "readers may look at one attr only");
        assert_eq!(side.sample_stack_user, attr.sample_stack_user);
        assert!(side.flags.contains(AttrFlags::MMAP_DATA), "perf finds unwind tables by them");
    }
}

#[test]
fn the_cpu_keeps_calls_of_its_own_events_on_intel_alone() {
    let facts = |name| FixtureTrees::of(&[name]).facts(name);
    let intel = facts("skylake-client");
    let plan = |event: &str, facts: &Facts| {
        outline(&with_callers(event, Modes::USER, CallGraph::BranchStack), facts)
    };
    let outlined = plan("l1_cache_miss", &intel).unwrap();
    let attr = &outlined.events[0].planned.attr;
    let wanted = BranchSampleType::CALL_STACK | BranchSampleType::from_bits_retain(1 | 3 << 14);
    assert_eq!(attr.branch_sample_type, wanted);
    assert!(attr.sample_type.contains(SampleType::BRANCH_STACK | SampleType::CALLCHAIN));
    assert!(!outlined.side.sample_type.contains(SampleType::BRANCH_STACK), "a dummy has none");
    for (event, facts, part) in
        [("page_fault", &intel, "the kernel's own"), ("l1_cache_miss", &facts("zen4"), "Intel's")]
    {
        let refusal = plan(event, facts).unwrap_err();
        assert!(refusal.to_string().contains(part) && !refusal.is_usage(), "{refusal}");
    }
}

#[test]
fn a_cpu_without_such_records_is_told_at_once() {
    let plan = |facts: &Facts| {
        outline(&with_callers("l1_cache_miss", Modes::USER, CallGraph::BranchStack), facts)
    };
    let facts = |name| FixtureTrees::of(&[name]).facts(name);
    let mut skylake = facts("skylake-client");
    assert!(plan(&skylake).is_ok());
    // As a hypervisor that hides them leaves it.
    let cpu = skylake.pmus.iter_mut().flatten().find(|pmu| pmu.name == "cpu").unwrap();
    cpu.description.as_mut().unwrap().caps.remove("branches").unwrap();
    let refusal = plan(&skylake).unwrap_err();
    assert!(refusal.to_string().contains("caps/branches"), "{refusal}");
    // It has branch records, of all branches alike.
    let refusal = plan(&facts("nehalem-ep")).unwrap_err();
    assert!(refusal.to_string().contains("nehalem"), "{refusal}");
}

#[test]
fn the_plan_says_that_large_pebs_is_given_up() {
    let facts = FixtureTrees::of(&["skylake-client"]).facts("skylake-client");
    let notes = |how| {
        let request = Request { call_graph: how, ..request("l1_cache_miss", Modes::USER) };
        outline(&request, &facts).unwrap().notes.join("\n")
    };
    assert!(!notes(None).contains("large PEBS"));
    for how in ALL {
        let notes = notes(Some(how));
        assert!(notes.contains("(large PEBS): CALLCHAIN"), "{notes}");
    }
}

#[test]
fn helpers_have_no_callers() {
    let facts = FixtureTrees::of(&["sapphirerapids-rtm"]).facts("sapphirerapids-rtm");
    for how in ALL {
        let request = with_callers("load_latency", Modes::USER, how);
        let outlined = outline(&request, &facts).unwrap();
        let carriers = outlined.events.iter().filter(|event| event.planned.carrier);
        let fields: Vec<_> = carriers.map(|event| event.planned.attr.sample_type).collect();
        assert!(!fields.is_empty(), "it has a helper on this core");
        assert!(fields.iter().all(|fields| !fields.contains(SampleType::CALLCHAIN)));
    }
}

#[test]
fn sites_that_the_kernel_counts_have_them_by_frame_pointers_alone() {
    for how in ALL {
        let counted = Request {
            in_kernel: Some(InKernel::aggregate()),
            ..with_callers("page_fault", Modes::USER, how)
        };
        if how == CallGraph::FramePointers {
            let tables = plan(&counted, &root()).unwrap().in_kernel.unwrap().tables().unwrap();
            assert!(tables.callers && tables.by_process);
            let plain = Request { call_graph: None, ..counted };
            let tables = plan(&plain, &root()).unwrap().in_kernel.unwrap().tables().unwrap();
            assert!(!tables.callers && !tables.by_process);
            continue;
        }
        let (text, is_usage) = refused(&counted, &root());
        assert!(text.contains("leave --in-kernel out") && is_usage, "{text}");
    }
}
