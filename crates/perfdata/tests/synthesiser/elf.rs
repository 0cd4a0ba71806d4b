//! What a 64-bit little-endian ELF program has for samples to hit.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A loaded segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) executable: bool,
    pub(crate) writable: bool,
}

#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: String,
    pub(crate) inode: u64,
    pub(crate) segments: Vec<Segment>,
    /// Address and size of each routine.
    pub(crate) routines: Vec<(u64, u64)>,
    /// Address and size of each variable.
    pub(crate) variables: Vec<(u64, u64)>,
}

const SYMTAB: u32 = 2;
const DYNSYM: u32 = 11;
const LOAD: u32 = 1;

impl Program {
    pub(crate) fn read(path: &Path) -> io::Result<Program> {
        let path = path.canonicalize()?;
        let bytes = std::fs::read(&path)?;
        let name = path.display();
        let program = Program::parse(&bytes, name.to_string());
        let inode = std::fs::metadata(&path)?.ino();
        let usable = program.map(|program| Program { inode, ..program }).filter(|program| {
            !program.routines.is_empty() && program.segments.iter().any(|it| it.executable)
        });
        usable.ok_or_else(|| io::Error::other(format!("{name}: no 64-bit ELF with routines")))
    }

    fn parse(bytes: &[u8], path: String) -> Option<Program> {
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let (programs, sections) = (word(bytes, 32)?, word(bytes, 40)?);
        let (program_count, section_count) = (half(bytes, 56)?, half(bytes, 60)?);
        let mut segments = Vec::new();
        for at in (0..program_count).map(|index| programs + index * 56) {
            if u32_at(bytes, at)? == LOAD {
                let flags = u32_at(bytes, at + 4)?;
                segments.push(Segment {
                    offset: word(bytes, at + 8)?,
                    address: word(bytes, at + 16)?,
                    size: word(bytes, at + 40)?,
                    executable: flags & 1 != 0,
                    writable: flags & 2 != 0,
                });
            }
        }
        let (mut routines, mut variables) = (Vec::new(), Vec::new());
        for at in (0..section_count).map(|index| sections + index * 64) {
            if ![SYMTAB, DYNSYM].contains(&u32_at(bytes, at + 4)?) {
                continue;
            }
            let (start, size) = (word(bytes, at + 24)?, word(bytes, at + 32)?);
            for symbol in (start..start + size).step_by(24) {
                let place = (word(bytes, symbol + 8)?, word(bytes, symbol + 16)?);
                let defined = half(bytes, symbol + 6)? != 0 && place.1 > 0;
                match bytes.get(usize::try_from(symbol).ok()? + 4)? & 0xf {
                    2 if defined => routines.push(place),
                    1 if defined => variables.push(place),
                    _ => {}
                }
            }
        }
        for symbols in [&mut routines, &mut variables] {
            symbols.sort_unstable();
            symbols.dedup();
        }
        Some(Program { path, inode: 0, segments, routines, variables })
    }
}

fn field<const N: usize>(bytes: &[u8], at: u64) -> Option<[u8; N]> {
    bytes.get(usize::try_from(at).ok()?..)?.first_chunk().copied()
}

fn word(bytes: &[u8], at: u64) -> Option<u64> {
    field(bytes, at).map(u64::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: u64) -> Option<u32> {
    field(bytes, at).map(u32::from_le_bytes)
}

fn half(bytes: &[u8], at: u64) -> Option<u64> {
    field(bytes, at).map(u16::from_le_bytes).map(u64::from)
}
