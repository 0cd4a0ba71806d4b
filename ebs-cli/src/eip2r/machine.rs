//! The kernel's routines, and those that a process maps.

use super::arguments::Arguments;
use crate::terminal::{debuginfod, say};
use anyhow::{Context, bail};
use perfdata::{CpuMode, Pid, Time};
use std::ops::Range;
use std::path::{Path, PathBuf};
use symbolizer::{
    Frames, KernelOffset, KernelSource, ObjectId, Reason, Resolution, Symbolizer,
    SymbolizerOptions, parse_maps,
};

/// The process of saved maps: of no living one, so that none is asked for
/// its files.
const SAVED: Pid = Pid(0);
/// Addresses from here on are a 64-bit kernel's.
const UPPER_HALF: u64 = 1 << 63;

/// What `-s` and `-m` describe.
#[derive(Debug)]
pub(super) struct Machine {
    symbolizer: Symbolizer,
    /// What -m describes.
    process: Option<Pid>,
    /// First and last address of the kernel's routines.
    kernel: Option<(u64, u64)>,
}

impl Machine {
    pub(super) fn new(arguments: &Arguments) -> anyhow::Result<Machine> {
        let mut symbolizer = Symbolizer::new(SymbolizerOptions {
            kernel: kernel_source(arguments),
            vmlinux: arguments.vmlinux.clone(),
            symfs: arguments.symfs.clone(),
            debuginfod: debuginfod::servers()?,
            threads: arguments.threads(),
            ..SymbolizerOptions::default()
        });
        let maps = arguments.maps.as_deref();
        let process = maps.map(|maps| add_maps(&mut symbolizer, maps)).transpose()?;
        let extents: Vec<Range<u64>> = match symbolizer.kernel_extents() {
            // What the distance moves across the last address is nowhere.
            Ok(extents) => extents.into_iter().filter(|range| range.start < range.end).collect(),
            // User addresses can do without, unless a list was asked for.
            Err(_) if process.is_some() && kernel_list(arguments).is_none() => Vec::new(),
            Err(reason) => bail!("{reason}"),
        };
        let kernel = extents
            .iter()
            .map(|range| range.start)
            .min()
            .zip(extents.iter().map(|range| range.end - 1).max());
        for note in symbolizer.notes() {
            say("eip2r", &note.to_string());
        }
        Ok(Machine { symbolizer, process, kernel })
    }

    fn is_kernel(&self, address: u64) -> bool {
        address >= UPPER_HALF
            || self.kernel.is_some_and(|(first, last)| (first..=last).contains(&address))
    }

    pub(super) fn has_process(&self) -> bool {
        self.process.is_some()
    }

    fn place(&mut self, address: u64) -> symbolizer::Place {
        let mode = if self.is_kernel(address) { CpuMode::Kernel } else { CpuMode::User };
        self.symbolizer.place(mode, self.process.unwrap_or(SAVED), address, Time(0))
    }

    pub(super) fn resolve(&mut self, address: u64) -> (ObjectId, Resolution<'_>) {
        let place = self.place(address);
        (place.object, self.symbolizer.resolve(place))
    }

    pub(super) fn frames(&mut self, addresses: &[u64]) -> Vec<Result<Frames, Reason>> {
        let places: Vec<_> = addresses.iter().map(|address| self.place(*address)).collect();
        self.symbolizer.all_frames(&places)
    }
}

fn kernel_list(arguments: &Arguments) -> Option<&Path> {
    arguments.system_map.as_deref().or(arguments.vmlinux.as_deref())
}

fn kernel_source(arguments: &Arguments) -> KernelSource {
    match kernel_list(arguments) {
        None => KernelSource::Running,
        Some(path) => KernelSource::File {
            path: path.to_owned(),
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
