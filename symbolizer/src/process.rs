//! What was mapped when, by which process, and finding that again: mappings
//! over time, the objects that addresses belong to, their files.

pub(crate) mod kept_files;
pub(crate) mod living;
pub(crate) mod locate;
pub(crate) mod mapped_symbols;
pub(crate) mod maps;
pub(crate) mod objects;
pub(crate) mod owned_file;
pub(crate) mod timeline;
pub(crate) mod vdso;
