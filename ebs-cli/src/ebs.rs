//! The command `ebs`, a file a subcommand.
//!
//! [`command`] is the grammar: a command is its arguments and its `run`; options that several share
//! are in [`arguments`]. [`exit_status`] is what the caller learns. [`sample`] drives a
//! session of the sampling library; [`input`] reads what was recorded for
//! [`report`] and [`script`], [`annotate`] shows a routine, [`diff`] compares recordings, [`compare`] commands, [`html`] makes a page, [`convert`]
//! writes it anew, [`export`] in the form of another tool, and [`archive`] with what its names come from; [`layout`] shows types, [`plan`] what would be opened; [`stat`] counts without samples; [`sessions`] and
//! [`watch`] ask the daemon; `top` shows what is sampled while it is; [`selftest`] shows what this machine samples,
//! and whether it is right; [`memlat`] how long its memory takes; [`types`], [`list`], [`pages`] and
//! [`completions`] are the helps.

mod accesses;
pub mod annotate;
pub mod archive;
pub mod arguments;
pub mod c2c;
pub mod causes;
pub mod command;
pub mod compare;
pub mod completions;
pub mod convert;
pub mod diff;
pub mod exit_status;
pub mod export;
pub mod html;
pub mod input;
pub mod last_recording;
pub mod layout;
pub mod list;
pub mod memlat;
pub mod overview;
pub mod pages;
mod place;
pub mod plan;
mod recorder;
pub mod report;
pub mod run;
pub mod sample;
pub mod script;
pub mod selftest;
pub mod sessions;
mod shared_reading;
mod started_ebs;
pub mod stat;
mod summary;
#[allow(unsafe_code, reason = "the edge to the kernel")]
mod sys;
pub mod top;
pub mod types;
mod usage;
pub mod watch;
