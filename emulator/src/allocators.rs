//! Where functions of allocators are in files, found outside: who reads symbols
//! lives elsewhere.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use record::AllocatorCall;
use rustc_hash::FxHashMap;

/// A function of an allocator in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAllocator {
    /// Where it begins: bytes from the file's first.
    pub offset: u64,
    /// What a call of it is.
    pub call: AllocatorCall,
}

/// Reads a file's functions of allocators.
type Reader = dyn Fn(&Path) -> Vec<FileAllocator> + Send + Sync;

/// Finds the functions of allocators of each file that is mapped, which is read
/// once.
#[derive(Clone)]
pub struct AllocatorFinder {
    read: Arc<Reader>,
    known: Arc<Mutex<FxHashMap<FileNumber, Arc<[FileAllocator]>>>>,
}

/// Device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileNumber {
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
}

impl AllocatorFinder {
    /// Reads files by `read`, which gives nothing for those it cannot read.
    pub fn new(
        read: impl Fn(&Path) -> Vec<FileAllocator> + Send + Sync + 'static,
    ) -> AllocatorFinder {
        AllocatorFinder { read: Arc::new(read), known: Arc::default() }
    }

    /// Those of a file that can be read at this path.
    pub(crate) fn of_file(&self, number: FileNumber, path: &Path) -> Arc<[FileAllocator]> {
        let Ok(mut known) = self.known.lock() else { return Arc::default() };
        Arc::clone(known.entry(number).or_insert_with(|| (self.read)(path).into()))
    }
}

impl fmt::Debug for AllocatorFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AllocatorFinder")
    }
}
