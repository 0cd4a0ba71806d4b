//! The bytes of sampled instructions.
//!
//! From the mapped file where there is one that proves to be the mapped one,
//! from the process's memory while it lives, from /proc/kcore for the
//! kernel. A few bytes are read at a time, and none are taken on trust: what
//! cannot be told to be the sampled code is refused.

mod error;
mod files;
mod kernel;
pub(crate) mod process;
mod text;

pub use error::CodeError;
pub use text::Text;

use crate::object::{self, Kind};
use crate::vdso::OwnVdso;
use crate::{ObjectId, Place, Reason, Symbolizer};
use files::Files;
use kernel::KernelMemory;
use process::Processes;
use record::{CpuMode, Pid, Time};

/// Most bytes that an x86 instruction has.
const LONGEST: usize = 15;

/// Bytes from an instruction on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    bytes: [u8; LONGEST],
    length: usize,
    /// Width of the code it belongs to: 32 or 64.
    pub bits: u32,
}

impl Code {
    /// Up to 15 bytes, fewer where the code ends.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// None without any byte.
    pub(crate) fn new(bytes: &[u8], bits: u32) -> Option<Code> {
        let length = bytes.len().min(LONGEST);
        let mut code = Code { bytes: [0; LONGEST], length, bits };
        code.bytes[..length].copy_from_slice(&bytes[..length]);
        (length > 0).then_some(code)
    }
}

/// What is kept open to read code from.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    files: Files,
    processes: Processes,
    kernel: Option<Result<KernelMemory, CodeError>>,
}

impl Symbolizer {
    /// The bytes of the instruction at an address of a process, or of the
    /// kernel, at that time. Ask once per distinct place: nothing is
    /// remembered.
    ///
    /// # Errors
    /// Why they cannot be had, or might be others than those that ran.
    pub fn code(
        &mut self,
        mode: CpuMode,
        pid: Pid,
        (ip, time): (u64, Time),
    ) -> Result<Code, CodeError> {
        let place = self.place(mode, pid, ip, time);
        match self.objects.kind(place.object).clone() {
            Kind::Fixed => Err(CodeError::Place(object::fixed_reason(place.object))),
            Kind::Kernel | Kind::Module | Kind::KernelRoutine { .. } => {
                self.kernel_code(place.object, ip)
            }
            Kind::Vdso(vdso) => {
                let elsewhere = self.kernel.elsewhere(&self.options, &mut self.objects);
                let own = self.vdso.get_or_insert_with(|| OwnVdso::of(&self.options.root));
                let own = own.as_ref().map_err(|reason| CodeError::Place(reason.clone()))?;
                own.check(&vdso, elsewhere).map_err(CodeError::Place)?;
                own.code(place.address).ok_or_else(|| self.outside(place))
            }
            Kind::Anonymous(_) | Kind::Generated { .. } => self.memory_code(pid, (ip, time), None),
            Kind::File(file) => {
                let mapped = self.objects.file(file);
                let in_file = self.sources.files.code(file, mapped, &self.options, place.address);
                match in_file {
                    // The file is gone, replaced or never was one: what the
                    // process runs may still be there.
                    Err(CodeError::Place(reason)) => {
                        let path = (!mapped.in_memory).then(|| mapped.path.clone());
                        self.memory_code(pid, (ip, time), path.as_deref())
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
        pid: Pid,
        (ip, time): (u64, Time),
        path: Option<&[u8]>,
    ) -> Result<Code, CodeError> {
        if let Some(reason) = self.kernel.elsewhere(&self.options, &mut self.objects) {
            return Err(CodeError::Place(reason));
        }
        self.sources.processes.code(&self.options.root, pid, (ip, time), path)
    }

    fn kernel_code(&mut self, object: ObjectId, ip: u64) -> Result<Code, CodeError> {
        self.kernel_memory(object, ip)?.code(ip)
    }

    /// The running kernel's memory, where it is proven to hold what was
    /// recorded at `ip`.
    fn kernel_memory(&mut self, object: ObjectId, ip: u64) -> Result<&KernelMemory, CodeError> {
        // Symbols that fit prove that the recorded kernel is the running one.
        if let Some(reason) = self.kernel.elsewhere(&self.options, &mut self.objects) {
            return Err(CodeError::Place(reason));
        }
        let symbols = self.kernel.unchanged(ip, &self.options, &mut self.objects);
        let Some(symbols) = symbols.map_err(CodeError::Place)? else {
            return Err(CodeError::KernelGone);
        };
        let name = self.objects.name(object);
        let is_there = match *self.objects.kind(object) {
            Kind::Module => symbols.module(ip).is_some_and(|it| object::module_object(it) == name),
            Kind::KernelRoutine { start, .. } => symbols.find(ip).is_some_and(|found| {
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

    fn outside(&self, place: Place) -> CodeError {
        CodeError::Outside { object: self.object_name(place.object).to_owned() }
    }
}

impl From<Reason> for CodeError {
    fn from(reason: Reason) -> CodeError {
        CodeError::Place(reason)
    }
}

#[cfg(test)]
mod tests;
