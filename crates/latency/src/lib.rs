//! How long this machine's memory takes, measured by loads that wait for each
//! other: no PMU and no rights are needed.
//!
//! [`measure`] runs the parts of a [`StudyRequest`] one after the other:
//! [`part`] has a file for each. [`order`], [`sizes`], [`levels`] and
//! [`figure`] are pure; [`machine`] reads what the machine says of itself.
//! Every figure is of many runs, each beside a chain of adds that gives the
//! core's clock, and those that were disturbed are thrown away and counted.
//!
//! ```no_run
//! use latency::{LatencyPart, MeasuringEffort, StudyRequest, measure};
//! use std::sync::atomic::AtomicBool;
//!
//! let request = StudyRequest {
//!     parts: vec![LatencyPart::Levels],
//!     effort: MeasuringEffort::QUICK,
//!     largest: None,
//!     cpu: None,
//!     matrix: Vec::new(),
//! };
//! let study = measure(&request, &AtomicBool::new(false), &|_| {})?;
//! for level in study.levels.iter().flat_map(|levels| &levels.levels) {
//!     println!("{} bytes: {} cycles", level.size, level.latency);
//! }
//! # Ok::<(), latency::LatencyError>(())
//! ```

mod affinity;
mod buffer;
mod error;
pub mod figure;
pub mod levels;
pub mod machine;
mod meter;
pub mod order;
pub mod part;
pub mod sizes;
mod study;
#[allow(unsafe_code, reason = "loops in assembly, memory for them, and two calls of the kernel")]
mod sys;

pub use affinity::allowed_cpus;
pub use buffer::PageBacking;
pub use error::LatencyError;
pub use meter::{DisturbedRuns, MeasuringEffort};
pub use part::LatencyPart;
pub use study::{LatencyStudy, StudyRequest, measure};
