//! What is known of the samples at one instruction.

use super::lines::Code;
use super::meaning::{Cause, FAULTS_ON, Meaning};
use super::operand::{OperandRegister, operands};
use super::{Details, OperandAccess};
use crate::annotate::collect::{ADDRESS, InstructionHits};
use crate::collect::fields::register_name;
use crate::collect::registers::Register;
use crate::name::key_value::KeyValue;
use crate::name::place_names::PlaceNames;
use crate::report::RowFacts;
use crate::report::answer::facts;
use iced_x86::FlowControl;
use perfdata::Arch;
use rustc_hash::FxHashMap;

/// Stretches of addresses that are told.
const STRETCHES: usize = 8;
/// Values of a register, and variables, that are told.
const MOST_FREQUENT: usize = 8;

pub(super) fn access(
    code: &Code,
    index: usize,
    cause: Cause,
    meaning: &Meaning,
) -> Option<OperandAccess> {
    let instruction = match cause {
        Cause::Here | Cause::Unproven => code.instruction(index)?,
        Cause::Before => {
            let before = code.instruction(index.checked_sub(1)?)?;
            // Behind a jump, what ran before is somewhere else.
            (before.flow_control() == FlowControl::Next).then_some(before)?
        }
    };
    let operands = operands(instruction);
    let verb = if cause == Cause::Unproven { "accesses" } else { meaning.verb };
    (!operands.is_empty()).then(|| OperandAccess { instruction: instruction.ip(), verb, operands })
}

#[derive(Clone, Copy, Debug)]
pub(super) struct HitSampling {
    pub(super) arch: Arch,
    /// The even interval, in events; 1: there is none.
    pub(super) interval: u64,
}

pub(super) fn details(
    hit: InstructionHits,
    access: Option<OperandAccess>,
    meaning: &Meaning,
    HitSampling { arch, interval }: HitSampling,
    places: &PlaceNames,
) -> Details {
    let (count, fetches) = (hit.sum.count, hit.fetches);
    let is_fault = meaning.verb == FAULTS_ON && fetches > 0;
    let fetched = is_fault.then(|| match fetches {
        all if all == count => "faults on its own code, which was not there to be run".to_owned(),
        some => format!("{some} of {count} fault on its own code"),
    });
    let access = access.filter(|_| !is_fault || fetches < count);
    let facts = hit.facts.as_deref().map(|site| facts(site, arch));
    let registers = hit.registers.finish(MOST_FREQUENT).into_iter();
    let registers: Vec<Register> = registers.map(|it| it.at_interval(interval)).collect();
    let of_operand: Vec<OperandRegister> = access
        .iter()
        .flat_map(|access| access.operands.iter().flat_map(|operand| operand.registers.clone()))
        .collect();
    let findings = findings(&of_operand, &registers, facts.as_ref(), meaning, arch);
    Details {
        findings: fetched.into_iter().chain(findings).collect(),
        access,
        registers,
        facts,
        variables: named(hit.variables, places),
        levels: named(hit.levels, places),
        addresses: hit.addresses.stretches(STRETCHES),
    }
}

/// One line a register: those of the operand, others that look like pointers
/// to structures, and the data address.
fn findings(
    of_operand: &[OperandRegister],
    registers: &[Register],
    facts: Option<&RowFacts>,
    meaning: &Meaning,
    arch: Arch,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for register in of_operand {
        let kernel_name = register.number.map(|number| register_name(arch, number));
        let Some(known) = kernel_name.filter(|name| !told.contains(name)) else { continue };
        told.push(known.clone());
        let sampled = registers.iter().find(|it| it.name == known);
        // Of a register that was not recorded, samples have nothing.
        let is_recorded = sampled.is_some() || facts.is_some();
        if register.overwritten && meaning.is_after() && is_recorded {
            lines.push(format!(
                "{}: the instruction overwrites it, and samples have what it held afterwards",
                register.name
            ));
            continue;
        }
        let name = register.name.clone();
        lines.extend(sampled.map(|it| Register { name: name.clone(), ..it.clone() }.finding()));
        let counted = facts.and_then(|facts| facts.registers.iter().find(|it| it.name == known));
        lines.extend(counted.map(|it| it.named(name).finding()));
    }
    let others = registers.iter().filter(|it| it.name != ADDRESS && !told.contains(&it.name));
    lines.extend(others.filter(|it| it.is_structure()).map(Register::finding));
    if let Some(facts) = facts {
        let others = facts.registers.iter().filter(|it| !told.contains(&it.name));
        lines.extend(others.filter(|it| it.is_structure()).map(|it| it.finding()));
        lines.extend(facts.address.as_ref().map(|it| it.finding()));
    }
    lines.extend(registers.iter().find(|it| it.name == ADDRESS).map(Register::finding));
    lines
}

/// Names with their samples, most first.
fn named(counts: FxHashMap<KeyValue, u64>, places: &PlaceNames) -> Vec<(String, u64)> {
    let mut named: Vec<(String, u64)> =
        counts.into_iter().map(|(value, count)| (places.name_or_lack(value), count)).collect();
    named.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    named.truncate(MOST_FREQUENT);
    named
}
