//! What programs call instead of malloc(3), mmap(2) and their kin, and what that calls.

mod alone;
mod begin;
mod early;
mod hooks;
mod log;
mod mappings;
mod real;
mod slow;
mod thread;
