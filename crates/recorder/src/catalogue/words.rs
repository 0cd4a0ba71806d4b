//! Types by their words, which tables have.

use super::CatalogueType;

/// The types of a table: each is what its kind is, with words of its own.
/// What cannot be read is left out: a test finds that there is none.
pub(super) fn types(table: &'static str, kinds: &[(&str, CatalogueType)]) -> Vec<CatalogueType> {
    let mut types: Vec<CatalogueType> = Vec::new();
    for paragraph in paragraphs(table) {
        let before = types.last().map_or("", |before| before.detail);
        types.extend(read(paragraph, kinds, before));
    }
    types
}

fn paragraphs(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.split("\n\n").filter(|paragraph| !paragraph.starts_with('#'))
}

/// A type by its paragraph; one without a detail has that of the type before.
fn read(
    paragraph: &'static str,
    kinds: &[(&str, CatalogueType)],
    before: &'static str,
) -> Option<CatalogueType> {
    let mut lines = paragraph.lines();
    let mut names = lines.next()?.split(' ');
    let name = names.next()?;
    let akin = names.next_back()?.strip_prefix('[')?.strip_suffix(']')?;
    let (_, kind) = kinds.iter().find(|(known, _)| *known == akin)?;
    let meaning = lines.next()?;
    let mut entry = CatalogueType { name, meaning, detail: before, ..*kind };
    entry.aliases = names.collect::<Vec<_>>().leak();
    let mut detail = String::new();
    for line in lines {
        match line.strip_prefix("$ ") {
            Some(example) => entry.example = example,
            None => {
                // Paragraphs but the first are indented.
                let between = if line.starts_with(' ') { "\n" } else { " " };
                detail.push_str(if detail.is_empty() { "" } else { between });
                detail.push_str(line.trim_start());
            }
        }
    }
    if !detail.is_empty() {
        entry.detail = detail.leak();
    }
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{hardware, software, table};

    #[test]
    fn each_paragraph_of_the_tables_is_a_type() {
        for (types, table) in
            [(&*hardware::TYPES, table::HARDWARE), (&*software::TYPES, table::SOFTWARE)]
        {
            assert_eq!(types.len(), paragraphs(table).count());
            for entry in types {
                let is_whole = !entry.meaning.is_empty() && !entry.detail.is_empty();
                assert!(is_whole, "{}", entry.name);
            }
        }
    }
}
