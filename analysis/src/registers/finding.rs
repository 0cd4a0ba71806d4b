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
            let digits = usize::try_from(bits.div_ceil(4)).unwrap_or(16);
            let plural = if bits == 1 { "" } else { "s" };
            // Writing to a String cannot fail.
            let _ = write!(
                line,
                ", same {bits} low bit{plural} (0x{:0digits$x}){}",
                self.low_value(),
                self.alignment()
            );
        }
        if self.stride > 1 {
            let _ = write!(line, ", stride {}", self.stride);
        }
        line
    }

    /// `: 8 KiB-aligned structures` where values look like pointers and the
    /// low bits are not the same by chance.
    fn alignment(&self) -> String {
        let bits = self.low_bits();
        let unlikely = u64::from(bits) * (self.distinct - 1) >= CHANCE_BITS;
        if bits < 3 || !unlikely || self.min < LOWEST_POINTER || self.name == "flags" {
            return String::new();
        }
        let structures = if bits >= STRUCTURE_BITS { " structures" } else { "" };
        let offset = match self.low_value() {
            0 => String::new(),
            offset => format!(", offset {offset:#x}"),
        };
        format!(": {}-aligned{structures}{offset}", size(bits))
    }
}

/// 2 to the power of `bits` bytes, in words.
fn size(bits: u32) -> String {
    let units = ["-byte", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];
    let unit = units[usize::try_from(bits / 10).unwrap_or(0).min(units.len() - 1)];
    format!("{}{unit}", 1u32 << (bits % 10))
}
