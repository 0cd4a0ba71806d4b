//! The commands `ebs` and `eip2r`, and what both say to who typed them:
//! [`ebs`] samples, and prints what was sampled, [`eip2r`] names instruction
//! pointers, [`terminal`] is the user's end of both, `outputs` finds the files
//! that a user names to be written.

pub mod ebs;
pub mod eip2r;
mod outputs;
pub mod terminal;
