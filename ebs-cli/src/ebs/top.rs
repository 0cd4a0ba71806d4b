//! `ebs top`: a live view of where a program misses.
//!
//! `source` is where samples come from: a child that samples
//! (`sampled_child`), the daemon (`standing_stream`), a recording (`replay`).
//! A thread counts them (`counting`) and tells the one that has the screen;
//! another reads one routine (`zoom`) of what is kept (`kept_stream`).

mod arguments;
#[cfg(feature = "top")]
mod counting;
#[cfg(feature = "top")]
mod kept_stream;
#[cfg(feature = "top")]
mod live_view;
#[cfg(feature = "top")]
mod replay;
#[cfg(feature = "top")]
mod sampled_child;
#[cfg(feature = "top")]
mod source;
#[cfg(feature = "top")]
mod standing_stream;
#[cfg(feature = "top")]
mod zoom;

pub use arguments::{ReplaySpeed, ReplaySpeedError, TopArguments};
#[cfg(feature = "top")]
pub use live_view::run;

/// Says that there is no live view.
///
/// # Errors
/// Always.
#[cfg(not(feature = "top"))]
pub fn run(_: &TopArguments) -> anyhow::Result<u8> {
    anyhow::bail!("this ebs was built without `ebs top`: its feature top makes it part of a build")
}
