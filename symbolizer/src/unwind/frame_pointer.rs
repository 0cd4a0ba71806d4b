//! The caller by the frame pointer, for code without an unwind table.

use super::frame_rule::CalleeFrame;
use super::register_file::RegisterFile;
use crate::ChainEnd;

/// Makes `caller` the caller's registers, if the frame pointer leads to a frame on this
/// stack: both machines keep the caller's frame pointer where it points to,
/// and the return address behind.
///
/// # Errors
/// Nobody called it; or None, the frame pointer is none.
pub(crate) fn caller(
    of: CalleeFrame<'_>,
    caller: &mut RegisterFile,
) -> Result<(), Option<ChainEnd>> {
    let CalleeFrame { machine, registers, stack, .. } = of;
    let (pointer, top) = (machine.frame_pointer(), machine.stack_pointer());
    let frame = registers.get(pointer).ok_or(None)?;
    if frame == 0 {
        // The kernel starts programs, and libc threads, with none. But code
        // may also use the register for something else.
        return Err(of.keeps_pointer.then_some(ChainEnd::Root));
    }
    let own = registers.get(top).ok_or(None)?;
    if frame % 8 != 0 || frame < own || !stack.holds(frame) {
        return Err(None);
    }
    let outer = stack.word(frame).map_err(Some)?;
    let back = stack.word(frame.wrapping_add(8)).map_err(Some)?;
    let back = machine.stripped(back);
    if back == 0 {
        return Err(Some(ChainEnd::Root));
    }
    *caller = *registers;
    caller.set(pointer, Some(outer));
    caller.set(top, Some(frame.wrapping_add(16)));
    caller.set(machine.instruction_pointer(), Some(back));
    Ok(())
}
