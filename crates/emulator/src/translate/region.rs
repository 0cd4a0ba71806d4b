//! Instructions by which a program marks its regions: no-operations of a form
//! that compilers do not write.

use super::emitter::Emitter;
use super::mark::MarkPhase;
use crate::block::AccessKind;

/// Bytes of such an instruction.
pub(crate) const MARK_BYTES: u64 = 8;

/// What an instruction marks, by its bytes: `nopl 0x484d5200(%rax,%rax,1)` and
/// what is to be done in the lowest byte of the displacement.
pub(crate) fn side(raw: &[u8]) -> Option<AccessKind> {
    match raw {
        [0x0f, 0x1f, 0x84, 0x00, 1, b'R', b'M', b'H'] => Some(AccessKind::RegionBegin),
        [0x0f, 0x1f, 0x84, 0x00, 2, b'R', b'M', b'H'] => Some(AccessKind::RegionEnd),
        _ => None,
    }
}

impl Emitter {
    /// Has the runtime write the mark, once: who is stopped behind that is taken
    /// on to the next instruction.
    pub(crate) fn region(&mut self, side: AccessKind, raw: &[u8]) {
        self.tell(side);
        self.mark_step(MarkPhase::Checked);
        self.hot.put(raw);
    }
}
