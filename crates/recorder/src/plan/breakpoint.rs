//! A breakpoint's part of the plan, checked against the machine.

use perfdata::Arch;

use super::event_draft::EventDraft;
use crate::catalogue::promises::{IpPromise, RegistersPromise};
use crate::machine::facts::{Capability, Facts};
use crate::request::event_spec::{Breakpoint, WatchedAccess};
use crate::{Refusal, Request};

/// First address beyond user space. [x86 TASK_SIZE_MAX; arm64 with 48 bits]
fn user_end(facts: &Facts) -> u64 {
    match facts.kernel.arch() {
        Arch::X86_64 if facts.cpus.has("la57") => 0x00ff_ffff_ffff_f000,
        Arch::X86_64 => 0x0000_7fff_ffff_f000,
        Arch::Aarch64 => 0x0010_0000_0000_0000,
        _ => u64::MAX,
    }
}

fn kernel_start(facts: &Facts) -> u64 {
    match facts.kernel.arch() {
        Arch::X86_64 if facts.cpus.has("la57") => 0xff00_0000_0000_0000,
        Arch::X86_64 => 0xffff_8000_0000_0000,
        Arch::Aarch64 => 0xfff0_0000_0000_0000,
        _ => u64::MAX,
    }
}

pub(super) fn fill(
    draft: &mut EventDraft,
    point: &Breakpoint,
    request: &Request,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    let mut point = point.clone();
    check_address(&point, request, facts)?;
    if point.access == WatchedAccess::Read && facts.kernel.arch() == Arch::X86_64 {
        notes.push("x86 cannot watch loads alone: loads and stores are sampled".to_owned());
        point.access = WatchedAccess::ReadWrite;
    }
    draft.name = point.to_string();
    draft.words[1] = point.address;
    draft.words[2] = u64::from(point.len);
    draft.bp_type = match point.access {
        WatchedAccess::Read => 1,
        WatchedAccess::Write => 2,
        WatchedAccess::ReadWrite => 3,
        WatchedAccess::Execute => 4,
    };
    if point.access == WatchedAccess::Execute {
        // arch_build_bp_info(): x86 wants the size of a long here, arm64
        // that of an instruction.
        draft.words[2] = if facts.kernel.arch() == Arch::Aarch64 { 4 } else { 8 };
    }
    // x86 reports data after the access, code before it runs (measured);
    // arm64 reports both before.
    if point.access == WatchedAccess::Execute || facts.kernel.arch() == Arch::Aarch64 {
        draft.promises.ip = IpPromise::Causing;
        draft.promises.registers = RegistersPromise::BeforeInstruction;
    }
    Ok(())
}

fn check_address(point: &Breakpoint, request: &Request, facts: &Facts) -> Result<(), Refusal> {
    let last = point.address.checked_add(u64::from(point.len.max(1)) - 1);
    let event = point.to_string();
    match last {
        Some(last) if last < user_end(facts) => Ok(()),
        Some(_) if point.address >= kernel_start(facts) => {
            if !request.modes.kernel {
                Err(Refusal::KernelAddress { event })
            } else if facts.access.has(Capability::SysAdmin) == Some(false) {
                Err(Refusal::KernelBreakpointDenied { event })
            } else {
                Ok(())
            }
        }
        _ => Err(Refusal::AddressOutside { event }),
    }
}
