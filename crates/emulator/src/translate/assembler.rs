//! Writes the few instructions that translated code adds, byte by byte: the
//! general encoder is for what is rare.

use super::register::{Gpr, RAX};

/// Code that will stand at a known address.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    pub(crate) bytes: Vec<u8>,
    pub(crate) base: u64,
}

/// An address made of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressSum {
    pub(crate) base: Option<Gpr>,
    /// A register and the power of two that scales it.
    pub(crate) index: Option<(Gpr, u8)>,
    pub(crate) displacement: i32,
    /// 32 bits of all.
    pub(crate) narrow: bool,
}

pub(crate) fn low32(value: u64) -> u32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// From the end of an instruction at `end` to `target`, when 32 bits reach.
pub(crate) fn reach(end: u64, target: u64) -> Option<i32> {
    i32::try_from(target.wrapping_sub(end).cast_signed()).ok()
}

impl Assembler {
    pub(crate) fn restart(&mut self, base: u64) {
        self.bytes.clear();
        self.base = base;
    }

    pub(crate) fn here(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    fn offset(&mut self, offset: usize) {
        self.u32(low32(offset as u64));
    }

    /// Zero or more one-byte no-operations until `bytes` from here on end
    /// within a line of 64 bytes: a patch of them is one write for others.
    pub(crate) fn keep_in_line(&mut self, before: u64, bytes: u64) {
        while (self.here() + before) & 63 > 64 - bytes {
            self.byte(0x90);
        }
    }

    pub(crate) fn align(&mut self, to: u64) {
        while !self.here().is_multiple_of(to) {
            self.byte(0xcc);
        }
    }

    /// `op reg, gs:[offset]` (or the other way round), 64 bits.
    fn gs(&mut self, opcode: u8, register: Gpr, offset: usize) {
        self.put(&[0x65, 0x48 | register.high() << 2, opcode, 0x04 | register.low() << 3, 0x25]);
        self.offset(offset);
    }

    /// `mov register, gs:[offset]`
    pub(crate) fn load(&mut self, register: Gpr, offset: usize) {
        self.gs(0x8b, register, offset);
    }

    /// `mov gs:[offset], register`
    pub(crate) fn store(&mut self, offset: usize, register: Gpr) {
        self.gs(0x89, register, offset);
    }

    /// `mov r32, gs:[offset]`
    pub(crate) fn load32(&mut self, register: Gpr, offset: usize) {
        self.put(&[0x65, 0x40 | register.high() << 2, 0x8b, 0x04 | register.low() << 3, 0x25]);
        self.offset(offset);
    }

    /// `mov register, gs:[index * 8 + offset]`
    pub(crate) fn load_indexed(&mut self, register: Gpr, index: Gpr, offset: usize) {
        self.indexed(0x8b, register, index, offset);
    }

    /// `mov gs:[index * 8 + offset], register`
    pub(crate) fn store_indexed(&mut self, index: Gpr, offset: usize, register: Gpr) {
        self.indexed(0x89, register, index, offset);
    }

    fn indexed(&mut self, opcode: u8, register: Gpr, index: Gpr, offset: usize) {
        let rex = 0x48 | register.high() << 2 | index.high() << 1;
        self.put(&[0x65, rex, opcode, 0x04 | register.low() << 3, 0xc5 | index.low() << 3]);
        self.offset(offset);
    }

    /// mov to, from
    pub(crate) fn copy(&mut self, to: Gpr, from: Gpr) {
        self.put(&[0x48 | from.high() << 2 | to.high(), 0x89, 0xc0 | from.low() << 3 | to.low()]);
    }

    /// mov r32, r32
    pub(crate) fn copy32(&mut self, to: Gpr, from: Gpr) {
        self.put(&[0x40 | from.high() << 2 | to.high(), 0x89, 0xc0 | from.low() << 3 | to.low()]);
    }

    /// rorx to, from, by: 32 bits.
    pub(crate) fn rorx(&mut self, to: Gpr, from: Gpr, by: u8) {
        let rxb = (to.high() ^ 1) << 7 | 0x40 | (from.high() ^ 1) << 5;
        self.put(&[0xc4, rxb | 3, 0x7b, 0xf0, 0xc0 | to.low() << 3 | from.low(), by]);
    }

    /// shrx register, register, count: 64 bits.
    pub(crate) fn shrx(&mut self, register: Gpr, count: Gpr) {
        let rxb = (register.high() ^ 1) << 7 | 0x40 | (register.high() ^ 1) << 5;
        self.put(&[
            0xc4,
            rxb | 2,
            0x83 | (!count.0 & 15) << 3,
            0xf7,
            0xc0 | register.low() << 3 | register.low(),
        ]);
    }

    /// movzx r32, r16
    pub(crate) fn movzx16(&mut self, to: Gpr, from: Gpr) {
        self.put(&[
            0x40 | to.high() << 2 | from.high(),
            0x0f,
            0xb7,
            0xc0 | to.low() << 3 | from.low(),
        ]);
    }

    /// shr r32, by (changes flags)
    pub(crate) fn shr32(&mut self, register: Gpr, by: u8) {
        self.put(&[0x40 | register.high(), 0xc1, 0xe8 | register.low(), by]);
    }

    /// shr r64, by (changes flags)
    pub(crate) fn shr64(&mut self, register: Gpr, by: u8) {
        self.put(&[0x48 | register.high(), 0xc1, 0xe8 | register.low(), by]);
    }

    /// Flags to ah and al; they stay as they are.
    pub(crate) fn flags_out(&mut self) {
        self.put(&[0x9f, 0x0f, 0x90, 0xc0]);
    }

    /// Flags from ah and al.
    pub(crate) fn flags_in(&mut self) {
        self.put(&[0x04, 0x7f, 0x9e]);
    }

    /// `lea to, [sum]`; 32 bits of it when it is narrow.
    pub(crate) fn lea(&mut self, to: Gpr, sum: &AddressSum) {
        let AddressSum { base, index, displacement, narrow } = *sum;
        if narrow {
            self.byte(0x67);
        }
        let x = index.map_or(0, |(index, _)| index.high());
        let b = base.map_or(0, Gpr::high);
        self.byte((if narrow { 0x40 } else { 0x48 }) | to.high() << 2 | x << 1 | b);
        self.byte(0x8d);
        let short = i8::try_from(displacement).ok();
        let form = match (base, displacement, short) {
            (None, ..) => 0,
            (Some(base), 0, _) if base.low() != 5 => 0,
            (_, _, Some(_)) => 0x40,
            _ => 0x80,
        };
        let plain = base.filter(|base| index.is_none() && base.low() != 4);
        match plain {
            Some(base) => self.byte(form | to.low() << 3 | base.low()),
            None => {
                let (index, scale) = index.map_or((4, 0), |(index, scale)| (index.low(), scale));
                self.byte(form | to.low() << 3 | 4);
                self.byte(scale << 6 | index << 3 | base.map_or(5, Gpr::low));
            }
        }
        match (form, short) {
            (0x40, Some(short)) => self.put(&short.to_le_bytes()),
            (0, _) if base.is_some() => {}
            _ => self.put(&displacement.to_le_bytes()),
        }
    }

    /// `lea to, [to + other + displacement]`
    pub(crate) fn plus(&mut self, to: Gpr, other: Gpr, displacement: i32) {
        let index = Some((other, 0));
        self.lea(to, &AddressSum { base: Some(to), index, displacement, narrow: false });
    }

    /// `lea register, [register + displacement]`
    pub(crate) fn add(&mut self, register: Gpr, displacement: i32) {
        if displacement != 0 {
            let base = Some(register);
            self.lea(register, &AddressSum { base, displacement, ..AddressSum::default() });
        }
    }

    /// The address, by the shortest way.
    pub(crate) fn address(&mut self, to: Gpr, value: u64) {
        if let Ok(value) = u32::try_from(value) {
            if to.high() == 1 {
                self.byte(0x41);
            }
            self.byte(0xb8 | to.low());
            self.u32(value);
        } else if let Some(relative) = reach(self.here() + 7, value) {
            self.put(&[0x48 | to.high() << 2, 0x8d, 0x05 | to.low() << 3]);
            self.put(&relative.to_le_bytes());
        } else {
            self.put(&[0x48 | to.high(), 0xb8 | to.low()]);
            self.u64(value);
        }
    }

    /// The value, in an encoding of one length.
    pub(crate) fn immediate(&mut self, to: Gpr, value: u64) {
        self.put(&[0x48 | to.high(), 0xb8 | to.low()]);
        self.u64(value);
    }

    /// jrcxz over the next `bytes` bytes.
    pub(crate) fn jrcxz(&mut self, bytes: u8) {
        self.put(&[0xe3, bytes]);
    }

    /// jmp to an address within reach; what does not reach becomes a
    /// breakpoint's neighbour 0, which cannot be: zones are smaller.
    pub(crate) fn jump(&mut self, target: u64) {
        self.byte(0xe9);
        let relative = reach(self.here() + 4, target).unwrap_or(0);
        self.put(&relative.to_le_bytes());
    }

    /// The program's FS base, or its GS base, in a register.
    pub(crate) fn segment_base(&mut self, to: Gpr, fs: bool, fsgsbase: bool) {
        if fs && fsgsbase {
            self.put(&[0xf3, 0x48 | to.high(), 0x0f, 0xae, 0xc0 | to.low()]);
        } else {
            self.load(to, if fs { crate::block::FS_BASE } else { crate::block::GS_BASE });
        }
    }

    /// `mov qword gs:[offset], value`
    pub(crate) fn store_value(&mut self, offset: usize, value: u32) {
        self.put(&[0x65, 0x48, 0xc7, 0x04, 0x25]);
        self.offset(offset);
        self.u32(value);
    }

    /// `jmp gs:[offset]`
    pub(crate) fn jump_slot(&mut self, offset: usize) {
        self.put(&[0x65, 0xff, 0x24, 0x25]);
        self.offset(offset);
    }

    /// `jmp gs:[rax * 8 + offset]`
    pub(crate) fn jump_indexed(&mut self, offset: usize) {
        self.put(&[0x65, 0xff, 0x24, 0xc5 | RAX.low() << 3]);
        self.offset(offset);
    }

    /// Sets the byte at `at`, a distance to here, that was left open.
    pub(crate) fn close_short(&mut self, at: usize) {
        let distance = u8::try_from(self.bytes.len() - at - 1).unwrap_or(0);
        if let Some(byte) = self.bytes.get_mut(at) {
            *byte = distance;
        }
    }

    /// The same with the 32 bits at `at`.
    pub(crate) fn close_near(&mut self, at: usize) {
        let distance = (self.bytes.len() - at).wrapping_sub(4) as u64;
        self.patch32(at, low32(distance));
    }

    pub(crate) fn patch32(&mut self, at: usize, value: u32) {
        if let Some(bytes) = self.bytes.get_mut(at..at + 4) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn patch64(&mut self, at: usize, value: u64) {
        if let Some(bytes) = self.bytes.get_mut(at..at + 8) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }
}
