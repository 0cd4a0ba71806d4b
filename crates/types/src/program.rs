//! The types and the variables of a program.

use crate::dwarf;
use crate::table::{TypeId, TypeKind, TypeTable};
use crate::variables::VariableTable;
use rustc_hash::FxHashMap;
use symbolizer::DebugSections;

/// What debug info tells of data.
#[derive(Debug)]
pub struct ProgramTypes {
    pub types: TypeTable,
    /// Which variables lie where.
    pub variables: VariableTable,
    /// By the structure without a name: the first typedef of it.
    aliases: FxHashMap<TypeId, TypeId>,
}

impl ProgramTypes {
    /// Reads all of a file's debug info.
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
