//! The columns: their names, order and number bases.

use crate::arch::Arch;
use crate::attr::SampleType;
use crate::registers;

/// One column of a text record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// Flags register at the sample: always column 1. Absent on machines
    /// whose flags the kernel does not give (aarch64).
    Flags,
    /// Instruction pointer: always column 2.
    Ip,
    /// Register number so of the machine, at the sample.
    Register(u32),
    Addr,
    /// The whole weight, or the cache latency of a split one.
    Weight,
    DataSrc,
    Tid,
    Cpu,
    Time,
    Pid,
    Period,
    /// Instruction latency of a split weight.
    Weight2,
    /// Retire latency of a split weight.
    Weight3,
    PhysAddr,
    DataPageSize,
    CodePageSize,
    Transaction,
    Cgroup,
    /// Misc bits of the record: privilege level, exact IP.
    Misc,
}

/// How a column's values are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// 16 digits.
    Hexadecimal,
    /// At least so many digits; a sign takes one's place.
    Decimal(usize),
}

/// Bit of the flags register, x86.
const X86_FLAGS: u32 = 9;
/// x86 registers that have a width in their name.
const X86_CLASSIC: u32 = 8;

/// Columns that are no registers, their names, and the field that those behind
/// the registers need. New ones go to the end, before misc: scripts count
/// columns.
const FIXED: [(Column, &str, SampleType); 18] = [
    (Column::Flags, "flags", SampleType::empty()),
    (Column::Ip, "linear_ip", SampleType::empty()),
    (Column::Addr, "addr", SampleType::ADDR),
    (Column::Weight, "weight", SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT)),
    (Column::DataSrc, "data_src", SampleType::DATA_SRC),
    (Column::Tid, "tid", SampleType::TID),
    (Column::Cpu, "cpu", SampleType::CPU),
    (Column::Time, "time", SampleType::TIME),
    (Column::Pid, "pid", SampleType::TID),
    (Column::Period, "period", SampleType::PERIOD),
    (Column::Weight2, "weight2", SampleType::WEIGHT_STRUCT),
    (Column::Weight3, "weight3", SampleType::WEIGHT_STRUCT),
    (Column::PhysAddr, "phys_addr", SampleType::PHYS_ADDR),
    (Column::DataPageSize, "data_page_size", SampleType::DATA_PAGE_SIZE),
    (Column::CodePageSize, "code_page_size", SampleType::CODE_PAGE_SIZE),
    (Column::Transaction, "transaction", SampleType::TRANSACTION),
    (Column::Cgroup, "cgroup", SampleType::CGROUP),
    (Column::Misc, "misc", SampleType::empty()),
];

impl Column {
    /// The columns of samples with these fields, in order.
    pub(super) fn of(fields: SampleType, registers: u64, arch: Arch) -> Vec<Column> {
        let mut columns = vec![Column::Flags, Column::Ip];
        if fields.intersects(SampleType::REGS_INTR | SampleType::REGS_USER) {
            let sampled = |bit: &u32| registers >> bit & 1 == 1 && !is_first_two(arch, *bit);
            columns.extend((0..64).filter(sampled).map(Column::Register));
        }
        let held = FIXED.iter().filter(|(.., needs)| fields.intersects(*needs));
        columns.extend(held.map(|(column, ..)| *column));
        columns.push(Column::Misc);
        columns
    }

    /// The name in the header line.
    pub fn name(self, arch: Arch) -> String {
        match self {
            Column::Flags if arch == Arch::X86_64 => "rflags".to_owned(),
            Column::Flags if arch == Arch::X86 => "eflags".to_owned(),
            Column::Register(bit) => register_name(arch, bit),
            fixed => {
                let named = FIXED.iter().find(|(column, ..)| *column == fixed);
                named.map_or_else(String::new, |(_, name, _)| (*name).to_owned())
            }
        }
    }

    /// The column of a name: any spelling of a register, "eax" too.
    pub fn from_name(name: &str, arch: Arch) -> Option<Column> {
        if ["rflags", "eflags"].contains(&name) {
            return Some(Column::Flags);
        }
        Column::fixed(name).or_else(|| {
            let numbered = || name.strip_prefix("reg")?.parse().ok().filter(|bit| *bit < 64);
            let bit = registers::number(arch, name).or_else(numbered)?;
            // "reg9" of x86 is the flags, which have a column of their own.
            Column::fixed(&register_name(arch, bit)).or(Some(Column::Register(bit)))
        })
    }

    /// The fields of a sample that has a value of this column; none of registers
    /// and of misc.
    pub(super) fn field(self) -> SampleType {
        match self {
            Column::Ip => SampleType::IP,
            Column::Weight => SampleType::WEIGHT,
            column => {
                let named = FIXED.iter().find(|(fixed, ..)| *fixed == column);
                named.map_or(SampleType::empty(), |(_, _, field)| *field)
            }
        }
    }

    fn fixed(name: &str) -> Option<Column> {
        FIXED.iter().find(|(_, known, _)| *known == name).map(|(column, ..)| *column)
    }

    pub(super) fn base(self) -> Base {
        match self {
            Column::Tid | Column::Pid => Base::Decimal(10),
            Column::Cpu | Column::Weight2 | Column::Weight3 => Base::Decimal(5),
            Column::Weight | Column::Period => Base::Decimal(10),
            Column::Time => Base::Decimal(20),
            Column::DataPageSize | Column::CodePageSize => Base::Decimal(10),
            _ => Base::Hexadecimal,
        }
    }
}

/// The flags are column 1, and the IP of a precise record is the sample's,
/// column 2, not that of the registers.
fn is_first_two(arch: Arch, bit: u32) -> bool {
    flags_bit(arch) == Some(bit) || registers::instruction_pointer(arch) == Some(bit)
}

pub(super) fn flags_bit(arch: Arch) -> Option<u32> {
    [Arch::X86_64, Arch::X86].contains(&arch).then_some(X86_FLAGS)
}

fn register_name(arch: Arch, bit: u32) -> String {
    match registers::name(arch, bit) {
        Some(name) if arch == Arch::X86_64 && bit < X86_CLASSIC => format!("r{name}"),
        Some(name) if arch == Arch::X86 && bit < X86_CLASSIC => format!("e{name}"),
        Some("lr") if arch == Arch::Aarch64 => "x30".to_owned(),
        Some(name) => name.to_owned(),
        None => format!("reg{bit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_x86_64_are_those_of_the_header_line() {
        let fields = SampleType::REGS_INTR | SampleType::ADDR | SampleType::TID | SampleType::CPU;
        let names: Vec<_> = Column::of(fields, registers::general(Arch::X86_64), Arch::X86_64)
            .into_iter()
            .map(|column| column.name(Arch::X86_64))
            .collect();
        let expected = "rflags linear_ip rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 \
                        r14 r15 addr tid cpu pid misc";
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn names_of_aarch64() {
        let columns =
            Column::of(SampleType::REGS_INTR, registers::general(Arch::Aarch64), Arch::Aarch64);
        let names: Vec<_> = columns.iter().map(|column| column.name(Arch::Aarch64)).collect();
        assert_eq!(names[..4], ["flags", "linear_ip", "x0", "x1"]);
        assert_eq!(names[31..], ["x29", "x30", "sp", "misc"]);
    }

    #[test]
    fn every_name_is_its_column_again() {
        for arch in Arch::ALL {
            for column in Column::of(SampleType::all(), u64::MAX, arch) {
                let name = column.name(arch);
                assert_eq!(Column::from_name(&name, arch), Some(column), "{name} {arch}");
            }
        }
    }

    #[test]
    fn the_names_of_32_bits_are_known() {
        assert_eq!(Column::from_name("eflags", Arch::X86_64), Some(Column::Flags));
        assert_eq!(Column::from_name("ecx", Arch::X86_64), Some(Column::Register(2)));
        assert_eq!(Column::from_name("nonsense", Arch::X86_64), None);
    }

    #[test]
    fn numbers_of_registers_are_their_columns_too() {
        assert_eq!(Column::from_name("reg9", Arch::X86_64), Some(Column::Flags));
        assert_eq!(Column::from_name("reg2", Arch::X86_64), Some(Column::Register(2)));
        assert_eq!(Column::from_name("reg9", Arch::Other), Some(Column::Register(9)));
        assert_eq!(Column::from_name("reg64", Arch::Other), None);
    }
}
