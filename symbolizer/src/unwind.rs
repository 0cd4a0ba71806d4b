//! Registers and a copy of the stack -> those of the caller, by what an
//! object's unwind table says of the address, or by the frame pointer.
//!
//! Nothing here knows of processes. Tables are read where they lie in their
//! files, an entry when the first address within it is asked for. What they
//! say comes from strangers: each entry and each expression has a bound, and
//! an address read from the stack is only ever compared or looked up.

mod expression;
mod fde_index;
pub(crate) mod frame_pointer;
pub(crate) mod frame_rule;
mod frame_table;
pub(crate) mod register_file;
pub(crate) mod rule_memo;
pub(crate) mod stack_copy;
pub(crate) mod unwind_tables;

#[cfg(test)]
mod tests;
