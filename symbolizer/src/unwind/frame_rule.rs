//! One row of an unwind table: how a caller's registers are found.

use super::expression::{ExpressionInput, evaluate};
use super::register_file::{RegisterFile, UnwindMachine};
use super::stack_copy::StackCopy;
use crate::{ChainEnd, FrameStart};

/// How the registers of a caller come out of those of its callee and the
/// stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FrameRule {
    /// The canonical frame address: the stack pointer before the call.
    pub(super) cfa: CfaSource,
    /// Registers that are not as they were.
    pub(super) saved: Box<[SavedRegister]>,
    /// The register, or column, of the return address.
    pub(super) return_register: u8,
    /// What it returns to is an instruction that a signal interrupted.
    pub(crate) is_signal: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum CfaSource {
    Register { register: u8, offset: i64 },
    Expression(Box<[u8]>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SavedRegister {
    pub(super) register: u8,
    pub(super) source: RegisterSource,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum RegisterSource {
    Lost,
    /// In memory, so far from the frame address.
    At(i64),
    /// It is what lies so far from the frame address.
    Value(i64),
    Register(u8),
    /// In memory, where an expression says.
    AtExpression(Box<[u8]>),
    /// It is what an expression says.
    Expression(Box<[u8]>),
}

/// A frame whose caller is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CalleeFrame<'a> {
    pub(crate) machine: UnwindMachine,
    pub(crate) registers: &'a RegisterFile,
    pub(crate) stack: &'a StackCopy<'a>,
    /// It was interrupted: its last instructions may have popped what the
    /// table still says is on the stack.
    pub(crate) is_interrupted: bool,
    /// Its frame pointer is one: it was found by its callee's, or its callees'
    /// tables said what is in the register.
    pub(crate) keeps_pointer: bool,
}

impl FrameRule {
    /// That of an instruction which returns: what it returns to is on top of the stack.
    pub(crate) fn of_return(machine: UnwindMachine) -> FrameRule {
        let return_register = machine.instruction_pointer();
        let back = SavedRegister { register: return_register, source: RegisterSource::At(-8) };
        FrameRule {
            cfa: CfaSource::Register { register: machine.stack_pointer(), offset: 8 },
            saved: [back].into(),
            return_register,
            is_signal: false,
        }
    }

    /// The register that the frame address is counted from; None: an expression says it.
    pub(crate) fn start(&self) -> Option<FrameStart> {
        match self.cfa {
            CfaSource::Register { register, offset } => Some(FrameStart { register, offset }),
            CfaSource::Expression(_) => None,
        }
    }

    /// Makes `caller` the caller's registers.
    ///
    /// # Errors
    /// Why it is not known; `caller` means nothing then.
    pub(crate) fn caller(
        &self,
        of: CalleeFrame<'_>,
        caller: &mut RegisterFile,
    ) -> Result<(), ChainEnd> {
        let CalleeFrame { machine, registers, stack, is_interrupted, .. } = of;
        let stack_pointer = machine.stack_pointer();
        let own = registers.get(stack_pointer).ok_or(ChainEnd::UnsupportedAbi)?;
        let cfa = self.frame_address(of)?;
        if cfa < stack.start {
            return Err(ChainEnd::OtherStack);
        }
        *caller = *registers;
        caller.set(stack_pointer, Some(cfa));
        let mut lost = None;
        for SavedRegister { register, source } in &self.saved {
            let read = match source {
                RegisterSource::Lost if *register == self.return_register => {
                    return Err(ChainEnd::Root);
                }
                RegisterSource::Lost => Err(ChainEnd::CopyTooShort),
                RegisterSource::At(offset) => stack.word(cfa.wrapping_add_signed(*offset)),
                RegisterSource::Value(offset) => Ok(cfa.wrapping_add_signed(*offset)),
                RegisterSource::Register(number) => {
                    registers.get(*number).ok_or(ChainEnd::CopyTooShort)
                }
                RegisterSource::AtExpression(bytes) => {
                    evaluate(bytes, ExpressionInput { registers, stack, first: Some(cfa) })
                        .and_then(|address| stack.word(address))
                }
                RegisterSource::Expression(bytes) => {
                    evaluate(bytes, ExpressionInput { registers, stack, first: Some(cfa) })
                }
            };
            // Below the stack pointer lies what was popped already.
            let is_popped = || match source {
                RegisterSource::At(offset) => cfa.wrapping_add_signed(*offset) < own,
                _ => false,
            };
            match read {
                Err(_) if is_interrupted && is_popped() => {}
                Err(why) if *register == self.return_register => lost = Some(why),
                read => caller.set(*register, read.ok()),
            }
        }
        if let Some(why) = lost {
            return Err(why);
        }
        let back = caller.get(self.return_register).ok_or(ChainEnd::CopyTooShort)?;
        self.checked(of, caller, machine.stripped(back))
    }

    fn frame_address(&self, of: CalleeFrame<'_>) -> Result<u64, ChainEnd> {
        let CalleeFrame { registers, stack, .. } = of;
        match &self.cfa {
            CfaSource::Register { register, offset } => {
                let base = registers.get(*register).ok_or(ChainEnd::CopyTooShort)?;
                Ok(base.wrapping_add_signed(*offset))
            }
            CfaSource::Expression(bytes) => {
                evaluate(bytes, ExpressionInput { registers, stack, first: None })
            }
        }
    }

    /// A caller lies further out, but for that of a signal's handler, which may
    /// have had a stack of its own.
    fn checked(
        &self,
        of: CalleeFrame<'_>,
        caller: &mut RegisterFile,
        back: u64,
    ) -> Result<(), ChainEnd> {
        let CalleeFrame { machine, registers, .. } = of;
        let pointer = machine.instruction_pointer();
        let (at, sp) = (registers.get(pointer), machine.stack_pointer());
        let is_out = match caller.get(sp).cmp(&registers.get(sp)) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => machine.has_link_register() && at != Some(back),
            std::cmp::Ordering::Less => false,
        };
        if back == 0 {
            return Err(ChainEnd::Root);
        }
        if !is_out && !self.is_signal {
            return Err(ChainEnd::NoProgress);
        }
        caller.set(pointer, Some(back));
        Ok(())
    }
}
