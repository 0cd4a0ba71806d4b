//! What is asked of an address and said of it: where it lies, its routine and
//! lines, or why there are none. Plain data.

mod call_chain;
mod frames;
mod place;
mod reason;

pub use call_chain::{ChainEnd, ChainEnds, FramePoint, FrameWay, StackFrame};
pub use frames::{Depth, Frame, FrameStart, Frames, NoDebug, SourcePlace};
pub use place::{ObjectId, Place, Resolution, Routine, SampledAddress, file_name};
pub use reason::Reason;
