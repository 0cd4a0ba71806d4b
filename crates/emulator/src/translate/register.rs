//! General registers by the numbers of their encoding, and sets of them.

use iced_x86::Register;

/// A general register: 0 = rax, 1 = rcx, 2 = rdx, 3 = rbx, 4 = rsp ... 15 = r15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gpr(pub(crate) u8);

pub(crate) const RAX: Gpr = Gpr(0);
pub(crate) const RCX: Gpr = Gpr(1);
pub(crate) const RDX: Gpr = Gpr(2);
pub(crate) const RBX: Gpr = Gpr(3);
pub(crate) const RSP: Gpr = Gpr(4);
pub(crate) const RSI: Gpr = Gpr(6);
pub(crate) const RDI: Gpr = Gpr(7);
pub(crate) const R8: Gpr = Gpr(8);
pub(crate) const R9: Gpr = Gpr(9);
pub(crate) const R10: Gpr = Gpr(10);
pub(crate) const R11: Gpr = Gpr(11);

impl Gpr {
    /// The general register that `register` is or is a part of.
    pub(crate) fn of(register: Register) -> Option<Gpr> {
        register
            .is_gpr()
            .then(|| u8::try_from(register.full_register().number()).ok().map(Gpr))
            .flatten()
    }

    /// As the decoder names its 64 bits.
    pub(crate) fn named(self) -> Register {
        Register::RAX + u32::from(self.0)
    }

    /// Offset of its slot in the thread's block.
    pub(crate) fn slot(self) -> usize {
        crate::block::REGISTERS + 8 * usize::from(self.0)
    }

    pub(crate) fn low(self) -> u8 {
        self.0 & 7
    }

    /// 1 when the encoding needs the register's fourth bit in a prefix.
    pub(crate) fn high(self) -> u8 {
        self.0 >> 3
    }
}

/// A set of general registers, bit n is register n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gprs(pub(crate) u16);

impl Gprs {
    pub(crate) const NONE: Gprs = Gprs(0);

    pub(crate) const fn of(register: Gpr) -> Gprs {
        Gprs(1 << register.0)
    }

    pub(crate) const fn with(self, register: Gpr) -> Gprs {
        self.or(Gprs::of(register))
    }

    pub(crate) const fn or(self, other: Gprs) -> Gprs {
        Gprs(self.0 | other.0)
    }

    pub(crate) const fn and(self, other: Gprs) -> Gprs {
        Gprs(self.0 & other.0)
    }

    pub(crate) const fn without(self, other: Gprs) -> Gprs {
        Gprs(self.0 & !other.0)
    }

    pub(crate) const fn has(self, register: Gpr) -> bool {
        self.0 >> register.0 & 1 == 1
    }

    pub(crate) fn each(self) -> impl Iterator<Item = Gpr> {
        (0..16).map(Gpr).filter(move |&register| self.has(register))
    }
}
