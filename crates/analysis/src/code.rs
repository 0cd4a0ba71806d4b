//! What an instruction is, and what it accesses.

pub(crate) mod access_shape;
pub(crate) mod instruction_class;
pub(crate) mod operand_shape;
pub(crate) mod previous;
pub(crate) mod register_number;
pub(crate) mod sampled_instruction;
pub(crate) mod store_before;
pub(crate) mod written_registers;
