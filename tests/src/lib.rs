//! What the tests of the whole program stand on: the built commands, a fresh
//! directory for each test, programs whose events are known, and what this
//! machine lets a test do.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says on stderr why it skips"
)]

pub mod account;
pub mod built;
pub mod chromium;
pub mod ebsd;
pub mod outcome;
pub mod rights;
pub mod running;
pub mod scene;
pub mod user;
pub mod workload;

pub use account::Account;
pub use ebsd::Ebsd;
pub use outcome::{Outcome, Told};
pub use running::Running;
pub use scene::Scene;
pub use user::User;
pub use workload::{Truth, Workload};
