//! What is asked of an address and said of it: where it lies, its routine and
//! lines, or why there are none. Plain data.

mod call_chain;
mod file_name;
mod frame_start;
mod frames;
mod place;
mod reason;
mod sampled_address;

pub use call_chain::{ChainEnd, ChainEnds, FramePoint, FrameWay, StackFrame};
pub use file_name::file_name;
pub use frame_start::FrameStart;
pub use frames::{Depth, Frame, Frames, NoDebug, SourcePlace};
pub use place::{ObjectId, Place, Resolution, Routine};
pub use reason::Reason;
pub use sampled_address::SampledAddress;
