//! The one value that answers: records in, places and names out.

mod batch;
mod code;
mod data;
mod frames;
mod generated;
mod memo;
mod resolve;
pub(crate) mod thread_data;
pub(crate) mod unwind;

use memo::{MEMOS, Memo, memo_slot};

use crate::code::CodeSources;
use crate::elf::head::hex;
use crate::elf::segments::OffsetTranslation;
use crate::files::embedded::index::EmbeddedPart;
use crate::kernel::loaded::{KernelAnchor, KernelListNote};
use crate::kernel::table::KernelSymbols;
use crate::kernel::view::KernelView;
use crate::process::mapped_symbols::MappedSymbols;
use crate::process::objects::{self, ObjectKind, Objects, Vdso};
use crate::process::timeline::{AddressExtent, FoundMapping, NoMapping, ObjectMapping, Timelines};
use crate::process::vdso::OwnVdso;
use crate::{MapsEntry, ObjectId, Place, Reason, SampledAddress, SymbolizerOptions};
use data::DataView;
use frames::DebugFiles;
use generated::Jit;
use perfdata::sideband::{FileIdentity, Mapping, SampleId, SidebandRecord};
use perfdata::stream::{BuildId, Features, StreamDecoder, StreamRecord};
use perfdata::{Arch, CpuMode, Misc, Pid, Time};
use std::ops::{Range, RangeInclusive};
use unwind::Unwinder;

/// The kernel's own mappings come under this pid, those of some dead tasks
/// too.
const KERNEL_PID: Pid = Pid(-1);
/// Files kept open until their symbols are read.
const MOST_OPEN: usize = 128;
/// Kinds of KSYMBOL (`perf_record_ksymbol_type`): a BPF program, and the
/// trampolines of ftrace and kprobes.
const KSYMBOL_BPF: u16 = 1;
const KSYMBOL_OUT_OF_LINE: u16 = 2;
/// On KSYMBOL: the routine goes away (PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER).
const KSYMBOL_UNREGISTER: u16 = 1;

/// Knows the kernel's symbols, files, and every process's mappings over
/// time.
#[derive(Debug)]
pub struct Symbolizer {
    pub(crate) options: SymbolizerOptions,
    /// Of the recorded machine, once that is told.
    arch: Option<Arch>,
    pub(crate) objects: Objects,
    pub(crate) timelines: Timelines,
    /// What the kernel maps for itself, as if it were one process.
    kernel_timeline: Timelines,
    pub(crate) kernel: KernelView,
    /// Counts what was told; an older memo is void.
    pub(crate) told: u64,
    memos: Vec<Memo>,
    /// Beside the files in `objects`.
    symbols: Vec<MappedSymbols>,
    pub(crate) data: DataView,
    /// Binaries whose file is kept open.
    open: usize,
    /// Build ids of the recording that were told.
    built: usize,
    pub(crate) vdso: Option<Result<OwnVdso, Reason>>,
    pub(crate) sources: CodeSources,
    pub(crate) lines: DebugFiles,
    pub(crate) jit: Jit,
    /// Once a stack was unwound.
    pub(crate) unwinder: Option<Box<Unwinder>>,
}

impl Symbolizer {
    /// Knows nothing of any process yet; files are opened when needed.
    pub fn new(options: SymbolizerOptions) -> Symbolizer {
        Symbolizer {
            options,
            arch: None,
            objects: Objects::new(),
            timelines: Timelines::default(),
            kernel_timeline: Timelines::default(),
            kernel: KernelView::new(),
            told: 1,
            memos: vec![Memo::VOID; MEMOS],
            symbols: Vec::new(),
            data: DataView::default(),
            open: 0,
            built: 0,
            vdso: None,
            sources: CodeSources::default(),
            lines: DebugFiles::default(),
            jit: Jit::default(),
            unwinder: None,
        }
    }

    /// Takes in the record that `decoder` just gave: what processes mapped, what the
    /// recording says of its machine, and the clocks of its events. Samples and others
    /// change nothing.
    ///
    /// Records may come in any order of time, and what tells of the machine before the mappings.
    pub fn observe(&mut self, decoder: &StreamDecoder, record: &StreamRecord<'_>) {
        let event = |index: usize| decoder.events().get(index);
        match *record {
            StreamRecord::Sideband { misc, ref record, ref id, .. } => self.side(misc, record, id),
            StreamRecord::Event(index) => {
                event(index).into_iter().for_each(|event| self.sampled_with(&event.attr));
            }
            StreamRecord::EventUpdate(index) => {
                let clock = event(index).and_then(|event| event.clock);
                clock.into_iter().for_each(|clock| self.timed_by(clock));
            }
            StreamRecord::Feature | StreamRecord::KernelList { is_whole: true } => {
                self.recorded(decoder.features());
            }
            _ => {}
        }
    }

    /// Takes in MMAP, MMAP2, COMM by exec, FORK and KSYMBOL; others change
    /// nothing. A record without time counts as told at time 0, after those told before it.
    pub(crate) fn side(&mut self, misc: Misc, record: &SidebandRecord<'_>, id: &SampleId) {
        let time = id.time.unwrap_or_default();
        self.kernel.learn_recording();
        self.jit.side(record, id);
        match *record {
            SidebandRecord::Mmap(ref mapping) | SidebandRecord::Mmap2(ref mapping) => {
                self.mapping(mapping, misc, time);
            }
            SidebandRecord::Comm { task, .. } if misc.contains(Misc::COMM_EXEC) => {
                self.timelines.exec(task.pid, time);
            }
            SidebandRecord::Fork { task, parent, time }
                if task.pid != parent.pid && !misc.contains(Misc::FORK_EXEC) =>
            {
                self.timelines.fork(task.pid, parent.pid, time);
            }
            SidebandRecord::Exit { task, time, .. } => self.timelines.exit(task.pid, time),
            SidebandRecord::Ksymbol { address, length, kind, flags, name } => {
                let extent = AddressExtent { start: address, length: length.into() };
                let mapping = (flags & KSYMBOL_UNREGISTER == 0).then(|| ObjectMapping {
                    object: self.objects.kernel_routine(name, extent, kind),
                    start: address,
                    offset: address,
                    executable: true,
                });
                self.kernel_timeline.map(KERNEL_PID, time, extent, mapping);
            }
            _ => return,
        }
        self.told += 1;
    }

    /// What a reader must know of what was told and not kept, as there was too
    /// much of it: no address is named by what it may have hidden.
    pub fn left_out(&self) -> Option<String> {
        let of_processes = [&self.timelines, &self.kernel_timeline];
        let told: u64 = of_processes.iter().map(|timelines| timelines.left_out()).sum();
        let (of_objects, objects) = self.objects.left_out();
        let told = told.saturating_add(of_objects).saturating_add(self.jit.left_out());
        (told > 0).then(|| {
            format!(
                "{told} records of mappings, forks, ends and routines of the kernel were not \
                 kept, as the recording tells of more than {}, or of more than {objects} files \
                 and routines: what may be theirs is in [too-many-mappings]",
                self.timelines.most()
            )
        })
    }

    /// Takes in /proc/PID/maps, live or saved, as of `time`.
    pub fn maps(&mut self, pid: Pid, entries: &[MapsEntry<'_>], time: Time) {
        for entry in entries {
            let MapsEntry { start, end, inode, device: (major, minor), .. } = *entry;
            let file = FileIdentity::Inode { major, minor, inode, generation: 0 };
            let extent = AddressExtent { start, length: end.saturating_sub(start) };
            let object = self.objects.mapped(entry.path, &file, pid, extent);
            self.told_of_file(pid, entry.path, &file, object);
            let executable = entry.permissions[2] == b'x';
            let mapping = Some(ObjectMapping { object, start, offset: entry.offset, executable });
            self.timelines.map(pid, time, extent, mapping);
        }
        self.told += 1;
    }

    /// The release (`uname -r`) of the kernel that was recorded: names of
    /// another one are refused.
    pub(crate) fn recorded_release(&mut self, release: &str) {
        self.kernel.learn_release(release);
        self.told += 1;
    }

    /// What the recording says of its machine: the kernel's release, and what
    /// the files that samples hit were built as, which tells whether a file
    /// found here is the one that was recorded.
    pub(crate) fn recorded(&mut self, features: &Features) {
        if let Some(release) = &features.os_release {
            self.recorded_release(release);
        }
        self.arch = features.arch.as_deref().map(Arch::from_machine);
        if let Some(list) = &features.kernel_list {
            self.kernel.learn_list(list);
            self.told += 1;
        }
        for BuildId { misc, id, path, .. } in features.build_ids.iter().skip(self.built) {
            let of_host = !matches!(misc.cpu_mode(), CpuMode::GuestKernel | CpuMode::GuestUser);
            if of_host && path.starts_with('/') && id.iter().any(|byte| *byte != 0) {
                self.objects.built(path.as_bytes(), id);
            }
        }
        self.built = features.build_ids.len();
    }

    fn mapping(&mut self, mapping: &Mapping<'_>, misc: Misc, time: Time) {
        let Mapping { task, start, length, page_offset, .. } = *mapping;
        let extent = AddressExtent { start, length };
        if task.pid != KERNEL_PID || misc.cpu_mode() == CpuMode::User {
            let object = self.objects.mapped(mapping.path, &mapping.file, task.pid, extent);
            self.told_of_file(task.pid, mapping.path, &mapping.file, object);
            let executable = !misc.contains(Misc::MMAP_DATA);
            self.data.has_mappings |= !executable;
            let mapping = Some(ObjectMapping { object, start, offset: page_offset, executable });
            self.timelines.map(task.pid, time, extent, mapping);
        } else if let Some(rest) = mapping.path.strip_prefix(b"[kernel.kallsyms]") {
            // The offset of this record is the address of the symbol in its
            // name; 0 when kptr_restrict hid it from the recorder.
            if !rest.is_empty() && page_offset != 0 {
                let symbol = String::from_utf8_lossy(rest).into_owned();
                self.kernel.learn(KernelAnchor { symbol, address: page_offset });
            }
        } else if let Some(name) = objects::module_name(mapping.path) {
            let object = self.objects.module(&name);
            let executable = true;
            let mapping = Some(ObjectMapping { object, start, offset: start, executable });
            self.kernel_timeline.map(KERNEL_PID, time, extent, mapping);
        }
    }

    /// Whose an address is: as the address tells, else as a record taken in
    /// `mode` has it. Virtual machines have addresses of their own.
    pub fn owner(&self, mode: CpuMode, address: u64) -> CpuMode {
        // Until the machine is told it may be one of 32 bits.
        let arch = self.arch.unwrap_or(Arch::X86);
        match mode {
            CpuMode::User | CpuMode::Kernel => arch.owner(address).unwrap_or(mode),
            mode => mode,
        }
    }

    /// Where an instruction pointer lies. Quick: the last answer for the
    /// same page of the same process is remembered.
    ///
    /// A record may say kernel mode of an instruction of user space, when the
    /// interrupt came at its entry to the kernel: code is whose address it
    /// has. An address of the kernel in user mode stays the process's, which
    /// has such a mapping (vsyscall).
    pub fn place(&mut self, mode: CpuMode, pid: Pid, ip: u64, time: Time) -> Place {
        let pid = match mode {
            CpuMode::User => Some(pid),
            CpuMode::Kernel if self.owner(mode, ip) == CpuMode::User => Some(pid),
            CpuMode::Kernel => None,
            other => return Place { object: elsewhere(other), address: ip },
        };
        let slot = memo_slot(pid, ip);
        if let Some(place) = self.memos[slot].place(self.told, pid, ip, time) {
            return place;
        }
        let memo = self.look_up(pid, ip, time);
        self.memos[slot] = memo;
        Place { object: memo.object, address: ip.wrapping_add(memo.delta) }
    }

    /// How far into its file a frame of user space lies, bytes, and when the
    /// file was mapped: at `time`, or before the exec that the sampled task
    /// was in the midst of. None where no file is mapped.
    pub fn offset_in_file(&mut self, pid: Pid, frame: u64, time: Time) -> Option<(u64, Time)> {
        let mut when = time;
        let mut found = self.timelines.find(pid, frame, time);
        if let (Err(NoMapping::Mapping), Some(before)) = (found.what, found.from.0.checked_sub(1)) {
            when = Time(before);
            found = self.timelines.find(pid, frame, when);
        }
        let ObjectMapping { object, start, offset, .. } = found.what.ok()?;
        let offset = match self.objects.kind(object) {
            ObjectKind::File(_) => offset,
            ObjectKind::Vdso(_) => 0,
            _ => return None,
        };
        Some((frame.wrapping_sub(start).wrapping_add(offset), when))
    }

    fn look_up(&mut self, pid: Option<Pid>, ip: u64, time: Time) -> Memo {
        let told = self.told;
        let FoundMapping { what, first, last, from, until } = match pid {
            Some(pid) => self.timelines.find(pid, ip, time),
            None => self.kernel_timeline.find(KERNEL_PID, ip, time),
        };
        let memo = |object| Memo { pid, first, last, from, until, told, object, delta: 0 };
        match what {
            Ok(ObjectMapping { object, start, offset, .. }) => match *self.objects.kind(object) {
                ObjectKind::File(file) => {
                    let shift = offset.wrapping_sub(start);
                    self.in_file(file, Memo { delta: shift, ..memo(object) }, ip, time)
                }
                ObjectKind::Vdso(_) => Memo { delta: offset.wrapping_sub(start), ..memo(object) },
                ObjectKind::Anonymous(owner) => {
                    Memo { pid, ..self.generated(memo(object), owner, ip, time) }
                }
                _ => memo(object),
            },
            Err(_) if pid.is_none() => {
                let (object, first, last) =
                    self.kernel.object(ip, &self.options, &mut self.objects);
                // What the kernel loaded meanwhile is not known any more.
                let is_known = what != Err(NoMapping::Overfull) || object == ObjectId::KERNEL;
                let memo = memo(if is_known { object } else { ObjectId::OVERFULL });
                Memo { first: first.max(memo.first), last: last.min(memo.last), ..memo }
            }
            Err(NoMapping::Process) => memo(ObjectId::UNKNOWN_PROCESS),
            Err(NoMapping::Mapping) => memo(ObjectId::UNMAPPED),
            Err(NoMapping::Overfull) => memo(ObjectId::OVERFULL),
        }
    }

    /// `memo` holds what makes an address an offset in the file.
    fn in_file(&mut self, file: usize, memo: Memo, ip: u64, time: Time) -> Memo {
        let shift = memo.delta;
        let binary = self.opened(file);
        let (translation, is_failed) =
            (binary.translate(ip.wrapping_add(shift)), binary.is_failed());
        let Some(OffsetTranslation { delta, first, last }) = translation else {
            let anonymous = is_failed && self.objects.file(file).in_memory;
            return match memo.pid.filter(|_| anonymous) {
                Some(pid) => self.generated(Memo { delta: 0, ..memo }, pid, ip, time),
                None => Memo { delta: if anonymous { 0 } else { shift }, ..memo },
            };
        };
        // The delta holds for the offsets of one segment only.
        let below = ip.wrapping_add(shift) - first;
        let above = last - ip.wrapping_add(shift);
        Memo {
            first: memo.first.max(ip.saturating_sub(below)),
            last: memo.last.min(ip.saturating_add(above)),
            delta: shift.wrapping_add(delta),
            ..memo
        }
    }

    pub(crate) fn opened(&mut self, file: usize) -> &MappedSymbols {
        if self.symbols.len() <= file {
            self.symbols.resize_with(file + 1, MappedSymbols::default);
        }
        let mapped = self.objects.file(file);
        if self.symbols[file].open(mapped, &self.options) {
            self.open += 1;
        }
        if self.open > MOST_OPEN {
            for (index, binary) in self.symbols.iter_mut().enumerate() {
                if matches!(binary, MappedSymbols::Opened(_)) {
                    binary.read(self.objects.file(index), &self.options);
                }
            }
            self.open = 0;
        }
        &self.symbols[file]
    }

    /// The vdso of this process, if it is the recorded one.
    fn own_vdso(&mut self, recorded: &Vdso) -> Result<&OwnVdso, Reason> {
        let elsewhere = self.elsewhere();
        let options = &self.options;
        let build_id = recorded.build_id.as_deref().map(hex);
        let carried = || options.carried()?.vdso(build_id.as_deref(), recorded.length);
        let vdso = self.vdso.get_or_insert_with(|| match carried() {
            Some(file) => file
                .map_err(|error| Reason::Vdso { why: error.to_string() })
                .and_then(OwnVdso::copied),
            None => OwnVdso::of(&options.root),
        });
        let own = vdso.as_ref().map_err(Reason::clone)?;
        let elsewhere = elsewhere.filter(|_| carried().is_none());
        own.check(recorded, elsewhere)?;
        if let Some(packer) = &self.options.packer {
            let part = EmbeddedPart::Vdso { build_id, length: recorded.length };
            packer.pack_bytes(part, own.bytes());
        }
        Ok(own)
    }

    /// Why the recording was not made under the running kernel, if that is
    /// known.
    fn elsewhere(&mut self) -> Option<Reason> {
        self.kernel.elsewhere(&self.options, &mut self.objects)
    }

    /// What to show as the object: a path, `[kernel]`, `[MODULE]`, `[bpf]`,
    /// `[ool]` (ftrace and kprobes), `[vdso]`, `//anon`.
    pub fn object_name(&self, object: ObjectId) -> &str {
        match self.objects.kind(object) {
            ObjectKind::KernelRoutine { kind: KSYMBOL_BPF, .. } => "[bpf]",
            ObjectKind::KernelRoutine { kind: KSYMBOL_OUT_OF_LINE, .. } => "[ool]",
            ObjectKind::KernelRoutine { .. } => "[ksymbol]",
            ObjectKind::Generated { dump, .. } => dump,
            _ => self.objects.name(object),
        }
    }

    /// Where the kernel's routines lie, in address order: a stretch for the
    /// kernel proper, one for each module. Or why they are not known.
    pub fn kernel_extents(&mut self) -> Result<Vec<Range<u64>>, Reason> {
        Ok(self.kernel_symbols()?.extents().collect())
    }

    /// The kernel's routines by themselves. Or why they are not known.
    pub fn kernel_symbols(&mut self) -> Result<&KernelSymbols, Reason> {
        self.kernel.symbols(&self.options, &mut self.objects)
    }

    /// What the user should know about the kernel symbols in use; empty
    /// until a kernel address was placed or resolved.
    pub fn notes(&self) -> &[KernelListNote] {
        self.kernel.notes()
    }
}

impl SampledAddress {
    /// Where it lies as one of code.
    #[inline]
    pub fn place(self, symbolizer: &mut Symbolizer) -> Place {
        symbolizer.place(self.mode, self.pid, self.address, self.time)
    }

    /// Where it lies as one of data.
    pub fn data_place(self, symbolizer: &mut Symbolizer) -> Place {
        symbolizer.data_place(self.mode, self.pid, self.address, self.time)
    }

    /// The same of whose memory the address itself tells ([`Symbolizer::owner`]): branches and
    /// data may be the kernel's or the process's, whatever mode a sample was taken in.
    pub fn by_address(self, symbolizer: &Symbolizer) -> SampledAddress {
        SampledAddress { mode: symbolizer.owner(self.mode, self.address), ..self }
    }
}

/// The object of what is neither a process's here nor the kernel's.
pub(crate) fn elsewhere(mode: CpuMode) -> ObjectId {
    match mode {
        CpuMode::GuestKernel | CpuMode::GuestUser => ObjectId::GUEST,
        CpuMode::Hypervisor => ObjectId::HYPERVISOR,
        CpuMode::User | CpuMode::Kernel | CpuMode::Unknown => ObjectId::UNKNOWN_MODE,
    }
}

impl Symbolizer {
    /// Processes that records told of and that had not ended before a span of
    /// time, or began within it.
    pub fn alive(&mut self, span: &RangeInclusive<Time>) -> Vec<Pid> {
        self.timelines.alive(span)
    }

    /// The distinct places that `ip` was, as code, in some of the processes at
    /// some time of the span; empty when nothing was mapped there. None: what was told of one of them is more than is
    /// followed.
    pub fn places(
        &mut self,
        pids: &[Pid],
        ip: u64,
        span: &RangeInclusive<Time>,
    ) -> Option<Vec<Place>> {
        // What is not kept may have been it, too.
        if self.timelines.hides_others(*span.end()) {
            return None;
        }
        let mut places = Vec::new();
        for pid in pids {
            for (mapping, time) in self.timelines.during(*pid, ip, span)? {
                let place = self.place(CpuMode::User, *pid, ip, time);
                if mapping.executable && !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        Some(places)
    }
}

#[cfg(test)]
mod tests;
