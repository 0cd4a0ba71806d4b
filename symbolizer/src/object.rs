//! What addresses belong to, each known by number.

use crate::{ObjectId, Reason};
use record::Pid;
use record::side::FileIdentity;
use rustc_hash::FxHashMap;

/// What an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The kernel proper.
    Kernel,
    /// A kernel module, by name without brackets.
    Module,
    /// A routine that the kernel made at run time and told of.
    KernelRoutine {
        /// First address.
        start: u64,
        /// Bytes.
        length: u64,
        /// `perf_record_ksymbol_type`.
        kind: u16,
    },
    /// The vdso.
    Vdso(Vdso),
    /// A mapped file.
    File(usize),
    /// Memory of one process without a file.
    Anonymous,
    /// No object; the reason is always the same.
    Fixed,
}

/// What is known about which vdso was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vdso {
    /// When it was recorded.
    pub(crate) build_id: Option<Box<[u8]>>,
    /// Bytes of the mapping.
    pub(crate) length: u64,
}

/// What is known about which file was mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) build_id: Option<Box<[u8]>>,
    pub(crate) inode: Option<Inode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inode {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    pub(crate) inode: u64,
}

/// A mapped file as recorded.
#[derive(Debug)]
pub(crate) struct MappedFile {
    /// Path as the target saw it, ` (deleted)` cut off.
    pub(crate) path: Box<[u8]>,
    pub(crate) deleted: bool,
    pub(crate) identity: Identity,
    /// Some of the processes that mapped it, with one address range each.
    pub(crate) seen: Vec<(Pid, u64, u64)>,
}

/// Processes remembered per file: any that still lives can show the file.
const MOST_SEEN: usize = 8;

#[derive(Debug)]
struct Object {
    name: String,
    kind: Kind,
}

/// All objects.
#[derive(Debug)]
pub(crate) struct Objects {
    objects: Vec<Object>,
    files: Vec<MappedFile>,
    by_path: FxHashMap<Box<[u8]>, Vec<ObjectId>>,
    /// Memory of a process, or (none) modules.
    by_name: FxHashMap<(Option<Pid>, Box<[u8]>), ObjectId>,
}

impl Objects {
    pub(crate) fn new() -> Objects {
        let mut objects = Objects {
            objects: Vec::new(),
            files: Vec::new(),
            by_path: FxHashMap::default(),
            by_name: FxHashMap::default(),
        };
        objects.add("[kernel]", Kind::Kernel);
        for name in
            ["[not-mapped]", "[unknown-process]", "[guest]", "[hypervisor]", "[unknown-mode]"]
        {
            objects.add(name, Kind::Fixed);
        }
        objects.add("[too-many-mappings]", Kind::Fixed);
        objects
    }

    fn add(&mut self, name: &str, kind: Kind) -> ObjectId {
        let id = ObjectId(u32::try_from(self.objects.len()).unwrap_or(u32::MAX));
        self.objects.push(Object { name: name.to_owned(), kind });
        id
    }

    pub(crate) fn name(&self, id: ObjectId) -> &str {
        self.get(id).map_or("[unknown]", |object| &object.name)
    }

    pub(crate) fn kind(&self, id: ObjectId) -> &Kind {
        self.get(id).map_or(&Kind::Fixed, |object| &object.kind)
    }

    fn get(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(usize::try_from(id.0).ok()?)
    }

    pub(crate) fn file(&self, index: usize) -> &MappedFile {
        &self.files[index]
    }

    /// The module of that name (without brackets).
    pub(crate) fn module(&mut self, name: &[u8]) -> ObjectId {
        let key = (None, name.into());
        if let Some(&known) = self.by_name.get(&key) {
            return known;
        }
        let id = self.add(&module_object(name), Kind::Module);
        self.by_name.insert(key, id);
        id
    }

    /// A routine that the kernel told of by itself; every telling makes a
    /// new one, because addresses are used again.
    pub(crate) fn kernel_routine(
        &mut self,
        name: &[u8],
        (start, length): (u64, u64),
        kind: u16,
    ) -> ObjectId {
        let kind = Kind::KernelRoutine { start, length, kind };
        self.add(&String::from_utf8_lossy(name), kind)
    }

    /// What a user mapping of that path shows.
    pub(crate) fn mapped(
        &mut self,
        path: &[u8],
        file: &FileIdentity<'_>,
        (pid, start, length): (Pid, u64, u64),
    ) -> ObjectId {
        let identity = Identity::from(file);
        if path == b"[vdso]" {
            return self.vdso(Vdso { build_id: identity.build_id, length });
        }
        if is_anonymous(path) {
            let key = (Some(pid), path.into());
            if let Some(&known) = self.by_name.get(&key) {
                return known;
            }
            let name = if path.is_empty() { b"//anon" } else { path };
            let id = self.add(&String::from_utf8_lossy(name), Kind::Anonymous);
            self.by_name.insert(key, id);
            return id;
        }
        let id = self.mapped_file(path, identity);
        if let Kind::File(index) = *self.kind(id) {
            let seen = &mut self.files[index].seen;
            if seen.len() == MOST_SEEN {
                seen.remove(0);
            }
            seen.push((pid, start, start.saturating_add(length)));
        }
        id
    }

    fn vdso(&mut self, vdso: Vdso) -> ObjectId {
        let name = b"[vdso]".as_slice();
        let known = self.by_path.get(name).map_or(&[][..], Vec::as_slice);
        let same = |id: &&ObjectId| *self.kind(**id) == Kind::Vdso(vdso.clone());
        if let Some(&id) = known.iter().find(same) {
            return id;
        }
        let id = self.add("[vdso]", Kind::Vdso(vdso));
        self.by_path.entry(name.into()).or_default().push(id);
        id
    }

    fn mapped_file(&mut self, recorded: &[u8], identity: Identity) -> ObjectId {
        let (path, deleted) = match recorded.strip_suffix(b" (deleted)") {
            Some(path) => (path, true),
            None => (recorded, false),
        };
        for &id in self.by_path.get(path).map_or(&[][..], Vec::as_slice) {
            let Kind::File(index) = *self.kind(id) else { continue };
            let file = &mut self.files[index];
            if file.identity.agrees(&identity) {
                file.identity.learn(identity);
                file.deleted |= deleted;
                return id;
            }
        }
        let id = self.add(&String::from_utf8_lossy(path), Kind::File(self.files.len()));
        self.files.push(MappedFile { path: path.into(), deleted, identity, seen: Vec::new() });
        self.by_path.entry(path.into()).or_default().push(id);
        id
    }
}

impl Identity {
    /// The kernel tells a build id when it can read one and the inode
    /// otherwise, so one file may come with either.
    fn agrees(&self, other: &Identity) -> bool {
        let differ = |a: &Option<_>, b: &Option<_>| matches!((a, b), (Some(a), Some(b)) if a != b);
        !differ(&self.build_id, &other.build_id)
            && !matches!((self.inode, other.inode), (Some(a), Some(b)) if a != b)
    }

    fn learn(&mut self, other: Identity) {
        self.build_id = self.build_id.take().or(other.build_id);
        self.inode = self.inode.or(other.inode);
    }
}

impl From<&FileIdentity<'_>> for Identity {
    fn from(file: &FileIdentity<'_>) -> Identity {
        match *file {
            // A build id of zeros is one that could not be read.
            FileIdentity::BuildId(id) if id.iter().any(|&byte| byte != 0) => {
                Identity { build_id: Some(id.into()), inode: None }
            }
            FileIdentity::Inode { major, minor, inode, .. } if inode != 0 => {
                Identity { build_id: None, inode: Some(Inode { major, minor, inode }) }
            }
            _ => Identity::default(),
        }
    }
}

/// A module's name as an object's.
pub(crate) fn module_object(name: &[u8]) -> String {
    format!("[{}]", String::from_utf8_lossy(name))
}

/// Names that mmap events give to memory without a file that could be read
/// (`perf_event_mmap_event` and the file systems behind SysV shared memory,
/// memfd and huge pages).
fn is_anonymous(path: &[u8]) -> bool {
    path.is_empty()
        || !path.starts_with(b"/")
        || [b"//".as_slice(), b"/memfd:", b"/dev/zero", b"/SYSV", b"/anon_hugepage", b"/[aio]"]
            .iter()
            .any(|prefix| path.starts_with(prefix))
}

/// The reason of an object that has no names.
pub(crate) fn fixed_reason(id: ObjectId) -> Reason {
    match id {
        ObjectId::UNKNOWN_PROCESS => Reason::UnknownProcess,
        ObjectId::GUEST => Reason::Guest,
        ObjectId::HYPERVISOR => Reason::Hypervisor,
        ObjectId::UNKNOWN_MODE => Reason::UnknownMode,
        ObjectId::OVERFULL => Reason::TooManyMappings,
        _ => Reason::NotMapped,
    }
}
