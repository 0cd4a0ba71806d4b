//! Threads, stacks and names of a profile of the Firefox Profiler.

use super::access_marker::AccessMarker;
use analysis::{FrameId, NameNumber, SampleNames, SingleSample, StackId};
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, Frame, FrameFlags, FrameHandle, FrameInfo, ProcessHandle,
    Profile, StackHandle, StringHandle, ThreadHandle, Timestamp,
};
use perfdata::printable::printable;
use rustc_hash::FxHashMap;

/// A process as far as one event is concerned: weights of two events are no
/// sum of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ProcessOfEvent {
    event: usize,
    pid: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ThreadOfEvent {
    process: ProcessOfEvent,
    tid: i32,
}

#[derive(Debug)]
pub(super) struct ProfileThreads {
    code: CategoryHandle,
    kernel: CategoryHandle,
    processes: FxHashMap<ProcessOfEvent, ProcessHandle>,
    threads: FxHashMap<ThreadOfEvent, ThreadHandle>,
    stacks: FxHashMap<(ThreadHandle, StackId), StackHandle>,
    strings: FxHashMap<NameNumber, StringHandle>,
}

fn number(id: i32) -> u32 {
    u32::try_from(id).unwrap_or(0)
}

impl ProfileThreads {
    pub(super) fn new(profile: &mut Profile) -> ProfileThreads {
        ProfileThreads {
            code: profile.add_category("Code", CategoryColor::Blue),
            kernel: profile.add_category("Kernel", CategoryColor::Orange),
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            stacks: FxHashMap::default(),
            strings: FxHashMap::default(),
        }
    }

    /// The thread of a sample; of those without one there is one an event.
    pub(super) fn thread(
        &mut self,
        sample: &SingleSample,
        names: &SampleNames<'_>,
        profile: &mut Profile,
    ) -> ThreadHandle {
        let task = sample.task.unwrap_or_default();
        let of = ProcessOfEvent { event: sample.event, pid: task.pid.0 };
        let key = ThreadOfEvent { process: of, tid: task.tid.0 };
        if let Some(known) = self.threads.get(&key) {
            return *known;
        }
        let begin = Timestamp::from_nanos_since_reference(0);
        let comm = printable(sample.comm.map_or("", |comm| names.name(comm)));
        let event = names.event(sample.event).map_or("", |event| &event.name);
        let name = format!("{comm}: {}", printable(event));
        let process = *self
            .processes
            .entry(of)
            .or_insert_with(|| profile.add_process(&name, number(of.pid), begin));
        let is_main = task.pid.0 == task.tid.0;
        let thread = profile.add_thread(process, number(task.tid.0), begin, is_main);
        profile.set_thread_name(thread, &comm);
        self.threads.insert(key, thread);
        thread
    }

    /// A stack of a thread, what was inlined as frames of its own.
    pub(super) fn stack(
        &mut self,
        thread: ThreadHandle,
        stack: StackId,
        names: &SampleNames<'_>,
        profile: &mut Profile,
    ) -> Option<StackHandle> {
        if let Some(known) = self.stacks.get(&(thread, stack)) {
            return Some(*known);
        }
        let mut frames: Vec<FrameId> = names.frames(stack).collect();
        frames.reverse();
        let mut built = None;
        for frame in frames {
            let Some(named) = names.frame(frame) else { continue };
            let object = named.object.map_or("", |object| names.name(object));
            // `[kernel]` and `[MODULE]`; the vdso is the process's.
            let is_kernel = object.starts_with('[') && object != "[vdso]";
            let category = if is_kernel { self.kernel } else { self.code };
            for routine in named.routines.iter().rev() {
                let label = self.string(routine.name, names, profile);
                let info = FrameInfo {
                    frame: Frame::Label(label),
                    category_pair: category.into(),
                    flags: FrameFlags::empty(),
                };
                let frame: FrameHandle = profile.intern_frame(thread, info);
                built = Some(profile.intern_stack(thread, built, frame));
            }
        }
        self.stacks.extend(built.map(|built| ((thread, stack), built)));
        built
    }

    pub(super) fn marker(
        &mut self,
        sample: &SingleSample,
        names: &SampleNames<'_>,
        profile: &mut Profile,
    ) -> AccessMarker {
        let address = sample.address.map(|address| format!("{address:#x}"));
        let access = &sample.access;
        let texts = [
            access.level,
            access.operation,
            access.tlb,
            access.snoop,
            sample.of_type,
            sample.member,
            sample.variable,
        ];
        let none = profile.intern_string("");
        let event = names.event(sample.event).map_or("", |event| &event.name);
        AccessMarker {
            event: profile.intern_string(&printable(event)),
            address: address.map_or(none, |address| profile.intern_string(&address)),
            texts: texts.map(|name| name.map_or(none, |name| self.string(name, names, profile))),
            latency: sample.latency.unwrap_or(0),
            category: self.code,
        }
    }

    fn string(
        &mut self,
        name: NameNumber,
        names: &SampleNames<'_>,
        profile: &mut Profile,
    ) -> StringHandle {
        let intern = || profile.intern_string(&printable(names.name(name)));
        *self.strings.entry(name).or_insert_with(intern)
    }
}
