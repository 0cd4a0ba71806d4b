//! A request becomes a session of whoever is to count.

use emulator::{AllocatorFinder, Class, Classifier, EmulatedEvent, FileAllocator};
use perfdata::AllocatorCall;
use recorder::emulated::{EmulatedSession, Model, ProgramRules};
use recorder::session::{Session, SessionSettings};
use recorder::{Chosen, Facts, Request, Sampling, SourceChoice, source};

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use symbolizer::ElfNames;

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
        Chosen::Kernel(mut plan) => {
            if let Some(heap) = &settings.heap {
                recorder::heap::add(&mut plan, heap)?;
            }
            Box::new(Session::open(plan, settings)?)
        }
        Chosen::Emulated(plan) => {
            Box::new(EmulatedSession::open(plan, settings, &program_rules())?)
        }
    })
}

/// How the emulated PMU reads programs: which instructions an event counts is the reports' rule,
/// and where functions of allocators are the symbolizer's answer.
pub fn program_rules() -> ProgramRules {
    ProgramRules { classifier, allocators: AllocatorFinder::new(allocators) }
}

/// The functions of allocators that a file names; none where it cannot be read. Allocators have
/// several names for one function, of which one may be all that is known.
fn allocators(path: &Path) -> Vec<FileAllocator> {
    let names = File::open(path).ok().and_then(|file| ElfNames::read(file).ok());
    let Some(names) = names else { return Vec::new() };
    let mut found = BTreeMap::new();
    for (name, offset) in names.routine_offsets() {
        if let Some(call) = AllocatorCall::of_routine(&name) {
            found.entry(offset).or_insert(call);
        }
    }
    found.into_iter().map(|(offset, call)| FileAllocator { offset, call }).collect()
}

fn classifier(counts: EmulatedEvent) -> Option<Classifier> {
    match counts {
        EmulatedEvent::Class(Class::Of(class)) => {
            Some(Classifier::new(move |instruction| analysis::classes(instruction).contains(class)))
        }
        _ => None,
    }
}
