//! Sections of debug info, ready to be parsed: decompressed and linked.

use super::bytes::{FileBytes, SectionBytes};
use super::layout::{Layout, Section};
use super::relocate::Relocator;
use flate2::{Decompress, FlushDecompress, Status};
use gimli::{EndianSlice, RunTimeEndian, SectionId};
use object::elf;

/// How numbers and strings of debug info are read.
pub type SectionReader<'a> = EndianSlice<'a, RunTimeEndian>;

/// A section may claim this many times its compressed size.
const MOST_TIMES: u64 = 64;
/// Bytes of one section.
const MOST_BYTES: u64 = 2 << 30;
/// All sections of a file may have this many times its bytes, and so many
/// beyond: compilers' debug info packs to a quarter, of few sections to less.
const MOST_TIMES_OF_FILE: u64 = 16;
const BEYOND_FILE: u64 = 64 << 20;

const OF_PROGRAM: [SectionId; 12] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTypes,
];

/// What is parsed of a .dwo or .dwp file.
const OF_SPLIT: [SectionId; 10] = [
    SectionId::DebugAbbrev,
    SectionId::DebugInfo,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugCuIndex,
    SectionId::DebugTuIndex,
    SectionId::DebugTypes,
];

/// Where variables are: lines and calls do without, and in a packed file it
/// takes time.
const OF_VARIABLES: [SectionId; 2] = [SectionId::DebugLoc, SectionId::DebugLocLists];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DebugUse {
    /// Routines, lines and inlined calls.
    Frames,
    /// Types and variables.
    Variables,
}

impl DebugUse {
    fn needs(self, id: SectionId) -> bool {
        self == DebugUse::Variables || !OF_VARIABLES.contains(&id)
    }
}

pub(crate) struct SectionSource<'a> {
    pub(crate) image: &'a FileBytes,
    pub(crate) layout: &'a Layout,
    relocator: Option<Relocator>,
    /// Bytes that may still be read or made, so that sections which lie over
    /// each other do not add up.
    left: u64,
}

impl<'a> SectionSource<'a> {
    pub(crate) fn new(
        image: &'a FileBytes,
        layout: &'a Layout,
    ) -> Result<SectionSource<'a>, String> {
        let relocator = match layout.relocatable {
            true => Some(Relocator::new(image, layout)?),
            false => None,
        };
        let left = most_of_file(image.length());
        Ok(SectionSource { image, layout, relocator, left })
    }

    /// A section of a program; empty when there is none.
    pub(crate) fn program(&mut self, id: SectionId, of: DebugUse) -> Result<SectionBytes, String> {
        match OF_PROGRAM.contains(&id) && of.needs(id) {
            true => self.named(id.name().as_bytes()),
            false => Ok(SectionBytes::default()),
        }
    }

    /// A section of a .dwo or .dwp file; empty when there is none.
    pub(crate) fn split(&mut self, id: SectionId) -> Result<SectionBytes, String> {
        match id.dwo_name().filter(|_| OF_SPLIT.contains(&id)) {
            Some(name) => self.named(name.as_bytes()),
            None => Ok(SectionBytes::default()),
        }
    }

    /// A section by its name; empty when there is none.
    pub(crate) fn named(&mut self, name: &[u8]) -> Result<SectionBytes, String> {
        let said = |why: String| format!("{}: {why}", String::from_utf8_lossy(name));
        if let Some((index, section)) = self.find(name) {
            let bytes = self.plain(section).map_err(said)?;
            return match &self.relocator {
                Some(relocator) => relocator.link(index, bytes).map_err(said),
                None => Ok(bytes),
            };
        }
        // GNU's way before SHF_COMPRESSED: `.zdebug_info`.
        let old = [b".z", name.get(1..).unwrap_or_default()].concat();
        match self.find(&old) {
            Some((_, section)) => self.zlib_gnu(section).map_err(said),
            None => Ok(SectionBytes::default()),
        }
    }

    fn find(&self, name: &[u8]) -> Option<(usize, &'a Section)> {
        let mut sections = self.layout.sections.iter().enumerate();
        sections.find(|(_, section)| &*section.name == name && section.has_bytes())
    }

    fn plain(&mut self, section: &Section) -> Result<SectionBytes, String> {
        let bytes = self.read(section)?;
        if section.flags & elf::SHF_COMPRESSED.0 == 0 {
            return Ok(bytes);
        }
        let endian = self.layout.endian;
        let mut header = EndianSlice::new(&bytes, endian);
        let fields = (|| {
            let kind = gimli::Reader::read_u32(&mut header)?;
            Ok(match self.layout.wide {
                false => (kind, u64::from(gimli::Reader::read_u32(&mut header)?), 12),
                true => {
                    gimli::Reader::read_u32(&mut header)?;
                    (kind, gimli::Reader::read_u64(&mut header)?, 24)
                }
            })
        })();
        let (kind, size, start) =
            fields.map_err(|_: gimli::Error| "its compression header is cut short".to_owned())?;
        let format = match kind {
            kind if kind == elf::ELFCOMPRESS_ZLIB.0 => SectionPacking::Zlib,
            kind if kind == elf::ELFCOMPRESS_ZSTD.0 => SectionPacking::Zstd,
            kind => {
                return Err(format!("compressed in way {kind}; 1 (zlib) and 2 (zstd) are known"));
            }
        };
        self.decompress(format, bytes.get(start..).unwrap_or_default(), size)
    }

    fn zlib_gnu(&mut self, section: &Section) -> Result<SectionBytes, String> {
        let bytes = self.read(section)?;
        match bytes.split_at_checked(12) {
            Some(([b'Z', b'L', b'I', b'B', size @ ..], data)) => {
                let size = size.iter().fold(0, |size, &byte| size << 8 | u64::from(byte));
                self.decompress(SectionPacking::Zlib, data, size)
            }
            _ => Err("it does not start with ZLIB and a size".to_owned()),
        }
    }

    fn read(&mut self, section: &Section) -> Result<SectionBytes, String> {
        self.take(section.size)?;
        self.image.read(section.offset, section.size)
    }

    fn decompress(
        &mut self,
        packing: SectionPacking,
        data: &[u8],
        size: u64,
    ) -> Result<SectionBytes, String> {
        if size > (data.len() as u64).saturating_mul(MOST_TIMES) {
            return Err(format!(
                "{} compressed bytes claim to be {size}; at most {MOST_TIMES} times as many are \
                 made",
                data.len()
            ));
        }
        self.take(size)?;
        let room = usize::try_from(size).map_err(|error| error.to_string())?;
        unpack(packing, data, room).map(SectionBytes::Owned)
    }

    fn take(&mut self, size: u64) -> Result<(), String> {
        if size > MOST_BYTES {
            return Err(format!("{size} bytes; at most {MOST_BYTES} of a section are read"));
        }
        self.left = self.left.checked_sub(size).ok_or_else(|| {
            format!(
                "its sections unpack to more than is read of a file of {} bytes, or lie over each \
                 other",
                self.image.length()
            )
        })?;
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionPacking {
    Zlib,
    Zstd,
}

/// Unpacks what is `size` bytes then, neither more nor less.
fn unpack(packing: SectionPacking, data: &[u8], size: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; size];
    let unpacked = match packing {
        SectionPacking::Zlib => {
            let mut stream = Decompress::new(true);
            let end = stream.decompress(data, &mut bytes, FlushDecompress::Finish);
            match end.map_err(|error| error.to_string())? {
                Status::StreamEnd => stream.total_out(),
                _ => return Err(format!("it does not end within the {size} bytes of its claim")),
            }
        }
        SectionPacking::Zstd => {
            let unpacked = zstd_safe::decompress(bytes.as_mut_slice(), data);
            unpacked.map_err(|code| zstd_safe::get_error_name(code).to_owned())? as u64
        }
    };
    match unpacked == size as u64 {
        true => Ok(bytes),
        false => Err(format!("it claims to be {size} bytes and is {unpacked}")),
    }
}

/// SectionBytes that may be read of the sections of a file, packed and unpacked.
fn most_of_file(length: u64) -> u64 {
    let times = length.saturating_mul(1 + MOST_TIMES_OF_FILE);
    times.saturating_add(BEYOND_FILE).min(4 * MOST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_memory_as_it_is_long() {
        // 32 MiB that claim 64 times as many, and more of them.
        assert!(most_of_file(32 << 20) < MOST_TIMES * (32 << 20) / 3);
        assert!(most_of_file(1 << 10) > MOST_TIMES << 10, "small ones pack well");
        assert_eq!(most_of_file(u64::MAX), 4 * MOST_BYTES);
    }
}
