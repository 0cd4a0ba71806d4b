//! DWARF expressions of unwind tables.

use super::register_file::RegisterFile;
use super::stack_copy::StackCopy;
use crate::ChainEnd;
use gimli::{EndianSlice, Evaluation, EvaluationResult, Expression, LittleEndian, Value};

/// Steps of one expression; stubs of the PLT, the longest, have ten.
const MOST_STEPS: u32 = 256;
/// Generic values have the size of an address.
const MASK: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct ExpressionInput<'a> {
    pub(super) registers: &'a RegisterFile,
    pub(super) stack: &'a StackCopy<'a>,
    /// What it finds on its own stack.
    pub(super) first: Option<u64>,
}

pub(super) fn evaluate(bytes: &[u8], input: ExpressionInput<'_>) -> Result<u64, ChainEnd> {
    let damaged = |_| ChainEnd::DamagedTable;
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
    let expression = Expression(EndianSlice::new(bytes, LittleEndian));
    let mut evaluation: Evaluation<EndianSlice<'_, LittleEndian>> = expression.evaluation(encoding);
    evaluation.set_max_iterations(MOST_STEPS);
    if let Some(first) = input.first {
        evaluation.set_initial_value(first);
    }
    let mut step = evaluation.evaluate().map_err(damaged)?;
    loop {
        step = match step {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let number = u8::try_from(register.0).map_err(|_| ChainEnd::DamagedTable)?;
                let value = input.registers.get(number).ok_or(ChainEnd::CopyTooShort)?;
                evaluation.resume_with_register(Value::Generic(value))
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let word = input.stack.sized(address, size.into())?;
                evaluation.resume_with_memory(Value::Generic(word))
            }
            _ => return Err(ChainEnd::DamagedTable),
        }
        .map_err(damaged)?;
    }
    let value = evaluation.value_result().ok_or(ChainEnd::DamagedTable)?;
    value.to_u64(MASK).map_err(damaged)
}
