//! How ebsd is run: by a service manager, with a configuration that changes.

mod numbers;
mod package;
mod reload;
mod service_manager;
mod socket;
mod watchdog;
