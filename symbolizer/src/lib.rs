//! Address -> routine, or the reason why not.
//!
//! Knows the kernel's symbols, executable files, and which process mapped
//! what at which time. It never sees a sample: whoever counts samples asks
//! [`Symbolizer::place`] where an instruction pointer lies, counts places,
//! and asks [`Symbolizer::resolve`] once per distinct place, or
//! [`Symbolizer::all_frames`] of all of them for source lines.
//!
//! ```
//! use record::{CpuMode, Pid, Time};
//! use symbolizer::{KernelSource, Options, Resolution, Symbolizer};
//!
//! let mut symbolizer =
//!     Symbolizer::new(Options { kernel: KernelSource::None, ..Options::default() });
//! let place = symbolizer.place(CpuMode::User, Pid(1), 0x1000, Time(0));
//! let Resolution::Unknown(reason) = symbolizer.resolve(place) else { panic!("no mapping was told") };
//! assert_eq!(reason.tag(), "[unknown-process]");
//! ```

mod batch;
mod binary;
mod code;
mod data;
mod debug_file;
mod debuginfod;
mod demangle;
mod dwarf;
mod elf;
mod file;
mod frames;
mod jit;
mod kept;
mod kernel;
mod lazy_file;
mod lines;
mod locate;
mod maps;
mod object;
mod options;
mod place;
mod programs;
mod reason;
mod symbolizer;
#[expect(unsafe_code, reason = "files that only we can change are mapped")]
mod sys;
mod timeline;
mod vdso;

pub use code::{Code, CodeError, Text};
pub use debug_file::DebugFile;
pub use debuginfod::{Debuginfod, DebuginfodError, DebuginfodSettings, Downloads};
pub use demangle::demangle;
pub use elf::{ElfError, ElfSymbols};
pub use frames::{Depth, Frame, Frames, NoDebug, Source};
pub use jit::dump::{JitDump, JitDumpError, JitEvent};
pub use jit::map::{PerfMap, PerfMapEntry, PerfMapError};
pub use kept::Kept;
pub use kernel::list::{ListError, SymbolList};
pub use kernel::load::{Anchor, KernelError, Loaded, Note, load_file, load_running};
pub use kernel::table::{KernelRoutine, KernelSymbols};
pub use maps::{MapsEntry, MapsError, parse as parse_maps};
pub use options::{KernelOffset, KernelSource, Options};
pub use place::{ObjectId, Place, Resolution, Routine};
pub use reason::Reason;
pub use symbolizer::Symbolizer;
