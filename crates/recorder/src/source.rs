//! Who is to count: the machine's PMU or the emulated one.

use std::fmt;
use std::str::FromStr;

pub use crate::catalogue::emulable;
use crate::catalogue::{
    Availability, CatalogueType, EventKind, availability, find, type_of_generic, type_of_name,
};
use crate::emulated::{self, EmulatedPlan, Model};
use crate::machine::facts::Facts;
use crate::plan::{Outline, with_modifiers};
use crate::request::event_spec::RequestedEvent;
use crate::{Modes, Plan, Refusal, Request};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SourceChoice {
    /// The PMU; where there is none, the emulated one for what that can do.
    #[default]
    Auto,
    /// The PMU, or nothing.
    Pmu,
    /// The emulated PMU, whatever the machine has.
    Emulated,
}

impl SourceChoice {
    pub const WORDS: [&str; 3] = ["auto", "pmu", "emulated"];
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no source is called {word:?}: say auto, pmu or emulated")]
pub struct UnknownSource {
    pub word: String,
}

impl fmt::Display for SourceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SourceChoice::Auto => "auto",
            SourceChoice::Pmu => "pmu",
            SourceChoice::Emulated => "emulated",
        })
    }
}

impl FromStr for SourceChoice {
    type Err = UnknownSource;

    fn from_str(word: &str) -> Result<SourceChoice, UnknownSource> {
        match word {
            "auto" => Ok(SourceChoice::Auto),
            "pmu" => Ok(SourceChoice::Pmu),
            "emulated" => Ok(SourceChoice::Emulated),
            _ => Err(UnknownSource { word: word.to_owned() }),
        }
    }
}

/// The plan of whoever is to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourcePlan {
    /// The kernel's: its own events, and those of the machine's PMU.
    Kernel(Plan),
    Emulated(EmulatedPlan),
}

/// What would be opened or emulated for a request.
///
/// # Errors
/// What cannot be had from that source, and what works instead.
pub fn outline(
    request: &Request,
    choice: SourceChoice,
    model: Option<&Model>,
    facts: &Facts,
) -> Result<Outline, Refusal> {
    let why = match emulation_fallback_for_all(request, choice, facts)? {
        EmulationFallback::Not => return crate::plan::outline(request, facts),
        EmulationFallback::AsAsked => None,
        EmulationFallback::For(why) => Some(why),
    };
    let mut outline = emulated::outline(request, facts)?;
    let model =
        model.map_or_else(|| "the caches of the machine that runs it".into(), Model::to_string);
    let because = why.map_or_else(String::new, |why| format!("{why}: "));
    outline.notes.push(format!("{because}{} is emulated ({model})", outline.name));
    Ok(outline)
}

/// A plan for a request, of the source that is to serve it.
///
/// # Errors
/// What cannot be had from that source, and what works instead.
pub fn plan(
    request: &Request,
    choice: SourceChoice,
    model: Model,
    facts: &Facts,
) -> Result<SourcePlan, Refusal> {
    match emulation_fallback_for_all(request, choice, facts)? {
        EmulationFallback::Not => crate::plan(request, facts).map(SourcePlan::Kernel),
        EmulationFallback::AsAsked => {
            emulated::plan(request, model, facts).map(SourcePlan::Emulated)
        }
        EmulationFallback::For(why) => {
            let mut plan = emulated::plan(request, model, facts)?;
            let (name, model) = (&plan.name, &plan.model);
            let note = format!("{why}: {name} is emulated ({model}); {}", slowdown(&plan));
            plan.notes.insert(0, note);
            Ok(SourcePlan::Emulated(plan))
        }
    }
}

/// What to say of a request for counts that the kernel refused: what works instead in user mode,
/// by either source, as of a request for samples.
pub(crate) fn refused(request: &Request, refusal: Refusal, facts: &Facts) -> Refusal {
    if !request.modes.user {
        return refusal;
    }
    let of_user = Request { modes: Modes::USER, ..request.clone() };
    match outline(&of_user, SourceChoice::Auto, None, facts) {
        Err(of_user) => of_user,
        Ok(_) => refusal,
    }
}

/// What it costs, by what is known of it; measured in docs/performance.md.
fn slowdown(plan: &EmulatedPlan) -> &'static str {
    let is_of_pages = plan.modelled.iter().any(|of| of.counts.is_of_pages());
    match (plan.model.burst, is_of_pages) {
        (Some(_), _) => "expect the program to take longer, by the share of its instructions",
        (None, false) => {
            "expect the program to take 2 to 30 times as long, a short one or one that makes code \
             as it runs (Java, JavaScript) longer; its threads take turns"
        }
        (None, true) => {
            "expect the program to take 5 to 150 times as long, by how often it leaves its pages; \
             its threads take turns"
        }
    }
}

enum EmulationFallback {
    Not,
    AsAsked,
    /// As the machine has no PMU, for this reason.
    For(String),
}

/// The same for all events of a request: they have one source.
fn emulation_fallback_for_all(
    request: &Request,
    choice: SourceChoice,
    facts: &Facts,
) -> Result<EmulationFallback, Refusal> {
    let first = emulation_fallback(request, choice, facts)?;
    let (mut emulated, mut counted) = (None, None);
    for one in request.each() {
        match emulation_fallback(&one, choice, facts)? {
            EmulationFallback::Not => counted.get_or_insert(one.event.into()),
            EmulationFallback::AsAsked | EmulationFallback::For(_) => {
                emulated.get_or_insert(one.event.into())
            }
        };
    }
    match (emulated, counted) {
        (Some(emulated), Some(counted)) => Err(Refusal::MixedSources { emulated, counted }),
        _ => Ok(first),
    }
}

fn emulation_fallback(
    request: &Request,
    choice: SourceChoice,
    facts: &Facts,
) -> Result<EmulationFallback, Refusal> {
    match choice {
        SourceChoice::Pmu => return Ok(EmulationFallback::Not),
        SourceChoice::Emulated => return Ok(EmulationFallback::AsAsked),
        SourceChoice::Auto => {}
    }
    let request = with_modifiers(request)?;
    let entry = match request.event.event()? {
        RequestedEvent::Type(entry) => entry,
        other => {
            return type_instead(other, &request, facts).map_or(Ok(EmulationFallback::Not), Err);
        }
    };
    let Some(why) = emulable(entry, facts) else {
        return related_instead(entry, &request, facts).map_or(Ok(EmulationFallback::Not), Err);
    };
    if request.modes == Modes::USER && !request.target.is_of_cpus() {
        return Ok(EmulationFallback::For(why));
    }
    // Neither source can; the emulated one could with less asked for.
    match availability(entry, facts) {
        Availability::Unavailable { why, nearest, advice } => {
            let event = request.event.to_string();
            let works = format!(
                "-u with a command or a PID works: {} is emulated then; {advice}",
                entry.name
            );
            let nearest = nearest.into_iter().map(str::to_owned).collect();
            Err(Refusal::Unavailable { event, why, nearest, advice: works })
        }
        Availability::Available { .. } => Ok(EmulationFallback::Not),
    }
}

/// For a type that nobody has here, a refusal that names what is emulated.
fn related_instead(entry: &CatalogueType, request: &Request, facts: &Facts) -> Option<Refusal> {
    let EventKind::Hardware(hardware) = entry.kind else { return None };
    let is_emulated =
        |name: &&&str| find(name).is_some_and(|related| emulable(related, facts).is_some());
    let related: Vec<&str> = hardware.related.iter().filter(is_emulated).take(2).copied().collect();
    if related.is_empty() || request.modes != Modes::USER || request.target.is_of_cpus() {
        return None;
    }
    let Availability::Unavailable { why, .. } = availability(entry, facts) else { return None };
    let reason = match emulated::kind(entry) {
        Err(reason) => format!("; it is not emulated either: {reason}"),
        Ok(_) => String::new(),
    };
    Some(Refusal::Unavailable {
        event: request.event.to_string(),
        why: why + &reason,
        advice: format!("{} can be emulated here; ebs -h TYPE says what it is", related.join(", ")),
        nearest: related.into_iter().map(str::to_owned).collect(),
    })
}

/// For an event by its maker's or the kernel's name, which nobody counts
/// here, a refusal that names the type that is emulated.
fn type_instead(event: &RequestedEvent, request: &Request, facts: &Facts) -> Option<Refusal> {
    let entry = match event {
        RequestedEvent::Generic { kind, config, .. } => type_of_generic(*kind, *config),
        RequestedEvent::Named { name, .. } => type_of_name(name),
        _ => None,
    }?;
    let why = emulable(entry, facts)?;
    let name = entry.name;
    let how = match request.modes == Modes::USER && !request.target.is_of_cpus() {
        true => format!("-t {name} works: it is emulated then"),
        false => format!("-u -t {name} with a command or a PID works: it is emulated then"),
    };
    let counted = emulated::meaning(entry)?;
    Some(Refusal::Unavailable {
        event: request.event.to_string(),
        why,
        nearest: vec![name.to_owned()],
        advice: format!("{how}, {counted} in a model of the caches; ebs -h {name} says more"),
    })
}

#[cfg(test)]
mod tests {
    //! Which source serves which request on which machine.

    use perfdata::{EventType, Pid};

    use super::*;
    use crate::Target;
    use crate::machine::facts::{Hypervisor, Pmu};

    fn guest(pmu: bool) -> Facts {
        let mut facts =
            Facts { hypervisor: Hypervisor::Guest("KVM".to_owned()), ..Facts::default() };
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
    ) -> Result<SourcePlan, Refusal> {
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
            let Ok(SourcePlan::Emulated(plan)) = plan else { panic!("{plan:?}") };
            let [note] = &plan.notes[..] else { panic!("{:?}", plan.notes) };
            assert!(note.starts_with("no hardware PMU: KVM guest"), "{note}");
            assert!(
                note.contains("l1_cache_miss is emulated (") && note.contains("as long"),
                "{note}"
            );
        }
        let paged = asked("dtlb_all_miss", COMMAND, SourceChoice::Auto, &guest(false));
        let Ok(SourcePlan::Emulated(paged)) = paged else { panic!("{paged:?}") };
        assert!(paged.notes[0].contains("by how often it leaves its pages"), "{:?}", paged.notes);
        let by_modifier = asked("l1_cache_miss", COMMAND, SourceChoice::Emulated, &guest(false));
        let Ok(SourcePlan::Emulated(plan)) = by_modifier else { panic!("{by_modifier:?}") };
        assert!(plan.notes.is_empty(), "who asks for it need not be told: {:?}", plan.notes);
    }

    #[test]
    fn the_pmu_goes_first_and_the_kernels_events_are_the_kernels() {
        let kernels = asked("page_fault", COMMAND, SourceChoice::Auto, &guest(false));
        assert!(matches!(kernels, Ok(SourcePlan::Kernel(_))), "{kernels:?}");
        let pmus = asked("instr_retired", COMMAND, SourceChoice::Auto, &guest(true));
        assert!(matches!(pmus, Ok(SourcePlan::Kernel(_))), "{pmus:?}");
        let wanted = asked("instr_retired", COMMAND, SourceChoice::Emulated, &guest(true));
        assert!(matches!(wanted, Ok(SourcePlan::Emulated(_))), "{wanted:?}");
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
        let (text, usage) =
            refused(Scope { modes: Modes::BOTH, ..COMMAND }, SourceChoice::Emulated);
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
            let said =
                asked(typed, system, SourceChoice::Auto, &guest(false)).unwrap_err().to_string();
            assert!(
                said.contains(&format!("-u -t {named} with a command or a PID works")),
                "{said}"
            );
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
            let said =
                asked("instructions:h", scope, SourceChoice::Auto, &guest(true)).unwrap_err();
            let said = said.to_string();
            assert!(said.contains("h alone counts the hypervisor's own code"), "{said}");
        }
    }
}
