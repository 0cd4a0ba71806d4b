//! What the fields of a sample answer to a filter's questions.

use std::cell::OnceCell;

use super::{Condition, PrivilegeMode};
use crate::bytes::ByteOrder;
use crate::header::{CpuMode, Misc};
use crate::ibs::{IbsCaps, IbsErrata, IbsOp};
use crate::sample::Sample;

/// One sample, asked for all that is not the instruction. Registers of IBS
/// are read once, when they are first asked for.
#[derive(Debug)]
pub struct FieldAnswers<'s, 'd> {
    misc: Misc,
    sample: Option<&'s Sample<'d>>,
    /// Of the raw data, where they may be registers of IBS.
    ibs: Option<ByteOrder>,
    op: OnceCell<Result<IbsOp, NoIbsOp>>,
}

/// Why a sample has no registers of IBS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoIbsOp {
    /// It has no raw data, or those of an event that is not IBS.
    Absent,
    /// Its raw data are something else.
    Foreign,
}

impl<'s, 'd> FieldAnswers<'s, 'd> {
    /// Of a sample; without one, of a privilege level alone. `ibs`: the order
    /// of raw data that may be registers of IBS; None: they are not.
    pub fn new(
        misc: Misc,
        sample: Option<&'s Sample<'d>>,
        ibs: Option<ByteOrder>,
    ) -> FieldAnswers<'s, 'd> {
        FieldAnswers { misc, sample, ibs, op: OnceCell::new() }
    }

    /// Whether a condition holds; None: it cannot be told, of a class of
    /// instructions never. `quirks`: of the CPU that recorded.
    pub fn holds(
        &self,
        condition: Condition,
        quirks: impl FnOnce(IbsCaps) -> IbsErrata,
    ) -> Option<bool> {
        match condition {
            Condition::Mode(mode) => is_of(self.misc.cpu_mode(), mode),
            // The kernel's word is made of the registers, and says less.
            Condition::Source(source) => match self.ibs_op() {
                Ok(op) => op.served(source, quirks(op.caps)),
                Err(_) => self.sample?.data_src.and_then(|word| source.holds(word)),
            },
            Condition::Ibs(ibs) => {
                let op = self.ibs_op().ok()?;
                op.holds(ibs, quirks(op.caps))
            }
            Condition::Class(_) => None,
        }
    }

    /// The registers of IBS.
    ///
    /// # Errors
    /// There are none.
    pub fn ibs_op(&self) -> Result<&IbsOp, NoIbsOp> {
        let read = || {
            let raw = self.sample.and_then(|sample| sample.raw).zip(self.ibs);
            let (raw, order) = raw.ok_or(NoIbsOp::Absent)?;
            IbsOp::decode(raw, order).map_err(|_| NoIbsOp::Foreign)
        };
        self.op.get_or_init(read).as_ref().map_err(|why| *why)
    }
}

fn is_of(cpu_mode: CpuMode, mode: PrivilegeMode) -> Option<bool> {
    let user = match cpu_mode {
        CpuMode::User | CpuMode::GuestUser => true,
        CpuMode::Kernel | CpuMode::GuestKernel => false,
        CpuMode::Hypervisor => return Some(false),
        CpuMode::Unknown => return None,
    };
    Some(user == (mode == PrivilegeMode::User))
}
