//! One line a register that says what its values have in common.

use super::Register;
use std::fmt::Write;

/// Below this no program has data: vm.mmap_min_addr is 64 KiB by default.
const LOWEST_POINTER: u64 = 1 << 16;
/// A pattern that chance would show once in 2^20 registers is no finding.
const CHANCE_BITS: u64 = 20;
/// Objects aligned to less than a cache line say little about a structure.
const STRUCTURE_BITS: u32 = 6;

impl Register {
    /// For example `cx: 4096 values, 0xffff888000000000-0xffff888001ffe000,
    /// same 13 low bits (0x0000): 8 KiB-aligned structures, stride 8192`.
    pub fn finding(&self) -> String {
        let name = &self.name;
        if self.min == self.max {
            return format!("{name}: always {:#x}", self.min);
        }
        let at_least = if self.distinct_exact { "" } else { "at least " };
        let mut line =
            format!("{name}: {at_least}{} values, {:#x}-{:#x}", self.distinct, self.min, self.max);
        let bits = self.low_bits();
        if bits > 0 {
            // Writing to a String cannot fail.
            let low = same_low_bits(bits, self.low_value());
            let _ = write!(line, ", {low}{}", self.alignment());
        }
        match self.known_stride() {
            Some(..=1) => {}
            Some(stride) => line.push_str(&format!(", stride {stride}")),
            None => {
                let _ =
                    write!(line, ", stride undetermined at even intervals of {}", self.interval);
            }
        }
        line
    }

    /// Whether low bits that never changed speak of aligned structures.
    pub fn is_structure(&self) -> bool {
        self.min != self.max && self.own_bits() >= STRUCTURE_BITS && !self.alignment().is_empty()
    }

    fn alignment(&self) -> String {
        let (distinct, least) = (self.distinct, self.min);
        let evidence = Evidence { distinct, least, chance_bits: CHANCE_BITS };
        let bits = self.own_bits();
        let value = if bits < 64 { self.low_value() & ((1 << bits) - 1) } else { self.low_value() };
        alignment(&self.name, bits, value, evidence)
    }

    /// The low bits that are the same without what an even interval makes so.
    fn own_bits(&self) -> u32 {
        self.low_bits().saturating_sub(self.interval.trailing_zeros())
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Distinct values, at least.
    pub(crate) distinct: u64,
    /// The smallest of them.
    pub(crate) least: u64,
    /// A pattern that chance would show once in 2 to the power of this many
    /// registers is no finding.
    pub(crate) chance_bits: u64,
}

/// `same 13 low bits (0x0000)`.
pub(crate) fn same_low_bits(bits: u32, value: u64) -> String {
    let digits = usize::try_from(bits.div_ceil(4)).unwrap_or(16);
    let plural = if bits == 1 { "" } else { "s" };
    format!("same {bits} low bit{plural} (0x{value:0digits$x})")
}

/// `: 8 KiB-aligned structures` where values look like pointers and the low
/// bits are not the same by chance.
pub(crate) fn alignment(name: &str, bits: u32, value: u64, evidence: Evidence) -> String {
    let unlikely =
        u64::from(bits).saturating_mul(evidence.distinct.saturating_sub(1)) >= evidence.chance_bits;
    if bits < 3 || !unlikely || evidence.least < LOWEST_POINTER || name == "flags" {
        return String::new();
    }
    let structures = if bits >= STRUCTURE_BITS { " structures" } else { "" };
    let offset = match value {
        0 => String::new(),
        offset => format!(", offset {offset:#x}"),
    };
    format!(": {}-aligned{structures}{offset}", size(bits))
}

/// 2 to the power of `bits` bytes, in words.
fn size(bits: u32) -> String {
    let units = ["-byte", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];
    let unit = units[usize::try_from(bits / 10).unwrap_or(0).min(units.len() - 1)];
    format!("{}{unit}", 1u32 << (bits % 10))
}
