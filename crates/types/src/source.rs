//! Which reader reads a file.

use crate::btf::{self, BtfError};
use crate::dwarf;
use crate::table::{TypeId, TypeKind, TypeTable};
use crate::variables::VariableTable;
use rustc_hash::FxHashMap;
use std::path::Path;
use symbolizer::{DebugSections, MissingDebugInfo, MissingSections, SymbolizerOptions};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypesError {
    #[error(transparent)]
    MissingSections(#[from] MissingSections),
    #[error("BTF of {file} cannot be used: {why}")]
    Btf { file: String, why: BtfError },
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
        if let Some(blob) = raw.map_err(MissingSections::File)? {
            return btf::read(&blob).map_err(damaged);
        }
        match DebugSections::open(path, options) {
            Err(none @ MissingSections::Debug(MissingDebugInfo::Absent { .. })) => {
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

#[derive(Debug)]
pub struct ProgramTypes {
    pub types: TypeTable,
    pub variables: VariableTable,
    /// By the structure without a name: the first typedef of it.
    aliases: FxHashMap<TypeId, TypeId>,
}

impl ProgramTypes {
    pub fn read(sections: &DebugSections) -> ProgramTypes {
        let (types, variables) = dwarf::read_program(sections);
        let mut aliases = FxHashMap::default();
        for id in types.ids() {
            let TypeKind::Alias { of } = types.get(id).kind else { continue };
            let of = types.resolved(of);
            let entry = types.get(of);
            if entry.name.is_none() && matches!(entry.kind, TypeKind::Composite(_)) {
                aliases.entry(of).or_insert(id);
            }
        }
        ProgramTypes { types, variables, aliases }
    }

    /// The typedef that a structure without a name is known by.
    pub fn alias(&self, of: TypeId) -> Option<TypeId> {
        self.aliases.get(&of).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// At address 0 `unused` would cover all of the program.
    const PROGRAM: &str = "long unused[1 << 20], used[4];\n\
        int main(int count, char **words) { (void)words; return (int)used[count & 3]; }\n";

    #[test]
    #[allow(clippy::print_stderr, reason = "a test that skips says why")]
    fn a_variable_that_was_left_out_lies_nowhere() {
        let scene = tempfile::tempdir().unwrap();
        std::fs::write(scene.path().join("p.c"), PROGRAM).unwrap();
        let gcc = |line: &[&str]| {
            let built = Command::new("gcc").args(line).current_dir(scene.path()).status();
            built.is_ok_and(|status| status.success())
        };
        if !gcc(&["-g", "-fdata-sections", "-Wl,--gc-sections", "-o", "p", "p.c"]) {
            return eprintln!("skipped: no gcc, or it cannot link this");
        }
        let read = |name: &str| {
            let path = scene.path().join(name);
            ProgramTypes::read(&DebugSections::open(&path, &SymbolizerOptions::default()).unwrap())
        };
        let program = read("p");
        assert_eq!(program.variables.static_before(0x1000), None);
        let used = program.variables.static_before(u64::MAX).unwrap();
        assert_eq!(program.types.size_of(used.of), Some(32));
        // In what is not linked yet 0 is where data lies.
        assert!(gcc(&["-g", "-fdata-sections", "-c", "-o", "p.o", "p.c"]));
        let object = read("p.o").variables;
        let last = object.static_before(u64::MAX).unwrap();
        assert!(object.static_before(last.start - 1).is_some(), "both are there");
    }
}
