//! Samples to lines.

use super::column::{Base, Column, flags_bit};
use super::digits::{ABSENT, decimal, hexadecimal, signed};
use crate::arch::Arch;
use crate::attr::{Attr, SampleType};
use crate::header::CpuMode;
use crate::registers::Registers;
use crate::sample::{Sample, Weight};

/// The columns of one event's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    columns: Vec<Column>,
    arch: Arch,
}

impl Columns {
    /// The columns for samples of this event, taken on a machine of `arch`.
    pub fn of(attr: &Attr, arch: Arch) -> Columns {
        let registers = if attr.sample_type.contains(SampleType::REGS_INTR) {
            attr.sample_regs_intr
        } else {
            attr.sample_regs_user
        };
        Columns { columns: Column::of(attr.sample_type, registers, arch), arch }
    }

    /// All of them in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Appends the header line, its line break included.
    pub fn header(&self, out: &mut Vec<u8>) {
        for (index, column) in self.columns.iter().enumerate() {
            out.push(if index == 0 { b'#' } else { b' ' });
            out.extend_from_slice(column.name(self.arch).as_bytes());
        }
        out.push(b'\n');
    }

    /// Appends a sample's line, its line break included. A value that the
    /// sample does not have is 16 dashes.
    pub fn line(&self, sample: &Sample<'_>, out: &mut Vec<u8>) {
        out.reserve(self.columns.len() * 21);
        let mut separator = None;
        for &column in &self.columns {
            out.extend(separator);
            separator = Some(b' ');
            match self.value(sample, column) {
                None => out.extend_from_slice(&ABSENT),
                Some(value) => match column.base() {
                    Base::Hexadecimal => out.extend_from_slice(&hexadecimal(value)),
                    Base::Decimal(width) if is_signed(column) => {
                        signed(value.cast_signed(), width, out);
                    }
                    Base::Decimal(width) => decimal(value, width, out),
                },
            }
        }
        out.push(b'\n');
    }

    #[inline]
    fn value(&self, sample: &Sample<'_>, column: Column) -> Option<u64> {
        match column {
            Column::Flags => register(sample, flags_bit(self.arch)?),
            Column::Register(bit) => register(sample, bit),
            Column::Ip => sample.ip,
            Column::Addr => sample.addr,
            Column::Weight => sample.weight.map(|weight| match weight {
                Weight::Full(weight) => weight,
                Weight::Struct { var1, .. } => u64::from(var1),
            }),
            Column::Weight2 => split(sample).map(|(second, _)| u64::from(second)),
            Column::Weight3 => split(sample).map(|(_, third)| u64::from(third)),
            Column::DataSrc => sample.data_src.map(|source| source.0),
            Column::Tid => sample.task.map(|task| i64::from(task.tid.0).cast_unsigned()),
            Column::Pid => sample.task.map(|task| i64::from(task.pid.0).cast_unsigned()),
            Column::Cpu => sample.cpu.map(|cpu| u64::from(cpu.0)),
            Column::Time => sample.time.map(|time| time.0),
            Column::Period => sample.period,
            Column::PhysAddr => sample.phys_addr,
            Column::DataPageSize => sample.data_page_size,
            Column::CodePageSize => sample.code_page_size,
            Column::Transaction => sample.transaction,
            Column::Cgroup => sample.cgroup,
            Column::Misc => Some(u64::from(sample.misc.0)),
        }
    }
}

pub(super) fn is_signed(column: Column) -> bool {
    matches!(column, Column::Tid | Column::Pid)
}

/// A register at the sample. The registers that user space had at its last
/// entry to the kernel are those only while it runs.
#[inline]
fn register(sample: &Sample<'_>, bit: u32) -> Option<u64> {
    let in_user_space = || sample.misc.cpu_mode() == CpuMode::User;
    let of_user_space = || sample.regs_user.as_ref().filter(|_| in_user_space());
    let registers: &Registers<'_> = sample.regs_intr.as_ref().or_else(of_user_space)?;
    registers.get(bit)
}

fn split(sample: &Sample<'_>) -> Option<(u16, u16)> {
    match sample.weight? {
        Weight::Struct { var2, var3, .. } => Some((var2, var3)),
        Weight::Full(_) => None,
    }
}

#[cfg(test)]
mod tests;
