//! Which source serves which request on which machine.

use perfdata::{EventType, Pid};

use super::*;
use crate::Target;
use crate::machine::facts::{Hypervisor, Pmu};

/// A guest, with a core PMU or without.
fn guest(pmu: bool) -> Facts {
    let mut facts = Facts { hypervisor: Hypervisor::Guest("KVM".to_owned()), ..Facts::default() };
    let of = |(name, kind): (&str, u32)| Pmu {
        name: name.to_owned(),
        kind: Some(EventType(kind)),
        ..Pmu::default()
    };
    let mut pmus = vec![("breakpoint", 5), ("software", 1), ("tracepoint", 2)];
    pmus.extend(pmu.then_some(("cpu", 4)));
    facts.pmus = Some(pmus.into_iter().map(of).collect());
    facts.cpus.online = Some(vec![perfdata::Cpu(0), perfdata::Cpu(1)]);
    facts.kernel.machine = Some("x86_64".to_owned());
    facts.access.uid = Some(0);
    facts.access.paranoid = Some(-1);
    facts
}

fn model() -> Model {
    Model {
        geometry: Default::default(),
        tlbs_asked: false,
        prefetch: false,
        burst: None,
        classify: false,
        heap: false,
        layouts: Vec::new(),
    }
}

/// Whose events.
#[derive(Clone, Copy)]
struct Scope {
    modes: Modes,
    target: Target,
}

fn asked(
    event: &str,
    Scope { modes, target }: Scope,
    choice: SourceChoice,
    facts: &Facts,
) -> Result<Chosen<Plan, emulated::EmulatedPlan>, Refusal> {
    plan(&Request::new(event, modes, target), choice, model(), facts)
}

const COMMAND: Scope = Scope { modes: Modes::USER, target: Target::Command };

#[test]
fn without_a_pmu_user_code_of_a_target_is_emulated_and_said_so() {
    for target in [Target::Command, Target::Process(Pid(17))] {
        let plan = asked(
            "l1_cache_miss",
            Scope { modes: Modes::USER, target },
            SourceChoice::Auto,
            &guest(false),
        );
        let Ok(Chosen::Emulated(plan)) = plan else { panic!("{plan:?}") };
        let [note] = &plan.notes[..] else { panic!("{:?}", plan.notes) };
        assert!(note.starts_with("no hardware PMU: KVM guest"), "{note}");
        assert!(note.contains("l1_cache_miss is emulated (") && note.contains("as long"), "{note}");
    }
    let paged = asked("dtlb_all_miss", COMMAND, SourceChoice::Auto, &guest(false));
    let Ok(Chosen::Emulated(paged)) = paged else { panic!("{paged:?}") };
    assert!(paged.notes[0].contains("by how often it leaves its pages"), "{:?}", paged.notes);
    let by_modifier = asked("l1_cache_miss", COMMAND, SourceChoice::Emulated, &guest(false));
    let Ok(Chosen::Emulated(plan)) = by_modifier else { panic!("{by_modifier:?}") };
    assert!(plan.notes.is_empty(), "who asks for it need not be told: {:?}", plan.notes);
}

#[test]
fn the_pmu_goes_first_and_the_kernels_events_are_the_kernels() {
    let kernels = asked("page_fault", COMMAND, SourceChoice::Auto, &guest(false));
    assert!(matches!(kernels, Ok(Chosen::Kernel(_))), "{kernels:?}");
    let pmus = asked("instr_retired", COMMAND, SourceChoice::Auto, &guest(true));
    assert!(matches!(pmus, Ok(Chosen::Kernel(_))), "{pmus:?}");
    let wanted = asked("instr_retired", COMMAND, SourceChoice::Emulated, &guest(true));
    assert!(matches!(wanted, Ok(Chosen::Emulated(_))), "{wanted:?}");
    let Err(refusal) = asked("l1_cache_miss", COMMAND, SourceChoice::Pmu, &guest(false)) else {
        panic!("there is none")
    };
    assert!(refusal.to_string().contains("no hardware PMU"), "{refusal}");
}

#[test]
fn what_neither_source_can_is_refused_with_what_works() {
    let refused = |scope: Scope, choice| {
        let refusal = asked("l1_cache_miss", scope, choice, &guest(false)).unwrap_err();
        assert!(!refusal.to_string().contains('\n'), "{refusal}");
        (refusal.to_string(), refusal.is_usage())
    };
    for (modes, target) in [
        (Modes::KERNEL, Target::Command),
        (Modes::BOTH, Target::Command),
        (Modes::KERNEL, Target::System),
        (Modes::USER, Target::System),
    ] {
        let (text, usage) = refused(Scope { modes, target }, SourceChoice::Auto);
        for part in ["no hardware PMU: KVM guest", "Nearest: page_fault", "-u with a command"] {
            assert!(text.contains(part) && !usage, "{text}");
        }
    }
    let (text, usage) = refused(Scope { modes: Modes::BOTH, ..COMMAND }, SourceChoice::Emulated);
    assert!(text.contains("user code only") && usage, "{text}");
    let (text, usage) =
        refused(Scope { target: Target::System, ..COMMAND }, SourceChoice::Emulated);
    assert!(text.contains("name one") && usage, "{text}");
    let mut arm = guest(false);
    arm.kernel.machine = Some("aarch64".to_owned());
    let text = asked("l1_cache_miss", COMMAND, SourceChoice::Emulated, &arm).unwrap_err();
    assert!(text.to_string().contains("x86-64"), "{text}");
    let Err(refusal) = asked("l1_cache_miss", COMMAND, SourceChoice::Auto, &arm) else {
        panic!("not there")
    };
    assert!(refusal.to_string().contains("no hardware PMU"), "{refusal}");
}

#[test]
fn what_nobody_has_names_what_is_emulated() {
    let Err(refusal) = asked("load_latency", COMMAND, SourceChoice::Auto, &guest(false)) else {
        panic!("it is not modelled")
    };
    assert_eq!(refusal.nearest(), ["memory_loads", "memory_stores"]);
    let text = refusal.to_string();
    for part in ["no hardware PMU", "not emulated either: latencies", "can be emulated here"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn sources_are_named_by_one_word() {
    for choice in [SourceChoice::Auto, SourceChoice::Pmu, SourceChoice::Emulated] {
        assert_eq!(choice.to_string().parse(), Ok(choice));
    }
    let error = "Auto".parse::<SourceChoice>().unwrap_err().to_string();
    assert!(error.contains("\"Auto\"") && error.contains("auto, pmu or emulated"), "{error}");
}

/// By the kernel's names and the makers', which other tools know.
#[test]
fn what_is_emulated_under_another_name_is_said() {
    for (typed, named) in [
        ("L1-dcache-load-misses", "l1_cache_miss"),
        ("L1-dcache-store-misses", "l1_cache_miss"),
        ("LLC-load-misses", "l3_cache_miss"),
        ("dTLB-load-misses", "dtlb_load_miss"),
        ("L1-dcache-loads", "memory_loads"),
        ("cache-misses", "l2_cache_miss"),
        ("MEM_LOAD_RETIRED.L1_MISS", "l1_cache_miss"),
        ("mem_inst_retired.all_stores", "memory_stores"),
    ] {
        let refused = asked(typed, COMMAND, SourceChoice::Auto, &guest(false)).unwrap_err();
        let said = refused.to_string();
        assert_eq!(refused.nearest(), [named], "{said}");
        assert!(said.contains(&format!("-t {named} works")), "{said}");
        let system = Scope { modes: Modes::BOTH, target: Target::System };
        let said = asked(typed, system, SourceChoice::Auto, &guest(false)).unwrap_err().to_string();
        assert!(said.contains(&format!("-u -t {named} with a command or a PID works")), "{said}");
    }
    // Nothing of the model's.
    let said = asked("bus-cycles", COMMAND, SourceChoice::Auto, &guest(false)).unwrap_err();
    assert!(!said.to_string().contains("emulated"), "{said}");
}

#[test]
fn what_is_offered_for_a_mistyped_name_is_to_be_had() {
    let offered = |scope: Scope| {
        let said = asked("cache_miss", scope, SourceChoice::Auto, &guest(false)).unwrap_err();
        said.to_string()
    };
    let said = offered(COMMAND);
    assert!(said.contains("l1_cache_miss") && !said.contains("cache-misses"), "{said}");
    let said = offered(Scope { modes: Modes::KERNEL, target: Target::System });
    assert!(!said.contains("cache_miss or") && !said.contains("l1_cache_miss"), "{said}");
}

#[test]
fn the_hypervisor_alone_is_not_blamed_on_the_options() {
    for modes in [Modes::USER, Modes::default()] {
        let scope = Scope { modes, ..COMMAND };
        let said = asked("instructions:h", scope, SourceChoice::Auto, &guest(true)).unwrap_err();
        let said = said.to_string();
        assert!(said.contains("h alone counts the hypervisor's own code"), "{said}");
    }
}
