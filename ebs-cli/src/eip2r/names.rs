//! Addresses -> routines, each asked for once.

use super::arguments::Arguments;
use anyhow::{Context, bail};
use record::{CpuMode, Pid, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use symbolizer::{
    KernelOffset, KernelSource, ObjectId, Options, Reason, Resolution, Symbolizer, parse_maps,
};

/// The process of saved maps: of no living one, so that none is asked for
/// its files.
const SAVED: Pid = Pid(0);
/// Addresses from here on are a 64-bit kernel's.
const UPPER_HALF: u64 = 1 << 63;

/// A routine, or a reason against: a number to count by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NameId(u32);

/// Where an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: NameId,
    /// Bytes from the routine's start; none without a routine.
    pub(super) offset: Option<u64>,
}

#[derive(Debug)]
struct Name {
    text: Box<str>,
    /// First address of the routine.
    start: Option<u64>,
}

/// All routines asked for so far.
#[derive(Debug)]
pub(super) struct Names {
    symbolizer: Symbolizer,
    names: Vec<Name>,
    known: FxHashMap<(ObjectId, u64), NameId>,
    reasons: FxHashMap<Reason, NameId>,
    /// Addresses of one routine of the kernel. Those of files may have others
    /// inside.
    last: (Range<u64>, NameId),
    /// What -m describes.
    process: Option<Pid>,
    /// First and last address of the kernel's routines.
    kernel: Option<(u64, u64)>,
    dense: Vec<Range<u64>>,
    /// How many addresses got each reason.
    without: BTreeMap<String, u64>,
}

impl Names {
    pub(super) fn new(arguments: &Arguments) -> anyhow::Result<Names> {
        let mut symbolizer =
            Symbolizer::new(Options { kernel: kernel_source(arguments), ..Options::default() });
        let maps = arguments.maps.as_deref();
        let process = maps.map(|maps| add_maps(&mut symbolizer, maps)).transpose()?;
        let dense: Vec<Range<u64>> = match symbolizer.kernel_extents() {
            // What the distance moves across the last address is nowhere.
            Ok(extents) => extents.into_iter().filter(|range| range.start < range.end).collect(),
            // User addresses can do without, unless a list was asked for.
            Err(_) if process.is_some() && arguments.system_map.is_none() => Vec::new(),
            Err(reason) => bail!("{reason}"),
        };
        let kernel = dense
            .iter()
            .map(|range| range.start)
            .min()
            .zip(dense.iter().map(|range| range.end - 1).max());
        for note in symbolizer.notes() {
            writeln!(io::stderr(), "eip2r: {note}")?;
        }
        Ok(Names {
            symbolizer,
            names: Vec::new(),
            known: FxHashMap::default(),
            reasons: FxHashMap::default(),
            last: (0..0, NameId(0)),
            process,
            kernel,
            dense,
            without: BTreeMap::new(),
        })
    }

    /// Where the kernel's routines lie.
    pub(super) fn dense(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.dense.iter().cloned()
    }

    /// The routine of an address that came `count` times.
    pub(super) fn find(&mut self, address: u64, count: u64) -> Named {
        let (range, name) = &self.last;
        if range.contains(&address) {
            return Named { name: *name, offset: Some(address - range.start) };
        }
        let named = self.ask(address);
        if named.offset.is_none() {
            let text = self.reason_text(named.name);
            *self.without.entry(text).or_default() += count;
        }
        named
    }

    fn ask(&mut self, address: u64) -> Named {
        let is_kernel = address >= UPPER_HALF
            || self.kernel.is_some_and(|(first, last)| (first..=last).contains(&address));
        let mode = if is_kernel { CpuMode::Kernel } else { CpuMode::User };
        let place = self.symbolizer.place(mode, self.process.unwrap_or(SAVED), address, Time(0));
        let next = NameId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        match self.symbolizer.resolve(place) {
            Resolution::Routine(routine) => {
                let (start, offset) = (routine.start, Some(routine.offset));
                let name = *self.known.entry((place.object, start)).or_insert_with(|| {
                    self.names.push(Name { text: (&*routine.name).into(), start: Some(start) });
                    next
                });
                if is_kernel {
                    self.last = (start..routine.end, name);
                }
                Named { name, offset }
            }
            Resolution::Unknown(reason) => {
                let text = reason.tag().into();
                let name = *self.reasons.entry(reason).or_insert_with(|| {
                    self.names.push(Name { text, start: None });
                    next
                });
                Named { name, offset: None }
            }
        }
    }

    /// The routine's name, or a reason's tag.
    pub(super) fn text(&self, name: NameId) -> &str {
        &self.name(name).text
    }

    /// The routine's first address: in its file for user code.
    pub(super) fn start(&self, name: NameId) -> Option<u64> {
        self.name(name).start
    }

    fn name(&self, name: NameId) -> &Name {
        &self.names[name.0 as usize]
    }

    fn reason_text(&self, name: NameId) -> String {
        let reason =
            self.reasons.iter().find(|(_, known)| **known == name).map(|(reason, _)| reason);
        match reason {
            Some(Reason::UnknownProcess) if self.process.is_none() => {
                "user address; say where the process's code lies with -m".to_owned()
            }
            Some(reason) => reason.to_string(),
            None => String::new(),
        }
    }

    /// Says on stderr which addresses got no name and why.
    pub(super) fn report(&self) -> io::Result<()> {
        for (reason, count) in &self.without {
            let addresses = if *count == 1 { "address" } else { "addresses" };
            writeln!(io::stderr(), "eip2r: {count} {addresses} without a name: {reason}")?;
        }
        Ok(())
    }
}

fn kernel_source(arguments: &Arguments) -> KernelSource {
    match &arguments.system_map {
        None => KernelSource::Running,
        Some(path) => KernelSource::File {
            path: path.clone(),
            offset: arguments.kaslr_offset.map_or(KernelOffset::Detect, KernelOffset::Given),
        },
    }
}

/// A number is a PID, unless a file has that name and no process has. Gives
/// the process that the mappings were told of.
fn add_maps(symbolizer: &mut Symbolizer, maps: &Path) -> anyhow::Result<Pid> {
    let number = maps.to_str().and_then(|text| text.parse::<u32>().ok());
    let live = number.map(|pid| PathBuf::from(format!("/proc/{pid}/maps")));
    let (path, pid) = match live {
        Some(live) if live.exists() || !maps.exists() => (live, number),
        _ => (maps.to_path_buf(), None),
    };
    let bytes = std::fs::read(&path).with_context(|| match number {
        Some(pid) => format!("no process {pid} whose maps could be read ({})", path.display()),
        None => format!("cannot read {}", path.display()),
    })?;
    let entries = parse_maps(&bytes).with_context(|| path.display().to_string())?;
    if entries.is_empty() {
        bail!("{}: it holds no mappings; a kernel thread has none", path.display());
    }
    let pid = pid.and_then(|pid| i32::try_from(pid).ok()).map_or(SAVED, Pid);
    symbolizer.maps(pid, &entries, Time(0));
    Ok(pid)
}
