//! What is known of the machine and of our rights on it: read once, under a
//! given root, so that tests and other machines' trees work alike.
//!
//! `None` means unknown: the file is missing or may not be read. A file that
//! is there but malformed is an error.

mod access;

pub use access::{Access, Capabilities, Capability, Limit, Lockdown};

/// Facts about one machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Our rights and limits.
    pub access: Access,
}
