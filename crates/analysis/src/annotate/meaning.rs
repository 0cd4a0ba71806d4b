//! Which instruction a count is about, and what the registers beside it are.
//!
//! Privilege and precision come from records; where a recorder promised more,
//! its promise says what a record without EXACT_IP means.

use crate::collect::event::Event;
use crate::collect::sum::Sum;
use crate::report::answer::leaders;
use crate::sieve::{RegistersOf, Sieve};
use perfdata::stream::{EventDescription, StreamDecoder, note};
use perfdata::{EventType, SoftwareEvent};
use serde::Serialize;

/// Where the instruction is that caused what was counted at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// It is this one.
    Here,
    /// It ran just before this one: a trap.
    Before,
    /// Nobody can tell: this one, or one that ran before it.
    Unproven,
}

#[derive(Clone, Debug)]
pub(crate) struct Meaning {
    /// Of records without EXACT_IP.
    pub(crate) inexact: Cause,
    /// A timer made the samples.
    pub(crate) is_timer: bool,
    pub(crate) registers: RegistersOf,
    /// Of the event: "misses on".
    pub(crate) verb: &'static str,
}

/// What an instruction does to its operand in a fault.
pub(crate) const FAULTS_ON: &str = "faults on";

#[derive(Clone, Debug)]
pub(crate) struct EventMeaning {
    /// The index that its samples are counted under.
    pub(crate) leader: usize,
    pub(crate) meaning: Meaning,
}

pub(crate) fn meanings(
    events: &[Event],
    sieve: &Sieve,
    decoder: &StreamDecoder,
) -> Vec<EventMeaning> {
    let meaning = |leader: usize| {
        let described = decoder.events().get(leader)?;
        let meaning = meaning(described, sieve.registers(leader), &events.get(leader)?.name);
        Some(EventMeaning { leader, meaning })
    };
    leaders(events, decoder).into_iter().filter_map(meaning).collect()
}

fn meaning(described: &EventDescription, registers: RegistersOf, name: &str) -> Meaning {
    let attr = &described.attr;
    let says = |key| described.notes.iter().find_map(|text| note::value(text, key));
    let is_fault = attr.software().is_some_and(SoftwareEvent::is_fault);
    let inexact = match says("ip") {
        Some("causing-instruction") => Cause::Here,
        Some("after-causing-instruction") => Cause::Before,
        Some(_) => Cause::Unproven,
        None if is_fault => Cause::Here,
        // A data breakpoint is a trap; one on an instruction a fault, and
        // that reads and writes nothing.
        None if attr.kind == EventType::BREAKPOINT && attr.bp_type & 4 == 0 => Cause::Before,
        None => Cause::Unproven,
    };
    Meaning {
        inexact,
        is_timer: attr.software().is_some_and(SoftwareEvent::is_clock),
        registers,
        verb: verb(attr.kind, name),
    }
}

/// What an instruction does to its operand where it caused an event.
fn verb(kind: EventType, name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        _ if kind == EventType::BREAKPOINT => "accesses",
        name if name.contains("miss") => "misses on",
        name if name.contains("fault") => FAULTS_ON,
        name if name.contains("split") => "splits on",
        _ => "accesses",
    }
}

impl Meaning {
    pub(crate) fn cause(&self, Sum { count, exact, .. }: Sum) -> Cause {
        if count > 0 && exact == count { Cause::Here } else { self.inexact }
    }

    /// How to read the counts of a routine, in a sentence.
    pub(crate) fn sentence(&self, Sum { count, exact, .. }: Sum) -> String {
        let proof = format!("EXACT_IP on {exact} of {count}");
        match self.inexact {
            _ if count > 0 && exact == count => {
                format!("counts are at the instruction that caused them ({proof})")
            }
            Cause::Here => {
                "counts are at the instruction that caused them: it faulted, and did not retire"
                    .to_owned()
            }
            Cause::Before => "counts are at the instruction after the one that caused them: \
                              operands are those of the one before"
                .to_owned(),
            Cause::Unproven if self.is_timer => {
                "counts are where a timer interrupted: at the instruction that was to run next"
                    .to_owned()
            }
            Cause::Unproven => format!(
                "{proof}: without it counts are at the instruction after the one that caused \
                 them, or further on (skid)"
            ),
        }
    }

    /// Whether a register that the causing instruction overwrites has in
    /// samples another value than its address was made of.
    pub(crate) fn is_after(&self) -> bool {
        self.registers == RegistersOf::After
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactness_is_the_records_own() {
        let of = |inexact| Meaning {
            inexact,
            is_timer: false,
            registers: RegistersOf::Other,
            verb: "misses on",
        };
        let sum = |count, exact| Sum { exact, ..Sum::of(count, 0) };
        let skid = of(Cause::Unproven);
        assert_eq!(skid.cause(sum(4, 4)), Cause::Here);
        assert_eq!(skid.cause(sum(4, 3)), Cause::Unproven);
        assert_eq!(skid.cause(sum(0, 0)), Cause::Unproven);
        assert_eq!(
            skid.sentence(sum(4, 3)),
            "EXACT_IP on 3 of 4: without it counts are at the instruction after the one that \
             caused them, or further on (skid)"
        );
        assert!(of(Cause::Here).sentence(sum(4, 0)).contains("it faulted"));
        assert!(of(Cause::Before).sentence(sum(4, 0)).contains("of the one before"));
    }

    #[test]
    fn verbs_are_those_of_the_event() {
        for (name, expected) in [
            ("emulated/l1_cache_miss/", "misses on"),
            ("MEM_LOAD_RETIRED.L1_MISS", "misses on"),
            ("page_fault", "faults on"),
            ("split_load_retired", "splits on"),
            ("instr_retired", "accesses"),
        ] {
            assert_eq!(verb(EventType::RAW, name), expected, "{name}");
        }
        assert_eq!(verb(EventType::BREAKPOINT, "mem:0x10:w"), "accesses");
    }
}
