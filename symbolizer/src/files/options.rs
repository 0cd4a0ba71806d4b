//! Where names are looked for.

use super::debuginfod::Debuginfod;
use super::embedded::packer::FilePacker;
use super::embedded::reader::EmbeddedFiles;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How far the kernel lies from where its symbol list says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelOffset {
    /// Work it out from the running kernel's /proc/kallsyms; refuse a list
    /// of another kernel.
    #[default]
    Detect,
    /// Add this, modulo 2^64, and trust the list.
    Given(u64),
}

/// Where the kernel's symbols come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KernelSource {
    /// /proc/kallsyms, then /boot/System.map-RELEASE.
    #[default]
    Running,
    /// A System.map, a saved /proc/kallsyms or a vmlinux.
    File {
        path: PathBuf,
        /// How far the kernel lies from it.
        offset: KernelOffset,
    },
    /// Kernel addresses get no names.
    None,
}

/// Where names are looked for.
#[derive(Clone, Debug)]
pub struct SymbolizerOptions {
    /// What stands for `/` in every path read: /proc, /boot, /usr/lib/debug
    /// and the mapped files.
    pub root: PathBuf,
    /// The kernel's symbols.
    pub kernel: KernelSource,
    /// The kernel's image with debug info, for lines and inlined calls; not
    /// below `root`. None: it is looked for at the usual places, by the
    /// kernel's build id.
    pub vmlinux: Option<PathBuf>,
    /// What stands for `/` when mapped files, separate debug files and maps of
    /// generated code are opened, and for nothing else: neither /proc nor
    /// the kernel's files. Processes that still live are not asked then.
    pub symfs: Option<PathBuf>,
    /// Directories of separate debug files, as gdb's debug-file-directory;
    /// below `root`.
    pub debug_directories: Vec<PathBuf>,
    /// Servers to ask for what is in none of them.
    pub debuginfod: Option<Debuginfod>,
    /// The files that the recording carries, which come before those that are
    /// found elsewhere; not where `symfs` names others.
    pub carried: Option<Arc<EmbeddedFiles>>,
    /// Gets each file that a name was looked for in.
    pub packer: Option<Arc<FilePacker>>,
    /// How many objects' debug info may be read at the same time.
    pub threads: NonZeroUsize,
}

impl SymbolizerOptions {
    /// What stands for `/` when files of recorded processes are opened.
    pub(crate) fn files(&self) -> &Path {
        self.symfs.as_deref().unwrap_or(&self.root)
    }
}

impl Default for SymbolizerOptions {
    fn default() -> SymbolizerOptions {
        SymbolizerOptions {
            root: PathBuf::from("/"),
            kernel: KernelSource::Running,
            vmlinux: None,
            symfs: None,
            debug_directories: vec![PathBuf::from("/usr/lib/debug")],
            debuginfod: None,
            carried: None,
            packer: None,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}
