//! Files that are opened while the processes that mapped them still live.
//!
//! What lies in a container, or has no name any more, can be had through
//! /proc of its processes only, and a command has often ended by the time
//! names are wanted. Whoever records can keep these files open meanwhile.

use super::living::{self, Living};
use super::objects::{FileVersion, is_anonymous};
use super::owned_file::{self, OwnedFile, Owner, Refused, dump_number, map_path};
use crate::files::opening::{open_link, open_within, reopened};
use record::side::{Mapping, SideRecord};
use record::{Misc, Pid};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::{File, metadata, read_link};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files that are kept open; each is one descriptor.
const MOST_FILES: usize = 256;
/// Processes whose maps of generated code are kept, or looked for.
const MOST_MAPS: usize = 64;
/// Different files that are remembered as ours to open at any time.
const MOST_KNOWN: usize = 1 << 16;
/// A mapping may be executed (mmap(2)).
const PROT_EXEC: u32 = 4;

/// Files kept open from when a mapping of them is first told of until names
/// are wanted: those of processes whose root directory or mount namespace is
/// another than ours, those without a name, and maps of generated code. At
/// most 256 files and 64 maps; what is beyond them is looked for later, as
/// without this.
#[derive(Debug)]
pub struct KeptFiles {
    root: PathBuf,
    own: Option<Root>,
    files: FxHashMap<(Box<[u8]>, FileVersion), File>,
    /// Files that can be had without a process, and those that are kept.
    known: FxHashSet<(Box<[u8]>, FileVersion)>,
    maps: FxHashMap<Pid, Generated>,
    dumps: FxHashMap<(Pid, Box<[u8]>), Dump>,
    left_out: u64,
}

/// A process that may make code.
#[derive(Debug)]
struct Generated {
    living: Living,
    map: Option<Result<OwnedFile, Refused>>,
}

/// A jitdump file, and its process's user.
#[derive(Debug)]
pub(crate) struct Dump {
    pub(crate) file: File,
    pub(crate) uid: u32,
}

/// What a process takes for `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Root {
    namespace: PathBuf,
    directory: (u64, u64),
}

impl Root {
    /// `directory`: /proc/PID.
    fn of(directory: &Path) -> Option<Root> {
        let namespace = read_link(directory.join("ns/mnt")).ok()?;
        let found = metadata(directory.join("root")).ok()?;
        Some(Root { namespace, directory: (found.dev(), found.ino()) })
    }
}

impl Default for KeptFiles {
    fn default() -> KeptFiles {
        KeptFiles::new(Path::new("/"))
    }
}

impl KeptFiles {
    /// `root` stands for `/`.
    pub fn new(root: &Path) -> KeptFiles {
        KeptFiles {
            root: root.to_owned(),
            own: Root::of(&root.join("proc/self")),
            files: FxHashMap::default(),
            known: FxHashSet::default(),
            maps: FxHashMap::default(),
            dumps: FxHashMap::default(),
            left_out: 0,
        }
    }

    /// Takes in MMAP and MMAP2 of code; others change nothing. To be called
    /// as soon as the record is there.
    pub fn record(&mut self, misc: Misc, record: &SideRecord<'_>) {
        let (SideRecord::Mmap(mapping) | SideRecord::Mmap2(mapping)) = record else { return };
        let is_code = !misc.contains(Misc::MMAP_DATA)
            && mapping.protection.is_none_or(|bits| bits & PROT_EXEC != 0);
        if mapping.task.pid.0 > 0 && is_code {
            self.mapping(mapping);
        }
    }

    /// Looks again for maps of generated code that were not there yet.
    pub fn look_again(&mut self) {
        for (pid, generated) in &mut self.maps {
            generated.look(&self.root, *pid);
        }
    }

    /// Files that should have been kept and were too many.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn mapping(&mut self, mapping: &Mapping<'_>) {
        let Mapping { task, path, ref file, start, length, .. } = *mapping;
        let told = FileVersion::from(file);
        let in_memory = path.starts_with(b"/memfd:") && told != FileVersion::Nothing;
        let directory = living::directory(&self.root, task.pid);
        if is_anonymous(path) {
            self.generates(task.pid, &directory);
        }
        if (is_anonymous(path) && !in_memory)
            || !path.starts_with(b"/")
            || told == FileVersion::Nothing
        {
            return;
        }
        let deleted = path.ends_with(b" (deleted)");
        let key = (path.into(), told);
        if self.known.contains(&key) {
            return;
        }
        let Some(root) = Root::of(&directory) else { return };
        let is_ours = self.own.as_ref() == Some(&root) && !deleted && !in_memory;
        if !is_ours {
            if self.files.len() >= MOST_FILES {
                self.left_out += 1;
                return;
            }
            let range = format!("{start:x}-{:x}", start.saturating_add(length));
            let by_path = || open_within(&directory.join("root"), path).ok();
            let by_link = || open_link(&directory.join("map_files").join(range)).ok();
            let opened = match deleted || in_memory {
                true => by_link(),
                false => by_path().or_else(by_link),
            };
            let Some(file) = opened else { return };
            if dump_number(path).is_some()
                && let Some(living) = Living::read(&directory)
                && let Some(again) = reopened(&file)
            {
                let dump = Dump { file: again, uid: living.uid };
                self.dumps.insert((task.pid, path.into()), dump);
            }
            self.files.insert(key.clone(), file);
        }
        if self.known.len() < MOST_KNOWN {
            self.known.insert(key);
        }
    }

    /// A process has memory for code of its own making.
    fn generates(&mut self, pid: Pid, directory: &Path) {
        if !self.maps.contains_key(&pid) {
            let Some(living) = Living::read(directory) else { return };
            if self.maps.len() >= MOST_MAPS {
                self.left_out += 1;
                return;
            }
            self.maps.insert(pid, Generated { living, map: None });
        }
        if let Some(generated) = self.maps.get_mut(&pid) {
            generated.look(&self.root, pid);
        }
    }

    /// The file that was mapped from that path, when it is kept.
    pub(crate) fn file(&self, path: &[u8], told: &FileVersion) -> Option<File> {
        reopened(self.files.get(&(path.into(), told.clone()))?)
    }

    /// The map of a process, when one was found while it lived.
    pub(crate) fn map(&mut self, pid: Pid) -> Option<Result<OwnedFile, Refused>> {
        self.maps.get_mut(&pid)?.map.take()
    }

    /// The jitdump file of a process.
    pub(crate) fn dump(&mut self, pid: Pid, path: &[u8]) -> Option<Dump> {
        self.dumps.remove(&(pid, path.into()))
    }
}

impl Generated {
    fn look(&mut self, root: &Path, pid: Pid) {
        if self.map.is_none() {
            let directory = living::directory(root, pid);
            let Living { uid, inner, .. } = self.living;
            let root = living::root_of(&directory);
            self.map = owned_file::open(&root, map_path(inner), Owner::Process(uid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::side::FileIdentity;
    use record::{Task, Tid};
    use std::io::Read;
    use std::os::unix::fs::symlink;

    fn record<'a>(pid: i32, path: &'a [u8], inode: u64) -> SideRecord<'a> {
        SideRecord::Mmap2(Mapping {
            task: Task { pid: Pid(pid), tid: Tid(pid) },
            start: 0x1000,
            length: 0x1000,
            page_offset: 0,
            file: FileIdentity::Inode { major: 8, minor: 1, inode, generation: 0 },
            protection: Some(PROT_EXEC),
            flags: Some(2),
            path,
        })
    }

    /// /proc of a process in the namespace of that name.
    fn process_in(root: &Path, pid: &str, namespace: &str, below: &Path) {
        let directory = root.join("proc").join(pid);
        std::fs::create_dir_all(directory.join("ns")).unwrap();
        symlink(namespace, directory.join("ns/mnt")).unwrap();
        symlink(below, directory.join("root")).unwrap();
    }

    #[test]
    fn files_of_other_roots_outlive_their_processes() {
        let scene = tempfile::tempdir().unwrap();
        let root = scene.path();
        let (ours, inside) = (root.join("ours"), root.join("inside"));
        for (place, text) in [(&ours, "ours"), (&inside, "inside")] {
            std::fs::create_dir_all(place).unwrap();
            std::fs::write(place.join("program"), text).unwrap();
        }
        process_in(root, "self", "mnt:[1]", &ours);
        process_in(root, "10", "mnt:[1]", &ours);
        process_in(root, "11", "mnt:[2]", &inside);
        process_in(root, "12", "mnt:[1]", &inside);
        let mut kept = KeptFiles::new(root);
        for (pid, inode) in [(10, 100), (11, 111), (12, 112), (13, 113)] {
            kept.record(Misc(0), &record(pid, b"/program", inode));
        }
        kept.record(Misc::MMAP_DATA, &record(11, b"/program", 200));
        std::fs::remove_dir_all(root.join("proc")).unwrap();
        std::fs::remove_dir_all(&inside).unwrap();
        let read = |inode| {
            let told = FileVersion::from(&FileIdentity::Inode {
                major: 8,
                minor: 1,
                inode,
                generation: 0,
            });
            let mut text = String::new();
            kept.file(b"/program", &told)?.read_to_string(&mut text).unwrap();
            Some(text)
        };
        assert_eq!(read(100), None, "what we can open at any time");
        for foreign in [111, 112] {
            assert_eq!(read(foreign).as_deref(), Some("inside"));
            assert_eq!(read(foreign).as_deref(), Some("inside"), "a second time");
        }
        assert_eq!((read(113), read(200)), (None, None));
    }

    #[test]
    fn no_more_files_are_kept_than_agreed() {
        let scene = tempfile::tempdir().unwrap();
        let root = scene.path();
        std::fs::write(root.join("program"), "").unwrap();
        process_in(root, "self", "mnt:[1]", root);
        process_in(root, "11", "mnt:[2]", root);
        let mut kept = KeptFiles::new(root);
        for inode in 0..300 {
            kept.record(Misc(0), &record(11, b"/program", inode + 1));
        }
        assert_eq!((kept.files.len(), kept.left_out()), (MOST_FILES, 44));
    }
}
