//! The files in which a name may be.

use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};

use analysis::Glob;
use perfdata::Pid;
use symbolizer::{ElfNames, KernelSource, SymbolizerOptions, parse_maps};

use super::WatchError;

#[derive(Debug)]
pub(super) struct NamedObject {
    /// As mapped.
    pub(super) path: String,
    /// Where it can be opened.
    place: PathBuf,
    pub(super) is_program: bool,
    /// Where its first mapping begins; None: it is loaded where it was linked.
    first: Option<FirstMapping>,
    names: OnceCell<Option<ElfNames>>,
}

#[derive(Clone, Copy, Debug)]
struct FirstMapping {
    start: u64,
    offset: u64,
}

impl NamedObject {
    pub(super) fn unloaded(path: &Path) -> NamedObject {
        NamedObject {
            path: path.display().to_string(),
            place: path.to_owned(),
            is_program: true,
            first: None,
            names: OnceCell::new(),
        }
    }

    /// What executable files a process has mapped, in the order of their
    /// addresses.
    pub(super) fn of_process(pid: Pid, root: &Path) -> Result<Vec<NamedObject>, WatchError> {
        let directory = root.join(format!("proc/{pid}"));
        let look = |name: &str| {
            let place = directory.join(name);
            move |error| WatchError::Look { place: place.display().to_string(), error }
        };
        let program = std::fs::read_link(directory.join("exe")).map_err(look("exe"))?;
        let maps = std::fs::read(directory.join("maps")).map_err(look("maps"))?;
        let entries = parse_maps(&maps).unwrap_or_default();
        let mut objects: Vec<NamedObject> = Vec::new();
        for code in entries.iter().filter(|entry| entry.permissions[2] == b'x') {
            let Ok(path) = std::str::from_utf8(code.path) else { continue };
            if !path.starts_with('/') || objects.iter().any(|known| known.path == path) {
                continue;
            }
            let first = entries.iter().find(|entry| entry.path == code.path).unwrap_or(code);
            let is_program = Path::new(path) == program;
            let place = match is_program {
                true => directory.join("exe"),
                false => directory.join(format!("root{path}")),
            };
            objects.push(NamedObject {
                path: path.to_owned(),
                place,
                is_program,
                first: Some(FirstMapping { start: first.start, offset: first.offset }),
                names: OnceCell::new(),
            });
        }
        Ok(objects)
    }

    pub(super) fn names(&self) -> Option<&ElfNames> {
        let read = || {
            let options =
                SymbolizerOptions { kernel: KernelSource::None, ..SymbolizerOptions::default() };
            let file = File::open(&self.place).ok()?;
            ElfNames::find_for(file, Path::new(&self.path), &options).ok()
        };
        self.names.get_or_init(read).as_ref()
    }

    /// What is added to its addresses.
    pub(super) fn bias(&self) -> Option<u64> {
        match self.first {
            Some(first) => self.names()?.bias(first.start, first.offset),
            None => Some(0),
        }
    }

    pub(super) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether it is meant, as in filters of reports: by path or name.
    pub(super) fn is_called(&self, object: &str) -> bool {
        let glob = Glob::new(object);
        glob.matches(&self.path) || glob.matches(self.file_name())
    }
}
