//! What identifies a file and says where its parts are mapped.

use super::segments::{Segment, Segments};
use super::{ElfError, headers};
use object::ReadRef;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use std::fmt::Write;

/// PATH_MAX and the CRC, more than any debug link has.
const LONGEST_LINK: u64 = 4096 + 8;

/// Where what a debug file shares with others lies (.gnu_debugaltlink).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AltLink {
    /// Absolute, or from the directory of the file that has the link.
    pub(crate) path: Box<[u8]>,
    pub(crate) build_id: Box<[u8]>,
}

impl AltLink {
    /// The path, absolute, when `holder` has the link.
    pub(crate) fn path_from(&self, holder: &[u8]) -> Vec<u8> {
        match self.path.first() {
            Some(b'/') => self.path.to_vec(),
            _ => {
                let directory = &holder[..memchr::memrchr(b'/', holder).unwrap_or(0)];
                [directory, b"/", &self.path].concat()
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElfHead {
    pub(crate) segments: Segments,
    /// `e_machine`.
    pub(crate) machine: u16,
    /// Whether it is loaded anywhere: `e_type` is ET_DYN.
    pub(crate) is_movable: bool,
    /// Link-time address of a program's first instruction.
    pub(crate) entry: u64,
    /// Bytes that its variables of each thread take below the thread pointer of a program
    /// (PT_TLS; variant II of ELF Handling For Thread-Local Storage): whole multiples of their
    /// alignment. 0: it has none.
    pub(crate) thread_data: u64,
    /// NT_GNU_BUILD_ID.
    pub(crate) build_id: Option<Box<[u8]>>,
    /// Name of the separate debug file and the CRC-32 of its bytes.
    pub(crate) debug_link: Option<(Box<[u8]>, u32)>,
    /// The file that a debug file shares with others.
    pub(crate) alt_link: Option<AltLink>,
    /// Whether it has a full symbol table of its own.
    pub(crate) has_symbols: bool,
    /// Whether it has debug information (DWARF) of its own.
    pub(crate) has_lines: bool,
}

impl ElfHead {
    /// Where its first part is loaded; None: it is not linked.
    pub(crate) fn lowest(&self) -> Option<u64> {
        self.segments.segments.iter().map(|segment| segment.address).min()
    }
}

/// Width of the code that files of this `e_machine` hold.
pub(crate) fn bits_of(machine: u16) -> Option<u32> {
    match elf::Machine(machine) {
        elf::EM_X86_64 => Some(64),
        elf::EM_386 => Some(32),
        _ => None,
    }
}

pub(super) fn read<'data, Elf, R>(data: R) -> Result<ElfHead, ElfError>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    let page = match header.e_machine(endian) {
        elf::EM_X86_64 | elf::EM_386 => 0x1000,
        // aarch64, powerpc and others may run with pages up to this.
        _ => 0x1_0000,
    };
    let mut head = ElfHead {
        machine: header.e_machine(endian).0,
        is_movable: header.e_type(endian) == elf::ET_DYN,
        entry: header.e_entry(endian).into(),
        ..ElfHead::default()
    };
    head.segments.page = page;
    // Notes of a sound file do not overlap; those of a hostile one are not
    // read more than once or twice.
    let mut notes_left = headers::allowance(data);
    for program in headers::programs(header, endian, data)? {
        if program.p_type(endian) == elf::PT_LOAD {
            head.segments.segments.push(Segment {
                offset: program.p_offset(endian).into(),
                address: program.p_vaddr(endian).into(),
                size: program.p_filesz(endian).into(),
                memory: program.p_memsz(endian).into(),
                executable: program.p_flags(endian).contains(elf::PF_X),
            });
        } else if program.p_type(endian) == elf::PT_TLS {
            let (size, align): (u64, u64) =
                (program.p_memsz(endian).into(), program.p_align(endian).into());
            head.thread_data = size.checked_next_multiple_of(align.max(1)).unwrap_or(0);
        } else if head.build_id.is_none()
            && program.p_type(endian) == elf::PT_NOTE
            && let Some(left) = notes_left.checked_sub(program.p_filesz(endian).into())
            && let Ok(Some(notes)) = program.notes(endian, data)
        {
            notes_left = left;
            head.build_id = build_id(endian, notes);
        }
    }
    // Programs without section headers run; they just have no names.
    let Ok(sections) = headers::sections(header, endian, data) else { return Ok(head) };
    for section in sections.iter() {
        head.has_symbols |= section.sh_type(endian) == elf::SHT_SYMTAB;
        if head.build_id.is_none()
            && let Ok(Some(notes)) = section.notes(endian, data)
        {
            head.build_id = build_id(endian, notes);
        }
    }
    let link = |name: &[u8]| {
        let (_, section) = sections.section_by_name(endian, name)?;
        let is_short = section.sh_size(endian).into() <= LONGEST_LINK;
        is_short.then(|| section.data(endian, data).ok()).flatten()
    };
    let little = header.is_little_endian();
    head.debug_link = link(b".gnu_debuglink").and_then(|bytes| debug_link(bytes, little));
    head.alt_link = link(b".gnu_debugaltlink").and_then(alt_link);
    // What strip leaves of a section that lies in the debug file has no bytes.
    head.has_lines = [b".debug_info".as_slice(), b".zdebug_info"].iter().any(|name| {
        sections.section_by_name(endian, name).is_some_and(|(_, section)| {
            section.sh_type(endian) != elf::SHT_NOBITS && section.sh_size(endian).into() > 0
        })
    });
    Ok(head)
}

fn build_id<Elf: FileHeader>(
    endian: Elf::Endian,
    mut notes: object::read::elf::NoteIterator<'_, Elf>,
) -> Option<Box<[u8]>> {
    // A damaged note ends the search; the file may still have names.
    while let Ok(Some(note)) = notes.next() {
        if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
            return Some(note.desc().into());
        }
    }
    None
}

/// A name that ends with NUL, zeros up to a multiple of four, a CRC.
fn debug_link(bytes: &[u8], little: bool) -> Option<(Box<[u8]>, u32)> {
    let length = memchr::memchr(0, bytes)?;
    let crc = bytes.get((length + 1).next_multiple_of(4)..)?.first_chunk::<4>()?;
    let crc = if little { u32::from_le_bytes(*crc) } else { u32::from_be_bytes(*crc) };
    (length > 0).then(|| (bytes[..length].into(), crc))
}

/// A path that ends with NUL, a build id.
fn alt_link(bytes: &[u8]) -> Option<AltLink> {
    let length = memchr::memchr(0, bytes)?;
    let (path, build_id) = (&bytes[..length], &bytes[length + 1..]);
    (length > 0).then(|| AltLink { path: path.into(), build_id: build_id.into() })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Without the zeros with which perf pads build ids to 20 bytes: those that
/// are shorter have 16 or 8.
pub(crate) fn unpadded(id: &[u8]) -> &[u8] {
    let length = [8, 16]
        .into_iter()
        .find(|length| id.get(*length..).is_some_and(|rest| rest.iter().all(|byte| *byte == 0)));
    &id[..length.unwrap_or(id.len()).min(id.len())]
}

/// perf pads build ids with zeros to 20 bytes.
pub(crate) fn is_same_build_id(recorded: &[u8], found: &[u8]) -> bool {
    let shorter = recorded.len().min(found.len());
    let rest = recorded[shorter..].iter().chain(&found[shorter..]);
    shorter >= 1 && recorded[..shorter] == found[..shorter] && rest.copied().all(|byte| byte == 0)
}
