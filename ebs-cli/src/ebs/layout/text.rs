//! A type as its language writes it, with places behind the members.

use super::FoundType;
use anyhow::Result;
use std::io::Write;
use types::{
    ClassLayout, Declarator, LayoutRow, LayoutSums, MemberKind, MemberRow, TypeId, TypeKind,
    TypeLanguage, TypeTable,
};

/// Source files that are named of one definition.
const MOST_UNITS: usize = 4;
/// Where names and comments begin.
const NAMES: usize = 27;
const COMMENTS: usize = 56;
const STEP: usize = 8;

pub(super) fn print(
    table: &TypeTable,
    found: &[FoundType],
    line: u64,
    out: &mut dyn Write,
) -> Result<()> {
    for (number, one) in found.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", units(&one.units))?;
        let printer = Printer { table, language: table.unit(one.id).language };
        let id = table.resolved(one.id);
        match (&table.get(id).kind, table.layout(id, line)) {
            (_, Some(layout)) => printer.layout(one.id, &layout, out)?,
            (TypeKind::Enumeration { .. }, _) => printer.enumeration(one.id, out)?,
            _ => printer.other(one.id, out)?,
        }
    }
    Ok(())
}

fn units(units: &[String]) -> String {
    let named: Vec<_> = units.iter().take(MOST_UNITS).map(String::as_str).collect();
    match units.len() - named.len() {
        0 => format!("/* {} */", named.join(", ")),
        more => format!("/* {} and {more} more */", named.join(", ")),
    }
}

pub(super) struct Printer<'t> {
    pub(super) table: &'t TypeTable,
    pub(super) language: TypeLanguage,
}

impl Printer<'_> {
    fn is_rust(&self) -> bool {
        self.language == TypeLanguage::Rust
    }

    fn layout(&self, named: TypeId, layout: &ClassLayout, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "{} {{", self.head(named, layout.id))?;
        for row in &layout.rows {
            self.row(row, layout.sums.line, out)?;
        }
        self.end(layout, out)
    }

    pub(super) fn end(&self, layout: &ClassLayout, out: &mut dyn Write) -> Result<()> {
        writeln!(out)?;
        for line in sums(&layout.sums) {
            writeln!(out, "{:STEP$}/* {line} */", "")?;
        }
        if let Some(cut) = layout.cut {
            writeln!(out, "{:STEP$}/* {cut} */", "")?;
        }
        writeln!(out, "}}{}", if self.is_rust() { "" } else { ";" })?;
        Ok(())
    }

    pub(super) fn head(&self, named: TypeId, id: TypeId) -> String {
        let entry = self.table.get(id);
        let keyword = match &entry.kind {
            TypeKind::Composite(composite) if composite.has_variants => "enum",
            _ => self.table.keyword(id),
        };
        let typedef = if named == id { "" } else { "typedef " };
        format!("{typedef}{keyword} {}", self.table.full_name(named))
    }

    fn enumeration(&self, named: TypeId, out: &mut dyn Write) -> Result<()> {
        let id = self.table.resolved(named);
        let TypeKind::Enumeration { of, values } = &self.table.get(id).kind else { return Ok(()) };
        let number = of
            .map(|of| format!(" : {}", self.table.spelled(of, self.language)))
            .unwrap_or_default();
        writeln!(out, "{}{number} {{", self.head(named, id))?;
        for one in self.table.enumerators(values) {
            writeln!(out, "{:STEP$}{} = {},", "", self.table.text(one.name), one.value)?;
        }
        let size = self.table.size_of(id).unwrap_or(0);
        writeln!(out, "\n{:STEP$}/* size: {size} */\n}};", "")?;
        Ok(())
    }

    fn other(&self, id: TypeId, out: &mut dyn Write) -> Result<()> {
        let name = self.table.full_name(id);
        let size = self.table.size_of(id).map_or_else(|| "?".to_owned(), |size| size.to_string());
        match self.table.get(id).kind {
            TypeKind::Alias { of } => {
                let of = self.table.declaration(of, &name, self.language);
                writeln!(out, "typedef {of}; /* size: {size} */")?;
            }
            _ => writeln!(out, "{name}; /* size: {size} */")?,
        }
        Ok(())
    }

    pub(super) fn row(&self, row: &LayoutRow, line: u64, out: &mut dyn Write) -> Result<()> {
        let indent = |depth: usize| depth * STEP;
        match *row {
            LayoutRow::Member(member) => self.member(&member, out)?,
            LayoutRow::Open(member) => {
                writeln!(out, "{:1$}{2} {{", "", indent(member.depth), self.opened(&member))?;
            }
            LayoutRow::Close(member) => {
                let entry = self.table.member(member.member);
                let is_variant = matches!(entry.sort, MemberKind::Variant(_));
                let name = entry.name.filter(|_| !is_variant).map(|name| {
                    let name = self.table.text(name);
                    format!(" {}", self.table.declarator(entry.of, name, self.language).rest)
                });
                let end = if self.is_rust() { "," } else { ";" };
                let text = format!("}}{}{end}", name.unwrap_or_default());
                commented(out, indent(member.depth), &text, &place(&member))?;
            }
            LayoutRow::Hole { depth, bytes, .. } => {
                let s = if bytes == 1 { "" } else { "s" };
                let text = format!("/* XXX {bytes} byte{s} hole, try to pack */");
                writeln!(out, "\n{:1$}{text}\n", "", indent(depth))?;
            }
            LayoutRow::BitHole { depth, bits } => {
                let s = if bits == 1 { "" } else { "s" };
                let text = format!("/* XXX {bits} bit{s} hole, try to pack */");
                writeln!(out, "\n{:1$}{text}\n", "", indent(depth))?;
            }
            LayoutRow::Border { depth, line: number, ago } => {
                let bytes = number * line;
                let ago = match ago {
                    0 => String::new(),
                    ago => format!(" was {ago} bytes ago"),
                };
                let text =
                    format!("/* --- cacheline {number} boundary ({bytes} bytes){ago} --- */");
                writeln!(out, "{:1$}{text}", "", indent(depth))?;
            }
        }
        Ok(())
    }

    fn opened(&self, row: &MemberRow) -> String {
        let member = self.table.member(row.member);
        match (member.sort, member.name) {
            (MemberKind::Variant(_), Some(name)) => {
                format!("{}{}", self.table.text(name), self.table.discriminants_text(member.sort))
            }
            _ => {
                let Declarator { of, .. } = self.table.declarator(member.of, "", self.language);
                of.trim_end_matches(" {...}").to_owned()
            }
        }
    }

    fn member(&self, row: &MemberRow, out: &mut dyn Write) -> Result<()> {
        let member = self.table.member(row.member);
        let name = member.name.map_or("", |name| self.table.text(name));
        let bits = row.bits.map_or(String::new(), |bits| format!(":{}", bits.count));
        let text = match member.sort {
            MemberKind::Base | MemberKind::VirtualBase => {
                let sort = if member.sort == MemberKind::Base { "" } else { "virtual " };
                format!("{sort}{} <base>;", self.table.spelled(member.of, self.language))
            }
            MemberKind::Discriminant => {
                format!("<discriminant>: {},", self.table.spelled(member.of, self.language))
            }
            _ if self.is_rust() => {
                let variant = self.table.discriminants_text(member.sort);
                format!("{name}{variant}: {},", self.table.spelled(member.of, self.language))
            }
            _ => {
                let Declarator { of, rest } = self.table.declarator(member.of, name, self.language);
                format!("{of:NAMES$}{}{rest}{bits};", if of.len() < NAMES { "" } else { " " })
            }
        };
        commented(out, row.depth * STEP, &text, &place(row))
    }
}

fn commented(out: &mut dyn Write, indent: usize, text: &str, place: &str) -> Result<()> {
    let width = COMMENTS.saturating_sub(indent).saturating_add(STEP);
    writeln!(out, "{:indent$}{text:width$} /* {place} */", "")?;
    Ok(())
}

/// Offset and size, as pahole has them.
fn place(row: &MemberRow) -> String {
    let size = row.size.map_or_else(|| "?".to_owned(), |size| size.to_string());
    match (row.offset, row.bits) {
        (None, _) => format!("    ? {size:>5}"),
        (Some(offset), None) => format!("{offset:5} {size:>5}"),
        (Some(offset), Some(bits)) => format!("{offset:5}:{:2} {size:>2}", bits.first),
    }
}

fn sums(sums: &LayoutSums) -> Vec<String> {
    let LayoutSums { size, members, holes, sum_holes, bit_holes, sum_bit_holes, .. } = *sums;
    let mut lines = vec![format!("size: {size}, cachelines: {}, members: {members}", sums.lines())];
    if holes > 0 || bit_holes > 0 {
        let mut text = format!("sum members: {}", sums.sum_members);
        if holes > 0 {
            text.push_str(&format!(", holes: {holes}, sum holes: {sum_holes}"));
        }
        lines.push(text);
    }
    if bit_holes > 0 {
        let bits = sums.sum_bits;
        lines.push(format!(
            "sum bitfield members: {bits} bits, bit holes: {bit_holes}, sum bit holes: \
             {sum_bit_holes} bits"
        ));
    }
    if sums.padding > 0 {
        lines.push(format!("padding: {}", sums.padding));
    }
    if sums.bit_padding > 0 {
        lines.push(format!("bit_padding: {} bits", sums.bit_padding));
    }
    if sums.virtual_bases > 0 {
        lines.push(format!("virtual bases: {}, placed by each object", sums.virtual_bases));
    }
    if !size.is_multiple_of(sums.line) {
        lines.push(format!("last cacheline: {} bytes", size % sums.line));
    }
    lines
}
