//! `ebs layout`: types of a program, member by member.

mod arguments;
mod json;
mod recorded;
mod sampled_json;
mod sampled_text;
mod suggested;
mod text;

pub use arguments::LayoutArguments;

use crate::ebs::input::is_recording;
use crate::terminal::{debuginfod, say};
use anyhow::{Result, anyhow, bail};
use std::collections::HashMap;
use std::io::Write;
use symbolizer::SymbolizerOptions;
use types::{TypeId, TypeKind, TypeTable};

#[derive(Debug)]
struct FoundType {
    /// What the name means: a structure, an enumeration, or a typedef of one
    /// without a name.
    id: TypeId,
    /// Source files with this very definition.
    units: Vec<String>,
}

/// Prints a type of a file, or all of them.
///
/// # Errors
///
/// A file without types, or without such a one; those of `out`.
pub fn run(arguments: &LayoutArguments, out: &mut dyn Write) -> Result<()> {
    if arguments.line == 0 {
        bail!("a line of 0 bytes is not possible: say --line 64");
    }
    if is_recording(&arguments.file) {
        return recorded::run(arguments, out);
    }
    if arguments.is_about_samples() {
        bail!(
            "{}: no recording: --event, --filter and --top choose samples of one, as `ebs -o \
             FILE.data` writes",
            arguments.file.display()
        );
    }
    let options = SymbolizerOptions {
        root: arguments.symbols.root.clone(),
        debuginfod: debuginfod::servers()?,
        ..SymbolizerOptions::default()
    };
    let file = arguments.file.display();
    let table = TypeTable::open(&arguments.file, &options).map_err(|error| {
        anyhow!("{error}; a program built with -g (rustc: -C debuginfo=2) has types in itself")
    })?;
    for note in table.notes() {
        say("ebs", &format!("{file}: not all types are read: {note}"));
    }
    let found = match &arguments.of {
        Some(name) => merged(&table, table.named(name)),
        None => merged(&table, listed(&table)),
    };
    if let (Some(name), true) = (&arguments.of, found.is_empty()) {
        return Err(unknown(&table, name, &file.to_string()));
    }
    match (&arguments.of, arguments.json) {
        (_, true) => json::print(&table, &found, arguments, out),
        (Some(_), false) => text::print(&table, &found, arguments.line, out),
        (None, false) => print_list(&table, &found, arguments.line, out),
    }
}

/// What has members and a name: its own, or that of a typedef.
fn listed(table: &TypeTable) -> Vec<TypeId> {
    let is_listed = |&id: &TypeId| {
        let entry = table.get(id);
        match entry.kind {
            TypeKind::Composite(_) => entry.name.is_some() && entry.size.is_some(),
            TypeKind::Alias { of } => {
                let of = table.get(of);
                of.name.is_none() && matches!(of.kind, TypeKind::Composite(_)) && of.size.is_some()
            }
            _ => false,
        }
    };
    table.ids().filter(is_listed).collect()
}

/// Definitions that are the same are told once, with all their units.
fn merged(table: &TypeTable, all: Vec<TypeId>) -> Vec<FoundType> {
    let mut found: Vec<FoundType> = Vec::new();
    let mut known: HashMap<u64, usize> = HashMap::new();
    for id in all {
        let unit = &table.unit(id).name;
        let at = *known.entry(table.fingerprint(id)).or_insert_with(|| {
            found.push(FoundType { id, units: Vec::new() });
            found.len() - 1
        });
        let units = &mut found[at].units;
        if units.last() != Some(unit) {
            units.push(unit.clone());
        }
    }
    found
}

fn unknown(table: &TypeTable, name: &str, file: &str) -> anyhow::Error {
    let near = table.nearest(name);
    let hint = match near.is_empty() {
        true => format!("`ebs layout {file}` lists those that it has"),
        false => format!("nearest: {}; `ebs layout {file}` lists all", near.join(", ")),
    };
    anyhow!("{file} has no type {name:?}. {hint}")
}

/// Prints them in order of name.
fn print_list(
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
