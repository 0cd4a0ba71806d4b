//! All types of a file, a line each.

use super::FoundType;
use anyhow::Result;
use std::io::Write;
use types::TypeTable;

/// Prints them in order of name.
pub(super) fn print(
    table: &TypeTable,
    found: &[FoundType],
    line: u64,
    out: &mut dyn Write,
) -> Result<()> {
    let mut rows: Vec<_> = found.iter().map(|one| (table.full_name(one.id), one.id)).collect();
    rows.sort();
    writeln!(out, "#   size members   holes    lost  padding  type")?;
    for (name, id) in rows {
        let Some(layout) = table.layout(table.resolved(id), line) else { continue };
        let sums = layout.sums;
        let keyword = table.keyword(table.resolved(id));
        writeln!(
            out,
            "{:8} {:7} {:7} {:7} {:8}  {keyword} {name}",
            sums.size, sums.members, sums.holes, sums.sum_holes, sums.padding
        )?;
    }
    Ok(())
}
