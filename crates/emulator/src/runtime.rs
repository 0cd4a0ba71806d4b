//! The runtime that runs in the target behind translated code: its image,
//! and the memory that it works on.

mod image;
mod setup;
pub mod guest;

pub use image::{RuntimeImage, image};
pub use setup::{EventSetup, EventSum, Setup, SetupError, ThreadSetup};
