//! Files that are opened while the processes that mapped them still live.
//!
//! What lies in a container, or has no name any more, can be had through
//! /proc of its processes only, and a command has often ended by the time
//! names are wanted. Whoever records can keep these files open meanwhile.

use super::objects::{FileVersion, is_anonymous};
use super::owned_file::{self, OwnedFile, Owner, RefusedFile, dump_number, map_path};
use super::proc_dir::{self, ProcStatus};
use crate::files::embedded::index::EmbeddedPart;
use crate::files::embedded::packer::FilePacker;
use crate::files::opening::{has_plain_inodes, open_link, open_within, reopened};
use perfdata::sideband::{Mapping, SidebandRecord};
use perfdata::{Misc, Pid};
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
/// Where files lie that a system's packages brought, and bring again.
const OF_PACKAGES: [&[u8]; 12] = [
    b"/usr/",
    b"/lib/",
    b"/lib32/",
    b"/lib64/",
    b"/libx32/",
    b"/bin/",
    b"/sbin/",
    b"/opt/",
    b"/snap/",
    b"/nix/store/",
    b"/gnu/store/",
    b"/run/host/",
];
/// The exception: what was built on the spot.
const BUILT_HERE: &[u8] = b"/usr/local/";
/// A mapping may be executed (mmap(2)).
const PROT_EXEC: u32 = 4;

/// Files kept open from when a mapping of them is first told of until names
/// are wanted: those of processes whose root directory or mount namespace is
/// another than ours, those without a name, and maps of generated code; for a
/// recording also those that no package brought, as who built them builds them
/// again. At most 256 files and 64 maps; what is beyond them is looked for
/// later, as without this.
#[derive(Debug)]
pub struct KeptFiles {
    root: PathBuf,
    own: Option<ProcessRoot>,
    /// What can be had at its path now is wanted after it was replaced.
    for_later: bool,
    files: FxHashMap<(Box<[u8]>, FileVersion), File>,
    /// Files that can be had without a process, and those that are kept.
    known: FxHashSet<(Box<[u8]>, FileVersion)>,
    maps: FxHashMap<Pid, CodeMaker>,
    dumps: FxHashMap<(Pid, Box<[u8]>), Dump>,
    left_out: u64,
}

/// A process that may make code.
#[derive(Debug)]
struct CodeMaker {
    living: ProcStatus,
    map: Option<Result<OwnedFile, RefusedFile>>,
}

#[derive(Debug)]
pub(crate) struct Dump {
    pub(crate) file: File,
    pub(crate) uid: u32,
}

/// What a process takes for `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProcessRoot {
    namespace: PathBuf,
    directory: (u64, u64),
}

impl ProcessRoot {
    /// `directory`: /proc/PID.
    fn of(directory: &Path) -> Option<ProcessRoot> {
        let namespace = read_link(directory.join("ns/mnt")).ok()?;
        let found = metadata(directory.join("root")).ok()?;
        Some(ProcessRoot { namespace, directory: (found.dev(), found.ino()) })
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
            own: ProcessRoot::of(&root.join("proc/self")),
            for_later: false,
            files: FxHashMap::default(),
            known: FxHashSet::default(),
            maps: FxHashMap::default(),
            dumps: FxHashMap::default(),
            left_out: 0,
        }
    }

    /// Those that a recording is to carry.
    pub fn for_recording() -> KeptFiles {
        KeptFiles { for_later: true, ..KeptFiles::default() }
    }

    /// Packs all of them, the smallest first: many names are worth more than
    /// few.
    pub fn pack_into(&self, packer: &FilePacker) {
        let size = |file: &File| file.metadata().map_or(0, |found| found.len());
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_cached_key(|((path, _), file)| (size(file), path.clone()));
        for ((path, told), file) in files {
            let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
            // Of jitdump files the process counts.
            if let (None, Ok(path)) = (dump_number(path), std::str::from_utf8(path)) {
                let (path, root) = (path.to_owned(), String::new());
                packer.pack(EmbeddedPart::Mapped { path, root, version: told.carried() }, file);
            }
        }
        let mut maps: Vec<_> = self.maps.iter().collect();
        maps.sort_by_key(|(pid, _)| pid.0);
        for (pid, generated) in maps {
            if let Some(Ok(OwnedFile { file, path })) = &generated.map {
                packer.pack(EmbeddedPart::Map { pid: pid.0, path: path.clone() }, file);
            }
        }
        let mut dumps: Vec<_> = self.dumps.iter().collect();
        dumps.sort_by(|(one, _), (other, _)| (one.0.0, &one.1).cmp(&(other.0.0, &other.1)));
        for ((pid, path), dump) in dumps {
            if let Ok(path) = std::str::from_utf8(path) {
                packer.pack(EmbeddedPart::Dump { pid: pid.0, path: path.to_owned() }, &dump.file);
            }
        }
    }

    /// Whether there is nothing to carry.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
            && self.dumps.is_empty()
            && self.maps.values().all(|generated| !matches!(generated.map, Some(Ok(_))))
    }

    /// Takes in MMAP and MMAP2 of code; others change nothing. To be called
    /// as soon as the record is there.
    pub fn record(&mut self, misc: Misc, record: &SidebandRecord<'_>) {
        let (SidebandRecord::Mmap(mapping) | SidebandRecord::Mmap2(mapping)) = record else {
            return;
        };
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
        let directory = proc_dir::directory(&self.root, task.pid);
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
        let key = (path.into(), told.clone());
        if self.known.contains(&key) {
            return;
        }
        let has_path = !deleted && !in_memory;
        let is_wanted = self.for_later && has_path && is_built_by_users(path);
        let Some(root) = ProcessRoot::of(&directory) else {
            // It has ended; its file may lie here still.
            let found = is_wanted.then(|| open_within(&self.root, path).ok()).flatten();
            if let Some(file) = found.filter(|file| is_told(file, &told))
                && self.files.len() < MOST_FILES
            {
                self.files.insert(key, file);
            }
            return;
        };
        let is_ours = self.own.as_ref() == Some(&root) && has_path;
        let stays = is_ours && !is_wanted;
        if !stays {
            if self.files.len() >= MOST_FILES {
                self.left_out += 1;
                return;
            }
            let range = format!("{start:x}-{:x}", start.saturating_add(length));
            let by_path = || {
                let found = open_within(&directory.join("root"), path).ok();
                found.filter(|file| is_told(file, &told))
            };
            let by_link = || open_link(&directory.join("map_files").join(range)).ok();
            let opened = match deleted || in_memory {
                true => by_link(),
                false => by_path().or_else(by_link),
            };
            let Some(file) = opened else { return };
            if dump_number(path).is_some()
                && let Some(living) = ProcStatus::read(&directory)
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
            let Some(living) = ProcStatus::read(directory) else { return };
            if self.maps.len() >= MOST_MAPS {
                self.left_out += 1;
                return;
            }
            self.maps.insert(pid, CodeMaker { living, map: None });
        }
        if let Some(generated) = self.maps.get_mut(&pid) {
            generated.look(&self.root, pid);
        }
    }

    pub(crate) fn file(&self, path: &[u8], told: &FileVersion) -> Option<File> {
        reopened(self.files.get(&(path.into(), told.clone()))?)
    }

    /// The map of a process, when one was found while it lived.
    pub(crate) fn map(&mut self, pid: Pid) -> Option<Result<OwnedFile, RefusedFile>> {
        self.maps.get_mut(&pid)?.map.take()
    }

    pub(crate) fn dump(&mut self, pid: Pid, path: &[u8]) -> Option<Dump> {
        self.dumps.remove(&(pid, path.into()))
    }
}

/// Whether a file is the one that was mapped, as far as its number tells; its
/// build id is compared by who reads it.
fn is_told(file: &File, told: &FileVersion) -> bool {
    match told {
        FileVersion::Inode(told) if has_plain_inodes(file) => {
            file.metadata().is_ok_and(|found| found.ino() == told.inode)
        }
        _ => true,
    }
}

/// Whether a file is of nobody's package, by where it lies.
fn is_built_by_users(path: &[u8]) -> bool {
    path.starts_with(BUILT_HERE) || !OF_PACKAGES.iter().any(|prefix| path.starts_with(prefix))
}

impl CodeMaker {
    fn look(&mut self, root: &Path, pid: Pid) {
        if self.map.is_none() {
            let directory = proc_dir::directory(root, pid);
            let ProcStatus { uid, inner, .. } = self.living;
            let root = proc_dir::root_of(&directory);
            self.map = owned_file::open(&root, map_path(inner), Owner::Process(uid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::sideband::FileIdentity;
    use perfdata::{Task, Tid};
    use std::io::Read;
    use std::os::unix::fs::symlink;

    fn record<'a>(pid: i32, path: &'a [u8], inode: u64) -> SidebandRecord<'a> {
        SidebandRecord::Mmap2(Mapping {
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
        let places = ["ours", "inside", "below"].map(|name| root.join(name));
        let [our, inner, chrooted] = places.each_ref().map(|place| {
            std::fs::create_dir_all(place).unwrap();
            std::fs::write(place.join("program"), place.file_name().unwrap().as_encoded_bytes())
                .unwrap();
            place.join("program").metadata().unwrap().ino()
        });
        let [ours, inside, below] = places;
        process_in(root, "self", "mnt:[1]", &ours);
        process_in(root, "10", "mnt:[1]", &ours);
        process_in(root, "11", "mnt:[2]", &inside);
        process_in(root, "12", "mnt:[1]", &below);
        let mut kept = KeptFiles::new(root);
        for (pid, inode) in [(10, our), (11, inner), (12, chrooted), (12, 1), (13, 113)] {
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
        assert_eq!(read(our), None, "what we can open at any time");
        for (foreign, text) in [(inner, "inside"), (chrooted, "below")] {
            assert_eq!(read(foreign).as_deref(), Some(text));
            assert_eq!(read(foreign).as_deref(), Some(text), "a second time");
        }
        assert_eq!((read(113), read(200)), (None, None));
        assert_eq!(read(1), None, "another file lies there now");
    }

    /// A recording carries what is ours, too, where no package put it.
    #[test]
    fn what_users_built_is_kept_for_a_recording() {
        let scene = tempfile::tempdir().unwrap();
        let root = scene.path();
        let paths = ["/home/me/built", "/usr/bin/packaged", "/usr/local/bin/installed", "/gone"];
        let inodes = paths.map(|path| {
            let place = root.join(&path[1..]);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(&place, path).unwrap();
            place.metadata().unwrap().ino()
        });
        process_in(root, "self", "mnt:[1]", root);
        process_in(root, "10", "mnt:[1]", root);
        let mut kept = KeptFiles { for_later: true, ..KeptFiles::new(root) };
        // 13 has ended before anybody looked.
        for ((path, inode), pid) in paths.into_iter().zip(inodes).zip([10, 10, 10, 13]) {
            kept.record(Misc(0), &record(pid, path.as_bytes(), inode));
            kept.record(Misc(0), &record(13, path.as_bytes(), inode + 1_000_000));
        }
        assert!(!kept.is_empty());
        let packer = FilePacker::new(tempfile::tempfile().unwrap(), 1 << 20);
        kept.pack_into(&packer);
        let packed = packer.finish().unwrap();
        let archive = zip::ZipArchive::new(packed.archive).unwrap();
        let mut names: Vec<_> = archive.file_names().map(|name| name.unwrap()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["gone", "hardmeter-files.json", "home/me/built", "usr/local/bin/installed"]
        );
    }

    #[test]
    fn no_more_files_are_kept_than_agreed() {
        let scene = tempfile::tempdir().unwrap();
        let root = scene.path();
        std::fs::write(root.join("program"), "").unwrap();
        process_in(root, "self", "mnt:[1]", root);
        process_in(root, "11", "mnt:[2]", root);
        let mut kept = KeptFiles::new(root);
        let inode = root.join("program").metadata().unwrap().ino();
        for number in 0..300 {
            let path = format!("/program-{number}");
            std::fs::hard_link(root.join("program"), root.join(&path[1..])).unwrap();
            kept.record(Misc(0), &record(11, path.as_bytes(), inode));
        }
        assert_eq!((kept.files.len(), kept.left_out()), (MOST_FILES, 44));
    }
}
