//! The vdso: a file that the kernel keeps in memory only.

use crate::elf::{ElfSymbols, ranges::Ranges};
use crate::object::Vdso;
use crate::{Code, Reason};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

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
        OwnVdso::read(root).map_err(|error| Reason::Vdso { why: error.to_string() })
    }

    fn read(root: &Path) -> io::Result<OwnVdso> {
        let process = root.join("proc/self");
        let maps = std::fs::read(process.join("maps"))?;
        let maps = crate::maps::parse(&maps).map_err(io::Error::other)?;
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

    /// Its code at an address of its own.
    pub(crate) fn code(&self, address: u64) -> Option<Code> {
        let start = usize::try_from(address).ok()?;
        Code::new(self.bytes.get(start..)?, self.symbols.bits()?)
    }

    /// Its bytes from an address of its own on, at most so many, and the width
    /// of its code.
    pub(crate) fn text(&self, (address, length): (u64, usize)) -> Option<(&[u8], Option<u32>)> {
        let rest = self.bytes.get(usize::try_from(address).ok()?..)?;
        Some((&rest[..rest.len().min(length)], self.symbols.bits()))
    }

    /// Its symbols, if the recorded one is the same. `elsewhere`: why the
    /// recording is known to come from another kernel.
    pub(crate) fn check(
        &self,
        recorded: &Vdso,
        elsewhere: Option<Reason>,
    ) -> Result<&Ranges, Reason> {
        let differs =
            |what: &str| Err(Reason::Vdso { why: format!("{what} differs from this process's") });
        let ranges = self.symbols.ranges();
        match (&recorded.build_id, elsewhere) {
            (Some(recorded), _) if Some(&**recorded) == self.symbols.build_id() => Ok(ranges),
            (Some(_), _) => differs("its build id"),
            (None, Some(reason)) => Err(Reason::Vdso { why: reason.to_string() }),
            (None, None) if recorded.length != self.length => differs("its length"),
            (None, None) => Ok(ranges),
        }
    }
}
