//! The commands `ebs` and `eip2r`.
//!
//! [`arguments`] is what was typed, [`invocation`] what it means.

pub mod arguments;
pub mod invocation;
