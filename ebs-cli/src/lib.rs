//! The commands `ebs` and `eip2r`.
//!
//! [`arguments`] is what was typed, [`invocation`] what it means. Sampling
//! runs in a session of the daemon library; [`input`] reads what was
//! recorded, [`script`] prints it.

pub mod arguments;
pub mod input;
pub mod invocation;
pub mod script;
pub mod signals;
