//! Whether code keeps frame pointers, as its unwind tables tell.

use super::ElfError;
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, NativeEndian, Register, UnwindContext, UnwindSection,
};
use object::{Architecture, Object, ObjectSection, ReadCache};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What most of a file's code does with its frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePointers {
    /// Whoever follows them finds the callers.
    Kept,
    /// Functions use the register as they like.
    Omitted,
    /// There are no tables that would tell.
    Unknown,
}

/// Functions that are looked at: enough to tell, in milliseconds.
const FUNCTIONS: usize = 20_000;
/// Bytes of unwind tables that are read.
const TABLES: u64 = 64 << 20;

impl FramePointers {
    /// Of a program and the C library that it runs with: a chain breaks at the first of
    /// them that omits frame pointers. A file that cannot be read tells nothing.
    pub fn of_program(program: &Path) -> FramePointers {
        let of = |path: &Path| {
            let file = File::open(path).ok()?;
            FramePointers::of(file).ok()
        };
        match (of(program), c_library(program).map(|library| of(&library))) {
            (Some(FramePointers::Kept), Some(library)) => library.unwrap_or(FramePointers::Unknown),
            (own, _) => own.unwrap_or(FramePointers::Unknown),
        }
    }

    /// Of an ELF file. Code keeps them when the frames of three quarters of it, by
    /// bytes, are found by that register somewhere; Go's always does, which is why it has
    /// no tables.
    ///
    /// # Errors
    /// A file that is none.
    pub fn of(file: File) -> Result<FramePointers, ElfError> {
        let cache = ReadCache::new(file);
        let object = object::File::parse(&cache)?;
        if object.section_by_name(".gopclntab").is_some() {
            return Ok(FramePointers::Kept);
        }
        let pointer = match object.architecture() {
            Architecture::X86_64 => gimli::X86_64::RBP,
            Architecture::Aarch64 => gimli::AArch64::X29,
            _ => return Ok(FramePointers::Unknown),
        };
        let section = object.section_by_name(".eh_frame");
        let Some(section) = section.filter(|section| section.size() <= TABLES) else {
            return Ok(FramePointers::Unknown);
        };
        let mut tables = EhFrame::new(section.data()?, NativeEndian);
        tables.set_address_size(8);
        let bases = BaseAddresses::default().set_eh_frame(section.address());
        Ok(measure(&tables, &bases, pointer))
    }
}

/// The C library that a program's loader would take: glibc's lies beside the loader, musl's
/// is the loader. None: it is linked statically.
fn c_library(program: &Path) -> Option<PathBuf> {
    let cache = ReadCache::new(File::open(program).ok()?);
    let object = object::File::parse(&cache).ok()?;
    let section = object.section_by_name(".interp")?;
    let path = section.data().ok()?.strip_suffix(b"\0")?;
    let loader = Path::new(OsStr::from_bytes(path)).canonicalize().ok()?;
    let beside = loader.with_file_name("libc.so.6");
    Some(if beside.exists() { beside } else { loader })
}

fn measure(
    tables: &EhFrame<gimli::EndianSlice<'_, NativeEndian>>,
    bases: &BaseAddresses,
    pointer: Register,
) -> FramePointers {
    let (mut all, mut kept) = (0_u64, 0_u64);
    let mut context = UnwindContext::new();
    let mut entries = tables.entries(bases);
    let mut looked_at = 0;
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(function) = partial.parse(EhFrame::cie_from_offset) else { continue };
        let Ok(mut rows) = function.rows(tables, bases, &mut context) else { continue };
        let mut by_pointer = false;
        while let Ok(Some(row)) = rows.next_row() {
            let of = |rule: &CfaRule<usize>| matches!(rule, CfaRule::RegisterAndOffset { register, .. } if *register == pointer);
            by_pointer |= of(row.cfa());
        }
        all = all.saturating_add(function.len());
        kept = kept.saturating_add(if by_pointer { function.len() } else { 0 });
        looked_at += 1;
        if looked_at == FUNCTIONS {
            break;
        }
    }
    match all {
        0 => FramePointers::Unknown,
        _ if kept.saturating_mul(4) >= all.saturating_mul(3) => FramePointers::Kept,
        _ => FramePointers::Omitted,
    }
}
