//! A session whose samples a program in the kernel counts or picks.
//!
//! The program is loaded before anything is opened, as what is opened depends
//! on it, and each event has it before it is enabled.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use perfdata::aggregate::Aggregate;
use perfdata::attr::AttrFlags;
use perfdata::stream::write;
use perfdata::{Attr, Cpu, EventType, Pid, SampleType};

use super::kernel::Kernel;
use super::{Session, SessionError, SessionSettings, Sink};
use crate::in_kernel::{
    AggregateReader, CountedTracepoint, HitCounts, HitScope, HitSource, InKernel, KernelProgram,
    LoadError, SampleContents,
};
use crate::session::ledger::{EventAccount, Ledger};
use crate::sys::event::{NATIVE_ORDER, PerfEvent};
use crate::{Plan, PlannedEvent, RingPages, Target};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum DeliveryMode {
    /// Rings, as nothing else was asked for.
    #[default]
    Rings,
    /// Rings, as the kernel took no program, for this reason.
    RingsAsFallback(String),
    /// A program counts, and nothing reaches a ring.
    Counted { callers: bool },
    /// A program picks what reaches the rings.
    Filtered,
}

impl DeliveryMode {
    /// What the stream's promises say of it.
    pub(super) fn note(&self) -> String {
        match self {
            DeliveryMode::Rings => String::new(),
            // Neither may end the value.
            DeliveryMode::RingsAsFallback(why) => {
                format!(";counted=rings;not_in_kernel={}", why.replace(';', ",").replace('=', ":"))
            }
            DeliveryMode::Counted { callers: false } => ";counted=kernel".into(),
            DeliveryMode::Counted { callers: true } => ";counted=kernel;callers=fp".into(),
            DeliveryMode::Filtered => ";counted=rings;filtered=kernel".into(),
        }
    }

    /// The same for the user's last line; None: nothing was asked for.
    pub(super) fn in_words(&self) -> Option<&'static str> {
        match self {
            DeliveryMode::Rings => None,
            DeliveryMode::RingsAsFallback(_) => Some("sampled through rings, not in the kernel"),
            DeliveryMode::Counted { callers: false } => Some("counted in the kernel"),
            DeliveryMode::Counted { callers: true } => {
                Some("counted in the kernel, callers by frame pointers")
            }
            DeliveryMode::Filtered => Some("filtered in the kernel"),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// One for each event that samples, in the order of the plan.
    programs: Vec<AttachedProgram>,
    pub(super) delivery_mode: DeliveryMode,
    every: Duration,
    due: Option<Instant>,
    pub(super) aggregates: u64,
    /// Hits were not counted all the time.
    pub(super) steered: bool,
    /// What was taken and has found no room yet, with its place in the ledger.
    waiting: VecDeque<(usize, Aggregate)>,
    /// Why something could not be taken at the last try; it can be later.
    late: Option<io::Error>,
    /// Why something that was taken could not be written.
    failed: Option<io::Error>,
}

#[derive(Debug)]
struct AttachedProgram {
    /// The event's index in the plan.
    index: usize,
    program: KernelProgram,
    reader: AggregateReader,
    of_tracepoint: bool,
    /// Its hits count from an exec on.
    from_exec: bool,
}

impl Programs {
    /// Loads what the plan wants, and makes the plan fit what was loaded:
    /// samples that are counted need no ring.
    pub(super) fn load(
        kernel: &dyn Kernel,
        plan: &mut Plan,
        settings: &SessionSettings,
        held: Option<Pid>,
    ) -> Result<Programs, SessionError> {
        let Some(mut in_kernel) = plan.in_kernel.clone() else { return Ok(Programs::default()) };
        in_kernel.keep.user_only |= settings.scrub;
        let has_callers = in_kernel.tables().is_some_and(|tables| tables.callers);
        let sampled = plan.events.iter().enumerate().filter(|(_, event)| !event.carrier);
        let loaded = sampled
            .map(|(index, event)| {
                if has_callers && settings.scrub && event.attr.precise_ip() > 0 {
                    return Err(LoadError::PreciseCallers { name: event.name.clone() });
                }
                let source = source(event, plan.target, held)?;
                let on = plan.cpus.iter().copied().filter(|cpu| event.is_on(*cpu));
                AttachedProgram::load(kernel, index, source, &in_kernel, &on.collect::<Vec<Cpu>>())
            })
            .collect::<Result<Vec<AttachedProgram>, LoadError>>();
        match loaded {
            Ok(programs) => {
                let counts = in_kernel.counts();
                if counts {
                    plan.set_rings(RingPages { samples: 1, ..plan.rings });
                }
                if has_callers {
                    plan.events.iter_mut().for_each(|event| show_callers(&mut event.attr));
                }
                let delivery_mode = match counts {
                    true => DeliveryMode::Counted { callers: has_callers },
                    false => DeliveryMode::Filtered,
                };
                let every = settings.every.min(MAX_INTERVAL);
                Ok(Programs { programs, delivery_mode, every, ..Programs::default() })
            }
            Err(why) if in_kernel.may_be_rings() && settings.rings => {
                plan.in_kernel = None;
                let delivery_mode = DeliveryMode::RingsAsFallback(why.to_string());
                Ok(Programs { delivery_mode, ..Programs::default() })
            }
            Err(why) => Err(SessionError::NotInKernel {
                what: if in_kernel.counts() { "counted" } else { "filtered" },
                why,
            }),
        }
    }

    pub(super) fn notes(&self, untraced: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if let DeliveryMode::RingsAsFallback(why) = &self.delivery_mode {
            notes.push(format!("not counted in the kernel, but sampled through rings: {why}"));
        }
        if untraced && self.counts() {
            notes.push(
                "what two events of one thread saw twice, born while it was attached to, is counted \
                 twice: in the kernel nobody compares neighbours"
                    .into(),
            );
        }
        notes
    }

    pub(super) fn counts(&self) -> bool {
        matches!(self.delivery_mode, DeliveryMode::Counted { .. })
    }

    /// Gives an event of the plan its program, before it is enabled.
    pub(super) fn attach(&self, index: usize, event: &PerfEvent) -> io::Result<()> {
        let loaded = self.programs.iter().find(|loaded| loaded.index == index);
        match loaded {
            Some(loaded) => loaded.program.attach(event),
            None => Ok(()),
        }
    }

    pub(super) fn start(&mut self) {
        self.due.get_or_insert(Instant::now() + self.every);
        self.for_each(KernelProgram::start);
    }

    pub(super) fn stop(&mut self) {
        self.for_each(KernelProgram::stop);
    }

    fn for_each(&mut self, what: fn(&KernelProgram) -> io::Result<()>) {
        let told = self.programs.iter().try_for_each(|loaded| what(&loaded.program));
        if let Err(error) = told {
            self.failed.get_or_insert(error);
        }
    }

    /// Takes what was counted, if it is time for that; with the place in the
    /// ledger.
    pub(super) fn take_due(&mut self) -> Vec<(usize, Aggregate)> {
        match self.due {
            Some(due) if due <= Instant::now() => {
                self.due = Some((due + self.every).max(Instant::now()));
                self.take()
            }
            Some(_) => {
                self.relieve();
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn relieve(&mut self) {
        for loaded in &mut self.programs {
            if let Err(error) = loaded.reader.relieve() {
                self.late = Some(error);
            }
        }
    }

    pub(super) fn wait_with(&mut self, taken: Vec<(usize, Aggregate)>) {
        self.waiting.extend(taken);
    }

    /// Whether something was taken that has found no room yet.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn due_now(&mut self) {
        self.due = Some(Instant::now());
    }

    fn take(&mut self) -> Vec<(usize, Aggregate)> {
        let (mut taken, mut late) = (Vec::with_capacity(self.programs.len()), None);
        let counts = self.counts();
        for (place, loaded) in self.programs.iter_mut().enumerate() {
            match loaded.reader.take() {
                // Of a program that picks, only its account matters.
                Ok(aggregate) if counts => taken.push((place, aggregate)),
                Ok(_) => {}
                Err(error) => late = Some(error),
            }
        }
        self.late = late;
        taken
    }

    /// Why not all that was counted is in the stream, if that is so.
    pub(super) fn failure(&mut self) -> Option<io::Error> {
        self.failed.take().or(self.late.take())
    }

    /// Whether a CPU was in the middle of a hit for so long that what it
    /// counted has to be taken later.
    pub(super) fn has_late_cpu(&self) -> bool {
        self.late.is_some()
    }

    /// Samples counted so far, by all programs, the interval that runs
    /// included.
    pub(super) fn counted(&self) -> u64 {
        self.programs.iter().map(|loaded| loaded.reader.kept()).sum()
    }

    /// Enters what a program says of itself into the account of its event.
    pub(super) fn account(&self, place: usize, said: &mut EventAccount, ledger: &mut Ledger) {
        let Some(loaded) = self.programs.get(place) else { return };
        let HitCounts { seen, no_room, dropped } = loaded.reader.hit_counts();
        ledger.lose(place, no_room, |lost| &mut lost.no_room);
        for (reason, count) in dropped {
            match reason {
                SCRUBBED => ledger.lose(place, count, |lost| &mut lost.scrubbed),
                reason => said.filtered.add(reason, count),
            }
        }
        said.seen = Some(seen);
        if loaded.of_tracepoint {
            // Its events count from and to other moments than the program,
            // but for those that begin at an exec and never pause, and not at all what the
            // kernel was too busy for.
            let is_exact = loaded.from_exec && !self.steered;
            let beyond = |kernel: &u64| is_exact && *kernel < seen;
            let own = seen + loaded.reader.kernel_busy().unwrap_or(0);
            said.kernel = said.kernel.filter(beyond).or(Some(own));
        }
    }
}

/// Bytes that one record of an aggregate takes, about: with less room, what was
/// counted waits. Less than the smallest queue (`limits.queue`).
const MIN_ROOM: usize = 48 * 1024;
/// What was counted is taken out so often at least: clients may say any
/// number, and there is no instant so far ahead as the largest.
const MAX_INTERVAL: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// What a program calls hits that would show the kernel to a user.
const SCRUBBED: &str = "scrubbed";

impl AttachedProgram {
    fn load(
        kernel: &dyn Kernel,
        index: usize,
        source: HitSource,
        in_kernel: &InKernel,
        cpus: &[Cpu],
    ) -> Result<AttachedProgram, LoadError> {
        let program = kernel.load(in_kernel, source, cpus)?;
        let unmapped = |error: io::Error| LoadError::Failed {
            call: "mapping the tables",
            error: error.to_string(),
        };
        let reader = program.reader().map_err(unmapped)?;
        let (of_tracepoint, from_exec) = match source {
            HitSource::Overflow(_) => (false, false),
            HitSource::Tracepoint(point) => (true, matches!(point.scope, HitScope::Held(_))),
        };
        Ok(AttachedProgram { index, program, reader, of_tracepoint, from_exec })
    }
}

/// Has the kernel gather the whole chain of a precise event's hits: a program
/// that asks for callers is attached to no other (perf_event_set_bpf_prog()).
/// What of it is kept, the program decides.
fn show_callers(attr: &mut Attr) {
    if attr.precise_ip() > 0 && attr.sample_type.contains(SampleType::CALLCHAIN) {
        let left_out = AttrFlags::EXCLUDE_CALLCHAIN_KERNEL | AttrFlags::EXCLUDE_CALLCHAIN_USER;
        attr.flags.remove(left_out);
    }
}

/// Where an event's hits come from.
/// `held`: the command that waits for its exec.
fn source(event: &PlannedEvent, target: Target, held: Option<Pid>) -> Result<HitSource, LoadError> {
    let attr = &event.attr;
    if attr.kind != EventType::TRACEPOINT {
        return Ok(HitSource::Overflow(SampleContents::of(attr)));
    }
    // TP_ARGS(__perf_count(..)) in include/trace/events/sched.h.
    if event.name.starts_with("sched:sched_stat_") {
        return Err(LoadError::WeighedTracepoint { name: event.name.clone() });
    }
    let scope = match target {
        Target::Command => HitScope::Held(held.unwrap_or(Pid(0))),
        Target::Process(pid) => HitScope::Process(pid),
        Target::System => HitScope::Everyone,
        Target::Cgroup => return Err(LoadError::TracepointOfGroup),
    };
    let user_only = attr.flags.contains(AttrFlags::EXCLUDE_KERNEL);
    let interval = attr.sample_period;
    let of_system_call = event.name.starts_with("syscalls:");
    let id = attr.config;
    Ok(HitSource::Tracepoint(CountedTracepoint { id, scope, interval, user_only, of_system_call }))
}

impl Session {
    /// Puts what was counted on its way, as much as the sink has room for: the
    /// rest goes in later passes, in aggregates of the same interval. `flush_all`: it
    /// goes now, room or no room. Gives how many samples went.
    pub(super) fn write_waiting(
        &mut self,
        sink: &mut dyn Sink,
        flush_all: bool,
    ) -> io::Result<u64> {
        let (mut samples, mut result) = (0, Ok(()));
        while let Some((event, mut rest)) = self.programs.waiting.pop_front() {
            if sink.room().is_some() {
                // It takes up room as well.
                result = result.and(self.output_buffer.flush(sink, &mut self.ledger));
            }
            let most = match sink.room() {
                None => usize::MAX,
                Some(room) if flush_all => room.max(MIN_ROOM),
                Some(room) if room < MIN_ROOM => {
                    self.programs.waiting.push_front((event, rest));
                    break;
                }
                Some(room) => room,
            };
            let is_whole = rest.record_bytes() <= most;
            let fits = if is_whole { std::mem::take(&mut rest) } else { rest.take_bytes(most) };
            if rest.sites.is_empty() {
                self.programs.aggregates += 1;
            } else {
                self.programs.waiting.push_front((event, rest));
            }
            samples += self.write_aggregate(event, fits);
            result = result.and(self.output_buffer.flush_full(sink, &mut self.ledger));
        }
        result.map(|()| samples)
    }

    /// Puts an aggregate of an event of the ledger on its way; gives how
    /// many samples it stands for.
    pub(super) fn write_aggregate(&mut self, event: usize, aggregate: Aggregate) -> u64 {
        let count = aggregate.count();
        let index = self.attrs.sampled().nth(event).map(|(index, _)| index);
        let Some(&id) = index.and_then(|index| self.ids.of(index).first()) else { return 0 };
        let out = &mut self.output_buffer.bytes;
        if let Err(error) = write::aggregate(id, aggregate, NATIVE_ORDER, out) {
            self.programs.failed.get_or_insert(io::Error::other(error));
            return 0;
        }
        if let Some(buffered) = self.output_buffer.samples.get_mut(event) {
            buffered.samples += count;
        }
        self.seen.samples += count;
        count
    }
}
