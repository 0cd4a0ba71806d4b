//! Where functions of allocators are in files, found outside: who reads symbols
//! lives elsewhere.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use perfdata::AllocatorCall;
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAllocator {
    /// Where it begins: bytes from the file's first.
    pub offset: u64,
    pub call: AllocatorCall,
}

type FileReader = dyn Fn(&Path) -> Vec<FileAllocator> + Send + Sync;

/// Finds the functions of allocators of each file that is mapped, which is read
/// once.
#[derive(Clone)]
pub struct AllocatorFinder {
    read: Arc<FileReader>,
    known: Arc<Mutex<FxHashMap<FileVersion, Arc<[FileAllocator]>>>>,
}

/// Which file, and when it was changed: numbers of files are given again, and a
/// file may be written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileVersion {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds.
    changed: [i64; 2],
}

impl AllocatorFinder {
    /// Reads files by `read`, which gives nothing for those it cannot read.
    pub fn new(
        read: impl Fn(&Path) -> Vec<FileAllocator> + Send + Sync + 'static,
    ) -> AllocatorFinder {
        AllocatorFinder { read: Arc::new(read), known: Arc::default() }
    }

    /// Those of the file at this path; none where there is none.
    pub(crate) fn of_file(&self, path: &Path) -> Arc<[FileAllocator]> {
        let (Ok(file), Ok(mut known)) = (path.metadata(), self.known.lock()) else {
            return Arc::default();
        };
        let changed = [file.ctime(), file.ctime_nsec()];
        let (device, inode, size) = (file.dev(), file.ino(), file.size());
        let state = FileVersion { device, inode, size, changed };
        Arc::clone(known.entry(state).or_insert_with(|| (self.read)(path).into()))
    }
}

impl fmt::Debug for AllocatorFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AllocatorFinder")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_file_is_read_once_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let reads = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&reads);
        let finder = AllocatorFinder::new(move |path| {
            counted.fetch_add(1, Ordering::Relaxed);
            let offset = fs::read(path).map_or(0, |bytes| bytes.len() as u64);
            vec![FileAllocator { offset, call: AllocatorCall::Allocate }]
        });
        let offsets = || finder.of_file(&path).iter().map(|it| it.offset).collect::<Vec<_>>();
        assert_eq!(offsets(), [], "there is none");
        fs::write(&path, "first").unwrap();
        assert_eq!((offsets(), offsets()), (vec![5], vec![5]));
        assert_eq!(reads.load(Ordering::Relaxed), 1);
        // The same file by its number.
        fs::write(&path, "second").unwrap();
        assert_eq!(offsets(), [6]);
    }
}
