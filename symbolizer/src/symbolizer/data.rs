//! Data address -> variable, or the reason why not.
//!
//! A variable lies in a mapping of its file, or, when its file holds no bytes
//! for it (`.bss`), in anonymous memory behind one. Recorders may tell the
//! mappings of code alone: those say where the file lies in memory, and its
//! program headers say where its data lie from there.

use super::resolve::{in_kernel, in_ranges};
use super::thread_data::ThreadData;
use super::{MEMOS, Memo, elsewhere, memo_slot};
use crate::elf::segments::{OffsetTranslation, Segment};
use crate::elf::{self, ranges::Ranges, symbols::Naming};
use crate::files::separate::symbols_of;
use crate::process::locate::locate;
use crate::process::objects::{MappedFile, ObjectKind};
use crate::process::timeline::{FoundMapping, NoMapping, ObjectMapping};
use crate::{ObjectId, Place, Reason, Resolution, Symbolizer, SymbolizerOptions};
use perfdata::{CpuMode, Pid, Time};
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;

/// Stretches of memory that are looked at below an address for the file that
/// it belongs to: a file has four or five mappings.
const MOST_BELOW: usize = 16;
/// From here on addresses are the kernel's, on every 64-bit machine.
const UPPER_HALF: u64 = 1 << 63;

/// Bytes below a stack as it was told that it may have grown by.
const MOST_GROWN: u64 = 1 << 30;

/// Bytes of a stretch that is remembered by its number of such, not of pages.
const LARGE: u64 = 1 << 21;
/// What makes its number out of what would be that of a page of 4 KiB.
const LARGE_SHIFT: u32 = 9;

#[derive(Debug, Default)]
pub(crate) struct DataView {
    memos: Vec<Memo>,
    /// Beside the files of the objects.
    variables: Vec<Option<Result<Ranges, Reason>>>,
    pub(super) of_threads: FxHashMap<ObjectId, ThreadData>,
    pub(super) has_mappings: bool,
}

struct LoadedFile {
    object: ObjectId,
    /// Added to a link-time address, modulo 2^64.
    bias: u64,
    /// First and last run-time address of each segment that is sure.
    parts: Vec<(u64, u64)>,
}

impl LoadedFile {
    fn holds(&self, address: u64) -> bool {
        self.parts.iter().any(|(first, last)| (*first..=*last).contains(&address))
    }

    /// What holds for an address that it does not hold, without what it does.
    fn beside(&self, around: Memo, address: u64) -> Memo {
        let ends = self.parts.iter().filter(|part| part.1 < address).map(|part| part.1 + 1);
        let starts = self.parts.iter().filter(|part| part.0 > address).map(|part| part.0 - 1);
        Memo {
            first: ends.fold(around.first, u64::max),
            last: starts.fold(around.last, u64::min),
            ..around
        }
    }

    /// The answer for an address that it holds, and for what lies around it
    /// in the same part.
    fn memo(&self, around: Memo, address: u64) -> Memo {
        let mut holding = self.parts.iter().filter(|part| (part.0..=part.1).contains(&address));
        let (first, last) = holding.next().copied().unwrap_or((address, address));
        Memo {
            first: first.max(around.first),
            last: last.min(around.last),
            object: self.object,
            delta: 0_u64.wrapping_sub(self.bias),
            ..around
        }
    }
}

impl Symbolizer {
    /// Where the data address of a sample lies. The address tells the kernel
    /// from the process: the kernel reads users' memory as well. Other than
    /// [`Symbolizer::place`], this needs mappings of code alone.
    pub fn data_place(&mut self, mode: CpuMode, pid: Pid, address: u64, time: Time) -> Place {
        let pid = match mode {
            CpuMode::User | CpuMode::Kernel if address >= UPPER_HALF => None,
            CpuMode::User | CpuMode::Kernel => Some(pid),
            other => return Place { object: elsewhere(other), address },
        };
        // Large stretches are remembered apart: one is asked for at many pages.
        let (small, large) = (memo_slot(pid, address), memo_slot(pid, address >> LARGE_SHIFT));
        for slot in [large, small] {
            if let Some(memo) = self.data.memos.get(slot)
                && let Some(place) = memo.place(self.told, pid, address, time)
            {
                return place;
            }
        }
        let memo = match pid {
            Some(pid) => self.look_up_data(pid, address, time),
            None => self.look_up_kernel_data(address),
        };
        if self.data.memos.is_empty() {
            self.data.memos.resize(MEMOS, Memo::VOID);
        }
        let is_large = memo.last.saturating_sub(memo.first) >= LARGE;
        self.data.memos[if is_large { large } else { small }] = memo;
        Place { object: memo.object, address: address.wrapping_add(memo.delta) }
    }

    /// First and last address of the mapping that holds a data address of user space at a time;
    /// None: nothing tells of one. Of a main thread's stack, which grows without a word: from
    /// the address on, where that lies below it.
    pub fn data_extent(
        &mut self,
        pid: Pid,
        address: u64,
        time: Time,
    ) -> Option<RangeInclusive<u64>> {
        let found = self.timelines.find(pid, address, time);
        if found.what.is_ok() {
            return Some(found.first..=found.last);
        }
        let above = found.last.checked_add(1)?;
        let next = self.timelines.find(pid, above, time);
        let object = next.what.ok()?.object;
        let is_grown = self.objects.name(object) == "[stack]" && above - address < MOST_GROWN;
        is_grown.then_some(address..=next.last)
    }

    fn look_up_kernel_data(&mut self, address: u64) -> Memo {
        let (object, first, last) =
            self.kernel.data_object(address, &self.options, &mut self.objects);
        let (from, until) = (Time(0), Time(u64::MAX));
        Memo { pid: None, first, last, from, until, told: self.told, object, delta: 0 }
    }

    fn look_up_data(&mut self, pid: Pid, address: u64, time: Time) -> Memo {
        let told = self.told;
        let found = self.timelines.find(pid, address, time);
        let FoundMapping { what, first, last, from, until } = found;
        let memo =
            |object| Memo { pid: Some(pid), first, last, from, until, told, object, delta: 0 };
        let own = match what {
            Ok(mapping) => match *self.objects.kind(mapping.object) {
                ObjectKind::File(file) => {
                    return self.in_data_file(file, memo(mapping.object), mapping, address);
                }
                _ => memo(mapping.object),
            },
            Err(NoMapping::Mapping) => memo(ObjectId::UNMAPPED),
            Err(NoMapping::Process) => return memo(ObjectId::UNKNOWN_PROCESS),
            Err(NoMapping::Overfull) => return memo(ObjectId::OVERFULL),
        };
        self.in_image(own, address, time)
    }

    fn in_data_file(
        &mut self,
        file: usize,
        memo: Memo,
        mapping: ObjectMapping,
        address: u64,
    ) -> Memo {
        let shift = mapping.offset.wrapping_sub(mapping.start);
        let offset = address.wrapping_add(shift);
        let binary = self.opened(file);
        let segment = binary.segments().and_then(|segments| match mapping.executable {
            true => None,
            false => segments.of_data(offset),
        });
        let (delta, first, last) = match segment {
            Some(it) if offset < it.offset.saturating_add(it.size) => (
                it.address.wrapping_sub(it.offset),
                it.offset,
                it.offset.saturating_add(it.size - 1),
            ),
            Some(it) => (it.address.wrapping_sub(it.offset), offset, offset),
            None => match binary.translate(offset) {
                Some(OffsetTranslation { delta, first, last }) => (delta, first, last),
                // No file: the offset in it says most.
                None => (0, offset, offset),
            },
        };
        Memo {
            first: memo.first.max(address.saturating_sub(offset.saturating_sub(first))),
            last: memo.last.min(address.saturating_add(last.saturating_sub(offset))),
            delta: shift.wrapping_add(delta),
            ..memo
        }
    }

    /// An address that no file is mapped at may still belong to the file
    /// whose mappings end below it, or, as some linkers put constants below
    /// the code, to the one whose code is mapped next above it. `own` is the
    /// answer otherwise, for all that none of these holds.
    fn in_image(&mut self, own: Memo, address: u64, time: Time) -> Memo {
        let Some(pid) = own.pid else { return own };
        let mut own = own;
        let mut at = own.first;
        for step in 1..=MOST_BELOW {
            let Some(next) = at.checked_sub(1) else { break };
            let below = self.timelines.find(pid, next, time);
            at = below.first;
            own = own.within(&below);
            if step == MOST_BELOW {
                own.first = address;
            }
            let Some((image, executable)) = self.image(below.what) else { continue };
            if image.holds(address) {
                return image.memo(own, address);
            }
            own = image.beside(own, address);
            if executable {
                // What lies above its code ends there.
                break;
            }
        }
        let Some(next) = own.last.checked_add(1) else { return own };
        let above = self.timelines.find(pid, next, time);
        own = own.within(&above);
        let Some((image, true)) = self.image(above.what) else { return own };
        if image.holds(address) {
            return image.memo(own, address);
        }
        image.beside(own, address)
    }

    /// Where the file of a mapping lies in memory, and whether the mapping is
    /// of code. Of a mapping of data only its own segment is sure: two may
    /// start in one page of the file.
    fn image(&mut self, mapped: Result<ObjectMapping, NoMapping>) -> Option<(LoadedFile, bool)> {
        let ObjectMapping { object, start, offset, executable } = mapped.ok()?;
        let ObjectKind::File(file) = *self.objects.kind(object) else { return None };
        let segments = self.opened(file).segments()?;
        let page = segments.page.max(1);
        let is_shown = |segment: &&Segment| {
            segment.executable == executable
                && (segment.offset & !(page - 1)..segment.offset.saturating_add(segment.size))
                    .contains(&offset)
        };
        let mut shown = segments.segments.iter().filter(is_shown);
        let segment = match executable {
            true => shown.next(),
            false => shown.max_by_key(|segment| segment.offset),
        }?;
        let delta = segment.address.wrapping_sub(segment.offset);
        let bias = start.wrapping_sub(offset.wrapping_add(delta));
        let moved = |segment: &Segment| {
            let first = segment.address.wrapping_add(bias);
            (first, first.saturating_add(segment.memory.saturating_sub(1)))
        };
        let parts = match executable {
            true => segments.segments.iter().filter(|it| it.memory > 0).map(moved).collect(),
            false => vec![moved(segment)],
        };
        Some((LoadedFile { object, bias, parts }, executable))
    }

    /// The variable at a place that [`Symbolizer::data_place`] gave, or why
    /// it has no name: variables of files and of the kernel have, memory
    /// that programs ask for has not. Ask once per distinct place.
    pub fn resolve_data(&mut self, place: Place) -> Resolution<'_> {
        let Place { object, address } = place;
        match self.objects.kind(object).clone() {
            ObjectKind::Kernel | ObjectKind::Module => {
                match self.kernel.variables(&self.options, &mut self.objects) {
                    Ok(symbols) => in_kernel(symbols, &self.objects, place),
                    Err(reason) => Resolution::Unknown(reason),
                }
            }
            ObjectKind::File(file) => {
                if self.data.variables.len() <= file {
                    self.data.variables.resize_with(file + 1, || None);
                }
                let mapped = self.objects.file(file);
                let variables = self.data.variables[file]
                    .get_or_insert_with(|| variables(mapped, &self.options));
                match variables {
                    Ok(ranges) => in_ranges(ranges, address, self.objects.name(object)),
                    Err(reason) => Resolution::Unknown(reason.clone()),
                }
            }
            ObjectKind::Fixed if object == ObjectId::UNMAPPED => {
                let has_data = self.data.has_mappings;
                Resolution::Unknown(Reason::DataNotMapped { has_data })
            }
            ObjectKind::Fixed => self.resolve(place),
            ObjectKind::Anonymous(_)
            | ObjectKind::Generated { .. }
            | ObjectKind::Vdso(_)
            | ObjectKind::KernelRoutine { .. } => {
                let name = self.object_name(object).to_owned();
                Resolution::Unknown(Reason::NoVariables { name })
            }
        }
    }
}

fn variables(mapped: &MappedFile, options: &SymbolizerOptions) -> Result<Ranges, Reason> {
    let name = || String::from_utf8_lossy(&mapped.path).into_owned();
    let located = locate(mapped, options).map_err(|reason| match reason {
        // Most files that programs map for their data are no programs.
        Reason::NotElf { .. } | Reason::Anonymous { .. } => Reason::NoVariables { name: name() },
        reason => reason,
    })?;
    let (separate, _) = symbols_of(&located, &mapped.path, options);
    let ranges = elf::ranges(&located.file, separate.as_ref().map(|it| &it.file), Naming::Data)
        .map_err(|error| Reason::NotElf { file: name(), why: error.to_string() })?;
    match ranges.is_empty() {
        true => Err(Reason::NoVariables { name: name() }),
        false => Ok(ranges),
    }
}
