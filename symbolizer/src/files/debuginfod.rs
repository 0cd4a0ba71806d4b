//! Debug files by build id from servers (debuginfod(8)), and the cache of
//! those that were fetched, which gdb, perf and elfutils share
//! (debuginfod-client-config(7)). Off unless servers were named.

mod cache;
#[cfg_attr(not(feature = "debuginfod"), path = "debuginfod/no_client.rs")]
mod download;
mod settings;

use crate::elf;
use crate::elf::head::hex;
use cache::{Cached, Place};
use download::{Agent, download};
use object::ReadCache;
use rustc_hash::FxHashMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Seek;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use settings::{Settings as DebuginfodSettings, SettingsError as DebuginfodError};

/// Bytes of the shortest build id that is asked for: a linker's are longer,
/// and what is shorter names too many files.
const SHORTEST_ID: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Artifact {
    DebugInfo,
    Executable,
}

impl Artifact {
    /// As it stands in URLs and in the cache.
    fn name(self) -> &'static str {
        match self {
            Artifact::DebugInfo => "debuginfo",
            Artifact::Executable => "executable",
        }
    }
}

/// Is told how downloads go, one after the other.
pub trait Downloads: fmt::Debug + Send + Sync {
    /// This URL is asked for.
    fn asked(&self, url: &str);
    /// So many bytes are here, of so many if the server told.
    fn came(&self, bytes: u64, of: Option<u64>);
    /// It is over; why nothing came.
    fn ended(&self, failure: Option<&str>);
}

/// The servers, and what became of asking them.
#[derive(Clone, Debug)]
pub struct Debuginfod {
    settings: DebuginfodSettings,
    listener: Option<Arc<dyn Downloads>>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    agent: Option<Agent>,
    /// Servers that did not answer in time, or at all: not asked again.
    dead: Vec<String>,
    /// Why there is no such file.
    said: FxHashMap<(String, Artifact), String>,
}

/// Equal when they would ask the same.
impl PartialEq for Debuginfod {
    fn eq(&self, other: &Debuginfod) -> bool {
        self.settings == other.settings
    }
}

impl Eq for Debuginfod {}

impl Debuginfod {
    /// Asks those servers.
    pub fn new(settings: DebuginfodSettings) -> Debuginfod {
        Debuginfod { settings, listener: None, state: Arc::default() }
    }

    /// As the environment says; none without DEBUGINFOD_URLS.
    ///
    /// # Errors
    /// A value that is no number, or no place for the cache.
    pub fn from_environment(
        read: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Debuginfod>, DebuginfodError> {
        Ok(DebuginfodSettings::read(read)?.map(Debuginfod::new))
    }

    /// The same, heard by somebody.
    #[must_use]
    pub fn heard_by(self, listener: Arc<dyn Downloads>) -> Debuginfod {
        Debuginfod { listener: Some(listener), ..self }
    }

    /// The file of a build id: from the cache, else from the first server
    /// that has it.
    pub(crate) fn find(&self, build_id: &[u8], artifact: Artifact) -> Option<File> {
        if build_id.len() < SHORTEST_ID {
            return None;
        }
        let key = (hex(build_id), artifact);
        // Held while a file comes: what two threads want is fetched once.
        let mut state = self.state();
        if state.said.contains_key(&key) {
            return None;
        }
        let place = self.place(&key.0, artifact);
        let found = match place.look() {
            Cached::File(file) => checked(file, build_id).ok(),
            Cached::Nothing => None,
            Cached::Miss => {
                let why = format!("no server had it, says {}", place.path().display());
                state.said.insert(key, why);
                return None;
            }
        };
        match found.map_or_else(|| self.fetch(&mut state, &place, build_id), Ok) {
            Ok(file) => Some(file),
            Err(why) => {
                state.said.insert(key, why);
                None
            }
        }
    }

    pub(crate) fn find_path(&self, build_id: &[u8], artifact: Artifact) -> Option<PathBuf> {
        self.find(build_id, artifact).map(|_| self.place(&hex(build_id), artifact).path())
    }

    /// Why there was no such file, if it was asked for.
    pub(crate) fn said(&self, build_id: &[u8], artifact: Artifact) -> Option<String> {
        self.state().said.get(&(hex(build_id), artifact)).cloned()
    }

    fn place(&self, build_id: &str, artifact: Artifact) -> Place {
        Place::new(&self.settings.cache, build_id, artifact.name())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fetch(&self, state: &mut State, place: &Place, build_id: &[u8]) -> Result<File, String> {
        let agent = state.agent.get_or_insert_with(|| download::agent(&self.settings)).clone();
        let mut whys = Vec::new();
        let mut absent = true;
        for server in &self.settings.urls {
            if state.dead.contains(server) {
                absent = false;
                continue;
            }
            let mut temporary = place.temporary().map_err(|error| {
                format!("{} cannot be written to: {error}", self.settings.cache.display())
            })?;
            let listener = self.listener.as_deref();
            let to = temporary.as_file_mut();
            let came = download(&agent, &place.url(server), &self.settings, listener, to);
            let same = || temporary.as_file().try_clone().map_err(|error| error.to_string());
            let checked =
                || same().and_then(|file| checked(file, build_id)).map_err(Failure::Other);
            let failure = match came.and_then(|()| checked()) {
                Ok(_) => {
                    return place.put(temporary).map_err(|error| {
                        format!("{} cannot be written: {error}", place.path().display())
                    });
                }
                Err(failure) => failure,
            };
            match failure {
                Failure::Absent => continue,
                Failure::Dead(why) => {
                    state.dead.push(server.clone());
                    whys.push(format!("{server}: {why}; it is not asked again"));
                }
                Failure::Other(why) => whys.push(format!("{server}: {why}")),
            }
            absent = false;
        }
        if absent {
            place.put_miss();
            return Err("no server has it".to_owned());
        }
        match whys.is_empty() {
            true => Err("no server answers".to_owned()),
            false => Err(whys.join("; ")),
        }
    }
}

/// The file, at its start, if it has that build id.
fn checked(mut file: File, build_id: &[u8]) -> Result<File, String> {
    let again = file.try_clone().map_err(|error| error.to_string())?;
    let head = elf::head(&ReadCache::new(again));
    let head = head.map_err(|why| format!("what it sent is no ELF file: {why}"))?;
    match head.build_id.as_deref() {
        Some(found) if found == build_id => {
            file.rewind().map_err(|error| error.to_string())?;
            Ok(file)
        }
        Some(found) => Err(format!("what it sent has another build id, {}", hex(found))),
        None => Err("what it sent has no build id".to_owned()),
    }
}

#[derive(Debug)]
enum Failure {
    #[cfg_attr(not(feature = "debuginfod"), allow(dead_code, reason = "nobody is asked"))]
    Absent,
    /// The server does not answer, or too slowly.
    Dead(String),
    Other(String),
}

#[cfg(test)]
mod tests;
