//! Routines with source lines, inlined ones first, and how they are known.

use std::sync::Arc;

/// One routine at an address. A list of them has the innermost first, each
/// inlined into the next; the last one has code of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Demangled. None: debug info names none.
    pub name: Option<Arc<str>>,
    /// Where in it; of a caller, where the call stands.
    pub source: Option<SourcePlace>,
    /// Line that the routine's text begins at, of the file of `source`, from 1. None:
    /// debug info does not tell, or the place is text of another file.
    pub first_line: Option<u32>,
    /// It has no code of its own here: the next frame of the list called it.
    pub inlined: bool,
}

impl Frame {
    pub(crate) fn of_symbol(name: Arc<str>) -> Frame {
        Frame { name: Some(name), source: None, first_line: None, inlined: false }
    }
}

/// A place in source text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourcePlace {
    /// As DWARF joins it: compilation directory, directory, name.
    pub file: Arc<str>,
    /// From 1; 0: none, the compiler made the code up.
    pub line: u32,
    /// From 1; 0: none, or not told.
    pub column: u32,
}

/// What is known of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    /// The innermost routine first. Empty: nothing is known.
    pub frames: Arc<[Frame]>,
    /// Whether debug info answered.
    pub depth: FrameDetail,
}

/// How much is behind an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FrameDetail {
    /// Debug info: lines and inlined callers as far as there are any.
    Debug,
    /// Line tables and the symbol table: the functions of this code are in a
    /// file that cannot be had, so what was inlined is not known.
    Lines(MissingDebugInfo),
    /// The symbol table alone: a routine without lines, or nothing.
    Symbols(MissingDebugInfo),
}

/// Why debug info did not answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum MissingDebugInfo {
    #[error("no debug info of {file} found ({build}): its debug symbols (Debian: PACKAGE-dbgsym)")]
    Absent { file: Arc<str>, build: Arc<str> },
    #[error("debug info of {file} cannot be used: {why}")]
    Damaged { file: Arc<str>, why: Arc<str> },
    #[error("debug info of {file} does not cover this address")]
    NotCovered { file: Arc<str> },
    #[error("{object} has no debug info")]
    Never { object: Arc<str> },
}

impl Frames {
    pub(crate) fn of_symbol(name: Option<&str>, why: MissingDebugInfo) -> Frames {
        let frame = name.map(|name| Frame::of_symbol(name.into()));
        Frames { frames: frame.into_iter().collect(), depth: FrameDetail::Symbols(why) }
    }
}

impl MissingDebugInfo {
    /// One word in brackets, as [`Reason::tag`](crate::Reason::tag).
    pub fn tag(&self) -> &'static str {
        match self {
            MissingDebugInfo::Absent { .. } | MissingDebugInfo::Never { .. } => "[no-debug-info]",
            MissingDebugInfo::Damaged { .. } => "[bad-debug-info]",
            MissingDebugInfo::NotCovered { .. } => "[not-covered]",
        }
    }

    /// The file or object that it is about.
    pub fn subject(&self) -> Option<&str> {
        match self {
            MissingDebugInfo::Absent { file, .. }
            | MissingDebugInfo::Damaged { file, .. }
            | MissingDebugInfo::NotCovered { file } => Some(file),
            MissingDebugInfo::Never { object } => Some(object),
        }
    }
}

/// Where the frame of code begins: a register and some bytes are the canonical frame address,
/// which the stack pointer was before the routine was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameStart {
    /// By DWARF's number.
    pub register: u8,
    /// Bytes added to it.
    pub offset: i64,
}
