//! Lines and inlined calls of the kernel's own code: a vmlinux with debug
//! info for the kernel proper, `.ko` files for its modules.

use super::list::SymbolList;
use super::loaded::{self, KernelAnchor};
use super::table::KernelSymbols;
use super::vmlinux;
use crate::SymbolizerOptions;
use crate::answer::MissingDebugInfo;
use crate::dwarf::lazy_debug_file::{LazyDebugFile, ObjectDebug};
use crate::elf;
use crate::elf::head::hex;
use crate::files::debuginfod::Artifact;
use crate::files::located_file::build_in_words;
use crate::files::opening::open_within;
use object::ReadCache;
use rustc_hash::FxHashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What tells which files are the kernel's.
pub(super) struct KernelFileQuery<'a> {
    pub(super) options: &'a SymbolizerOptions,
    pub(super) release: String,
    /// Of the kernel, or of the module.
    pub(super) build_id: Option<Box<[u8]>>,
    pub(super) anchors: &'a [KernelAnchor],
    pub(super) symbols: &'a KernelSymbols,
}

impl KernelFileQuery<'_> {
    /// Opens the debug info of the kernel proper, or of a module whose name
    /// in brackets is given.
    pub(super) fn open(&self, module: Option<&str>) -> Result<ObjectDebug, MissingDebugInfo> {
        module.map_or_else(|| self.image(), |module| self.module(module))
    }

    fn image(&self) -> Result<ObjectDebug, MissingDebugInfo> {
        let root = &self.options.root;
        if let Some(path) = &self.options.vmlinux {
            // Not below the root: it was named here.
            let path = std::path::absolute(path).map_err(|why| damaged(path, &why.to_string()))?;
            return self.open_image(&path, &self.outside());
        }
        let release = &self.release;
        let mut places = vec![
            format!("/usr/lib/debug/boot/vmlinux-{release}"),
            format!("/usr/lib/debug/lib/modules/{release}/vmlinux"),
            format!("/lib/modules/{release}/build/vmlinux"),
            format!("/lib/modules/{release}/vmlinux"),
            format!("/boot/vmlinux-{release}"),
        ];
        places.extend(self.by_build_id());
        let fits = |place: &&String| self.is_build_of(root, place);
        if let Some(place) = places.iter().find(fits) {
            return self.open_image(Path::new(place), self.options);
        }
        let (path, here) = self.fetched().ok_or_else(|| self.absent("vmlinux"))?;
        self.open_image(&path, &here)
    }

    fn open_image(
        &self,
        path: &Path,
        options: &SymbolizerOptions,
    ) -> Result<ObjectDebug, MissingDebugInfo> {
        let damaged = |why: String| damaged(path, &why);
        let on_disk = options.root.join(path.strip_prefix("/").unwrap_or(path));
        let on_disk = if options.root == Path::new("/") { path } else { &on_disk };
        let own = build_id_of(on_disk).map_err(|why| damaged(why.clone()))?;
        if let (Some(own), Some(kernels)) = (&own, &self.build_id)
            && own != kernels
        {
            let (own, kernels) = (hex(own), hex(kernels));
            return Err(damaged(format!("its build id is {own}, the kernel's {kernels}")));
        }
        let anchor = self
            .anchors
            .first()
            .ok_or_else(|| damaged("where the kernel lies is not known".to_owned()))?;
        let linked = vmlinux::address_of(on_disk, &anchor.symbol).map_err(damaged)?;
        let moved = anchor.address.wrapping_sub(linked);
        if !moved.is_multiple_of(loaded::KASLR_STEP) {
            return Err(damaged(format!(
                "{} is at {linked:#x} in it, runs at {:#x}",
                anchor.symbol, anchor.address
            )));
        }
        let file =
            LazyDebugFile::open(path, options).map_err(|reason| damaged(reason.to_string()))?;
        let (file, path) = (Box::new(file), path.display().to_string().into());
        Ok(ObjectDebug { file, path, moved, size: u64::MAX })
    }

    /// `shown` is the module's name in brackets.
    fn module(&self, shown: &str) -> Result<ObjectDebug, MissingDebugInfo> {
        let name = shown.trim_start_matches('[').trim_end_matches(']');
        let is_file = !name.is_empty() && !name.starts_with("__builtin__") && name != "bpf";
        if !is_file || name.contains('/') {
            return Err(MissingDebugInfo::Never { object: shown.into() });
        }
        let root = &self.options.root;
        let mut places: Vec<String> = self.by_build_id().collect();
        let directory = format!("/lib/modules/{}", self.release);
        let listed = read_within(root, &format!("{directory}/modules.dep")).unwrap_or_default();
        for path in listed.lines().filter_map(|line| line.split(':').next()) {
            let file = path.rsplit('/').next().unwrap_or(path);
            let Some((stem, packed)) = file.split_once(".ko") else { continue };
            if stem.replace('-', "_") == name {
                let plain = path.strip_suffix(packed).unwrap_or(path);
                places.push(format!("/usr/lib/debug{directory}/{plain}"));
                places.push(format!("/usr/lib/debug{directory}/{plain}.debug"));
                places.push(format!("{directory}/{plain}"));
            }
        }
        let fits = |place: &&String| self.is_build_of(root, place);
        let (path, options) = match places.iter().find(fits) {
            Some(place) => (PathBuf::from(place), self.options.clone()),
            None => self.fetched().ok_or_else(|| self.absent(shown))?,
        };
        let path = path.as_path();
        let on_disk = options.root.join(path.strip_prefix("/").unwrap_or(path));
        let (base, size) = vmlinux::text_of(&on_disk)
            .and_then(|(routines, size)| Ok((self.distance(name, &routines)?, size)))
            .map_err(|why| damaged(path, &why))?;
        let file = LazyDebugFile::open(path, &options)
            .map_err(|reason| damaged(path, &reason.to_string()))?;
        let (file, path) = (Box::new(file), path.display().to_string().into());
        Ok(ObjectDebug { file, path, moved: base, size })
    }

    /// Where the module's `.text` lies: every routine that the kernel lists
    /// and that has its name alone must be at one distance.
    fn distance(&self, module: &str, routines: &SymbolList) -> Result<u64, String> {
        let mut values: FxHashMap<&[u8], Option<u64>> = FxHashMap::default();
        for entry in &routines.entries {
            let value = values.entry(routines.name(entry)).or_insert(Some(entry.address));
            if *value != Some(entry.address) {
                *value = None;
            }
        }
        let mut base = None;
        for index in 0..self.symbols.len() {
            let routine = self.symbols.routine(index);
            if routine.module != Some(module.as_bytes()) {
                continue;
            }
            let Some(Some(value)) = values.get(routine.name) else { continue };
            let from = routine.start.wrapping_sub(*value);
            match base {
                None => base = Some(from),
                Some(known) if known == from => {}
                Some(_) => {
                    let name = String::from_utf8_lossy(routine.name);
                    return Err(format!(
                        "{name} lies at another distance from the others than in the kernel"
                    ));
                }
            }
        }
        base.ok_or_else(|| "none of its routines is listed by the kernel".to_owned())
    }

    /// Only the very build is used.
    fn is_build_of(&self, root: &Path, place: &str) -> bool {
        let Some(sought) = &self.build_id else { return false };
        open_within(root, place.as_bytes())
            .ok()
            .and_then(|file| elf::head(&ReadCache::new(file)).ok())
            .is_some_and(|head| head.build_id.as_ref() == Some(sought))
    }

    fn by_build_id(&self) -> impl Iterator<Item = String> {
        let id = self.build_id.as_deref().map(hex).filter(|id| id.len() > 2);
        let directories = self.options.debug_directories.clone();
        id.into_iter().flat_map(move |id| {
            let tail = format!(".build-id/{}/{}.debug", &id[..2], &id[2..]);
            let each = directories.clone().into_iter();
            each.map(move |directory| directory.join(&tail).display().to_string())
        })
    }

    fn fetched(&self) -> Option<(PathBuf, SymbolizerOptions)> {
        let servers = self.options.debuginfod.as_ref()?;
        let path = servers.find_path(self.build_id.as_deref()?, Artifact::DebugInfo)?;
        Some((path, self.outside()))
    }

    /// For a file that is not below the root.
    fn outside(&self) -> SymbolizerOptions {
        SymbolizerOptions { root: PathBuf::from("/"), ..self.options.clone() }
    }

    fn absent(&self, file: &str) -> MissingDebugInfo {
        let build = match &self.build_id {
            Some(id) => build_in_words(Some(id), self.options),
            None => "its build id is not known".to_owned(),
        };
        MissingDebugInfo::Absent { file: file.into(), build: build.into() }
    }
}

fn damaged(path: &Path, why: &str) -> MissingDebugInfo {
    MissingDebugInfo::Damaged { file: path.display().to_string().into(), why: why.into() }
}

fn build_id_of(path: &Path) -> Result<Option<Box<[u8]>>, String> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or_default().as_bytes();
    let file = open_within(directory, name).map_err(|error| error.to_string())?;
    elf::head(&ReadCache::new(file)).map(|head| head.build_id).map_err(|error| error.to_string())
}

fn read_within(root: &Path, path: &str) -> std::io::Result<String> {
    std::io::read_to_string(open_within(root, path.as_bytes())?)
}
