//! Any bytes as a file with types and variables: no panic, answers of bounded
//! length, and what a layout tells is where a search by offset finds it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbolizer::DebugSections;
use types::{LayoutRow, ProgramTypes, TypeId, TypeTable};

/// Types looked at: those beyond are left out.
const MOST_TYPES: usize = 256;
/// As the reader bounds them.
const MOST_PATHS: usize = 256;
const MOST_STEPS: usize = 64;

fn look(table: &TypeTable, id: TypeId) {
    let entry = table.get(id);
    let language = table.unit(id).language;
    let name = table.full_name(id);
    let spelled = table.spelled(id, language);
    assert!(spelled.len() < 1 << 21, "{} bytes", spelled.len());
    let _ = (table.size_of(id), table.align_of(id), table.fingerprint(id), entry);
    for offset in [0, 1, 7, 8, 63, 64, u64::MAX / 8, u64::MAX] {
        let found = table.member_at(id, offset);
        assert!(found.paths.len() <= MOST_PATHS);
        for path in &found.paths {
            assert!(path.steps.len() <= MOST_STEPS);
            table.path_text(&path.steps);
        }
    }
    let Some(layout) = table.layout(id, 64) else { return };
    let depth = layout.rows.iter().fold(0_i64, |depth, row| match row {
        LayoutRow::Open(_) => depth + 1,
        LayoutRow::Close(_) => depth - 1,
        _ => depth,
    });
    assert_eq!(depth, 0, "{name}: what opens is closed");
    for row in &layout.rows {
        let LayoutRow::Member(member) = row else { continue };
        if let (1, Some(offset), Some(size), None) =
            (member.depth, member.offset, member.size, member.bits)
            && size > 0
            && offset < layout.sums.size
        {
            let found = table.member_at(id, offset);
            assert!(!found.paths.is_empty(), "{name}: nothing at {offset}");
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Ok(table) = TypeTable::parse(input) else { return };
    for id in table.ids().take(MOST_TYPES) {
        look(&table, id);
    }
    for id in table.definitions().take(MOST_TYPES) {
        look(&table, id);
        let name = table.full_name(id);
        if !name.is_empty() && name.len() < 64 {
            table.named(&name);
        }
    }
    table.nearest("node");
    if let Ok(sections) = DebugSections::parse(input) {
        let program = ProgramTypes::read(&sections);
        for address in [0, 0x1000, 0x1139, 0x40_1136, u64::MAX] {
            let locals = program.variables.locals(address).unwrap_or_default();
            for local in locals.iter().take(MOST_TYPES) {
                look(&program.types, local.of);
            }
            if let Some(found) = program.variables.static_before(address) {
                look(&program.types, found.of);
            }
            let _ = (program.variables.returned_by(address), program.variables.is_entry(address));
        }
    }
});
