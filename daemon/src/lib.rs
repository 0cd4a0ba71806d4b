//! `ebsd`: sampling for users who may not do so themselves, and recordings
//! that stand.
//!
//! The supervisor has the rights and reads nothing that a user wrote but
//! requests of a fixed size; each user is served by a worker with that
//! user's own rights. What is sampled, and how, is `sampling`'s.

pub mod arguments;
mod broker;
mod control;
mod credentials;
mod fd_passing;
mod fixed_size;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod guard;
mod line;
pub mod log;
pub mod policy;
mod process;
pub mod standing;
pub mod store;
pub mod supervisor;
#[allow(unsafe_code, reason = "system calls and mapped memory; each block says why it holds")]
mod sys;
mod target;
mod worker;
