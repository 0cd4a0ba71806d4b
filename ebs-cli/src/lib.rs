//! The commands `ebs` and `eip2r`.
//!
//! `ebs`: [`arguments`] is what was typed, [`invocation`] what it means,
//! [`run`] does it. [`sample`] drives a session of the sampling library into
//! an [`output`], [`cut_short`] says what it left unseen; [`input`] reads
//! what was recorded for [`report`] and [`script`], [`annotate`] shows a
//! routine, and [`convert`] writes it anew; [`plan`] shows what would be
//! opened; [`sessions`] and [`watch`] ask the daemon; [`selftest`] shows what
//! this machine samples, and whether it is right; [`debuginfod`] says how
//! downloads of debug info go; [`types`], [`list`],
//! [`pages`] and [`completions`] are the helps; [`causes`] words an error.

pub mod annotate;
pub mod arguments;
pub mod causes;
pub mod completions;
pub mod convert;
pub mod cut_short;
pub mod debuginfod;
pub mod eip2r;
pub mod exit_status;
mod foreground;
pub mod input;
pub mod invocation;
pub mod last_line;
pub mod list;
pub mod output;
pub mod pages;
pub mod plan;
mod progress;
pub mod report;
pub mod run;
mod said;
pub mod sample;
pub mod script;
pub mod selftest;
mod serving;
pub mod sessions;
pub mod signals;
pub mod terminal;
pub mod types;
pub mod watch;
