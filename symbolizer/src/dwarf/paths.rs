//! Names of source files, joined from their parts when first asked for.

use super::sections::SectionReader;
use super::texts::Texts;
use gimli::{Dwarf, LineProgramHeader, Section, Unit};
use std::sync::Arc;

/// Bytes of a path; a hostile file could let a million files share a name of
/// a megabyte.
const LONGEST: usize = 16 * 1024;

#[derive(Clone, Copy, Debug)]
enum Text {
    Line(usize, usize),
    LineStr(usize, usize),
    Str(usize, usize),
    NoMapping,
}

#[derive(Clone, Copy, Debug)]
struct File {
    name: Text,
    directory: u64,
}

#[derive(Debug)]
pub(crate) struct Paths {
    version: u16,
    directories: Vec<Text>,
    files: Vec<File>,
    compiled_in: Text,
    joined: Vec<Option<Arc<str>>>,
}

impl Paths {
    pub(crate) fn new<'a>(
        dwarf: &Dwarf<SectionReader<'a>>,
        unit: &Unit<SectionReader<'a>>,
        header: &LineProgramHeader<SectionReader<'a>>,
        directory: Option<SectionReader<'a>>,
    ) -> Paths {
        let text = |value| match dwarf.attr_string(unit, value) {
            Ok(text) => Text::of(dwarf, text),
            Err(_) => Text::NoMapping,
        };
        let files: Vec<_> = header
            .file_names()
            .iter()
            .map(|file| File { name: text(file.path_name()), directory: file.directory_index() })
            .collect();
        Paths {
            version: header.version(),
            directories: header.include_directories().iter().map(|&value| text(value)).collect(),
            joined: vec![None; files.len()],
            files,
            compiled_in: directory.map_or(Text::NoMapping, |text| Text::of(dwarf, text)),
        }
    }

    /// The path of a file. None: there is no such file.
    pub(crate) fn get(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        texts: &mut Texts,
        number: u32,
    ) -> Option<Arc<str>> {
        // DWARF 5 counts files from 0, with the directory of the compiler as
        // number 0; before, both counted from 1 and had 0 implied.
        let counted = usize::try_from(number).ok()?;
        let index = if self.version >= 5 { counted } else { counted.checked_sub(1)? };
        if let Some(path) = self.joined.get(index)? {
            return Some(Arc::clone(path));
        }
        let path = texts.file(&self.join(dwarf, self.files[index])?);
        self.joined[index] = Some(Arc::clone(&path));
        Some(path)
    }

    fn join(&self, dwarf: &Dwarf<SectionReader<'_>>, file: File) -> Option<Vec<u8>> {
        let name = file.name.bytes(dwarf)?;
        if name.starts_with(b"/") {
            return Some(name.to_vec());
        }
        let number = usize::try_from(file.directory).ok()?;
        let index = if self.version >= 5 { Some(number) } else { number.checked_sub(1) };
        let directory = index.and_then(|index| self.directories.get(index)?.bytes(dwarf));
        let directory = directory.unwrap_or_default();
        let mut path = Vec::new();
        if !directory.starts_with(b"/") && (self.version < 5 || number != 0) {
            append(&mut path, self.compiled_in.bytes(dwarf).unwrap_or_default());
        }
        append(&mut path, directory);
        append(&mut path, name);
        Some(path)
    }

    /// Bytes of memory.
    pub(crate) fn size(&self) -> usize {
        self.files.len() * (size_of::<File>() + size_of::<Option<Arc<str>>>())
            + self.directories.len() * size_of::<Text>()
    }
}

fn append(path: &mut Vec<u8>, part: &[u8]) {
    if !path.is_empty() && !path.ends_with(b"/") && !part.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(part);
}

impl Text {
    fn of<'a>(dwarf: &Dwarf<SectionReader<'a>>, text: SectionReader<'a>) -> Text {
        let length = text.slice().len().min(LONGEST);
        let start = text.slice().as_ptr().addr();
        let within = |section: &SectionReader<'a>| {
            let offset = start.checked_sub(section.slice().as_ptr().addr())?;
            (offset.checked_add(length)? <= section.slice().len()).then_some(offset)
        };
        if let Some(offset) = within(dwarf.debug_line_str.reader()) {
            Text::LineStr(offset, length)
        } else if let Some(offset) = within(dwarf.debug_line.reader()) {
            Text::Line(offset, length)
        } else if let Some(offset) = within(dwarf.debug_str.reader()) {
            Text::Str(offset, length)
        } else {
            Text::NoMapping
        }
    }

    fn bytes<'a>(self, dwarf: &Dwarf<SectionReader<'a>>) -> Option<&'a [u8]> {
        let (section, offset, length) = match self {
            Text::Line(offset, length) => (dwarf.debug_line.reader(), offset, length),
            Text::LineStr(offset, length) => (dwarf.debug_line_str.reader(), offset, length),
            Text::Str(offset, length) => (dwarf.debug_str.reader(), offset, length),
            Text::NoMapping => return None,
        };
        section.slice().get(offset..offset.checked_add(length)?)
    }
}
