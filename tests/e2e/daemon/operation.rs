//! How ebsd is run: by a service manager, with a configuration that changes.

mod log;
mod numbers;
mod package;
mod reload;
pub(super) mod service_manager;
mod socket;
mod watchdog;
