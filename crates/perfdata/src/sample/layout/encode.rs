//! Sample -> bytes.

use super::{EncodeError, PREFIX, SampleLayout, cpu_word, task_word};
use crate::attr::{BranchSampleType, SampleType};
use crate::bytes::{ByteOrder, ByteWriter};
use crate::header::{RecordHeader, RecordType};
use crate::registers::{Registers, RegsAbi};
use crate::sample::{BranchStack, Sample, StackUser, Weight};

impl SampleLayout {
    /// Appends a whole SAMPLE record, header included, padded with zeroes to
    /// a multiple of 8 bytes.
    ///
    /// # Errors
    /// [`EncodeError`]: a field is missing or too many or of another shape
    /// than the attr says, or the record would exceed 65,535 bytes; `out` is
    /// then as it was.
    pub fn encode(&self, sample: &Sample<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        let written = self.write(sample, out, start);
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    fn write(&self, s: &Sample<'_>, out: &mut Vec<u8>, start: usize) -> Result<(), EncodeError> {
        let mut w = ByteWriter::new(out, self.order);
        // The size, the last two bytes of the header, is known at the end.
        RecordHeader { kind: RecordType::SAMPLE, misc: s.misc, size: 0 }.encode(&mut w);
        self.write_prefix(s, &mut w)?;
        self.write_middle(s, &mut w)?;
        self.write_rest(s, &mut w)?;
        w.pad(start, 8);

        let size = out.len() - start;
        let Ok(short) = u16::try_from(size) else {
            return Err(EncodeError::TooLong { size });
        };
        let size_field = match self.order {
            ByteOrder::Little => short.to_le_bytes(),
            ByteOrder::Big => short.to_be_bytes(),
        };
        out[start + 6..start + RecordHeader::SIZE].copy_from_slice(&size_field);
        Ok(())
    }

    /// `value`, which must be there exactly when the layout has the field.
    fn field<T>(
        &self,
        bit: SampleType,
        field: &'static str,
        value: Option<T>,
    ) -> Result<Option<T>, EncodeError> {
        match self.fields.intersects(bit) == value.is_some() {
            true => Ok(value),
            false => Err(EncodeError::Field { field }),
        }
    }

    fn write_prefix(&self, s: &Sample<'_>, w: &mut ByteWriter<'_>) -> Result<(), EncodeError> {
        let words = [
            s.identifier,
            s.ip,
            s.task.map(|task| task_word(task, self.order)),
            s.time.map(|time| time.0),
            s.addr,
            s.id,
            s.stream_id,
            s.cpu.map(|cpu| cpu_word(cpu, self.order)),
            s.period,
        ];
        for ((bit, name), word) in PREFIX.into_iter().zip(words) {
            if let Some(word) = self.field(bit, name, word)? {
                w.u64(word);
            }
        }
        Ok(())
    }

    fn write_middle(&self, s: &Sample<'_>, w: &mut ByteWriter<'_>) -> Result<(), EncodeError> {
        if let Some(read) = self.field(SampleType::READ, "READ", s.read.as_ref())? {
            read.encode(self.read_format, w).ok_or(EncodeError::Field { field: "READ" })?;
        }
        if let Some(chain) = self.field(SampleType::CALLCHAIN, "CALLCHAIN", s.callchain)? {
            w.u64(length(chain.len()));
            w.words(chain);
        }
        if let Some(raw) = self.field(SampleType::RAW, "RAW", s.raw)? {
            if !(raw.len() + 4).is_multiple_of(8) && self.after_raw() {
                return Err(EncodeError::Field { field: "RAW" });
            }
            let size = raw.len();
            w.u32(u32::try_from(size).map_err(|_| EncodeError::TooLong { size })?);
            w.raw(raw);
        }
        if let Some(branches) =
            self.field(SampleType::BRANCH_STACK, "BRANCH_STACK", s.branch_stack)?
        {
            self.write_branches(&branches, w)?;
        }
        Ok(())
    }

    fn write_branches(
        &self,
        b: &BranchStack<'_>,
        w: &mut ByteWriter<'_>,
    ) -> Result<(), EncodeError> {
        let count = b.entries.len() / 3;
        let indexed = self.branch.contains(BranchSampleType::HW_INDEX);
        let counted = self.branch.contains(BranchSampleType::COUNTERS);
        // Without branches the index may be missing: see the decoder.
        let index_fits = b.hw_index.is_some() == indexed || (count == 0 && b.hw_index.is_none());
        let counters_fit = match b.counters {
            Some(counters) => counted && counters.len() == count,
            None => !counted,
        };
        if !b.entries.len().is_multiple_of(3) || !index_fits || !counters_fit {
            return Err(EncodeError::Field { field: "BRANCH_STACK" });
        }
        w.u64(length(count));
        b.hw_index.into_iter().for_each(|index| w.u64(index));
        w.words(b.entries);
        b.counters.into_iter().for_each(|words| w.words(words));
        Ok(())
    }

    fn write_rest(&self, s: &Sample<'_>, w: &mut ByteWriter<'_>) -> Result<(), EncodeError> {
        let regs = self.field(SampleType::REGS_USER, "REGS_USER", s.regs_user)?;
        write_registers("REGS_USER", self.regs_user, regs, w)?;
        if let Some(stack) = self.field(SampleType::STACK_USER, "STACK_USER", s.stack_user)? {
            write_stack(&stack, w)?;
        }
        let weights = SampleType::WEIGHT | SampleType::WEIGHT_STRUCT;
        if let Some(weight) = self.field(weights, "WEIGHT", s.weight)? {
            let full = matches!(weight, Weight::Full(_));
            if full != self.fields.contains(SampleType::WEIGHT) {
                return Err(EncodeError::Field { field: "WEIGHT" });
            }
            w.u64(weight.to_word());
        }
        for (bit, name, value) in [
            (SampleType::DATA_SRC, "DATA_SRC", s.data_src.map(|source| source.0)),
            (SampleType::TRANSACTION, "TRANSACTION", s.transaction),
        ] {
            self.field(bit, name, value)?.into_iter().for_each(|word| w.u64(word));
        }
        let regs = self.field(SampleType::REGS_INTR, "REGS_INTR", s.regs_intr)?;
        write_registers("REGS_INTR", self.regs_intr, regs, w)?;
        for (bit, name, value) in [
            (SampleType::PHYS_ADDR, "PHYS_ADDR", s.phys_addr),
            (SampleType::CGROUP, "CGROUP", s.cgroup),
            (SampleType::DATA_PAGE_SIZE, "DATA_PAGE_SIZE", s.data_page_size),
            (SampleType::CODE_PAGE_SIZE, "CODE_PAGE_SIZE", s.code_page_size),
        ] {
            self.field(bit, name, value)?.into_iter().for_each(|word| w.u64(word));
        }
        if let Some(aux) = self.field(SampleType::AUX, "AUX", s.aux)? {
            w.u64(length(aux.len()));
            w.raw(aux);
        }
        Ok(())
    }
}

/// A count as a word; lossless wherever `usize` is at most 64 bits.
fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn write_registers(
    field: &'static str,
    mask: u64,
    registers: Option<Registers<'_>>,
    w: &mut ByteWriter<'_>,
) -> Result<(), EncodeError> {
    let Some(registers) = registers else { return Ok(()) };
    let (abi, mask) = match registers.abi {
        RegsAbi::None => (0, 0),
        RegsAbi::Bits32 => (1, mask),
        RegsAbi::Bits64 => (2, mask),
    };
    if registers.mask != mask || registers.words.len() != mask.count_ones() as usize {
        return Err(EncodeError::Field { field });
    }
    w.u64(abi);
    w.words(registers.words);
    Ok(())
}

fn write_stack(stack: &StackUser<'_>, w: &mut ByteWriter<'_>) -> Result<(), EncodeError> {
    let size = stack.data.len();
    if !size.is_multiple_of(8) || stack.dyn_size.is_some() != (size != 0) {
        return Err(EncodeError::Field { field: "STACK_USER" });
    }
    w.u64(length(size));
    w.raw(stack.data);
    stack.dyn_size.into_iter().for_each(|real| w.u64(real));
    Ok(())
}
