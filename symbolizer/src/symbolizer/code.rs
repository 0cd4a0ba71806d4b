//! The bytes of one instruction, or of a whole routine, by the same rules.

use crate::code::{
    CodeBytes, CodeError, InstructionBytes, KernelMemory, LONGEST, MOST_TEXT, MachineCode,
    ProcessCode,
};
use crate::elf::head::bits_of;
use crate::process::objects::{self, ObjectKind};
use crate::{ObjectId, Place, SampledAddress, Symbolizer};
use std::ops::Range;

impl Symbolizer {
    /// The bytes of the instruction at an address of a process, or of the
    /// kernel, at that time. Ask once per distinct place: nothing is
    /// remembered.
    ///
    /// # Errors
    /// Why they cannot be had, or might be others than those that ran.
    pub fn code(&mut self, at: SampledAddress) -> Result<InstructionBytes, CodeError> {
        let place = at.place(self);
        let stretch = place.address..place.address.saturating_add(LONGEST as u64);
        let MachineCode { bytes, machine } = self.machine_code(at, place, &stretch)?;
        let file = || self.object_name(place.object).to_owned();
        let bits = bits_of(machine).ok_or_else(|| CodeError::Machine { file: file(), machine })?;
        InstructionBytes::new(&bytes, bits).ok_or_else(|| CodeError::Outside { object: file() })
    }

    /// The bytes of a stretch around an address of a process, or of the
    /// kernel, at that time. The stretch is in the terms of
    /// [`Place::address`], and holds the address's place.
    ///
    /// # Errors
    /// Why they cannot be had, or might be others than those that ran; a
    /// stretch of more than 4 MiB.
    pub fn text(
        &mut self,
        at: SampledAddress,
        stretch: &Range<u64>,
    ) -> Result<CodeBytes, CodeError> {
        let bytes = stretch.end.saturating_sub(stretch.start);
        if bytes > MOST_TEXT {
            return Err(CodeError::TooLong { bytes });
        }
        let place = at.place(self);
        let MachineCode { bytes, machine } = self.machine_code(at, place, stretch)?;
        Ok(CodeBytes { bytes, bits: bits_of(machine) })
    }

    /// The code of a stretch that holds `place`, which is where `at` lies.
    fn machine_code(
        &mut self,
        at: SampledAddress,
        place: Place,
        stretch: &Range<u64>,
    ) -> Result<MachineCode, CodeError> {
        // Where the stretch lay when it was sampled.
        let start = at.address.wrapping_sub(place.address.wrapping_sub(stretch.start));
        let lay = start..start.saturating_add(stretch.end.saturating_sub(stretch.start));
        match self.objects.kind(place.object).clone() {
            ObjectKind::Fixed => Err(CodeError::Place(objects::fixed_reason(place.object))),
            ObjectKind::Kernel | ObjectKind::Module | ObjectKind::KernelRoutine { .. } => {
                self.kernel_memory(place.object, at.address)?.read(&lay)
            }
            ObjectKind::Vdso(vdso) => {
                let read = self.own_vdso(&vdso)?.read(stretch);
                let outside =
                    || CodeError::Outside { object: self.object_name(place.object).to_owned() };
                let (bytes, machine) = read.ok_or_else(outside)?;
                Ok(MachineCode { bytes, machine })
            }
            ObjectKind::Anonymous(_) | ObjectKind::Generated { .. } => {
                self.memory_code(at, &lay, None)
            }
            ObjectKind::File(file) => {
                let mapped = self.objects.file(file);
                match self.sources.files.read(file, mapped, &self.options, stretch) {
                    // The file is gone, replaced or never was one: what the
                    // process runs may still be there.
                    Err(CodeError::Place(reason)) => {
                        let path = (!mapped.in_memory).then(|| mapped.path.clone());
                        self.memory_code(at, &lay, path.as_deref())
                            .map_err(|_| CodeError::Place(reason))
                    }
                    in_file => in_file,
                }
            }
        }
    }

    /// From the process itself, when it still is the one that was sampled.
    fn memory_code(
        &mut self,
        at: SampledAddress,
        lay: &Range<u64>,
        path: Option<&[u8]>,
    ) -> Result<MachineCode, CodeError> {
        if let Some(reason) = self.elsewhere() {
            return Err(CodeError::Place(reason));
        }
        let of = ProcessCode { pid: at.pid, time: at.time, path };
        self.sources.processes.read(&self.options.root, &of, lay)
    }

    /// The running kernel's memory, where it is proven to hold what was
    /// recorded at `ip`.
    fn kernel_memory(&mut self, object: ObjectId, ip: u64) -> Result<&KernelMemory, CodeError> {
        // Symbols that fit prove that the recorded kernel is the running one.
        if let Some(reason) = self.elsewhere() {
            return Err(CodeError::Place(reason));
        }
        let symbols = self.kernel.unchanged(ip, &self.options, &mut self.objects);
        let Some(symbols) = symbols.map_err(CodeError::Place)? else {
            return Err(CodeError::KernelGone);
        };
        let name = self.objects.name(object);
        let is_there = match *self.objects.kind(object) {
            ObjectKind::Module => {
                symbols.module(ip).is_some_and(|it| objects::module_object(it) == name)
            }
            ObjectKind::KernelRoutine { start, .. } => symbols.find(ip).is_some_and(|found| {
                found.start == start && String::from_utf8_lossy(found.name) == name
            }),
            _ => true,
        };
        if !is_there {
            return Err(CodeError::KernelGone);
        }
        let root = &self.options.root;
        let memory = self.sources.kernel.get_or_insert_with(|| KernelMemory::open(root));
        memory.as_ref().map_err(Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    //! The bytes that are read against those that run.

    #![allow(clippy::print_stderr, reason = "a test that skips says why")]

    use super::*;
    use crate::code::ProcessMemories;
    use crate::{KernelSource, Reason, SymbolizerOptions, parse_maps};
    use perfdata::{CpuMode, Pid, Time};
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command};

    const ALWAYS: Time = Time(u64::MAX);

    fn user(pid: Pid, address: u64) -> SampledAddress {
        SampledAddress { mode: CpuMode::User, pid, address, time: ALWAYS }
    }

    fn knowing(pid: Pid, kernel: KernelSource) -> Symbolizer {
        let mut symbolizer =
            Symbolizer::new(SymbolizerOptions { kernel, ..SymbolizerOptions::default() });
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap();
        symbolizer.maps(pid, &parse_maps(&maps).unwrap(), Time(0));
        symbolizer
    }

    /// The first executable mapping whose path ends so, and what is in it.
    fn text_of(pid: Pid, ending: &str) -> (u64, Vec<u8>) {
        use std::os::unix::fs::FileExt;
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap();
        let entries = parse_maps(&maps).unwrap();
        let found = entries
            .iter()
            .find(|entry| entry.permissions[2] == b'x' && entry.path.ends_with(ending.as_bytes()));
        let entry = found.unwrap_or_else(|| panic!("no text of {ending}"));
        let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
        let mut bytes = vec![0; usize::try_from(entry.end - entry.start).unwrap()];
        memory.read_exact_at(&mut bytes, entry.start).unwrap();
        (entry.start, bytes)
    }

    /// Compares the code at places all over a mapping with the memory there.
    fn compare(symbolizer: &mut Symbolizer, pid: Pid, name: &str) {
        let (start, bytes) = text_of(pid, name);
        for at in (64..bytes.len() - LONGEST).step_by(997) {
            let code = symbolizer.code(user(pid, start + at as u64));
            // First and last page show more of the file than its text.
            if (at < 4096 || at + 4096 > bytes.len()) && code.is_err() {
                continue;
            }
            let code = code.unwrap();
            assert_eq!(code.bits, 64);
            assert_eq!(code.bytes(), &bytes[at..at + code.bytes().len()]);
            assert!(code.bytes().len() == LONGEST || at + 4096 > bytes.len());
        }
    }

    fn kernel(address: u64) -> SampledAddress {
        SampledAddress { mode: CpuMode::Kernel, ..user(own_pid(), address) }
    }

    fn own_pid() -> Pid {
        Pid(std::process::id().cast_signed())
    }

    #[test]
    fn code_of_files_is_what_runs() {
        let mut symbolizer = knowing(own_pid(), KernelSource::None);
        let program = std::env::current_exe().unwrap();
        compare(&mut symbolizer, own_pid(), program.to_str().unwrap());
        compare(&mut symbolizer, own_pid(), "libc.so.6");
    }

    #[test]
    fn code_of_the_vdso_is_what_runs() {
        let mut symbolizer = knowing(own_pid(), KernelSource::None);
        let (start, bytes) = text_of(own_pid(), "[vdso]");
        let at = bytes.len() / 2;
        let code = symbolizer.code(user(own_pid(), start + at as u64)).unwrap();
        assert_eq!(code.bytes(), &bytes[at..at + LONGEST]);
    }

    /// Ends with the test.
    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    impl Sleeper {
        fn run(directory: &Path) -> (Sleeper, PathBuf) {
            let copy = directory.join("sleeper");
            std::fs::copy("/bin/sleep", &copy).unwrap();
            let sleeper = Sleeper(Command::new(&copy).arg("600").spawn().unwrap());
            // It has mapped its text before it sleeps.
            let maps = format!("/proc/{}/maps", sleeper.0.id());
            while !std::fs::read_to_string(&maps).unwrap().contains("libc.so.6") {
                std::thread::yield_now();
            }
            (sleeper, copy)
        }

        fn pid(&self) -> Pid {
            Pid(self.0.id().cast_signed())
        }
    }

    #[test]
    fn a_file_that_was_replaced_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let (mut sleeper, copy) = Sleeper::run(directory.path());
        let text = text_of(sleeper.pid(), "/sleeper");
        let mut symbolizer = knowing(sleeper.pid(), KernelSource::None);
        std::fs::remove_file(&copy).unwrap();
        std::fs::write(&copy, "something else").unwrap();
        let at = user(sleeper.pid(), text.0 + 64);
        // The process still runs what it mapped.
        let code = symbolizer.code(at).unwrap();
        assert_eq!(code.bytes(), &text.1[64..64 + LONGEST]);
        // Who only comes when it has ended finds the other file.
        let mut late = knowing(sleeper.pid(), KernelSource::None);
        sleeper.0.kill().unwrap();
        sleeper.0.wait().unwrap();
        let error = late.code(at).unwrap_err();
        assert!(matches!(error, CodeError::Place(_)), "{error}");
    }

    #[test]
    fn memory_is_read_from_the_living_only() {
        let directory = tempfile::tempdir().unwrap();
        let (mut sleeper, copy) = Sleeper::run(directory.path());
        let text = text_of(sleeper.pid(), "/sleeper");
        let (pid, ip) = (sleeper.pid(), text.0 + 64);
        let root = Path::new("/");
        let own = copy.to_str().map(str::as_bytes);
        let mut processes = ProcessMemories::default();
        let mut read = |start: u64, time, path| {
            let of = ProcessCode { pid, time, path };
            processes.read(root, &of, &(start..start + LONGEST as u64)).map(|code| code.bytes)
        };
        assert_eq!(read(ip, ALWAYS, own).unwrap(), text.1[64..64 + LONGEST]);
        // The last instruction of a mapping is not read beyond it.
        let last = text.0 + text.1.len() as u64 - 1;
        assert_eq!(read(last, ALWAYS, own).unwrap().len(), 1);
        let gone = Err(CodeError::Gone);
        assert_eq!(read(0x1000, ALWAYS, own), gone, "nothing is there");
        assert_eq!(read(ip, ALWAYS, Some(b"/other")), gone, "another file");
        assert_eq!(read(ip, Time(5), own), gone, "a process before it");
        assert_eq!(read(ip, ALWAYS, None), gone, "a file by now");
        sleeper.0.kill().unwrap();
        sleeper.0.wait().unwrap();
        assert_eq!(read(ip, ALWAYS, own), gone);
        let of = ProcessCode { pid, time: ALWAYS, path: own };
        let late = ProcessMemories::default().read(root, &of, &(ip..ip + 1));
        assert_eq!(late.map(|code| code.bytes), gone);
    }

    #[test]
    fn what_has_no_place_has_no_code() {
        let mut symbolizer = knowing(own_pid(), KernelSource::None);
        for mode in [CpuMode::User, CpuMode::GuestUser, CpuMode::Hypervisor, CpuMode::Unknown] {
            let error =
                symbolizer.code(SampledAddress { mode, ..user(own_pid(), 16) }).unwrap_err();
            assert!(matches!(error, CodeError::Place(_)), "{error}");
        }
        let error = symbolizer.code(kernel(u64::MAX - 4096));
        assert!(matches!(error, Err(CodeError::Place(Reason::KernelUnlisted { .. }))), "{error:?}");
    }

    /// Every kernel starts its system calls somewhere, with code.
    #[test]
    fn code_of_the_kernel_comes_from_kcore() {
        let mut symbolizer = knowing(own_pid(), KernelSource::Running);
        let Ok(extents) = symbolizer.kernel_extents() else {
            eprintln!("skipped: the kernel's symbols are hidden here");
            return;
        };
        let start = extents[0].start;
        match symbolizer.code(kernel(start)) {
            Ok(code) => {
                assert_eq!((code.bytes().len(), code.bits), (LONGEST, 64));
                let beyond = symbolizer.code(kernel(u64::MAX - 4096));
                assert_eq!(beyond, Err(CodeError::KernelGone));
            }
            Err(error @ CodeError::Unreadable { .. }) => eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        }
    }

    /// A whole routine, asked for by an address in the middle of it.
    #[test]
    fn text_is_what_runs_and_bounded() {
        let mut symbolizer = knowing(own_pid(), KernelSource::None);
        let program = std::env::current_exe().unwrap();
        for name in [program.to_str().unwrap(), "libc.so.6", "[vdso]"] {
            let (start, bytes) = text_of(own_pid(), name);
            let (from, to) = (bytes.len() / 4, bytes.len() / 2);
            let ip = start + (from + 100) as u64;
            let place = symbolizer.place(CpuMode::User, own_pid(), ip, ALWAYS).address;
            let stretch = place - 100..place - 100 + (to - from) as u64;
            let text = symbolizer.text(user(own_pid(), ip), &stretch).unwrap();
            assert_eq!((text.bytes.as_slice(), text.bits), (&bytes[from..to], Some(64)), "{name}");
            // What lies beyond the segment is not there.
            let beyond = stretch.start..stretch.start + MOST_TEXT;
            let text = symbolizer.text(user(own_pid(), ip), &beyond).unwrap();
            assert!(
                text.bytes.len() >= to - from && text.bytes.len() <= bytes.len() - from,
                "{name}"
            );
            let more = stretch.start..beyond.end + 1;
            let refused = symbolizer.text(user(own_pid(), ip), &more).unwrap_err();
            assert_eq!(refused, CodeError::TooLong { bytes: MOST_TEXT + 1 });
        }
    }

    #[test]
    fn text_of_a_deleted_program_comes_from_its_memory() {
        let directory = tempfile::tempdir().unwrap();
        let (sleeper, copy) = Sleeper::run(directory.path());
        let pid = Pid(sleeper.0.id().cast_signed());
        let (start, bytes) = text_of(pid, "sleeper");
        let mut symbolizer = knowing(pid, KernelSource::None);
        std::fs::remove_file(copy).unwrap();
        let place = symbolizer.place(CpuMode::User, pid, start + 600, ALWAYS).address;
        let text = symbolizer.text(user(pid, start + 600), &(place - 88..place));
        assert_eq!(text.unwrap().bytes, &bytes[512..600]);
    }
}
