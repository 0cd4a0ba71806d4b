//! What programs call instead of malloc(3) and its kin, and what that calls.

mod begin;
mod early;
mod entry;
mod hooks;
mod log;
mod real;
mod slow;
mod thread;
