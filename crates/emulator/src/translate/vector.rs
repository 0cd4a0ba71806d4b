//! Stores of vector and mask registers to the thread's block.

use iced_x86::Register;

use super::assembler::{Assembler, low32};

/// Stores a register at an offset; mask registers whole when `wide`.
pub(crate) fn store(code: &mut Assembler, register: Register, offset: usize, wide: bool) {
    let number = u8::try_from(register.number()).unwrap_or(0);
    let (low, r, r2) = (number & 7, number >> 3 & 1, number >> 4 & 1);
    let modrm = 0x04 | low << 3;
    code.byte(0x65);
    if register.is_k() {
        if wide {
            code.put(&[0xc4, 0xe1, 0xf8, 0x91, modrm, 0x25]); // kmovq
        } else {
            code.put(&[0xc5, 0xf8, 0x91, modrm, 0x25]); // kmovw
        }
    } else if register.is_zmm() || number >= 16 {
        let length = if register.is_zmm() { 2 } else { u8::from(register.is_ymm()) };
        // vmovdqu64
        let p0 = (r ^ 1) << 7 | 0x60 | (r2 ^ 1) << 4 | 1;
        code.put(&[0x62, p0, 0xfe, length << 5 | 0x08, 0x7f, modrm, 0x25]);
    } else if register.is_mm() {
        code.put(&[0x0f, 0x7f, modrm, 0x25]); // movq
    } else if register.is_ymm() {
        code.put(&[0xc5, (r ^ 1) << 7 | 0x7e, 0x7f, modrm, 0x25]); // vmovdqu
    } else if register.is_xmm() {
        code.put(&[0x40 | r << 2, 0x0f, 0x11, modrm, 0x25]); // movups
    } else {
        code.bytes.pop();
        return;
    }
    code.u32(low32(offset as u64));
}
