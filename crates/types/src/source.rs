//! Which reader reads a file.

use crate::btf::{self, BtfError};
use crate::dwarf;
use crate::table::TypeTable;
use std::path::Path;
use symbolizer::{DebugSections, NoDebug, NoSections, SymbolizerOptions};

/// Why no types of a file can be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypesError {
    /// No debug info, or none that can be used.
    #[error(transparent)]
    NoSections(#[from] NoSections),
    /// BTF that cannot be used.
    #[error("BTF of {file} cannot be used: {why}")]
    Btf {
        file: String,
        /// What is wrong with it.
        why: BtfError,
    },
}

/// Where an ELF file has its BTF.
const SECTION: &str = ".BTF";

impl TypeTable {
    /// The types of a file below `options.root`: of BTF as it is
    /// (/sys/kernel/btf/vmlinux); of an ELF file, from its debug info, or that
    /// of its separate debug file, which is found as
    /// [`symbolizer::Symbolizer`] finds it; where there is none, from its
    /// section `.BTF`.
    ///
    /// # Errors
    /// The file cannot be read, or has no types.
    pub fn open(path: &Path, options: &SymbolizerOptions) -> Result<TypeTable, TypesError> {
        let damaged = |why| TypesError::Btf { file: path.display().to_string(), why };
        let magic = [btf::MAGIC.to_le_bytes(), btf::MAGIC.to_be_bytes()];
        let raw = DebugSections::raw_file(path, magic, btf::MOST_BYTES, options);
        if let Some(blob) = raw.map_err(NoSections::File)? {
            return btf::read(&blob).map_err(damaged);
        }
        match DebugSections::open(path, options) {
            Err(none @ NoSections::Debug(NoDebug::Absent { .. })) => {
                match DebugSections::named_section(path, SECTION, options) {
                    Ok(blob) if !blob.is_empty() => btf::read(&blob).map_err(damaged),
                    _ => Err(none.into()),
                }
            }
            sections => Ok(dwarf::read(&sections?)),
        }
    }

    /// The types among the bytes of a file, without other files.
    ///
    /// # Errors
    /// They are of no file with types.
    pub fn parse(bytes: &[u8]) -> Result<TypeTable, TypesError> {
        let is_raw = |magic: [u8; 2]| bytes.starts_with(&magic);
        if is_raw(btf::MAGIC.to_le_bytes()) || is_raw(btf::MAGIC.to_be_bytes()) {
            let damaged = |why| TypesError::Btf { file: "memory".to_owned(), why };
            return btf::read(bytes).map_err(damaged);
        }
        Ok(dwarf::read(&DebugSections::parse(bytes)?))
    }
}
