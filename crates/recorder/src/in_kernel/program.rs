//! A loaded program with the maps that are its own.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;

use perfdata::Cpu;

use super::layout::{TableSizes, control, cpu};
use super::loader::{self, BpfObject, LoadRequest, LoadedProgram, ProgramType, VerifiedPrograms};
use super::settings::{self, PidNamespace};
use super::tracepoint::TracepointHooks;
use super::{
    AggregateReader, CountedTracepoint, HitScope, HitSource, InKernel, LoadError, ProgramTask,
    SiteTables,
};
use crate::sys::bpf;
use crate::sys::event::PerfEvent;
use crate::sys::mapping::SharedWords;

/// `PROC_PID_INIT_INO`: the inode of the initial pid namespace.
const PROC_PID_INIT_INO: u64 = 0xefff_fffc;

/// A program and its maps. Gone when the last descriptor of each is closed
/// and no event has it.
#[derive(Debug)]
pub struct KernelProgram {
    loaded: LoadedProgram,
    in_kernel: InKernel,
    source: HitSource,
    hooks: Option<TracepointHooks>,
}

impl KernelProgram {
    /// Loads the program that does `in_kernel` for hits from `source`, with
    /// tables for `cpus`: a hit elsewhere is lost for want of room.
    pub fn load(
        in_kernel: &InKernel,
        source: HitSource,
        cpus: &[Cpu],
    ) -> Result<KernelProgram, LoadError> {
        KernelProgram::load_at(Path::new("/"), in_kernel, source, cpus)
    }

    /// With /proc and /sys of that root.
    pub(super) fn load_at(
        root: &Path,
        in_kernel: &InKernel,
        source: HitSource,
        cpus: &[Cpu],
    ) -> Result<KernelProgram, LoadError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(LoadError::Machine);
        }
        if let Some(release) = too_old(root) {
            return Err(LoadError::OldKernel { release });
        }
        in_kernel.keep.check()?;
        if let ProgramTask::Aggregate(SiteTables { sites, .. }) = in_kernel.duty {
            let possible = SiteTables::MIN_SITES..=SiteTables::MAX_SITES;
            if !sites.is_power_of_two() || !possible.contains(&sites) {
                return Err(LoadError::Sites { sites });
            }
        }
        let highest = cpus.iter().map(|cpu| cpu.0).max().unwrap_or(0);
        let rows = u32::try_from(cpus.len()).unwrap_or(u32::MAX);
        let sizes = TableSizes::of(in_kernel, rows, highest.saturating_add(1));
        let mut made = make(root, in_kernel, source, sizes)?;
        let loaded = LoadedProgram {
            program: made.programs.remove(0),
            control: made.map("control")?,
            cpus: made.map("cpus")?,
            slots: made.map("slots")?,
            strides: made.map("strides")?,
            chains: made.map("chains")?,
        };
        let halted =
            matches!(source, HitSource::Tracepoint(point) if point.scope.waits_for_start());
        prepare(&loaded, sizes, cpus, halted).map_err(|error| LoadError::Failed {
            call: "mapping the tables",
            error: error.to_string(),
        })?;
        let hooks = match source {
            HitSource::Overflow(_) => None,
            HitSource::Tracepoint(point) => {
                let processes = made.map("processes")?;
                let hit = loaded.program.as_fd();
                Some(TracepointHooks::attach(point, hit, &made.programs, processes.as_fd())?)
            }
        };
        Ok(KernelProgram { loaded, in_kernel: in_kernel.clone(), source, hooks })
    }

    /// Its descriptors, to be handed to another process: at most
    /// [`KernelProgram::MAX_DESCRIPTORS`], the program first.
    pub fn into_descriptors(self) -> Vec<OwnedFd> {
        let LoadedProgram { program, control, cpus, slots, strides, chains } = self.loaded;
        let mut all = vec![program, control, cpus, slots, strides, chains];
        if let Some(TracepointHooks { carrier, followers }) = self.hooks {
            all.push(carrier);
            all.extend(followers.into_iter().flatten());
        }
        all
    }

    pub const MAX_DESCRIPTORS: usize = 9;

    pub fn from_descriptors(
        in_kernel: &InKernel,
        source: HitSource,
        descriptors: Vec<OwnedFd>,
    ) -> io::Result<KernelProgram> {
        let count = descriptors.len();
        let mut all = descriptors.into_iter();
        let mut next = || {
            let missing = || io::Error::other(format!("{count} descriptors are no program"));
            all.next().ok_or_else(missing)
        };
        let loaded = LoadedProgram {
            program: next()?,
            control: next()?,
            cpus: next()?,
            slots: next()?,
            strides: next()?,
            chains: next()?,
        };
        let hooks = match source {
            HitSource::Overflow(_) => None,
            HitSource::Tracepoint(CountedTracepoint { scope: HitScope::Everyone, .. }) => {
                Some(TracepointHooks { carrier: next()?, followers: None })
            }
            HitSource::Tracepoint(_) => {
                Some(TracepointHooks { carrier: next()?, followers: Some([next()?, next()?]) })
            }
        };
        if all.next().is_some() {
            return Err(io::Error::other(format!("{count} descriptors are more than a program")));
        }
        Ok(KernelProgram { loaded, in_kernel: in_kernel.clone(), source, hooks })
    }

    /// Has it see each overflow of `event`, and of what children inherit of
    /// it from now on. An event has one program at most. A program of a
    /// tracepoint sees its hits already, and needs no event of the session.
    ///
    /// # Errors
    /// EEXIST: the event has one; EINVAL: it is no event that overflows.
    pub(crate) fn attach(&self, event: &PerfEvent) -> io::Result<()> {
        match self.source {
            HitSource::Overflow(_) => bpf::attach(event, self.loaded.program.as_fd()),
            HitSource::Tracepoint(_) => Ok(()),
        }
    }

    /// Lets hits of a tracepoint count from now on, where they do not from an
    /// exec on. Overflows count while their event is enabled.
    pub(crate) fn start(&self) -> io::Result<()> {
        self.halt(false)
    }

    pub(crate) fn stop(&self) -> io::Result<()> {
        self.halt(true)
    }

    fn halt(&self, halted: bool) -> io::Result<()> {
        let control = SharedWords::map(self.loaded.control.as_fd(), control::WORDS)?;
        control.words()[control::HALTED].store(halted.into(), Ordering::SeqCst);
        Ok(())
    }

    /// Whoever takes what it counts. One at a time: each would take what the
    /// other waits for.
    pub(crate) fn reader(&self) -> io::Result<AggregateReader> {
        AggregateReader::new(&self.loaded, &self.in_kernel, self.source)
    }
}

/// The kernel's release, where it is known and below 5.12.
fn too_old(root: &Path) -> Option<String> {
    let release = std::fs::read_to_string(root.join("proc/sys/kernel/osrelease")).ok()?;
    let release = release.trim();
    let mut numbers = release.split(['.', '-']).map(str::parse);
    let version: (u32, u32) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    (version < (5, 12)).then(|| release.to_owned())
}

fn make(
    root: &Path,
    in_kernel: &InKernel,
    source: HitSource,
    sizes: TableSizes,
) -> Result<VerifiedPrograms, LoadError> {
    let namespace = namespace(root);
    let seed = random()
        .map_err(|error| LoadError::Failed { call: "getrandom", error: error.to_string() })?;
    let settings = ("settings", settings::bytes(in_kernel, source.contents(), namespace, seed));
    match source {
        HitSource::Overflow(contents) => loader::load(LoadRequest {
            object: BpfObject::Overflow,
            programs: match in_kernel.duty {
                ProgramTask::Filter => &[("filter", ProgramType::PerfEvent)],
                ProgramTask::Aggregate(_) => &[("aggregate", ProgramType::PerfEvent)],
            },
            sizes,
            constants: &[settings],
            needs_btf: contents.needs_btf(),
            root,
        }),
        HitSource::Tracepoint(_) if in_kernel.duty == ProgramTask::Filter => {
            Err(LoadError::FilteredTracepoint)
        }
        HitSource::Tracepoint(CountedTracepoint {
            scope: HitScope::Process(_) | HitScope::Held(_),
            ..
        }) if namespace != PidNamespace::default() => Err(LoadError::PidNamespace),
        HitSource::Tracepoint(tracepoint) => loader::load(LoadRequest {
            object: BpfObject::Tracepoint,
            programs: match tracepoint.scope {
                HitScope::Everyone => &[("hit", ProgramType::Tracepoint)],
                HitScope::Process(_) | HitScope::Held(_) => &[
                    ("hit", ProgramType::Tracepoint),
                    ("forked", ProgramType::RawTracepoint),
                    ("execed", ProgramType::RawTracepoint),
                ],
            },
            sizes,
            constants: &[settings, ("whose", tracepoint.constants())],
            needs_btf: true,
            root,
        }),
    }
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}

/// First epoch 1, as slots of zeros are of epoch 0; a row and a seed for each
/// CPU; the sizes, for readers.
fn prepare(
    loaded: &LoadedProgram,
    sizes: TableSizes,
    cpus: &[Cpu],
    halted: bool,
) -> io::Result<()> {
    let count = usize::try_from(sizes.cpus).map_err(io::Error::other)?;
    let shared = SharedWords::map(loaded.cpus.as_fd(), count * cpu::WORDS)?;
    for each in shared.words().chunks_exact(cpu::WORDS) {
        each[cpu::ROW].store(cpu::NO_ROW, Ordering::Relaxed);
    }
    for (row, number) in (0u64..).zip(cpus) {
        let at = usize::try_from(number.0).map_err(io::Error::other)? * cpu::WORDS;
        let word = |offset: usize| &shared.words()[at + offset];
        word(cpu::ROW).store(row, Ordering::Relaxed);
        word(cpu::RANDOM).store(random()? | 1, Ordering::Relaxed);
    }
    let shared = SharedWords::map(loaded.control.as_fd(), control::WORDS)?;
    let set = |word: usize, value: u64| shared.words()[word].store(value, Ordering::Relaxed);
    set(control::HALTED, halted.into());
    set(control::EPOCH, 1);
    set(control::SLOTS, sizes.slots.into());
    set(control::ROWS, sizes.rows.into());
    set(control::CPUS, sizes.cpus.into());
    Ok(())
}

fn namespace(root: &Path) -> PidNamespace {
    let Ok(stat) = rustix::fs::stat(root.join("proc/self/ns/pid")) else {
        return PidNamespace::default();
    };
    if stat.st_ino == PROC_PID_INIT_INO {
        return PidNamespace::default();
    }
    let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    PidNamespace { device: u64::from(major) << 20 | u64::from(minor), inode: stat.st_ino }
}
