//! A request becomes a session of whoever is to count.

use emulator::{AllocatorFinder, Class, Classifier, EmulatedEvent, FileAllocator};
use perfdata::AllocatorCall;
use recorder::emulated::{EmulatedSession, ProgramRules};
use recorder::session::{Session, SessionSettings};
use recorder::{Refusal, Sampling, SessionError, SourcePlan};

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use symbolizer::ElfNames;

/// Opens a planned session in this process: of the machine's events, or of the
/// emulated PMU. `ebs` opens its own like this.
///
/// # Errors
/// What the kernel refuses, and why.
pub fn open(
    plan: SourcePlan,
    settings: SessionSettings,
) -> Result<Box<dyn Sampling>, SamplerError> {
    Ok(match plan {
        SourcePlan::Kernel(mut plan) => {
            if let Some(heap) = &settings.heap {
                recorder::heap::add(&mut plan, heap)?;
            }
            Box::new(Session::open(plan, settings)?)
        }
        SourcePlan::Emulated(plan) => {
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

/// Why a program does not sample, or samples no more.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// The machine cannot be looked at.
    #[error("what this machine can sample cannot be found out: {0}")]
    Facts(#[source] recorder::machine::facts::FactsError),
    /// It cannot sample that.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// A call failed, or the kernel refused an event.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A child of fork(2) has a copy of its parent's sampler.
    #[error("the process that opened the sampler has it alone: open another in the child")]
    Forked,
    /// What the session wrote cannot be read: a fault of hardmeter.
    #[error("the session's own stream cannot be read: {0}; please report it")]
    Stream(#[from] perfdata::stream::StreamError),
    /// An event whose filter is not known, or another fault of hardmeter.
    #[error(transparent)]
    Analysis(#[from] analysis::Error),
}
