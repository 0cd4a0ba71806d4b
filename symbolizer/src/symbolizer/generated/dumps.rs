//! The jitdump files of a recording's processes: found by their mapping,
//! read when an address in memory without a file is first looked up.

use super::super::Memo;
use crate::files::embedded::index::EmbeddedPart;
use crate::files::opening::{has_plain_inodes, open_itself};
use crate::jit::dump::{JitDump, JitDumpError};
use crate::jit::when::began_by;
use crate::process::objects::Inode;
use crate::process::owned_file::{Owner, RefusedFile, dump_number, judge};
use crate::process::proc_dir::{self, ProcStatus, root_of};
use crate::process::timeline::{AddressExtent, NoMapping, ObjectMapping};
use crate::{ObjectId, Symbolizer};
use perfdata::sideband::FileIdentity;
use perfdata::{Pid, Time};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// By the process that mapped one: the latest.
pub(super) type Dumps = FxHashMap<Pid, MappedDump>;

/// A jitdump file that a process mapped.
#[derive(Debug)]
pub(super) struct MappedDump {
    path: Box<[u8]>,
    inode: Option<Inode>,
    state: State,
}

#[derive(Debug)]
enum State {
    Unread,
    Reading {
        file: File,
        dump: JitDump,
        length: u64,
        /// What kept it from being read to its end.
        damage: Option<JitDumpError>,
    },
    Refused(String),
}

impl Symbolizer {
    /// A process mapped a file: a jitdump is mapped for no other reason than
    /// to be told of here.
    pub(crate) fn notice_dump(&mut self, pid: Pid, path: &[u8], file: &FileIdentity<'_>) {
        if dump_number(path).is_some() {
            let inode = match *file {
                FileIdentity::Inode { major, minor, inode, .. } if inode != 0 => {
                    Some(Inode { major, minor, inode })
                }
                _ => None,
            };
            let noticed = MappedDump { path: path.into(), inode, state: State::Unread };
            let dumps = &mut self.jit.dumps;
            if dumps.len() < super::MOST_DUMPS || dumps.contains_key(&pid) {
                dumps.insert(pid, noticed);
            } else {
                self.jit.dumps_left_out += 1;
            }
        }
    }

    /// The answer for an address in memory that `pid` mapped from no file,
    /// when a jitdump file of that process knows what lay there at that time.
    pub(crate) fn generated(&mut self, memo: Memo, pid: Pid, ip: u64, time: Time) -> Memo {
        if !self.jit.dumps.contains_key(&pid) {
            return memo;
        }
        let read_up_to = self.read_dump(pid, time);
        if !self.is_timed(pid) {
            return match self.only_code(pid, ip) {
                Some((object, first, last)) => Memo { object, first, last, ..memo },
                None => Memo { first: ip, last: ip, ..memo },
            };
        }
        let found = self.jit.code.find(pid, ip, time);
        // More may be written for the time behind what was read.
        let until = read_up_to.map_or(found.until, |read| found.until.min(time.max(read)));
        let within = memo.within(&crate::process::timeline::FoundMapping { until, ..found });
        let narrowed = Memo {
            first: within.first.max(found.first),
            last: within.last.min(found.last),
            ..within
        };
        match found.what {
            Ok(ObjectMapping { object, .. }) => Memo { object, ..narrowed },
            Err(_) => narrowed,
        }
    }

    /// Whether the file's times are of the samples' clock. Nothing here turns
    /// the processor's counter, which some have, into times.
    fn is_timed(&self, pid: Pid) -> bool {
        self.jit.monotonic
            && self.jit.dumps.get(&pid).is_some_and(
                |noticed| matches!(&noticed.state, State::Reading { dump, .. } if dump.monotonic),
            )
    }

    /// The one routine that ever lay at an address, and its extent.
    fn only_code(&mut self, pid: Pid, ip: u64) -> Option<(ObjectId, u64, u64)> {
        let all = self.jit.code.during(pid, ip, &(Time(0)..=Time(u64::MAX)))?;
        let (first, rest) = all.split_first()?;
        let name = self.objects.name(first.0.object);
        let is_same = |(other, _): &(ObjectMapping, Time)| self.objects.name(other.object) == name;
        if !rest.iter().all(is_same) {
            return None;
        }
        let found = self.jit.code.find(pid, ip, Time(u64::MAX));
        Some((first.0.object, found.first, found.last))
    }

    /// Why the jitdump file of a process names no address, or not this one.
    pub(super) fn dump_refused(&mut self, pid: Pid, address: u64) -> Option<RefusedFile> {
        let found = self.jit.code.find(pid, address, Time(u64::MAX)).what;
        let noticed = self.jit.dumps.get(&pid)?;
        let why = match (&noticed.state, found) {
            (State::Refused(why), _) => why.clone(),
            (_, Err(NoMapping::Overfull)) => "its code lies over itself too often".to_owned(),
            (_, Ok(_)) if !self.is_timed(pid) => "several routines had this address in turn, \
                 and its times are of another clock than the samples' (perf record -k mono)"
                .to_owned(),
            (State::Reading { damage: Some(error), .. }, _) => error.to_string(),
            _ => return None,
        };
        Some(RefusedFile { file: String::from_utf8_lossy(&noticed.path).into_owned(), why })
    }

    /// Reads what there is to read for a time; gives how far the file tells,
    /// when it may yet tell more.
    fn read_dump(&mut self, pid: Pid, time: Time) -> Option<Time> {
        let mut noticed = self.jit.dumps.remove(&pid)?;
        if matches!(noticed.state, State::Unread) {
            noticed.state = match self.open_dump(pid, &noticed) {
                Ok((file, dump)) => State::Reading { file, dump, length: 0, damage: None },
                Err(why) => State::Refused(why),
            };
        }
        let mut told = None;
        if let State::Reading { file, dump, length, damage } = &mut noticed.state {
            let now = file.metadata().map_or(*length, |found| found.len());
            if damage.is_none() && now > *length && (*length == 0 || time.0 > dump.last) {
                *length = now;
                let name: Arc<str> = String::from_utf8_lossy(&noticed.path).into();
                let (code, objects) = (&mut self.jit.code, &mut self.objects);
                let result = dump.read(file, &mut |event| {
                    let start = event.start;
                    let extent = AddressExtent { start, length: event.size };
                    let mapping = event.name.map(|routine| ObjectMapping {
                        object: objects.generated(&routine, extent, Arc::clone(&name)),
                        start,
                        offset: start,
                        executable: true,
                    });
                    code.map(pid, Time(event.time), extent, mapping);
                });
                *damage = result.err();
            }
            told = (!dump.closed && damage.is_none()).then_some(Time(dump.last));
        }
        self.jit.dumps.insert(pid, noticed);
        told
    }

    fn open_dump(&mut self, pid: Pid, noticed: &MappedDump) -> Result<(File, JitDump), String> {
        let path = &noticed.path;
        let directory = proc_dir::directory(&self.options.root, pid);
        let elsewhere = self.elsewhere().is_some();
        let first = self.timelines.life(pid).first;
        let first = if first.0 == 0 { first } else { self.jit.latest(first) };
        let same = |living: &ProcStatus| first.0 == 0 || began_by(living, first);
        let is_here = self.options.symfs.is_none() && !elsewhere;
        let living = is_here.then(|| ProcStatus::read(&directory).filter(same)).flatten();
        let root = self.options.files();
        let carried = || self.options.carried()?.dump(pid.0, path);
        let kept = self.jit.kept.dump(pid, path);
        let carried = if kept.is_none() { carried() } else { None };
        let is_carried = carried.is_some();
        let (file, owner) = match (kept, carried, living) {
            (Some(kept), ..) => (Ok(kept.file), Owner::Process(kept.uid)),
            (None, Some(carried), _) => (carried, Owner::Unknown),
            (None, None, Some(living)) => {
                (open_itself(&root_of(&directory), path), Owner::Process(living.uid))
            }
            (None, None, None) => (open_itself(root, path), Owner::Unknown),
        };
        let mut file = file.map_err(|error| error.to_string())?;
        judge(&file, owner)?;
        let to_pack = self.options.to_pack(&file);
        let found = file.metadata().map_err(|error| error.to_string())?.ino();
        if let Some(recorded) = noticed.inode.filter(|_| has_plain_inodes(&file))
            && self.options.symfs.is_none()
            && !is_carried
            && recorded.inode != found
        {
            let Inode { inode, .. } = recorded;
            return Err(format!("it was replaced: inode {inode} was mapped, {found} is there now"));
        }
        let dump = JitDump::open(&mut file).map_err(|error| error.to_string())?;
        let dump = dump.ok_or_else(|| "it ends within its header".to_owned())?;
        let named = dump_number(path).unwrap_or(0);
        if dump.pid != named {
            return Err(format!("it is of process {}, not {named}", dump.pid));
        }
        if let (Some(to_pack), Ok(path)) = (to_pack, std::str::from_utf8(path)) {
            to_pack.pack(EmbeddedPart::Dump { pid: pid.0, path: path.to_owned() });
        }
        Ok((file, dump))
    }
}
