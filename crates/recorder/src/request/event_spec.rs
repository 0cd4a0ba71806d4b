//! The text that names an event, as typed after `-t`, and what it names.

mod breakpoint;
mod error;
mod generic;
mod modifiers;
mod named_breakpoint;
mod raw;

use serde::{Deserialize, Serialize};
use std::fmt;

pub use breakpoint::{Breakpoint, BreakpointError, WatchedAccess};
pub use error::EventSpecError;
pub use generic::{GenericEvent, generic, generic_names};
pub use modifiers::{ModifierError, Modifiers, Precise};
pub use named_breakpoint::{BreakpointLocation, NamedBreakpoint};

use crate::catalogue::{self, CatalogueType, EventKind};
pub use crate::machine::Tracepoint;
use crate::machine::pmu_format::Terms;

/// An event as the user typed it, parsed once. A text that names none is kept with the
/// error: whoever plans reports it, after what is wrong with the rest of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct EventSpec {
    text: String,
    parsed: Result<RequestedEvent, EventSpecError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedEvent {
    Type(&'static CatalogueType),
    /// `mem:ADDR[/LEN]:[r][w][x]`.
    Breakpoint(Breakpoint),
    /// `mem:NAME[+OFFSET][@OBJECT][/LEN]:[r][w][x]`: to be looked up first.
    NamedBreakpoint(NamedBreakpoint),
    /// `SUBSYSTEM:NAME`.
    Tracepoint(Tracepoint),
    /// `PMU/TERMS/MODIFIERS`.
    Pmu {
        pmu: String,
        /// Formats, `config=N` and kin, an alias or a maker's event.
        terms: Terms,
        modifiers: Modifiers,
    },
    /// `rN`: the config word of a raw event of the core's PMU.
    Raw {
        /// The word, without `stripped`.
        config: u64,
        /// Levels and precision, those of `stripped` included.
        modifiers: Modifiers,
        /// The bits of the counter's control register that were typed and
        /// are the kernel's to set: USR 16, OS 17, INT 20, EN 22.
        stripped: u64,
    },
    /// A name that the kernel itself gives a meaning on each CPU.
    Generic {
        /// PERF_TYPE_HARDWARE or PERF_TYPE_HW_CACHE.
        kind: perfdata::EventType,
        /// PERF_COUNT_HW_*, or cache, operation and result.
        config: u64,
        /// The name perf gives it.
        name: String,
        modifiers: Modifiers,
    },
    /// What may be an alias of the core's PMU or a maker's name; the machine
    /// decides.
    Named {
        /// As typed, `EVENT:UMASK` as `EVENT.UMASK`.
        name: String,
        modifiers: Modifiers,
    },
}

impl EventSpec {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn event(&self) -> Result<&RequestedEvent, EventSpecError> {
        self.parsed.as_ref().map_err(EventSpecError::clone)
    }
}

impl RequestedEvent {
    /// Finds the event that a text names, without a look at the machine.
    /// In this order: `mem:`, a form with slashes, a type, `rN`, a generic
    /// name, a maker's name or an alias, a tracepoint.
    fn parse(text: &str) -> Result<RequestedEvent, EventSpecError> {
        let typed = text.trim();
        if typed.is_empty() {
            return Err(EventSpecError::Empty);
        }
        if let Some(rest) = typed.strip_prefix("mem:") {
            return Ok(parse_breakpoint(typed, rest)?);
        }
        if typed.contains('/') {
            return parse_pmu(typed);
        }
        if let Some(entry) = find_type(typed) {
            return match entry.kind {
                EventKind::Breakpoint => {
                    let (typed, word) = (typed.to_owned(), String::new());
                    Err(BreakpointError::Address { typed, word }.into())
                }
                EventKind::Tracepoint => {
                    Err(EventSpecError::Tracepoint { typed: typed.to_owned() })
                }
                _ => Ok(RequestedEvent::Type(entry)),
            };
        }
        let (name, letters) = match typed.rsplit_once(':') {
            Some((name, letters)) if !letters.is_empty() && Modifiers::are(letters) => {
                (name, letters)
            }
            _ => (typed, ""),
        };
        if let Some(entry) = find_type(name) {
            return Err(modified_type(typed, entry, letters));
        }
        let modifiers = Modifiers::parse(letters)
            .map_err(|source| EventSpecError::Letters { typed: typed.to_owned(), source });
        if let Some(config) = raw::parse(name) {
            let (config, modifiers, stripped) = raw::strip(config, modifiers?);
            return Ok(RequestedEvent::Raw { config, modifiers, stripped });
        }
        if let Some(GenericEvent { kind, config, name }) = generic(name) {
            return Ok(RequestedEvent::Generic { kind, config, name, modifiers: modifiers? });
        }
        if is_event_name(name) {
            let name = name.replace(':', ".");
            return Ok(RequestedEvent::Named { name, modifiers: modifiers? });
        }
        if let Some((before, letters)) = name.split_once(':')
            && generic(before).is_some()
        {
            let typed = typed.to_owned();
            Modifiers::parse(letters)
                .map_err(|source| EventSpecError::Letters { typed, source })?;
        }
        match name.split_once(':').map(|(before, after)| Tracepoint::parse(before, after)) {
            Some(Some(point)) if name == typed => Ok(RequestedEvent::Tracepoint(point)),
            Some(Some(point)) => {
                Err(EventSpecError::Modifier { typed: typed.to_owned(), name: point.to_string() })
            }
            Some(None) => Err(EventSpecError::Tracepoint { typed: typed.to_owned() }),
            None => Err(EventSpecError::unknown(typed, std::iter::empty())),
        }
    }
}

/// The type of that name. Its other spellings give way to names of the
/// kernel: to generic events, and, dashes being the kernel's style, to what
/// may be an alias ("mem-loads" is not the type that is also "mem_loads").
fn find_type(name: &str) -> Option<&'static CatalogueType> {
    let entry = catalogue::find(name)?;
    let is = |spelling: &str| spelling.eq_ignore_ascii_case(name);
    let own = entry.name.eq_ignore_ascii_case(&name.replace('-', "_"));
    let other = generic(name).is_none() && entry.aliases.iter().any(|alias| is(alias));
    (own || other).then_some(entry)
}

fn modified_type(typed: &str, entry: &CatalogueType, letters: &str) -> EventSpecError {
    let (typed, name) = (typed.to_owned(), entry.name.to_owned());
    match letters.contains(['p', 'P']) {
        true => EventSpecError::Precision { typed, name },
        false => EventSpecError::Modifier { typed, name },
    }
}

/// Whether a maker or a kernel could call an event that. With a colon the
/// name is in capitals, as no group of tracepoints is, or some core has it.
fn is_event_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.split(':').all(is_part) {
        return false;
    }
    name.split_once(':').is_none_or(|(first, _)| {
        first.bytes().any(|byte| byte.is_ascii_uppercase()) || catalogue::is_named(name)
    })
}

impl RequestedEvent {
    /// Levels and precision that were typed with the event; None for types,
    /// breakpoints and tracepoints, which have none.
    pub fn modifiers(&self) -> Option<Modifiers> {
        match self {
            RequestedEvent::Type(_)
            | RequestedEvent::Breakpoint(_)
            | RequestedEvent::NamedBreakpoint(_)
            | RequestedEvent::Tracepoint(_) => None,
            RequestedEvent::Pmu { modifiers, .. }
            | RequestedEvent::Raw { modifiers, .. }
            | RequestedEvent::Generic { modifiers, .. }
            | RequestedEvent::Named { modifiers, .. } => Some(*modifiers),
        }
    }

    pub fn note(&self) -> Option<String> {
        match self {
            RequestedEvent::Raw { config, modifiers, stripped } => {
                raw::note(*config, *stripped, *modifiers)
            }
            _ => None,
        }
    }
}

impl From<&str> for EventSpec {
    fn from(text: &str) -> EventSpec {
        EventSpec::from(text.to_owned())
    }
}

impl From<String> for EventSpec {
    fn from(text: String) -> EventSpec {
        let parsed = RequestedEvent::parse(&text);
        EventSpec { text, parsed }
    }
}

impl From<EventSpec> for String {
    fn from(spec: EventSpec) -> String {
        spec.text
    }
}

impl fmt::Display for EventSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads what follows `mem:`. `typed` is the whole text, for errors.
fn parse_breakpoint(typed: &str, rest: &str) -> Result<RequestedEvent, BreakpointError> {
    let (place, letters) = split_letters(rest);
    let letters = letters.unwrap_or("rw");
    let (name, addressed) = match place.rsplit_once('=') {
        Some((name, address)) if address.starts_with("0x") => (Some(name), address),
        _ => (None, place),
    };
    let (address_word, len_word) = match addressed.split_once('/') {
        Some((address, len)) => (address, Some(len)),
        None => (addressed, None),
    };
    let Some(address) = breakpoint::parse_number(address_word) else {
        return NamedBreakpoint::parse(typed, place, letters).map(RequestedEvent::NamedBreakpoint);
    };
    if name.is_some_and(|name| name.is_empty() || name.contains(char::is_control)) {
        let (typed, word) = (typed.to_owned(), place.to_owned());
        return Err(BreakpointError::Address { typed, word });
    }
    let access = WatchedAccess::parse(typed, letters)?;
    let len = breakpoint::parse_length(typed, len_word, access)?;
    let len = if access == WatchedAccess::Execute { 0 } else { len.unwrap_or(4) };
    breakpoint::check_alignment(typed, address, len)?;
    let name = name.map(str::to_owned);
    Ok(RequestedEvent::Breakpoint(Breakpoint { address, len, access, name }))
}

/// Parts at the first colon that is alone: C++ has names with two.
fn split_letters(rest: &str) -> (&str, Option<&str>) {
    let bytes = rest.as_bytes();
    let is_alone = |at: &usize| {
        let is_colon = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b':');
        is_colon(Some(*at)) && !is_colon(at.checked_sub(1)) && !is_colon(at.checked_add(1))
    };
    match (0..bytes.len()).find(is_alone) {
        Some(at) => (rest.get(..at).unwrap_or(rest), rest.get(at + 1..)),
        None => (rest, None),
    }
}

/// Reads an event that has a slash. `typed` is the whole text.
fn parse_pmu(typed: &str) -> Result<RequestedEvent, EventSpecError> {
    let typed_owned = || typed.to_owned();
    let form = |why: String| EventSpecError::PmuForm { typed: typed_owned(), why };
    let (pmu, rest) = typed.split_once('/').unwrap_or((typed, ""));
    // Nobody means an address below /proc or a path, and none must get far.
    let is_name = !pmu.is_empty()
        && !pmu.starts_with('.')
        && pmu.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte));
    if !is_name {
        return Err(form(format!("{pmu:?} is no name of a PMU")));
    }
    let Some((terms, letters)) = rest.rsplit_once('/') else {
        return Err(form("the slash behind the terms is missing".to_owned()));
    };
    if let Some(event) = generic(pmu) {
        let name = event.name;
        return Err(form(format!("{name} is an event, not a PMU: say -t {name} and options")));
    }
    let terms = Terms::parse(terms)
        .map_err(|source| EventSpecError::Terms { typed: typed_owned(), source })?;
    let modifiers = Modifiers::parse(letters.strip_prefix(':').unwrap_or(letters))
        .map_err(|source| EventSpecError::Letters { typed: typed_owned(), source })?;
    Ok(RequestedEvent::Pmu { pmu: pmu.to_owned(), terms, modifiers })
}

#[cfg(test)]
mod tests;
