//! On whose data an instruction works: type and offset of what it accesses.
//!
//! By code: types are followed from variables, of which debug info says in
//! which register or stack slot they are, through the instructions of a
//! routine to the operands of each (`routine_flow`). By object: a static
//! variable has a type, and the data address a place in it. Both give a type
//! and an offset, of which `member_name` makes what a user reads.
//!
//! Pure but for `object_types`, which asks a symbolizer for debug info and
//! code.

pub(crate) mod access_type;
pub(crate) mod block_votes;
pub(crate) mod flow_state;
pub(crate) mod flow_value;
pub(crate) mod frame_registers;
pub(crate) mod known_variables;
pub(crate) mod live_variables;
pub(crate) mod member_name;
pub(crate) mod object_types;
pub(crate) mod routine_flow;
pub(crate) mod transfer;
pub(crate) mod typed_operand;
