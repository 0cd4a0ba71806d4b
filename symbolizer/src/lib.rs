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

mod answer {
    //! What is asked of an address and said of it: where it lies, its routine and
    //! lines, or why there are none. Plain data.

    mod call_chain;
    mod frames;
    mod place;
    mod reason;

    pub use call_chain::{ChainEnd, ChainEnds, FramePoint, StackFrame, UnwindMethod};
    pub use frames::{Frame, FrameDetail, FrameStart, Frames, MissingDebugInfo, SourcePlace};
    pub use place::{ObjectId, Place, Resolution, Routine, SampledAddress, file_name};
    pub use reason::Reason;
}
mod code;
mod demangle;
mod dwarf {
    //! Source lines and inlined calls from debug info (DWARF 2 to 5).
    //!
    //! The crate addr2line knows which unit, function and line hold an address,
    //! and what was inlined there; it reads units when an address within one is
    //! asked for. Which bytes it reads, and how far, is said here.

    pub(crate) mod bytes;
    mod debug;
    pub(crate) mod debug_file;
    pub(crate) mod debug_sections;
    mod finder;
    mod function_names;
    mod guarded_reader;
    pub(crate) mod layout;
    pub(crate) mod lazy_debug_file;
    mod relocate;
    pub(crate) mod root;
    pub(crate) mod sections;
    mod split;
    mod string_interner;
}
mod elf;
mod files {
    //! Finding and opening files: below which root, by which build id, and what
    //! belongs to a program beside it. Whose a file is, others know.

    pub(crate) mod embedded {
        //! Files that a recording carries, so that names outlive what they came from.
        //!
        //! They are a zip archive: any unpacker shows them, at the paths at which they
        //! lay, so that the unpacked tree serves as `--symfs`. Its last member is an
        //! index that says what each file was to the recording; which of several files
        //! of one path a mapping meant, and whose map of generated code it is, no path
        //! tells.

        pub(crate) mod index;
        pub(crate) mod lookup;
        pub(crate) mod packer;
        pub(crate) mod reader;

        #[cfg(test)]
        mod tests;
    }
    pub(crate) mod debuginfod;
    pub(crate) mod located_file;
    pub(crate) mod opening;
    pub(crate) mod options;
    pub(crate) mod separate;
}
mod jit {
    //! What compilers tell of the code that they make: perf's maps without times,
    //! jitdump files with them. Readers; whose are believed is decided above.

    pub(crate) mod dump;
    pub(crate) mod map;
    pub(crate) mod when;
}
mod kernel {
    //! The kernel's own symbols: /proc/kallsyms, System.map, vmlinux.

    mod lines;
    pub(crate) mod list;
    pub(crate) mod load;
    pub(crate) mod loaded;
    pub(crate) mod recorded;
    pub(crate) mod table;
    pub(crate) mod view;
    pub(crate) mod vmlinux;
}
mod process {
    //! What was mapped when, by which process, and finding that again: mappings
    //! over time, the objects that addresses belong to, their files.

    pub(crate) mod kept_files;
    pub(crate) mod locate;
    pub(crate) mod mapped_symbols;
    pub(crate) mod maps;
    pub(crate) mod objects;
    pub(crate) mod owned_file;
    pub(crate) mod proc_dir;
    pub(crate) mod timeline;
    pub(crate) mod vdso;
}
mod symbolizer;
#[expect(unsafe_code, reason = "files that only we can change are mapped")]
mod sys;
mod unwind;

pub use answer::{
    ChainEnd, ChainEnds, Frame, FrameDetail, FramePoint, FrameStart, Frames, MissingDebugInfo,
    ObjectId, Place, Reason, Resolution, Routine, SampledAddress, SourcePlace, StackFrame,
    UnwindMethod, file_name,
};
pub use code::{CodeBytes, CodeError, InstructionBytes};
pub use demangle::{demangle, folded, short_name};
pub use dwarf::debug_file::DebugFile;
pub use dwarf::debug_sections::{DebugSections, MissingSections, SectionUnit};
pub use dwarf::layout::FirstAddresses;
pub use dwarf::root::CodeAttributes;
pub use dwarf::sections::SectionReader;
pub use elf::frame_pointers::FramePointers;
pub use elf::names::{ElfNames, NamedSymbol, SymbolKind};
pub use elf::{ElfError, ElfSymbols};
pub use files::debuginfod::{Debuginfod, DebuginfodError, DebuginfodSettings, Downloads};
pub use files::embedded::packer::{FilePacker, PackedFiles};
pub use files::embedded::reader::{EmbeddedFiles, EmbeddedFilesError};
pub use files::options::{KernelOffset, KernelSource, SymbolizerOptions};
pub use jit::dump::{JitDump, JitDumpError, JitEvent};
pub use jit::map::{PerfMap, PerfMapEntry, PerfMapError};
pub use kernel::list::{ListError, SymbolList};
pub use kernel::load::{load_file, load_running};
pub use kernel::loaded::{KernelAnchor, KernelError, KernelListNote, LoadedKernel};
pub use kernel::table::{KernelRoutine, KernelSymbols};
pub use process::kept_files::KeptFiles;
pub use process::maps::{MapsEntry, MapsError, parse as parse_maps};
pub use symbolizer::{Symbolizer, thread_data::RunningProgram, unwind::UserStack};
