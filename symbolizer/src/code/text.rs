//! The bytes of a whole routine, by the same rules as those of one
//! instruction.

use super::CodeError;
use crate::elf::head::bits_of;
use crate::object::{self, Kind};
use crate::vdso::OwnVdso;
use crate::{Place, Symbolizer};
use record::{CpuMode, Pid, Time};
use std::ops::Range;

/// Bytes of a routine at most. The longest that compilers made of real
/// programs have some 2 MiB.
pub(super) const MOST: u64 = 4 << 20;

/// A stretch of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// From its first address on; fewer than asked for where the code ends.
    pub bytes: Vec<u8>,
    /// Width of x86 code, 32 or 64; None: the code is of another machine.
    pub bits: Option<u32>,
}

impl Symbolizer {
    /// The bytes of a stretch around an address of a process, or of the
    /// kernel, at that time. The stretch is in the terms of
    /// [`Place::address`], and holds the address's place.
    ///
    /// # Errors
    /// Why they cannot be had, or might be others than those that ran; a
    /// stretch of more than 4 MiB.
    pub fn text(
        &mut self,
        (mode, pid): (CpuMode, Pid),
        (ip, time): (u64, Time),
        stretch: &Range<u64>,
    ) -> Result<Text, CodeError> {
        let bytes = stretch.end.saturating_sub(stretch.start);
        if bytes > MOST {
            return Err(CodeError::TooLong { bytes });
        }
        let length = usize::try_from(bytes).map_err(|_| CodeError::TooLong { bytes })?;
        let place = self.place(mode, pid, ip, time);
        // Where the stretch lay when it was sampled.
        let start = ip.wrapping_sub(place.address.wrapping_sub(stretch.start));
        let of_file =
            |(bytes, machine): (&[u8], u16)| Text { bytes: bytes.to_vec(), bits: bits_of(machine) };
        match self.objects.kind(place.object).clone() {
            Kind::Fixed => Err(CodeError::Place(object::fixed_reason(place.object))),
            Kind::Kernel | Kind::Module | Kind::KernelRoutine { .. } => {
                self.kernel_memory(place.object, ip)?.text(start, bytes).map(of_file)
            }
            Kind::Vdso(vdso) => {
                let elsewhere = self.kernel.elsewhere(&self.options, &mut self.objects);
                let own = self.vdso.get_or_insert_with(|| OwnVdso::of(&self.options.root));
                let own = own.as_ref().map_err(|reason| CodeError::Place(reason.clone()))?;
                own.check(&vdso, elsewhere).map_err(CodeError::Place)?;
                let text = own.text((stretch.start, length));
                let text = text.map(|(bytes, bits)| Text { bytes: bytes.to_vec(), bits });
                text.ok_or_else(|| self.outside(Place { address: stretch.start, ..place }))
            }
            Kind::Anonymous(_) | Kind::Generated { .. } => {
                self.memory_text(pid, (start, time, length), None)
            }
            Kind::File(file) => {
                let mapped = self.objects.file(file);
                let extent = (stretch.start, bytes);
                let in_file = self.sources.files.text(file, (mapped, &self.options), extent);
                match in_file.map(of_file) {
                    Err(CodeError::Place(reason)) => {
                        let path = (!mapped.in_memory).then(|| mapped.path.clone());
                        self.memory_text(pid, (start, time, length), path.as_deref())
                            .map_err(|_| CodeError::Place(reason))
                    }
                    in_file => in_file,
                }
            }
        }
    }

    fn memory_text(
        &mut self,
        pid: Pid,
        extent: (u64, Time, usize),
        path: Option<&[u8]>,
    ) -> Result<Text, CodeError> {
        if let Some(reason) = self.kernel.elsewhere(&self.options, &mut self.objects) {
            return Err(CodeError::Place(reason));
        }
        let root = &self.options.root;
        let (bytes, bits) = self.sources.processes.text(root, pid, extent, path)?;
        Ok(Text { bytes, bits: Some(bits) })
    }
}
