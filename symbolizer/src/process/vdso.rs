//! The vdso: a file that the kernel keeps in memory only.

use super::objects::Vdso;
use crate::Reason;
use crate::elf::{ElfSymbols, ranges::Ranges};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::path::Path;

/// Bytes of a vdso, at most: many times those of any.
const LONGEST: u64 = 1 << 20;

/// The vdso of this process: the running kernel gives every process of the
/// same word size the same one.
#[derive(Debug)]
pub(crate) struct OwnVdso {
    symbols: ElfSymbols,
    bytes: Vec<u8>,
    length: u64,
}

impl OwnVdso {
    pub(crate) fn of(root: &Path) -> Result<OwnVdso, Reason> {
        OwnVdso::open(root).map_err(|error| Reason::Vdso { why: error.to_string() })
    }

    fn open(root: &Path) -> io::Result<OwnVdso> {
        let process = root.join("proc/self");
        let maps = std::fs::read(process.join("maps"))?;
        let maps = super::maps::parse(&maps).map_err(io::Error::other)?;
        let vdso = maps.iter().find(|mapping| mapping.path == b"[vdso]");
        let vdso = vdso.ok_or_else(|| io::Error::other("this process has no [vdso]"))?;
        let length = vdso.end - vdso.start;
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        let mut memory = File::open(process.join("mem"))?;
        memory.seek(io::SeekFrom::Start(vdso.start))?;
        memory.read_exact(&mut bytes)?;
        let symbols = ElfSymbols::parse(&bytes).map_err(io::Error::other)?;
        Ok(OwnVdso { symbols, bytes, length })
    }

    /// That of another machine, from a copy of it.
    pub(crate) fn copied(mut file: File) -> Result<OwnVdso, Reason> {
        let mut bytes = Vec::new();
        let read = file.by_ref().take(LONGEST).read_to_end(&mut bytes);
        let parsed = read.and_then(|_| ElfSymbols::parse(&bytes).map_err(io::Error::other));
        let symbols = parsed.map_err(|error| Reason::Vdso { why: error.to_string() })?;
        let length = bytes.len() as u64;
        Ok(OwnVdso { symbols, bytes, length })
    }

    /// Its bytes in a stretch of addresses of its own, fewer where it ends,
    /// and its `e_machine`.
    pub(crate) fn read(&self, stretch: &Range<u64>) -> Option<(Vec<u8>, u16)> {
        let start = usize::try_from(stretch.start).ok()?;
        let end = usize::try_from(stretch.end).ok()?.min(self.bytes.len());
        Some((self.bytes.get(start..end)?.to_vec(), self.symbols.head.machine))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn ranges(&self) -> &Ranges {
        &self.symbols.ranges
    }

    /// Whether the recorded one is the same. `elsewhere`: why the
    /// recording is known to come from another kernel.
    pub(crate) fn check(&self, recorded: &Vdso, elsewhere: Option<Reason>) -> Result<(), Reason> {
        let differs =
            |what: &str| Err(Reason::Vdso { why: format!("{what} differs from this process's") });
        match (&recorded.build_id, elsewhere) {
            (Some(recorded), _) if Some(&**recorded) == self.symbols.build_id() => Ok(()),
            (Some(_), _) => differs("its build id"),
            (None, Some(reason)) => Err(Reason::Vdso { why: reason.to_string() }),
            (None, None) if recorded.length != self.length => differs("its length"),
            (None, None) => Ok(()),
        }
    }
}
