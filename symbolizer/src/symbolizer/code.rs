//! The bytes of one instruction, or of a whole routine, by the same rules.

use crate::code::{
    Code, CodeError, KernelMemory, LONGEST, MOST_TEXT, MachineCode, ProcessCode, Text,
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
    pub fn code(&mut self, at: SampledAddress) -> Result<Code, CodeError> {
        let place = at.place(self);
        let stretch = place.address..place.address.saturating_add(LONGEST as u64);
        let MachineCode { bytes, machine } = self.machine_code(at, place, &stretch)?;
        let file = || self.object_name(place.object).to_owned();
        let bits = bits_of(machine).ok_or_else(|| CodeError::Machine { file: file(), machine })?;
        Code::new(&bytes, bits).ok_or_else(|| CodeError::Outside { object: file() })
    }

    /// The bytes of a stretch around an address of a process, or of the
    /// kernel, at that time. The stretch is in the terms of
    /// [`Place::address`], and holds the address's place.
    ///
    /// # Errors
    /// Why they cannot be had, or might be others than those that ran; a
    /// stretch of more than 4 MiB.
    pub fn text(&mut self, at: SampledAddress, stretch: &Range<u64>) -> Result<Text, CodeError> {
        let bytes = stretch.end.saturating_sub(stretch.start);
        if bytes > MOST_TEXT {
            return Err(CodeError::TooLong { bytes });
        }
        let place = at.place(self);
        let MachineCode { bytes, machine } = self.machine_code(at, place, stretch)?;
        Ok(Text { bytes, bits: bits_of(machine) })
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
mod tests;
