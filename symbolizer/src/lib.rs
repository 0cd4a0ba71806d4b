//! Address -> routine, or the reason why not.
//!
//! Knows the kernel's symbols, executable files, and which process mapped
//! what at which time ([`Symbolizer::observe`]). Whoever counts samples asks
//! [`Symbolizer::place`] where an instruction pointer lies, counts places,
//! and asks [`Symbolizer::resolve`] once per distinct place, or
//! [`Symbolizer::all_frames`] of all of them for source lines.
//!
//! Rooms, each of which takes from those before it alone: `answer` (plain data),
//! `elf`, `files` (opening what is where), `dwarf`, `process` (mappings over time,
//! objects, whose files are whose), `kernel`, `jit`, `code`, `unwind`, and `symbolizer`, which
//! has all of them at hand, with a file for each question. Files come from
//! strangers: every reader has a bound.
//!
//! ```
//! use perfdata::{CpuMode, Pid, Time};
//! use symbolizer::{KernelSource, Resolution, Symbolizer, SymbolizerOptions};
//!
//! let options = SymbolizerOptions { kernel: KernelSource::None, ..SymbolizerOptions::default() };
//! let mut symbolizer = Symbolizer::new(options);
//! let place = symbolizer.place(CpuMode::User, Pid(1), 0x1000, Time(0));
//! let Resolution::Unknown(reason) = symbolizer.resolve(place) else { panic!("no mapping was told") };
//! assert_eq!(reason.tag(), "[unknown-process]");
//! ```

#![warn(missing_docs)]

mod answer;
mod code;
mod demangle;
mod dwarf;
mod elf;
mod files;
mod jit;
mod kernel;
mod process;
mod symbolizer;
#[expect(unsafe_code, reason = "files that only we can change are mapped")]
mod sys;
mod unwind;

pub use answer::{
    ChainEnd, ChainEnds, Depth, Frame, FramePoint, FrameStart, FrameWay, Frames, NoDebug, ObjectId,
    Place, Reason, Resolution, Routine, SampledAddress, SourcePlace, StackFrame, file_name,
};
pub use code::{Code, CodeError, Text};
pub use demangle::demangle;
pub use dwarf::debug_file::DebugFile;
pub use dwarf::debug_sections::{DebugSections, NoSections, SectionUnit};
pub use dwarf::layout::FirstAddresses;
pub use dwarf::root::CodeAttributes;
pub use dwarf::sections::SectionReader;
pub use elf::called::{CalledSymbol, ElfNames, SymbolKind};
pub use elf::frame_pointers::FramePointers;
pub use elf::{ElfError, ElfSymbols};
pub use files::carried::packer::{FilePacker, PackedFiles};
pub use files::carried::reader::{CarriedFiles, CarriedFilesError};
pub use files::debuginfod::{Debuginfod, DebuginfodError, DebuginfodSettings, Downloads};
pub use files::options::{KernelOffset, KernelSource, SymbolizerOptions};
pub use jit::dump::{JitDump, JitDumpError, JitEvent};
pub use jit::map::{PerfMap, PerfMapEntry, PerfMapError};
pub use kernel::list::{ListError, SymbolList};
pub use kernel::load::{Anchor, KernelError, Loaded, Note, load_file, load_running};
pub use kernel::table::{KernelRoutine, KernelSymbols};
pub use process::kept_files::KeptFiles;
pub use process::maps::{MapsEntry, MapsError, parse as parse_maps};
pub use symbolizer::{Symbolizer, thread_data::RunningProgram, unwind::UserStack};
