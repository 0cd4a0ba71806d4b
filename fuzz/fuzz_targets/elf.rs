//! Any bytes as an ELF file: read whole or in pieces it must say the same, at
//! a cost that the length bounds; what it says must be declared in the file,
//! every sized function declared must be found, and a scan of all routines
//! must agree with each lookup.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use symbolizer::{ElfSymbols, Routine};

/// A file that counts what is read of it to be kept.
struct Counted<'a> {
    file: Cursor<&'a [u8]>,
    kept: &'a mut usize,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.file.read(buffer)
    }

    fn read_exact(&mut self, buffer: &mut [u8]) -> std::io::Result<()> {
        *self.kept += buffer.len();
        self.file.read_exact(buffer)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

/// The tables of a file, read with no more care than not to panic.
struct Raw<'a> {
    bytes: &'a [u8],
    wide: bool,
    big: bool,
}

struct Section {
    kind: u64,
    executable: bool,
    address: u64,
    offset: u64,
    size: u64,
    link: u64,
}

struct Load {
    offset: u64,
    address: u64,
    size: u64,
}

struct Declared<'a> {
    start: u64,
    size: u64,
    /// Where the section of code ends that it is in; 0: it is in none.
    section_end: u64,
    name: &'a [u8],
    /// STT_FUNC or STT_GNU_IFUNC.
    function: bool,
    /// Of the table of its kind that counts, in a section of code, with a
    /// name.
    counts: bool,
}

/// Where a field is and how many bytes it has: in 32-bit files, in 64-bit
/// files.
type Field = [(u64, u64); 2];

const MACHINE: Field = [(18, 2), (18, 2)];
const PROGRAMS: Field = [(28, 4), (32, 8)];
const SECTIONS: Field = [(32, 4), (40, 8)];
const PROGRAM_COUNT: Field = [(44, 2), (56, 2)];
const SECTION_COUNT: Field = [(48, 2), (60, 2)];

impl<'a> Raw<'a> {
    fn field(&self, base: u64, field: Field) -> Option<u64> {
        let (at, size) = field[usize::from(self.wide)];
        let at = usize::try_from(base.checked_add(at)?).ok()?;
        let bytes = self.bytes.get(at..)?.get(..size as usize)?;
        let shift = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(match self.big {
            true => bytes.iter().fold(0, shift),
            false => bytes.iter().rev().fold(0, shift),
        })
    }

    fn entries(&self, start: u64, count: u64, sizes: [u64; 2]) -> impl Iterator<Item = u64> {
        let size = sizes[usize::from(self.wide)];
        let room = (self.bytes.len() as u64).saturating_sub(start) / size;
        (0..count.min(room)).map(move |index| start + index * size)
    }

    fn section(&self, base: u64) -> Option<Section> {
        Some(Section {
            kind: self.field(base, [(4, 4), (4, 4)])?,
            executable: self.field(base, [(8, 4), (8, 8)])? & 4 != 0,
            address: self.field(base, [(12, 4), (16, 8)])?,
            offset: self.field(base, [(16, 4), (24, 8)])?,
            size: self.field(base, [(20, 4), (32, 8)])?,
            link: self.field(base, [(24, 4), (40, 4)])?,
        })
    }

    fn sections(&self) -> Option<Vec<Section>> {
        let start = self.field(0, SECTIONS).filter(|&start| start != 0)?;
        // Too many for the header: the first section's size has the number.
        let count = match self.field(0, SECTION_COUNT)? {
            0 => self.section(start)?.size,
            count => count,
        };
        self.entries(start, count, [40, 64]).map(|base| self.section(base)).collect()
    }

    fn loads(&self) -> Option<Vec<Load>> {
        let start = self.field(0, PROGRAMS).filter(|&start| start != 0)?;
        let count = match self.field(0, PROGRAM_COUNT)? {
            0xffff => self.field(self.field(0, SECTIONS)?, [(28, 4), (44, 4)])?,
            count => count,
        };
        let all = self.entries(start, count, [32, 56]);
        let loads = all.filter(|&base| self.field(base, [(0, 4), (0, 4)]) == Some(1));
        let load = |base| {
            Some(Load {
                offset: self.field(base, [(4, 4), (8, 8)])?,
                address: self.field(base, [(8, 4), (16, 8)])?,
                size: self.field(base, [(16, 4), (32, 8)])?,
            })
        };
        loads.map(load).collect()
    }

    fn declared(&self, sections: &[Section]) -> Vec<Declared<'a>> {
        let mut declared = Vec::new();
        for kind in [2, 11] {
            let tables = sections.iter().filter(|section| section.kind == kind);
            for (index, table) in tables.enumerate() {
                let size = if self.wide { 24 } else { 16 };
                let strings = sections.get(table.link as usize).map(|strings| {
                    let end = strings.offset.saturating_add(strings.size);
                    self.bytes.get(strings.offset as usize..end as usize).unwrap_or_default()
                });
                for base in self.entries(table.offset, table.size / size, [16, 24]) {
                    let symbol = self.symbol(base, sections, strings.unwrap_or_default());
                    let Some(mut symbol) = symbol else { continue };
                    symbol.counts &= index == 0;
                    declared.push(symbol);
                }
            }
        }
        declared
    }

    fn symbol(&self, base: u64, sections: &[Section], strings: &'a [u8]) -> Option<Declared<'a>> {
        let kind = self.field(base, [(12, 1), (4, 1)])? & 15;
        let section = self.field(base, [(14, 2), (6, 2)])?;
        let code = sections.get(section as usize).filter(|it| section < 0xff00 && it.executable);
        let function = matches!(kind, 2 | 10);
        let name = strings.get(self.field(base, [(0, 4), (0, 4)])? as usize..).unwrap_or_default();
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let start = self.field(base, [(4, 4), (8, 8)])?;
        // ARM: bit 0 says Thumb.
        let thumb = function && self.field(0, MACHINE) == Some(40);
        Some(Declared {
            start: if thumb { start & !1 } else { start },
            size: self.field(base, [(8, 4), (16, 8)])?,
            section_end: code.map_or(0, |it| it.address.saturating_add(it.size)),
            name,
            function,
            counts: code.is_some() && section != 0 && !name.is_empty(),
        })
    }
}

/// What a routine says of itself must stand in the file.
fn is_declared(routine: &Routine, declared: &[Declared], sections: &[Section]) -> bool {
    // Stubs have no symbols of their own, but the functions they lead to do.
    let stub = routine.name.strip_suffix("@plt").is_some_and(|function| {
        let known = declared.iter().any(|symbol| names(symbol, function));
        known && (8..=16).contains(&(routine.end - routine.start))
    });
    let code_ends = || {
        let code = sections.iter().filter(|section| section.executable);
        code.map(|section| section.address.saturating_add(section.size))
    };
    let own = declared.iter().any(|symbol| {
        symbol.start == routine.start
            && names(symbol, &routine.name)
            && match symbol.size {
                0 => code_ends().any(|end| routine.end <= end),
                size => symbol.start.saturating_add(size) == routine.end,
            }
    });
    stub || own
}

/// The end of a section is that of its last routine where this has no size.
fn is_behind(found: &Routine, address: u64, declared: &[Declared]) -> bool {
    let reaches = |symbol: &Declared| {
        let of_no_size = symbol.start == found.start && symbol.size == 0;
        of_no_size && symbol.section_end == address && names(symbol, &found.name)
    };
    found.end == address && declared.iter().any(reaches)
}

/// Whether that is the symbol's name; demangled names are beyond this check.
fn names(symbol: &Declared, name: &str) -> bool {
    let own = &symbol.name[..symbol.name.len().min(4096)];
    own.starts_with(b"_") || String::from_utf8_lossy(own) == name
}

fn check_translation(symbols: &ElfSymbols, raw: &Raw) {
    let loads = raw.loads().unwrap_or_default();
    let page: u64 = match raw.field(0, MACHINE) {
        Some(3 | 62) => 0x1000,
        _ => 0x1_0000,
    };
    // Whole pages, as far as addresses go.
    let mapped = |load: &Load| {
        let end = load.offset.saturating_add(load.size);
        load.offset / page * page..end.checked_next_multiple_of(page).unwrap_or(u64::MAX)
    };
    let edges = loads.iter().flat_map(|load| {
        let (end, pages) = (load.offset.saturating_add(load.size), mapped(load));
        [load.offset, end, pages.start, pages.end]
            .into_iter()
            .flat_map(|edge| [edge.wrapping_sub(1), edge])
    });
    for offset in edges.chain([0, u64::MAX]) {
        let over = || loads.iter().filter(|load| mapped(load).contains(&offset));
        let address = |load: &Load| load.address.wrapping_add(offset.wrapping_sub(load.offset));
        match symbols.translate(offset) {
            Some(found) => assert!(over().any(|load| address(load) == found), "{offset:#x}"),
            None => assert_eq!(over().count(), 0, "{offset:#x}"),
        }
    }
}

/// The routine that a scan of all stretches finds around an address: of those
/// there, the one that starts last.
fn innermost<'a>(
    routines: &'a [(Range<u64>, Routine<'a>)],
    address: u64,
) -> Option<&'a Routine<'a>> {
    let around = routines.iter().map(|(_, routine)| routine);
    around
        .filter(|routine| (routine.start..routine.end).contains(&address))
        .max_by_key(|routine| routine.start)
}

fuzz_target!(|input: &[u8]| {
    let mut kept = 0;
    let pieces = ElfSymbols::read(Counted { file: Cursor::new(input), kept: &mut kept });
    assert!(kept <= 16 * input.len(), "{kept} bytes kept of {}", input.len());
    let symbols = match (ElfSymbols::parse(input), pieces) {
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(whole.build_id(), pieces.build_id());
            assert!(whole.routines().eq(pieces.routines()));
            whole
        }
        (Err(whole), Err(pieces)) => return assert_eq!(whole, pieces),
        (whole, pieces) => panic!("whole {whole:?}, in pieces {pieces:?}"),
    };
    let raw = Raw { bytes: input, wide: input[4] == 2, big: input[5] == 2 };
    if let Some(id) = symbols.build_id() {
        assert!(id.is_empty() || input.windows(id.len()).any(|bytes| bytes == id));
    }
    check_translation(&symbols, &raw);

    let routines: Vec<_> = symbols.routines().collect();
    let sections = raw.sections().unwrap_or_default();
    let declared = raw.declared(&sections);
    for (stretch, routine) in &routines {
        assert!(routine.start <= stretch.start && stretch.start < stretch.end);
        assert!(stretch.end <= routine.end && routine.offset == stretch.start - routine.start);
        assert!(is_declared(routine, &declared, &sections), "{routine:?}");
    }
    assert!(routines.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start));

    let edges = routines
        .iter()
        .flat_map(|(stretch, routine)| [stretch.start, stretch.end, routine.start, routine.end]);
    let near = edges.flat_map(|edge| [edge.wrapping_sub(1), edge, edge.wrapping_add(1)]);
    for address in near.chain([0, u64::MAX]) {
        let found = symbols.find(address);
        match (&found, innermost(&routines, address)) {
            (Some(found), Some(scanned)) => {
                let [seen, scanned] = [found, scanned].map(|it| (it.start, it.end, &it.name));
                assert_eq!(seen, scanned, "{address:#x}");
            }
            (Some(found), None) => assert!(is_behind(found, address, &declared), "{found:?}"),
            (None, scanned) => assert_eq!(scanned, None, "{address:#x}"),
        }
        assert!(found.is_none_or(|found| found.offset == address - found.start));
    }
    for symbol in declared.iter().filter(|symbol| symbol.counts && symbol.function) {
        if symbol.size > 0 && symbol.start < u64::MAX {
            let found = symbols.find(symbol.start).map(|routine| routine.start);
            assert_eq!(found, Some(symbol.start), "{}", String::from_utf8_lossy(symbol.name));
        }
    }
});
