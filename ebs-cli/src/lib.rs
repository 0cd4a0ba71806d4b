//! The commands `ebs` and `eip2r`, and what both say to who typed them:
//! [`ebs`] samples, and prints what was sampled, [`eip2r`] names instruction
//! pointers, [`terminal`] is the user's end of both.

pub mod ebs;
pub mod eip2r;
pub mod terminal;
