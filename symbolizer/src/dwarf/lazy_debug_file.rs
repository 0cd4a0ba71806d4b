//! An ELF file whose debug info is looked for when it is first asked.

use super::debug_file::FoundDebugFile;
use crate::answer::{FrameDetail, Frames, MissingDebugInfo};
use crate::files::located_file::{LocatedFile, named};
use crate::{DebugFile, Reason, SymbolizerOptions};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// A file of which nobody may ever ask: a separate debug file is looked for,
/// which can mean a server, when its size is asked, and opened with the first
/// address.
#[derive(Debug)]
pub(crate) struct LazyDebugFile {
    /// Below the root.
    path: Box<[u8]>,
    options: SymbolizerOptions,
    step: Step,
    /// Bytes of the file with the debug info, once it was looked for.
    size: u64,
}

/// How far it was opened.
#[derive(Debug)]
enum Step {
    /// Nobody needed it yet.
    Located(Box<LocatedFile>),
    Found(Box<FoundDebugFile>),
    Opened(Box<DebugFile>),
    Failed(Reason),
}

impl LazyDebugFile {
    /// A file below `options.root`.
    pub(crate) fn open(path: &Path, options: &SymbolizerOptions) -> Result<LazyDebugFile, Reason> {
        let (located, path) = named(path, options)?;
        Ok(LazyDebugFile::of(located, path.as_os_str().as_bytes(), options))
    }

    pub(crate) fn of(
        located: LocatedFile,
        path: &[u8],
        options: &SymbolizerOptions,
    ) -> LazyDebugFile {
        let step = Step::Located(Box::new(located));
        LazyDebugFile { path: path.into(), options: options.clone(), step, size: 0 }
    }

    /// Lines and inlined callers at a link-time address; fastest in
    /// ascending order.
    pub(crate) fn frames(&mut self, address: u64) -> Result<Frames, Reason> {
        self.look();
        if let Step::Found(_) = self.step {
            self.advance(|step, path, options| match step {
                Step::Found(found) => Ok(Step::Opened(DebugFile::of(*found, path, options).into())),
                other => Ok(other),
            });
        }
        match &self.step {
            Step::Opened(file) => Ok(file.frames(address)),
            Step::Failed(reason) => Err(reason.clone()),
            Step::Located(_) | Step::Found(_) => Err(self.gone()),
        }
    }

    /// Bytes of the file that has the debug info.
    pub(crate) fn debug_size(&mut self) -> u64 {
        self.look();
        self.size
    }

    /// Looks for the separate debug file.
    fn look(&mut self) {
        if let Step::Located(_) = self.step {
            self.advance(|step, path, options| match step {
                Step::Located(located) => {
                    Ok(Step::Found(FoundDebugFile::of(*located, path, options)?.into()))
                }
                other => Ok(other),
            });
        }
        if let Step::Found(found) = &self.step {
            self.size = found.size();
        }
    }

    fn advance(
        &mut self,
        go: impl FnOnce(Step, &[u8], &SymbolizerOptions) -> Result<Step, Reason>,
    ) {
        let gone = Step::Failed(self.gone());
        let step = std::mem::replace(&mut self.step, gone);
        self.step = go(step, &self.path, &self.options).unwrap_or_else(Step::Failed);
    }

    fn gone(&self) -> Reason {
        Reason::FileGone { file: String::from_utf8_lossy(&self.path).into_owned() }
    }
}

/// The debug info of an object, and which of its addresses a place has.
#[derive(Debug)]
pub(crate) struct ObjectDebug {
    pub(crate) file: Box<LazyDebugFile>,
    /// As shown in answers.
    pub(crate) path: Arc<str>,
    /// Subtracted from a place's address, modulo 2^64.
    pub(crate) moved: u64,
    /// Bytes from there on that are the file's.
    pub(crate) size: u64,
}

impl ObjectDebug {
    pub(crate) fn frames(&mut self, address: u64) -> Result<Frames, MissingDebugInfo> {
        let file = || Arc::clone(&self.path);
        let linked = address.wrapping_sub(self.moved);
        if linked >= self.size {
            return Err(MissingDebugInfo::NotCovered { file: file() });
        }
        let damaged =
            |why: Reason| MissingDebugInfo::Damaged { file: file(), why: why.to_string().into() };
        let frames = self.file.frames(linked).map_err(damaged)?;
        match frames.depth {
            FrameDetail::Debug | FrameDetail::Lines(_) => Ok(frames),
            FrameDetail::Symbols(why) => Err(why),
        }
    }
}
