//! Who is to count: the machine's PMU or the emulated one.

use std::fmt;
use std::str::FromStr;

pub use crate::catalogue::emulable;
use crate::catalogue::{
    Availability, CatalogueType, EventKind, availability, find, type_of_generic, type_of_name,
};
use crate::emulated::{self, Model};
use crate::machine::facts::Facts;
use crate::plan::{Outline, with_modifiers};
use crate::request::event_spec::RequestedEvent;
use crate::{Modes, Plan, Refusal, Request};

/// What the user wants.
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
    /// What a user may say.
    pub const WORDS: [&str; 3] = ["auto", "pmu", "emulated"];
}

/// A word that names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no source is called {word:?}: say auto, pmu or emulated")]
pub struct UnknownSource {
    /// As typed.
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

/// Something of either source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen<K, E> {
    /// The kernel's: its own events, and those of the machine's PMU.
    Kernel(K),
    /// The emulated PMU's.
    Emulated(E),
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
) -> Result<Chosen<Outline, Outline>, Refusal> {
    let why = match stand_in_for_all(request, choice, facts)? {
        StandIn::Not => return crate::plan::outline(request, facts).map(Chosen::Kernel),
        StandIn::AsAsked => None,
        StandIn::For(why) => Some(why),
    };
    let mut outline = emulated::outline(request, facts)?;
    let model =
        model.map_or_else(|| "the caches of the machine that runs it".into(), Model::to_string);
    let because = why.map_or_else(String::new, |why| format!("{why}: "));
    outline.notes.push(format!("{because}{} is emulated ({model})", outline.name));
    Ok(Chosen::Emulated(outline))
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
) -> Result<Chosen<Plan, emulated::EmulatedPlan>, Refusal> {
    match stand_in_for_all(request, choice, facts)? {
        StandIn::Not => crate::plan(request, facts).map(Chosen::Kernel),
        StandIn::AsAsked => emulated::plan(request, model, facts).map(Chosen::Emulated),
        StandIn::For(why) => {
            let mut plan = emulated::plan(request, model, facts)?;
            let (name, model) = (&plan.name, &plan.model);
            let note = format!("{why}: {name} is emulated ({model}); {}", slowdown(&plan));
            plan.notes.insert(0, note);
            Ok(Chosen::Emulated(plan))
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
fn slowdown(plan: &emulated::EmulatedPlan) -> &'static str {
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

/// Whether the emulated PMU serves.
enum StandIn {
    Not,
    AsAsked,
    /// As the machine has no PMU, for this reason.
    For(String),
}

/// The same for all events of a request: they have one source.
fn stand_in_for_all(
    request: &Request,
    choice: SourceChoice,
    facts: &Facts,
) -> Result<StandIn, Refusal> {
    let first = stand_in(request, choice, facts)?;
    let (mut emulated, mut counted) = (None, None);
    for one in request.each() {
        match stand_in(&one, choice, facts)? {
            StandIn::Not => counted.get_or_insert(one.event.0),
            StandIn::AsAsked | StandIn::For(_) => emulated.get_or_insert(one.event.0),
        };
    }
    match (emulated, counted) {
        (Some(emulated), Some(counted)) => Err(Refusal::MixedSources { emulated, counted }),
        _ => Ok(first),
    }
}

fn stand_in(request: &Request, choice: SourceChoice, facts: &Facts) -> Result<StandIn, Refusal> {
    match choice {
        SourceChoice::Pmu => return Ok(StandIn::Not),
        SourceChoice::Emulated => return Ok(StandIn::AsAsked),
        SourceChoice::Auto => {}
    }
    let request = with_modifiers(request)?;
    let entry = match request.event.resolve()? {
        RequestedEvent::Type(entry) => entry,
        other => return type_instead(&other, &request, facts).map_or(Ok(StandIn::Not), Err),
    };
    let Some(why) = emulable(entry, facts) else {
        return kin_instead(entry, &request, facts).map_or(Ok(StandIn::Not), Err);
    };
    if request.modes == Modes::USER && !request.target.is_of_cpus() {
        return Ok(StandIn::For(why));
    }
    // Neither source can; the emulated one could with less asked for.
    match availability(entry, facts) {
        Availability::Unavailable { why, nearest, advice } => {
            let event = request.event.0;
            let works = format!(
                "-u with a command or a PID works: {} is emulated then; {advice}",
                entry.name
            );
            let nearest = nearest.into_iter().map(str::to_owned).collect();
            Err(Refusal::Unavailable { event, why, nearest, advice: works })
        }
        Availability::Available { .. } => Ok(StandIn::Not),
    }
}

/// For a type that nobody has here, a refusal that names what is emulated.
fn kin_instead(entry: &CatalogueType, request: &Request, facts: &Facts) -> Option<Refusal> {
    let EventKind::Hardware(hardware) = entry.kind else { return None };
    let is_emulated = |name: &&&str| find(name).is_some_and(|kin| emulable(kin, facts).is_some());
    let kin: Vec<&str> = hardware.kin.iter().filter(is_emulated).take(2).copied().collect();
    if kin.is_empty() || request.modes != Modes::USER || request.target.is_of_cpus() {
        return None;
    }
    let Availability::Unavailable { why, .. } = availability(entry, facts) else { return None };
    let reason = match emulated::kind(entry) {
        Err(reason) => format!("; it is not emulated either: {reason}"),
        Ok(_) => String::new(),
    };
    Some(Refusal::Unavailable {
        event: request.event.0.clone(),
        why: why + &reason,
        advice: format!("{} can be emulated here; ebs -h TYPE says what it is", kin.join(", ")),
        nearest: kin.into_iter().map(str::to_owned).collect(),
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
        event: request.event.0.clone(),
        why,
        nearest: vec![name.to_owned()],
        advice: format!("{how}, {counted} in a model of the caches; ebs -h {name} says more"),
    })
}

#[cfg(test)]
mod tests;
