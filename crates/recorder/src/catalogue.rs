//! The closed table of event types: what each counts, how it is opened, and
//! whether this machine has it.

mod availability;
pub(crate) mod emulated;
mod encoding;
mod equivalence;
mod hardware;
mod help;
mod masks;
mod microarchitecture;
mod named;
mod no_encoding;
mod on_machine;
pub mod promises;
mod software;
pub(crate) mod table;
mod words;

pub use availability::{Availability, MOUNT_TRACEFS, availability};
pub use emulated::emulable;
pub use encoding::{Encoding, Latency, encodings, generic_encodings, ibs_encodings};
pub(crate) use encoding::{type_of_generic, type_of_name};
pub use equivalence::{Equivalence, UnknownEquivalence};
pub use help::help;
pub use masks::{ComposedMasks, Mask, MaskError, MaskRole, compose, masks};
pub use microarchitecture::{IdentifiedCore, Microarchitecture, identify};
pub(crate) use named::is_named;
pub use named::{NamedEvent, named, names, nearest_names};
pub use no_encoding::NoEncoding;
pub use on_machine::{NotOnMachine, OnCore, OnMachine, on_machine};

#[cfg(test)]
mod tests;

use perfdata::SoftwareEvent;

use crate::catalogue::promises::{
    AddressPromise, IpPromise, Promises, RegistersPromise, SampleSource, WeightPromise,
};
use crate::spelling::{best_three, likeness};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Events,
    Nanoseconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// PERF_TYPE_SOFTWARE with this config.
    Software(Software),
    /// `mem:ADDR[/LEN]:[r][w][x]`: PERF_TYPE_BREAKPOINT.
    Breakpoint,
    /// `SUBSYSTEM:NAME`: PERF_TYPE_TRACEPOINT.
    Tracepoint,
    Hardware(Hardware),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Software {
    pub event: SoftwareEvent,
    /// The kernel reports it from kernel mode whatever the CPU ran before:
    /// without `-k` it never fires.
    pub kernel_only: bool,
    /// No x86 kernel ever counts it.
    pub never_on_x86: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Types of the same kind, best first: not every CPU has each.
    pub related: &'static [&'static str],
    /// Types that every kernel has, best first.
    pub nearest: &'static [&'static str],
    /// How far off they are, in one phrase.
    pub difference: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueType {
    /// The name to type, or the form of it.
    pub name: &'static str,
    /// Other spellings: perf's, and the original's.
    pub aliases: &'static [&'static str],
    /// One line: what is counted.
    pub meaning: &'static str,
    /// Sampled every so many, unless the user says otherwise.
    pub default_interval: u64,
    pub unit: IntervalUnit,
    /// What samples of it mean; None when that depends on a CPU not met yet.
    pub promises: Option<Promises>,
    /// Paragraphs for `ebs -h TYPE`: what fires it, what the fields are.
    pub detail: &'static str,
    pub example: &'static str,
    pub kind: EventKind,
}

impl CatalogueType {
    /// Whether `typed` is this type's name or another spelling of it.
    /// Letter case and `-` or `_` make no difference.
    fn is_called(&self, typed: &str) -> bool {
        let same = |name: &&str| {
            name.len() == typed.len()
                && name.bytes().zip(typed.bytes()).all(|(a, b)| fold(a) == fold(b))
        };
        std::iter::once(&self.name).chain(self.aliases).any(same)
    }
}

fn fold(byte: u8) -> u8 {
    if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() }
}

/// Every type: those of the kernel first, then hardmeter's of 2003.
pub fn all() -> impl Iterator<Item = &'static CatalogueType> {
    let forms = [&software::BREAKPOINT, &software::TRACEPOINT];
    software::TYPES.iter().chain(forms).chain(hardware::TYPES.iter())
}

pub fn find(typed: &str) -> Option<&'static CatalogueType> {
    all().find(|entry| entry.is_called(typed))
}

pub(crate) fn breakpoint() -> &'static CatalogueType {
    &software::BREAKPOINT
}

pub(crate) fn tracepoint() -> &'static CatalogueType {
    &software::TRACEPOINT
}

/// At most three names like `typed`, best first; none when nothing is like
/// it.
pub fn nearest(typed: &str) -> Vec<&'static str> {
    let names = all().flat_map(|entry| {
        std::iter::once(entry.name)
            .chain(entry.aliases.iter().copied())
            .map(move |name| (name, entry))
    });
    let scored = names.map(|(name, entry)| (likeness(typed, name), entry.name));
    best_three(scored)
}

const fn promises(
    source: SampleSource,
    ip: IpPromise,
    address: AddressPromise,
    registers: RegistersPromise,
) -> Promises {
    Promises { source, ip, address, registers, weight: WeightPromise::None }
}
