//! The running kernel's code.

use super::{CodeError, LONGEST, MachineCode};
use crate::elf::{self, head::ElfHead};
use crate::files::opening::open_within;
use object::{ReadCache, ReadRef};
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

/// /proc/kcore: the kernel's memory as an ELF core file.
#[derive(Debug)]
pub(crate) struct KernelMemory {
    core: ReadCache<File>,
    head: ElfHead,
}

impl KernelMemory {
    pub(crate) fn open(root: &Path) -> Result<KernelMemory, CodeError> {
        let unreadable =
            |why: String| CodeError::Unreadable { what: "/proc/kcore".to_owned(), why };
        let core = open_within(root, b"/proc/kcore").map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => {
                unreadable(format!("{error}: it takes CAP_SYS_RAWIO, and a kernel not locked down"))
            }
            _ => unreadable(error.to_string()),
        })?;
        let core = ReadCache::new(core);
        let head = elf::head(&core).map_err(|error| unreadable(error.to_string()))?;
        Ok(KernelMemory { core, head })
    }

    /// The code in a stretch of run-time addresses.
    pub(crate) fn read(&self, stretch: &Range<u64>) -> Result<MachineCode, CodeError> {
        let (offset, left) =
            self.head.segments.offset_of(stretch.start).ok_or(CodeError::KernelGone)?;
        let length = left.min(stretch.end.saturating_sub(stretch.start));
        let read = (&self.core).read_bytes_at(offset, length);
        let bytes = read.map_err(|()| CodeError::KernelGone)?;
        // read_kcore_iter() (fs/proc/kcore.c) gives zeros for what is not
        // mapped; no routine has 15 of them in a row.
        let shows = bytes.iter().take(LONGEST).any(|&byte| byte != 0);
        match shows {
            true => Ok(MachineCode { bytes: bytes.to_vec(), machine: self.head.machine }),
            false => Err(CodeError::KernelGone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SampledAddress, Symbolizer, SymbolizerOptions};
    use perfdata::sideband::{FileIdentity, Mapping};
    use perfdata::{CpuMode, Misc, Pid, SampleId, SidebandRecord, Task, Tid, Time};

    /// A core file of one loaded stretch, as /proc/kcore is built.
    fn core(address: u64, bytes: &[u8]) -> Vec<u8> {
        let mut core = b"\x7fELF\x02\x01\x01".to_vec();
        core.resize(16, 0);
        let word = |core: &mut Vec<u8>, value: u64| core.extend(value.to_le_bytes());
        // e_type ET_CORE, e_machine EM_X86_64, e_version
        word(&mut core, 1 << 32 | 62 << 16 | 4);
        for value in [0, 64, 0] {
            word(&mut core, value);
        }
        // e_flags, e_ehsize 64, e_phentsize 56, e_phnum 1, no sections
        word(&mut core, 56 << 48 | 64 << 32);
        word(&mut core, 1);
        // PT_LOAD, read, write, execute
        word(&mut core, 7 << 32 | 1);
        for value in [4096, address, 0, bytes.len() as u64, bytes.len() as u64, 4096] {
            word(&mut core, value);
        }
        core.resize(4096, 0);
        core.extend_from_slice(bytes);
        core
    }

    #[test]
    fn code_is_read_by_its_address() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let at = 0xffff_ffff_8100_0000;
        let mut bytes: Vec<u8> = (1..=60).collect();
        bytes.resize(100, 0);
        std::fs::write(root.path().join("proc/kcore"), core(at, &bytes)).unwrap();
        let memory = KernelMemory::open(root.path()).unwrap();
        let code = memory.read(&(at + 3..at + 18)).unwrap();
        assert_eq!((code.bytes.as_slice(), code.machine), (&bytes[3..18], 62));
        assert_eq!(memory.read(&(at + 55..at + 70)).unwrap().bytes[..5], [56, 57, 58, 59, 60]);
        // Zeros are what the kernel shows where nothing is.
        for nothing in [at + 60, at + 99, at + 100, at - 1, 0] {
            assert_eq!(
                memory.read(&(nothing..nothing + 15)),
                Err(CodeError::KernelGone),
                "{nothing:x}"
            );
        }
    }

    /// Modules and BPF programs come and go; others take their addresses.
    #[test]
    fn code_that_the_kernel_has_replaced_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        std::fs::create_dir_all(proc.join("sys/kernel")).unwrap();
        std::fs::write(proc.join("sys/kernel/osrelease"), "6.1.0\n").unwrap();
        let list = "ffffffff81000000 T _text\nffffffff81000000 T _stext\n\
                    ffffffff81001000 T late\nffffffffc0000000 t probe\t[own]\n\
                    ffffffffc0000020 t bpf_prog_1\t[bpf]\nffffffffc0000030 t next\t[own]\n";
        std::fs::write(proc.join("kallsyms"), list).unwrap();
        let bytes = [0x90; 64];
        let at = 0xffff_ffff_c000_0000;
        std::fs::write(proc.join("kcore"), core(at, &bytes)).unwrap();
        let task = Task { pid: Pid(-1), tid: Tid(-1) };
        let mapping = |(start, page_offset), path| {
            SidebandRecord::Mmap(Mapping {
                task,
                start,
                length: 0x1000,
                page_offset,
                file: FileIdentity::Unknown,
                protection: None,
                flags: None,
                path,
            })
        };
        let text = 0xffff_ffff_8100_0000;
        let anchor = mapping((text, text), b"[kernel.kallsyms]_text");
        let module = |path| mapping((at, 0), path);
        let routine = |name| SidebandRecord::Ksymbol {
            address: at + 32,
            length: 16,
            kind: 1,
            flags: 0,
            name,
        };
        let code = |told: &[SidebandRecord<'_>], ip| {
            let options =
                SymbolizerOptions { root: root.path().to_owned(), ..SymbolizerOptions::default() };
            let mut symbolizer = Symbolizer::new(options);
            for record in [&anchor].into_iter().chain(told) {
                symbolizer.side(Misc(0), record, &SampleId::default());
            }
            symbolizer.recorded_release("6.1.0");
            let read = symbolizer.code(SampledAddress {
                mode: CpuMode::Kernel,
                pid: Pid(1),
                address: ip,
                time: Time(9),
            });
            read.map(|code| code.bytes().len())
        };
        let gone = Err(CodeError::KernelGone);
        assert_eq!(code(&[module(b"[own]")], at + 4), Ok(15));
        assert_eq!(code(&[module(b"[other]")], at + 4), gone);
        assert_eq!(code(&[routine(b"bpf_prog_1")], at + 36), Ok(15));
        assert_eq!(code(&[routine(b"bpf_prog_2")], at + 36), gone);
        assert_eq!(code(&[module(b"[own]"), routine(b"bpf_prog_1")], at + 4), Ok(15));
    }

    #[test]
    fn a_kernel_without_kcore_says_so() {
        let root = tempfile::tempdir().unwrap();
        let error = KernelMemory::open(root.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot read /proc/kcore: No such file"), "{error}");
        std::fs::create_dir(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/kcore"), "no core").unwrap();
        let error = KernelMemory::open(root.path()).unwrap_err().to_string();
        assert!(error.contains("ELF magic"), "{error}");
    }
}
