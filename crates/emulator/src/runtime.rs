//! The runtime that runs in the target behind translated code: its image,
//! and the memory that it works on.

pub mod guest;
mod image;
mod setup;

pub use image::{RuntimeImage, image};
pub use setup::{EventSetup, EventTotals, Setup, SetupError, ThreadSetup};
