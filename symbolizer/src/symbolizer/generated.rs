//! Names of code that processes made themselves: what their compilers tell
//! in /tmp/perf-PID.map, and with times in jitdump files.

mod dumps;

use crate::files::embedded::index::EmbeddedPart;
use crate::jit::map::{self, MapRoom, PerfMap, PerfMapError};
use crate::jit::when::{self, Clocks};
use crate::process::kept_files::KeptFiles;
use crate::process::objects::FileVersion;
use crate::process::owned_file::{self, OwnedFile, Owner, RefusedFile, map_path};
use crate::process::proc_dir::{self, ProcStatus};
use crate::process::timeline::Timelines;
use crate::{ObjectId, Place, Reason, Resolution, Routine, Symbolizer};
use dumps::Dumps;
use perfdata::sideband::{FileIdentity, SampleId, SidebandRecord};
use perfdata::stream::ModelClock;
use perfdata::{Attr, AttrFlags, Pid, Time};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io::BufReader;

/// CLOCK_MONOTONIC (clock_gettime(2)).
const MONOTONIC: i32 = 1;
/// What all maps may have that are kept in memory for one recording.
const ROOM: MapRoom = MapRoom { lines: 16_000_000, names: 1 << 30 };

/// Ends of processes and names of jitdump files that are kept.
const MOST_ENDS: usize = 1 << 20;
const MOST_DUMPS: usize = 1 << 16;

/// What is known of code that processes made.
#[derive(Debug)]
pub(crate) struct Jit {
    /// By process, once asked for.
    maps: FxHashMap<Pid, Map>,
    /// What is left for more of them.
    room: MapRoom,
    dumps: Dumps,
    /// Routines from jitdump files, by process.
    code: Timelines,
    /// What was opened while the processes lived.
    pub(crate) kept: KeptFiles,
    /// When main threads ended.
    ends: FxHashMap<Pid, Time>,
    ends_left_out: u64,
    dumps_left_out: u64,
    /// The first time of all records that have one.
    first: Option<Time>,
    /// Whether times are CLOCK_MONOTONIC.
    monotonic: bool,
    clock: Option<ModelClock>,
}

#[derive(Debug)]
enum Map {
    /// None was found.
    Absent,
    /// One was found, and is not believed.
    Refused(RefusedFile),
    Read {
        map: PerfMap,
        path: String,
    },
}

impl Default for Jit {
    fn default() -> Jit {
        Jit {
            maps: FxHashMap::default(),
            room: ROOM,
            dumps: Dumps::default(),
            code: Timelines::default(),
            kept: KeptFiles::default(),
            ends: FxHashMap::default(),
            ends_left_out: 0,
            dumps_left_out: 0,
            first: None,
            monotonic: false,
            clock: None,
        }
    }
}

impl Jit {
    /// Notes what a record says of times.
    pub(crate) fn side(&mut self, record: &SidebandRecord<'_>, id: &SampleId) {
        if let Some(time) = id.time.filter(|time| time.0 > 0) {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
        }
        if let SidebandRecord::Exit { task, time, .. } = record
            && task.pid.0 == task.tid.0
        {
            if self.ends.len() < MOST_ENDS || self.ends.contains_key(&task.pid) {
                self.ends.insert(task.pid, *time);
            } else {
                self.ends_left_out += 1;
            }
        }
    }

    /// Jitdump files that were told of and are not looked for.
    pub(crate) fn left_out(&self) -> u64 {
        self.dumps_left_out
    }

    /// The machine's clock when a record of this time was made, at the
    /// earliest.
    fn earliest(&self, time: Time) -> Time {
        self.clock.map_or(time, |clock| clock.began)
    }

    fn latest(&self, time: Time) -> Time {
        self.clock.map_or(time, |clock| clock.now)
    }
}

impl Symbolizer {
    /// Takes in how an event was recorded: jitdump files have times of
    /// CLOCK_MONOTONIC, and so may samples (perf: `record -k mono`). If not,
    /// an address at which such a file puts several routines in turn gets no
    /// name.
    pub(super) fn sampled_with(&mut self, attr: &Attr) {
        let monotonic = attr.flags.contains(AttrFlags::USE_CLOCKID) && attr.clockid == MONOTONIC;
        self.jit.monotonic = monotonic;
        self.told += 1;
    }

    /// Takes in how times of records relate to the machine's clock: they are of
    /// one of the recorder's own.
    pub(super) fn timed_by(&mut self, clock: ModelClock) {
        self.jit.clock = Some(clock);
    }

    /// Takes over files that were opened while their processes lived, to be
    /// told before the mappings.
    pub fn keep(&mut self, kept: KeptFiles) {
        self.jit.kept = kept;
    }

    pub(crate) fn told_of_file(
        &mut self,
        pid: Pid,
        path: &[u8],
        file: &FileIdentity<'_>,
        object: ObjectId,
    ) {
        self.notice_dump(pid, path, file);
        self.objects.keep(object, || self.jit.kept.file(path, &FileVersion::from(file)));
    }

    /// Whether a file is one of memory that holds no program: code that its
    /// process made.
    pub(crate) fn is_generated(&mut self, file: usize) -> bool {
        self.objects.file(file).in_memory && self.opened(file).is_failed()
    }

    /// The routine at a place in memory that `pid` mapped from no file.
    pub(crate) fn resolve_generated(&mut self, pid: Pid, place: Place) -> Resolution<'_> {
        if !self.jit.maps.contains_key(&pid) {
            let map = match self.find_map(pid) {
                None => Map::Absent,
                Some(Err(refused)) => Map::Refused(refused),
                Some(Ok(file)) => {
                    if let Some(to_pack) = self.options.to_pack(&file.file) {
                        to_pack.pack(EmbeddedPart::Map { pid: pid.0, path: file.path.clone() });
                    }
                    self.jit.read(file)
                }
            };
            self.jit.maps.insert(pid, map);
        }
        let address = place.address;
        let doubt = match &self.jit.maps[&pid] {
            Map::Absent => self.dump_refused(pid, address),
            Map::Refused(refused) => Some(refused.clone()),
            Map::Read { .. } => None,
        };
        if let Some(RefusedFile { file, why }) = doubt {
            return Resolution::Unknown(Reason::Generated { file, why });
        }
        let Map::Read { map, path } = &self.jit.maps[&pid] else {
            let name = self.objects.name(place.object).to_owned();
            return Resolution::Unknown(Reason::Anonymous { name });
        };
        match map.find(address) {
            Some(found) => Resolution::Routine(Routine {
                name: Cow::Borrowed(found.name),
                start: found.start,
                end: found.last.saturating_add(1),
                offset: address - found.start,
            }),
            None => {
                let object = match map.passed_over() {
                    0 => path.clone(),
                    lines => format!("{path} ({lines} lines of it name nothing)"),
                };
                Resolution::Unknown(Reason::BetweenSymbols { object })
            }
        }
    }

    /// The map of a process, if there is one; see docs/symbols.md for whose
    /// is believed.
    fn find_map(&mut self, pid: Pid) -> Option<Result<OwnedFile, RefusedFile>> {
        let number = u32::try_from(pid.0).ok().filter(|number| *number > 0)?;
        if let Some(kept) = self.jit.kept.map(pid) {
            return Some(kept);
        }
        if let Some((file, path)) = self.options.carried().and_then(|files| files.map(pid.0)) {
            let path = path.to_owned();
            return Some(match file {
                Ok(file) => Ok(OwnedFile { file, path }),
                Err(error) => Err(RefusedFile { file: path, why: error.to_string() }),
            });
        }
        let life = self.timelines.life(pid);
        if life.is_reborn {
            let why = "its number was given to several processes meanwhile".to_owned();
            return Some(Err(RefusedFile { file: map_path(number), why }));
        }
        let first = if life.first.0 > 0 { Some(life.first) } else { self.jit.first };
        let is_here = self.options.symfs.is_none();
        let elsewhere = self.elsewhere();
        if is_here && elsewhere.is_none() {
            let directory = proc_dir::directory(&self.options.root, pid);
            let first = first.map(|first| self.jit.latest(first));
            let same =
                |living: &ProcStatus| first.is_none_or(|first| when::began_by(living, first));
            if let Some(living) = ProcStatus::read(&directory).filter(same) {
                let owner = Owner::Process(living.uid);
                let root = proc_dir::root_of(&directory);
                return owned_file::open(&root, map_path(living.inner), owner);
            }
        }
        let root = self.options.files();
        // Of another machine or boot: only a tree that was named may have it.
        let is_named = root.as_os_str() != "/";
        if elsewhere.is_some() && !is_named {
            return None;
        }
        let found = owned_file::open(root, map_path(number), Owner::Unknown)?;
        Some(found.and_then(|map| {
            let written = map.written().filter(|_| !is_named);
            let began = life.began.map(|time| self.jit.earliest(time));
            let ended = self.jit.ends.get(&pid).map(|time| self.jit.latest(*time));
            let unknown = (ended.is_none() && self.jit.ends_left_out > 0)
                .then_some("more processes ended than are kept: when this one did is not known");
            let doubt = written.and_then(|at| {
                unknown.map(str::to_owned).or_else(|| Clocks::now().doubt(at, began, ended))
            });
            match doubt {
                Some(why) => Err(RefusedFile { file: map.path, why }),
                None => Ok(map),
            }
        }))
    }
}

impl Jit {
    fn read(&mut self, file: OwnedFile) -> Map {
        let path = file.path.clone();
        let refused = |why: &str| RefusedFile { file: path.clone(), why: why.to_owned() };
        let MapRoom { lines, names } = self.room;
        if lines == 0 || names == 0 {
            let MapRoom { lines, names } = ROOM;
            let why = format!(
                "the maps of this recording before it have {lines} lines, or names of {names} \
                 bytes: all that is kept in memory"
            );
            return Map::Refused(refused(&why));
        }
        let map = match PerfMap::read(BufReader::with_capacity(1 << 16, file.file), self.room) {
            Ok(map) => map,
            Err(error) => {
                let beside = match error {
                    PerfMapError::Lines { most } => most < map::MOST_LINES,
                    PerfMapError::Names { most } => most < ROOM.names,
                    PerfMapError::Bytes { .. } | PerfMapError::Io(_) => false,
                };
                let others = if beside { " beside the other maps of this recording" } else { "" };
                return Map::Refused(refused(&format!("{error}{others}")));
            }
        };
        self.room = self.room.beside(&map);
        match map.is_empty() && map.passed_over() > 0 {
            true => Map::Refused(refused("no line of it is START SIZE NAME")),
            false => Map::Read { map, path },
        }
    }
}

#[cfg(test)]
#[allow(clippy::print_stderr, reason = "a test says why it skips")]
mod tests;
