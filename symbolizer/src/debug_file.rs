//! One ELF file on its own, without processes.

use crate::elf::{self, ranges::Ranges, symbols::Naming};
use crate::file::open_within;
use crate::frames::{Frames, NoDebug};
use crate::locate::hex;
use crate::{Options, Reason};
use object::ReadCache;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// One ELF file: a program, a library, a debug file, a vmlinux, a module.
///
/// Addresses are link-time ones, as `objdump -d` shows them. Units of debug
/// info are read when an address within one is first asked for.
#[derive(Debug)]
pub struct DebugFile {
    ranges: Ranges,
    absent: NoDebug,
}

impl DebugFile {
    /// Opens a file below `options.root`, and what belongs to it: its
    /// separate debug file is found as [`crate::Symbolizer`] finds it.
    ///
    /// # Errors
    /// The file is not there, cannot be read, or is no ELF file.
    pub fn open(path: &Path, options: &Options) -> Result<DebugFile, Reason> {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => Reason::FileGone { file: name.clone() },
            _ => Reason::FileUnreadable { file: name.clone(), why: error.to_string() },
        };
        let not_elf =
            |error: elf::ElfError| Reason::NotElf { file: name.clone(), why: error.to_string() };
        let whole = std::path::absolute(path).map_err(unreadable)?;
        let file = open_within(&options.root, whole.as_os_str().as_bytes()).map_err(unreadable)?;
        let file = ReadCache::new(file);
        let head = elf::head(&file).map_err(not_elf)?;
        let ranges = elf::ranges(&file, None, Naming::Code).map_err(not_elf)?;
        let build = head.build_id.as_deref().map(hex);
        let build = build.map_or("no build id".to_owned(), |id| format!("build id {id}"));
        let absent = NoDebug::Absent { file: name.as_str().into(), build: build.into() };
        Ok(DebugFile { ranges, absent })
    }

    /// Lines and inlined callers at a link-time address.
    pub fn frames(&self, address: u64) -> Frames {
        let name = self.ranges.find(address).map(|hit| elf::routine(hit, address).name);
        Frames::of_symbol(name.as_deref(), self.absent.clone())
    }
}

/// Addresses of one file may be asked for on another thread than it was
/// opened on.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<DebugFile>();
    is_send::<Arc<Frames>>();
};
