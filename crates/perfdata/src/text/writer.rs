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
            Column::Weight => sample.weight.map(Weight::first),
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
mod tests {
    use super::*;
    use crate::attr::SampleType;
    use crate::bytes::{ByteOrder, RecordWords};
    use crate::data_src::DataSrc;
    use crate::header::Misc;
    use crate::registers::{RegsAbi, general};
    use crate::units::{Cpu, Pid, Task, Tid, Time};

    fn attr(fields: SampleType) -> Attr {
        Attr { sample_type: fields, sample_regs_intr: general(Arch::X86_64), ..Attr::default() }
    }

    #[test]
    fn a_whole_line() {
        let fields = SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::CPU
            | SampleType::PERIOD
            | SampleType::WEIGHT
            | SampleType::DATA_SRC
            | SampleType::REGS_INTR;
        let words: Vec<u8> = (0..18u64).flat_map(|number| (0xa0 + number).to_le_bytes()).collect();
        let sample = Sample {
            misc: Misc(0x4002),
            ip: Some(0x0040_1136),
            task: Some(Task { pid: Pid(-1), tid: Tid(4243) }),
            time: Some(Time(5_000_000_123)),
            addr: Some(0x7fff_dead_beef),
            cpu: Some(Cpu(3)),
            period: Some(10_000),
            weight: Some(Weight::Full(212)),
            data_src: Some(DataSrc(0x50_6810_0142)),
            regs_intr: Some(Registers {
                abi: RegsAbi::Bits64,
                mask: general(Arch::X86_64),
                words: RecordWords::new(&words, ByteOrder::Little),
            }),
            ..Sample::default()
        };
        let columns = Columns::of(&attr(fields), Arch::X86_64);
        let mut out = Vec::new();
        columns.header(&mut out);
        columns.line(&sample, &mut out);
        let expected = "\
#rflags linear_ip rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 \
addr weight data_src tid cpu time pid period misc
00000000000000a9 0000000000401136 00000000000000a0 00000000000000a1 00000000000000a2 \
00000000000000a3 00000000000000a4 00000000000000a5 00000000000000a6 00000000000000a7 \
00000000000000aa 00000000000000ab 00000000000000ac 00000000000000ad 00000000000000ae \
00000000000000af 00000000000000b0 00000000000000b1 \
00007fffdeadbeef 0000000212 0000005068100142 0000004243 00003 00000000005000000123 -000000001 \
0000010000 0000000000004002
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn what_is_missing_is_dashes() {
        let columns = Columns::of(&attr(SampleType::IP | SampleType::REGS_INTR), Arch::X86_64);
        let none = Registers { abi: RegsAbi::None, ..Registers::default() };
        let mut out = Vec::new();
        columns.line(&Sample { ip: Some(1), regs_intr: Some(none), ..Sample::default() }, &mut out);
        let line = String::from_utf8(out).unwrap();
        let values: Vec<_> = line.split_whitespace().collect();
        assert_eq!(values[..3], ["----------------", "0000000000000001", "----------------"]);
        assert_eq!(values.len(), columns.columns().len());
    }

    #[test]
    fn the_ip_is_column_two_without_registers() {
        let columns = Columns::of(&attr(SampleType::IP), Arch::X86_64);
        let mut out = Vec::new();
        columns.header(&mut out);
        columns.line(&Sample { ip: Some(0xabc), ..Sample::default() }, &mut out);
        let expected = "#rflags linear_ip misc\n\
                    ---------------- 0000000000000abc 0000000000000000\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_split_weight_has_three_columns() {
        let columns = Columns::of(&attr(SampleType::WEIGHT_STRUCT), Arch::X86_64);
        let weight = Some(Weight::Struct { var1: 7, var2: 65_535, var3: 1 });
        let mut out = Vec::new();
        columns.header(&mut out);
        columns.line(&Sample { weight, ..Sample::default() }, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("#rflags linear_ip weight weight2 weight3 misc\n"), "{text}");
        assert!(text.contains(" 0000000007 65535 00001 "), "{text}");
    }

    #[test]
    fn registers_of_user_space_stand_in_while_it_runs() {
        let attr = Attr {
            sample_type: SampleType::IP | SampleType::REGS_USER,
            sample_regs_user: 0b10_0000_0101,
            ..Attr::default()
        };
        let columns = Columns::of(&attr, Arch::X86_64);
        let words: Vec<u8> = (1..4u64).flat_map(u64::to_le_bytes).collect();
        let line = |mode: u16| {
            let registers = Registers {
                abi: RegsAbi::Bits64,
                mask: attr.sample_regs_user,
                words: RecordWords::new(&words, ByteOrder::Little),
            };
            let sample =
                Sample { misc: Misc(mode), regs_user: Some(registers), ..Sample::default() };
            let mut out = Vec::new();
            columns.line(&sample, &mut out);
            let line = String::from_utf8(out).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let user = line(2);
        assert_eq!((&*user[0], &*user[2]), ("0000000000000003", "0000000000000001"));
        let kernel = line(1);
        assert_eq!((&*kernel[0], &*kernel[2]), ("----------------", "----------------"));
    }

    #[test]
    fn lines_of_32_bits_are_named_as_the_original_names_them() {
        let attr = attr(SampleType::IP | SampleType::REGS_INTR);
        let attr = Attr { sample_regs_intr: 0x3ff, ..attr };
        let mut out = Vec::new();
        Columns::of(&attr, Arch::X86).header(&mut out);
        let header = "#eflags linear_ip eax ebx ecx edx esi edi ebp esp misc\n";
        assert_eq!(String::from_utf8(out).unwrap(), header);
    }
}
