//! Types for other programs.

use super::FoundType;
use crate::ebs::layout::LayoutArguments;
use analysis::layout::{MemberUse, PartUse, RowUse};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use types::{
    ClassLayout, LayoutRow, LayoutSums, MemberKind, MemberRow, TypeId, TypeKind, TypeLanguage,
    TypeTable,
};

#[derive(Serialize)]
struct ShownTypes<'a> {
    file: String,
    line: u64,
    notes: &'a [String],
    types: Vec<ShownType>,
}

#[derive(Serialize)]
pub(super) struct ShownType {
    name: String,
    keyword: &'static str,
    language: &'static str,
    units: Vec<String>,
    size: Option<u64>,
    align: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sums: Option<ShownSums>,
    members: Vec<ShownMember>,
    holes: Vec<ShownHole>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    constants: Vec<ShownConstant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<&'static str>,
}

#[derive(Serialize)]
struct ShownSums {
    lines: u64,
    members: u64,
    sum_members: u64,
    sum_bits: u64,
    holes: u64,
    sum_holes: u64,
    bit_holes: u64,
    sum_bit_holes: u64,
    padding: u64,
    bit_padding: u64,
}

#[derive(Serialize)]
struct ShownHole {
    offset: u64,
    bytes: u64,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    sampled: Option<MemberUse>,
}

#[derive(Serialize)]
struct ShownConstant {
    name: String,
    value: String,
}

#[derive(Serialize)]
struct ShownMember {
    name: Option<String>,
    #[serde(rename = "type")]
    of: String,
    sort: &'static str,
    offset: Option<u64>,
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bit_size: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    discriminants: Vec<[String; 2]>,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    sampled: Option<MemberUse>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartUse>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    members: Vec<ShownMember>,
}

/// What was sampled of rows, by their number.
type Sampled<'a> = BTreeMap<usize, &'a RowUse>;

pub(super) fn print(
    table: &TypeTable,
    found: &[FoundType],
    arguments: &LayoutArguments,
    out: &mut dyn Write,
) -> Result<()> {
    let types = found.iter().map(|one| shown(table, one, arguments.line, &[])).collect();
    let file = arguments.file.display().to_string();
    let whole = ShownTypes { file, line: arguments.line, notes: table.notes(), types };
    analysis::json::write_pretty(&whole, &mut *out)?;
    writeln!(out)?;
    Ok(())
}

pub(super) fn shown(table: &TypeTable, found: &FoundType, line: u64, rows: &[RowUse]) -> ShownType {
    let sampled: Sampled<'_> = rows.iter().filter_map(|row| Some((row.row?, row))).collect();
    let id = table.resolved(found.id);
    let layout = table.layout(id, line);
    let language = table.unit(found.id).language;
    ShownType {
        name: table.full_name(found.id),
        keyword: table.keyword(id),
        language: word(language),
        units: found.units.clone(),
        size: table.size_of(id),
        align: table.align_of(id),
        sums: layout.as_ref().map(|layout| sums(&layout.sums)),
        members: layout
            .as_ref()
            .map(|it| members(table, it, language, &sampled))
            .unwrap_or_default(),
        holes: layout.as_ref().map(|it| holes(it, &sampled)).unwrap_or_default(),
        constants: constants(table, id),
        cut: layout.and_then(|layout| layout.cut),
    }
}

fn word(language: TypeLanguage) -> &'static str {
    match language {
        TypeLanguage::C => "C",
        TypeLanguage::Cpp => "C++",
        TypeLanguage::Rust => "Rust",
        TypeLanguage::Other => "other",
    }
}

fn sums(sums: &LayoutSums) -> ShownSums {
    ShownSums {
        lines: sums.lines(),
        members: sums.members,
        sum_members: sums.sum_members,
        sum_bits: sums.sum_bits,
        holes: sums.holes,
        sum_holes: sums.sum_holes,
        bit_holes: sums.bit_holes,
        sum_bit_holes: sums.sum_bit_holes,
        padding: sums.padding,
        bit_padding: sums.bit_padding,
    }
}

fn holes(layout: &ClassLayout, sampled: &Sampled<'_>) -> Vec<ShownHole> {
    let hole = |(number, row): (usize, &LayoutRow)| match *row {
        LayoutRow::Hole { offset, bytes, .. } => {
            let sampled = sampled.get(&number).map(|used| used.whole.clone());
            Some(ShownHole { offset, bytes, sampled })
        }
        _ => None,
    };
    layout.rows.iter().enumerate().filter_map(hole).collect()
}

fn constants(table: &TypeTable, id: TypeId) -> Vec<ShownConstant> {
    let TypeKind::Enumeration { values, .. } = &table.get(id).kind else { return Vec::new() };
    let constant = |one: &types::Enumerator| ShownConstant {
        name: table.text(one.name).to_owned(),
        value: one.value.to_string(),
    };
    table.enumerators(values).iter().map(constant).collect()
}

/// Rows between `Open` and `Close` are the members of one.
fn members(
    table: &TypeTable,
    layout: &ClassLayout,
    language: TypeLanguage,
    sampled: &Sampled<'_>,
) -> Vec<ShownMember> {
    let mut stack: Vec<Vec<ShownMember>> = vec![Vec::new()];
    for (number, row) in layout.rows.iter().enumerate() {
        match row {
            LayoutRow::Member(row) => {
                let mut one = member(table, row, language, Vec::new());
                if let Some(used) = sampled.get(&number) {
                    one.sampled = Some(used.whole.clone());
                    one.parts.clone_from(&used.parts);
                }
                if let Some(all) = stack.last_mut() {
                    all.push(one);
                }
            }
            LayoutRow::Open(_) => stack.push(Vec::new()),
            LayoutRow::Close(row) => {
                let inner = stack.pop().unwrap_or_default();
                let one = member(table, row, language, inner);
                if let Some(all) = stack.last_mut() {
                    all.push(one);
                }
            }
            LayoutRow::Hole { .. } | LayoutRow::BitHole { .. } | LayoutRow::Border { .. } => {}
        }
    }
    stack.into_iter().next().unwrap_or_default()
}

fn member(
    table: &TypeTable,
    row: &MemberRow,
    language: TypeLanguage,
    members: Vec<ShownMember>,
) -> ShownMember {
    let entry = table.member(row.member);
    let sort = match entry.sort {
        MemberKind::Field => "field",
        MemberKind::Base => "base",
        MemberKind::VirtualBase => "virtual-base",
        MemberKind::Discriminant => "discriminant",
        MemberKind::Variant(_) => "variant",
    };
    let variant = match entry.sort {
        MemberKind::Variant(number) => table.variant(number),
        _ => None,
    };
    let values = variant.map(|variant| &*variant.values).unwrap_or_default();
    ShownMember {
        name: entry.name.map(|name| table.text(name).to_owned()),
        of: table.spelled(entry.of, language),
        sort,
        offset: row.offset,
        size: row.size,
        bit_offset: row.bits.map(|bits| bits.first),
        bit_size: row.bits.map(|bits| bits.count),
        discriminants: values
            .iter()
            .map(|it| [it.first.to_string(), it.last.to_string()])
            .collect(),
        sampled: None,
        parts: Vec::new(),
        members,
    }
}
