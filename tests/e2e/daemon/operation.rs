//! How ebsd is run: by a service manager, with a configuration that changes.

mod reload;
mod service_manager;
mod socket;
mod watchdog;
