//! From an object to a verified program and its maps.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use aya_obj::btf::Btf;
use aya_obj::{EbpfSectionKind, Object};

use super::LoadError;
use super::layout::TableSizes;
use super::load_error::LoadStep;
use crate::sys::bpf::{self, ArrayShape, UnverifiedProgram};

/// `BPF_F_RDONLY_PROG`: what the verifier may take for constants.
const BPF_F_RDONLY_PROG: u32 = 1 << 7;
const LOG: usize = 64 << 10;

/// Aligned as ELF's structures are.
#[repr(C, align(8))]
struct Aligned<T: ?Sized>(T);

/// Of overflows; compiled by crates/recorder/kernel/build.
static OVERFLOW: &Aligned<[u8]> = &Aligned(*include_bytes!("../../kernel/overflow.bpf.o"));
/// Of tracepoints; likewise.
static TRACEPOINT: &Aligned<[u8]> = &Aligned(*include_bytes!("../../kernel/tracepoint.bpf.o"));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BpfObject {
    Overflow,
    Tracepoint,
}

/// What a program can be attached to: `BPF_PROG_TYPE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramType {
    Tracepoint = 5,
    PerfEvent = 7,
    RawTracepoint = 17,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LoadRequest<'w> {
    pub(super) object: BpfObject,
    pub(super) programs: &'w [(&'static str, ProgramType)],
    pub(super) sizes: TableSizes,
    pub(super) constants: &'w [(&'static str, Vec<u8>)],
    /// Whether they have offsets of the running kernel's structures.
    pub(super) needs_btf: bool,
    pub(super) root: &'w Path,
}

/// Verified programs, in the order of [`LoadRequest::programs`], and their maps.
#[derive(Debug)]
pub(super) struct VerifiedPrograms {
    pub(super) programs: Vec<OwnedFd>,
    maps: HashMap<String, OwnedFd>,
}

impl VerifiedPrograms {
    /// The map of that name, once.
    pub(super) fn map(&mut self, name: &str) -> Result<OwnedFd, LoadError> {
        self.maps.remove(name).ok_or_else(|| broken(format!("no map {name}")))
    }
}

#[derive(Debug)]
pub(super) struct LoadedProgram {
    pub(super) program: OwnedFd,
    pub(super) control: OwnedFd,
    pub(super) cpus: OwnedFd,
    pub(super) slots: OwnedFd,
    pub(super) strides: OwnedFd,
    pub(super) chains: OwnedFd,
}

fn broken(text: String) -> LoadError {
    LoadError::Object { text }
}

pub(super) fn load(wanted: LoadRequest<'_>) -> Result<VerifiedPrograms, LoadError> {
    let bytes = match wanted.object {
        BpfObject::Overflow => &OVERFLOW.0,
        BpfObject::Tracepoint => &TRACEPOINT.0,
    };
    let mut object = Object::parse(bytes).map_err(|error| broken(error.to_string()))?;
    let constants = wanted.constants.iter().map(|(name, bytes)| (*name, (&bytes[..], true)));
    object.patch_map_data(constants.collect()).map_err(|error| broken(error.to_string()))?;
    if wanted.needs_btf {
        let btf = kernel_btf(wanted.root)?;
        object.relocate_btf(&btf).map_err(|error| LoadError::Btf {
            text: std::error::Error::source(&error)
                .map_or_else(|| error.to_string(), |source| format!("{error}: {source}")),
        })?;
    }
    let maps = make_maps(&object, wanted.sizes)?;
    relocate(&mut object, &maps)?;
    let mut programs = Vec::new();
    for &(name, kind) in wanted.programs {
        let program = object.programs.get(name);
        let function = program.and_then(|program| object.functions.get(&program.function_key()));
        let function = function.ok_or_else(|| broken(format!("no program {name}")))?;
        programs.push(verify(UnverifiedProgram {
            kind: kind as u32,
            name: &format!("hardmeter_{name}"),
            instructions: &function.instructions,
            licence: &object.license,
        })?);
    }
    Ok(VerifiedPrograms { programs, maps })
}

fn relocate(object: &mut Object, maps: &HashMap<String, OwnedFd>) -> Result<(), LoadError> {
    let text: HashSet<usize> = object.functions.keys().map(|(section, _)| *section).collect();
    let made = maps.iter().filter_map(|(name, fd)| {
        object.maps.get(name).map(|map| (name.clone(), fd.as_raw_fd(), map.clone()))
    });
    let made: Vec<_> = made.collect();
    let made = made.iter().map(|(name, fd, map)| (name.as_str(), *fd, map));
    object.relocate_maps(made, &text).map_err(|error| broken(error.to_string()))?;
    object.relocate_calls(&text).map_err(|error| broken(error.to_string()))
}

fn kernel_btf(root: &Path) -> Result<Btf, LoadError> {
    let path = root.join("sys/kernel/btf/vmlinux");
    let bytes = std::fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LoadError::NoBtf,
        _ => LoadError::Btf { text: format!("{}: {error}", path.display()) },
    })?;
    Btf::parse(&bytes, Default::default())
        .map_err(|error| LoadError::Btf { text: format!("{}: {error}", path.display()) })
}

/// An array for each of the object's maps, the constants written and frozen.
fn make_maps(object: &Object, sizes: TableSizes) -> Result<HashMap<String, OwnedFd>, LoadError> {
    let mut maps = HashMap::new();
    for (name, map) in &object.maps {
        let constants = map.section_kind() == EbpfSectionKind::Rodata;
        let entries = match name.as_str() {
            "slots" => sizes.all_slots().max(1),
            "strides" if sizes.strides => sizes.all_slots(),
            "cpus" => sizes.cpus.into(),
            "chains" if sizes.callers => sizes.all_slots(),
            "gathering" if sizes.callers => sizes.cpus.into(),
            "strides" | "chains" | "gathering" => 1,
            _ => map.max_entries().into(),
        };
        let entries = u32::try_from(entries)
            .map_err(|_| LoadError::TooLarge { bytes: sizes.bytes(), rows: sizes.rows })?;
        let flags = if constants { BPF_F_RDONLY_PROG } else { map.map_flags() };
        let shape = ArrayShape { value: map.value_size(), entries, flags };
        let name_shown = if constants { "constants" } else { name.as_str() };
        let fd = bpf::create_array(name_shown, shape)
            .map_err(|error| LoadError::of(LoadStep::Map { bytes: sizes.bytes() }, &error))?;
        if constants {
            bpf::write(fd.as_fd(), 0, map.data())
                .and_then(|()| bpf::freeze(fd.as_fd()))
                .map_err(|error| LoadError::of(LoadStep::Map { bytes: sizes.bytes() }, &error))?;
        }
        maps.insert(name.clone(), fd);
    }
    Ok(maps)
}

/// Asks once more for the verifier's words where it refuses.
pub(super) fn verify(program: UnverifiedProgram<'_>) -> Result<OwnedFd, LoadError> {
    let refusal = match bpf::load(program, None) {
        Ok(fd) => return Ok(fd),
        Err(error) => error,
    };
    let mut log = vec![0; LOG];
    if let Ok(fd) = bpf::load(program, Some(&mut log)) {
        return Ok(fd);
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    let log = String::from_utf8_lossy(&log[..end]);
    Err(LoadError::of(LoadStep::Program { log: last_lines(&log) }, &refusal))
}

/// The end of the verifier's words, without its statistics.
fn last_lines(log: &str) -> String {
    let said: Vec<&str> = log
        .lines()
        .filter(|line| {
            !line.is_empty() && !line.starts_with("processed ") && !line.contains("time ")
        })
        .collect();
    said[said.len().saturating_sub(3)..].join("; ")
}
