//! A request becomes a session of whoever is to count.

use emulator::{Class, Classifier, EmulatedEvent};
use sampling::emulated::{EmulatedSession, Model};
use sampling::session::{Session, SessionSettings};
use sampling::{Chosen, Facts, Request, Sampling, SourceChoice, source};

use crate::SamplerError;

/// Opens a session in this process: of the machine's events, or of the
/// emulated PMU. `ebs` opens its own like this.
///
/// # Errors
/// What is refused, and why.
pub fn open(
    request: &Request,
    choice: SourceChoice,
    model: Model,
    facts: &Facts,
    settings: SessionSettings,
) -> Result<Box<dyn Sampling>, SamplerError> {
    Ok(match source::plan(request, choice, model, facts)? {
        Chosen::Kernel(plan) => Box::new(Session::open(plan, settings)?),
        Chosen::Emulated(plan) => Box::new(EmulatedSession::open(plan, settings, &classifier)?),
    })
}

/// Which instructions an event of the emulated PMU counts is the reports' rule.
pub fn classifier(counts: EmulatedEvent) -> Option<Classifier> {
    match counts {
        EmulatedEvent::Class(Class::Of(class)) => {
            Some(Classifier::new(move |instruction| analysis::classes(instruction).contains(class)))
        }
        _ => None,
    }
}
