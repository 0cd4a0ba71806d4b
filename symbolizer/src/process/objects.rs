//! What addresses belong to, each known by number.

use super::timeline::AddressExtent;
use crate::files::embedded::index::{EmbeddedInode, EmbeddedVersion};
use crate::{ObjectId, Reason};
use perfdata::Pid;
use perfdata::sideband::FileIdentity;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    /// The kernel proper.
    Kernel,
    /// A kernel module, by name without brackets.
    Module,
    /// A routine that the kernel made at run time and told of.
    KernelRoutine {
        start: u64,
        /// Bytes.
        length: u64,
        /// `perf_record_ksymbol_type`.
        kind: u16,
    },
    Vdso(Vdso),
    File(usize),
    /// Memory of one process without a file.
    Anonymous(Pid),
    /// A routine that a process's compiler told of.
    Generated {
        start: u64,
        /// Bytes.
        length: u64,
        dump: Arc<str>,
    },
    /// No object; the reason is always the same.
    Fixed,
}

/// What is known about which vdso was mapped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Inode {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    pub(crate) inode: u64,
}

#[derive(Debug)]
pub(crate) struct MappedFile {
    /// Path as the target saw it, ` (deleted)` cut off.
    pub(crate) path: Box<[u8]>,
    pub(crate) deleted: bool,
    /// A memfd: its path leads nowhere.
    pub(crate) in_memory: bool,
    pub(crate) identity: Identity,
    /// Some of the processes that mapped it, with one address range each.
    pub(crate) seen: Vec<(Pid, u64, u64)>,
    /// The file itself, when it was opened in time.
    pub(crate) kept: Option<Arc<File>>,
}

/// Processes remembered per file: any that still lives can show the file.
const MOST_SEEN: usize = 8;

#[derive(Debug)]
struct Object {
    name: String,
    kind: ObjectKind,
}

/// What a record says about which file was mapped: the kernel tells a build
/// id when it can read one and the inode otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileVersion {
    BuildId(Box<[u8]>),
    Inode(Inode),
    Nothing,
}

/// The files of one path. One file may come with build id or inode, so what
/// is known by one alone is taken for the first that comes with the other.
#[derive(Debug, Default)]
struct Versions {
    first: Option<ObjectId>,
    by_build_id: FxHashMap<Box<[u8]>, ObjectId>,
    by_inode: FxHashMap<Inode, ObjectId>,
    without_build_id: VecDeque<ObjectId>,
    without_inode: VecDeque<ObjectId>,
}

/// Objects that records tell of, up to some 800 bytes each, and bytes of their
/// names: a packed recording of a few megabytes may tell of more than memory
/// holds.
const MOST_OBJECTS: usize = 1 << 19;
const MOST_NAMES: usize = 1 << 26;

#[derive(Debug)]
pub(crate) struct Objects {
    objects: Vec<Object>,
    most: usize,
    /// Bytes of the names of those that records told of.
    names: usize,
    /// How often a record told of one that there was no room for.
    left_out: u64,
    files: Vec<MappedFile>,
    /// A memfd's name is its process's own affair.
    by_path: FxHashMap<(Option<Pid>, Box<[u8]>), Versions>,
    vdsos: FxHashMap<Vdso, ObjectId>,
    /// What the recorder found the file of a path to be built as; None of
    /// several files.
    built: FxHashMap<Box<[u8]>, Option<Box<[u8]>>>,
    /// Memory of a process, or (none) modules.
    by_name: FxHashMap<(Option<Pid>, Box<[u8]>), ObjectId>,
}

impl Objects {
    pub(crate) fn new() -> Objects {
        let mut objects = Objects {
            objects: Vec::new(),
            most: MOST_OBJECTS,
            names: 0,
            left_out: 0,
            files: Vec::new(),
            by_path: FxHashMap::default(),
            vdsos: FxHashMap::default(),
            built: FxHashMap::default(),
            by_name: FxHashMap::default(),
        };
        objects.add("[kernel]", ObjectKind::Kernel);
        for name in
            ["[not-mapped]", "[unknown-process]", "[guest]", "[hypervisor]", "[unknown-mode]"]
        {
            objects.add(name, ObjectKind::Fixed);
        }
        objects.add("[too-many-mappings]", ObjectKind::Fixed);
        objects
    }

    pub(crate) fn add(&mut self, name: &str, kind: ObjectKind) -> ObjectId {
        let id = ObjectId(u32::try_from(self.objects.len()).unwrap_or(u32::MAX));
        self.objects.push(Object { name: name.to_owned(), kind });
        id
    }

    /// One that a record tells of, if there is room.
    fn told(&mut self, name: &[u8], kind: ObjectKind) -> Option<ObjectId> {
        if self.objects.len() >= self.most || self.names.saturating_add(name.len()) > MOST_NAMES {
            self.left_out += 1;
            return None;
        }
        self.names += name.len();
        Some(self.add(&String::from_utf8_lossy(name), kind))
    }

    /// Room for so many more, and no others.
    #[cfg(test)]
    pub(crate) fn limit(&mut self, more: usize) {
        self.most = self.objects.len() + more;
    }

    /// How often a record told of an object that is not kept, and how many
    /// are.
    pub(crate) fn left_out(&self) -> (u64, usize) {
        (self.left_out, self.most)
    }

    pub(crate) fn name(&self, id: ObjectId) -> &str {
        self.get(id).map_or("[unknown]", |object| &object.name)
    }

    pub(crate) fn kind(&self, id: ObjectId) -> &ObjectKind {
        self.get(id).map_or(&ObjectKind::Fixed, |object| &object.kind)
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
        let Some(id) = self.told(module_object(name).as_bytes(), ObjectKind::Module) else {
            return ObjectId::OVERFULL;
        };
        self.by_name.insert(key, id);
        id
    }

    /// A routine that the kernel told of by itself; every telling makes a
    /// new one, because addresses are used again.
    pub(crate) fn kernel_routine(
        &mut self,
        name: &[u8],
        extent: AddressExtent,
        kind: u16,
    ) -> ObjectId {
        let AddressExtent { start, length } = extent;
        let kind = ObjectKind::KernelRoutine { start, length, kind };
        self.told(name, kind).unwrap_or(ObjectId::OVERFULL)
    }

    /// A routine that a process's compiler told of; every telling makes a new
    /// one, because addresses are used again.
    pub(crate) fn generated(
        &mut self,
        name: &str,
        extent: AddressExtent,
        dump: Arc<str>,
    ) -> ObjectId {
        let AddressExtent { start, length } = extent;
        self.add(name, ObjectKind::Generated { start, length, dump })
    }

    pub(crate) fn mapped(
        &mut self,
        path: &[u8],
        file: &FileIdentity<'_>,
        pid: Pid,
        extent: AddressExtent,
    ) -> ObjectId {
        let AddressExtent { start, length } = extent;
        let told = FileVersion::from(file);
        if path == b"[vdso]" {
            let build_id = if let FileVersion::BuildId(id) = told { Some(id) } else { None };
            return self.vdso(Vdso { build_id, length });
        }
        let in_memory = path.starts_with(b"/memfd:") && told != FileVersion::Nothing;
        if is_anonymous(path) && !in_memory {
            let key = (Some(pid), path.into());
            if let Some(&known) = self.by_name.get(&key) {
                return known;
            }
            let name = if path.is_empty() { b"//anon" } else { path };
            let Some(id) = self.told(name, ObjectKind::Anonymous(pid)) else {
                return ObjectId::OVERFULL;
            };
            self.by_name.insert(key, id);
            return id;
        }
        let id = self.mapped_file(in_memory.then_some(pid), path, told);
        if let ObjectKind::File(index) = *self.kind(id) {
            let seen = &mut self.files[index].seen;
            if seen.len() == MOST_SEEN {
                seen.remove(0);
            }
            seen.push((pid, start, start.saturating_add(length)));
        }
        id
    }

    /// The file of an object, if it is one and was opened in time.
    pub(crate) fn keep(&mut self, id: ObjectId, kept: impl FnOnce() -> Option<File>) {
        if let ObjectKind::File(index) = *self.kind(id)
            && self.files[index].kept.is_none()
        {
            self.files[index].kept = kept().map(Arc::new);
        }
    }

    /// The recorder found the file of that path to have this build id, which
    /// holds for mappings that come without one.
    pub(crate) fn built(&mut self, path: &[u8], id: &[u8]) {
        let known = self.built.entry(path.into()).or_insert_with(|| Some(id.into()));
        if known.as_deref().is_some_and(|known| known != id) {
            *known = None;
        }
    }

    fn vdso(&mut self, vdso: Vdso) -> ObjectId {
        if let Some(&known) = self.vdsos.get(&vdso) {
            return known;
        }
        let Some(id) = self.told(b"[vdso]", ObjectKind::Vdso(vdso.clone())) else {
            return ObjectId::OVERFULL;
        };
        self.vdsos.insert(vdso, id);
        id
    }

    /// `owner`: the process whose memfd it is.
    fn mapped_file(&mut self, owner: Option<Pid>, recorded: &[u8], told: FileVersion) -> ObjectId {
        let deleted = recorded.strip_suffix(b" (deleted)");
        // Of a file whose directory the kernel cannot name, as in a container
        // that ended, this is all the name there is.
        let path = deleted.filter(|path| !path.ends_with(b"/")).unwrap_or(recorded);
        let deleted = deleted.is_some();
        let key = (owner, path.into());
        let known = self.by_path.get(&key).and_then(|versions| versions.find(&told));
        let shown = if owner.is_some() { recorded } else { path };
        let id = known.or_else(|| {
            let id = self.told(shown, ObjectKind::File(self.files.len()))?;
            let built = self.built.get(path).filter(|_| owner.is_none());
            let build_id = built.cloned().flatten();
            self.files.push(MappedFile {
                path: path.into(),
                deleted,
                in_memory: owner.is_some(),
                identity: Identity { build_id, inode: None },
                seen: Vec::new(),
                kept: None,
            });
            Some(id)
        });
        let Some(id) = id else { return ObjectId::OVERFULL };
        if let ObjectKind::File(index) = *self.kind(id) {
            let file = &mut self.files[index];
            file.deleted |= deleted;
            file.identity.learn(&told);
        }
        self.by_path.entry(key).or_default().learn(id, told, known.is_none());
        id
    }
}

impl Versions {
    fn find(&self, told: &FileVersion) -> Option<ObjectId> {
        match told {
            FileVersion::BuildId(id) => {
                self.by_build_id.get(id).or(self.without_build_id.front()).copied()
            }
            FileVersion::Inode(inode) => {
                self.by_inode.get(inode).or(self.without_inode.front()).copied()
            }
            FileVersion::Nothing => self.first,
        }
    }

    /// `id` is what [`Versions::find`] gave for `told`, or new.
    fn learn(&mut self, id: ObjectId, told: FileVersion, is_new: bool) {
        if is_new {
            self.first.get_or_insert(id);
            self.without_build_id.push_back(id);
            self.without_inode.push_back(id);
        }
        let (is_first_told, without) = match told {
            FileVersion::BuildId(build_id) => {
                (self.by_build_id.insert(build_id, id).is_none(), &mut self.without_build_id)
            }
            FileVersion::Inode(inode) => {
                (self.by_inode.insert(inode, id).is_none(), &mut self.without_inode)
            }
            FileVersion::Nothing => return,
        };
        if is_first_told {
            without.pop_front();
        }
    }
}

impl Identity {
    pub(crate) fn carried(&self) -> EmbeddedVersion {
        let inode =
            self.inode.map(|Inode { major, minor, inode }| EmbeddedInode { major, minor, inode });
        EmbeddedVersion::new(self.build_id.as_deref(), inode)
    }

    fn learn(&mut self, told: &FileVersion) {
        match told {
            FileVersion::BuildId(id) => self.build_id = Some(id.clone()),
            FileVersion::Inode(inode) => self.inode = Some(*inode),
            FileVersion::Nothing => {}
        }
    }
}

impl FileVersion {
    pub(crate) fn carried(&self) -> EmbeddedVersion {
        let mut identity = Identity::default();
        identity.learn(self);
        identity.carried()
    }
}

impl From<&FileIdentity<'_>> for FileVersion {
    fn from(file: &FileIdentity<'_>) -> FileVersion {
        match *file {
            // A build id of zeros is one that could not be read.
            FileIdentity::BuildId(id) if id.iter().any(|&byte| byte != 0) => {
                FileVersion::BuildId(id.into())
            }
            FileIdentity::Inode { major, minor, inode, .. } if inode != 0 => {
                FileVersion::Inode(Inode { major, minor, inode })
            }
            _ => FileVersion::Nothing,
        }
    }
}

/// `[NAME]`, or a path that ends in NAME.ko with or without compression; the
/// kernel writes `_` where file names may have `-`.
pub(crate) fn module_name(path: &[u8]) -> Option<Vec<u8>> {
    if let Some(name) = path.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")) {
        return Some(name.to_vec());
    }
    let file = path.rsplit(|&byte| byte == b'/').next()?;
    let end = memchr::memmem::find(file, b".ko")?;
    Some(file[..end].iter().map(|&byte| if byte == b'-' { b'_' } else { byte }).collect())
}

pub(crate) fn module_object(name: &[u8]) -> String {
    format!("[{}]", String::from_utf8_lossy(name))
}

/// Names that mmap events give to memory without a file that could be read
/// (`perf_event_mmap_event` and the file systems behind SysV shared memory,
/// memfd and huge pages).
pub(crate) fn is_anonymous(path: &[u8]) -> bool {
    path.is_empty()
        || !path.starts_with(b"/")
        || [b"//".as_slice(), b"/memfd:", b"/dev/zero", b"/SYSV", b"/anon_hugepage", b"/[aio]"]
            .iter()
            .any(|prefix| path.starts_with(prefix))
}

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
