//! Files that a recording carries, so that names outlive what they came from.
//!
//! They are a zip archive: any unpacker shows them, at the paths at which they
//! lay, so that the unpacked tree serves as `--symfs`. Its last member is an
//! index that says what each file was to the recording; which of several files
//! of one path a mapping meant, and whose map of generated code it is, no path
//! tells.

pub(crate) mod index;
pub(crate) mod lookup;
pub(crate) mod packer;
pub(crate) mod reader;

#[cfg(test)]
mod tests;
