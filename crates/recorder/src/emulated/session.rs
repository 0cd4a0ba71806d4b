//! A sampling job on the emulated PMU.

mod ending;
mod pass;
mod record_format;

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use emulator::zone::MEMORY_PATH;
use emulator::{
    AllocatorFinder, Classifier, EmulatedEvent, Emulation, EmulationState, EventSettings, TaskExit,
};

use super::plan::pmu;
use super::{EmulatedPlan, ModelledEvent, program};
use crate::machine::facts::Facts;
use crate::sampling::Sampling;
use crate::session::command::{Command, CommandStatus};
use crate::session::ledger::Ledger;
use crate::session::preamble::{EventAnnouncement, SIDE_NAME, SynthesizedRecords, announce};
use crate::session::sink::OutputBuffer;
use crate::session::synthesize::{Synthesizer, kernel};
use crate::session::{DrainPass, SessionError, SessionSettings, Sink, TargetState};
use crate::sys::event::NATIVE_ORDER;
use crate::sys::mapping::RingMapping;
use crate::{Fallback, PlannedEvent, Target};
use perfdata::Time;
use perfdata::stream::write;
use record_format::RecordFormat;

/// What asks for a pause is refused: the model would have to follow the target
/// all the same, to know what is in its caches.
pub const NO_PAUSE: SessionError = SessionError::NoPause {
    who: "the emulated PMU",
    how: "a type that it counts itself, such as cpu_clock or page_fault, or --source pmu on a \
          machine that has one",
};

/// Id of the first event in the stream; those of the others follow, and then
/// that of sideband records.
const EVENT: u64 = 1;

/// How programs are read while they are emulated, which is decided where reports are made.
#[derive(Debug)]
pub struct ProgramRules {
    pub classifier: fn(EmulatedEvent) -> Option<Classifier>,
    pub allocators: AllocatorFinder,
}

/// A target under the emulated PMU, its ring, and the account of what came
/// through it. The surface is that of [`crate::Session`]; dropped at any
/// point, it lets the target run on natively.
#[derive(Debug)]
pub struct EmulatedSession {
    plan: EmulatedPlan,
    settings: SessionSettings,
    /// None: it was finished.
    emulation: Option<Emulation>,
    ring: RingMapping,
    command: Option<Command>,
    state: TargetState,
    /// How the command or process ended, if the emulation saw it.
    ended: Option<CommandStatus>,
    synthesized: SynthesizedRecords,
    output_buffer: OutputBuffer,
    ledger: Ledger,
    record_format: RecordFormat,
    /// What was in the ring and is none of them: the target's doing.
    foreign: u64,
    accepted: u64,
    started: Option<Instant>,
    /// When it was opened, of CLOCK_MONOTONIC.
    began: Time,
    stopped: Option<Duration>,
    notes: Vec<String>,
    last_notes: Vec<String>,
    /// The emulation of some process ended before it should.
    broke_off: bool,
    left: bool,
}

impl EmulatedSession {
    /// Takes hold of the target: a command is forked and waits, a process is
    /// emulated from here on.
    ///
    /// # Errors
    /// A target that is not there, or that cannot be emulated, or settings
    /// that need a pause; nothing has happened to it then.
    pub fn open(
        plan: EmulatedPlan,
        settings: SessionSettings,
        rules: &ProgramRules,
    ) -> Result<EmulatedSession, SessionError> {
        if settings.begins_paused {
            return Err(NO_PAUSE);
        }
        let began = pass::now();
        let mut command = match plan.target {
            Target::Command => Some(Command::hold(&settings.command)?),
            Target::Process(_) => None,
            Target::System | Target::Cgroup => {
                return Err(SessionError::NotEmulable { what: "the whole system".to_owned() });
            }
        };
        let unsupported_reason =
            command.as_ref().and_then(Command::file).and_then(program::unsupported_reason);
        if let Some(what) = unsupported_reason {
            return Err(SessionError::NotEmulable { what });
        }
        let proc = settings.root.join("proc");
        let synthesized = || match plan.target {
            Target::Process(pid) => SynthesizedRecords::tree(&proc, &plan.side, pid, MEMORY_PATH),
            Target::Command | Target::System | Target::Cgroup => SynthesizedRecords::default(),
        };
        let before = synthesized();
        let emulation = Emulation::start(
            target(&plan, command.as_ref()),
            emulation_settings(&plan, &settings, rules),
        )?;
        // What was mapped until it was taken hold of, unless it has ended.
        let synthesized = Some(synthesized()).filter(|now| now.records >= before.records);
        let synthesized = synthesized.unwrap_or(before);
        if let Some(command) = &mut command {
            command.trace();
        }
        let ring = RingMapping::new(&emulation.ring(), plan.ring_pages)
            .map_err(SessionError::system("mmap of the emulated ring"))?;
        let notes = command
            .as_ref()
            .filter(|command| command.changes_user())
            .map(|_| SET_USER_ID.to_owned());
        let ledger = Ledger::of(plan.events.iter().map(|event| event.name.as_str()));
        Ok(EmulatedSession {
            record_format: RecordFormat::new(
                plan.events.iter().map(|event| &event.attr),
                &plan.side,
            ),
            foreign: 0,
            output_buffer: OutputBuffer::new(ledger.by_event.len()),
            started: matches!(plan.target, Target::Process(_)).then(Instant::now),
            plan,
            settings,
            began,
            emulation: Some(emulation),
            ring,
            command,
            state: TargetState::Running,
            ended: None,
            synthesized,
            ledger,
            accepted: 0,
            stopped: None,
            notes: notes.into_iter().collect(),
            last_notes: Vec::new(),
            broke_off: false,
            left: false,
        })
    }

    pub fn plan(&self) -> &EmulatedPlan {
        &self.plan
    }

    /// Lets every thread run on natively, soon; what the ring holds stays to
    /// be drained.
    pub fn stop(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        if let Some(emulation) = &self.emulation {
            emulation.stop();
        }
        self.stopped = Some(self.started.map_or(Duration::ZERO, |at| at.elapsed()));
    }

    /// The account so far; complete only after
    /// [`finish`](Sampling::finish).
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn look(&mut self, state: EmulationState) {
        let ended = self.emulation.as_ref().and_then(Emulation::ended);
        self.ended = self.ended.or(ended.map(status));
        self.state = match state {
            EmulationState::Emulated if self.ended.is_some() => TargetState::Left,
            EmulationState::Emulated => TargetState::Running,
            // Whatever lives on is sampled no more.
            EmulationState::Left | EmulationState::Gone => TargetState::Gone,
        };
        if let Some(command) = &mut self.command
            && (self.ended.is_some() || state == EmulationState::Left)
        {
            command.untrace(self.ended);
        }
    }
}

/// Said of a program whose file changes the user: the kernel does not change
/// it for a program that is traced (ptrace(2), begin_new_exec()).
const SET_USER_ID: &str = "the command is a set-user-ID or set-group-ID program of another user, and \
                           runs without that right while it is emulated, unless ebs runs as root";

fn target(plan: &EmulatedPlan, command: Option<&Command>) -> emulator::EmulationTarget {
    match (plan.target, command) {
        (Target::Process(pid), _) => emulator::EmulationTarget::Process(pid),
        (_, command) => {
            emulator::EmulationTarget::Held(command.map_or(perfdata::Pid(0), Command::pid))
        }
    }
}

fn emulation_settings(
    plan: &EmulatedPlan,
    settings: &SessionSettings,
    rules: &ProgramRules,
) -> emulator::EmulationSettings {
    let event = |((id, planned), of): ((u64, &PlannedEvent), &ModelledEvent)| EventSettings {
        event: of.counts,
        interval: planned.attr.sample_period,
        seed: of.seed,
        adapted: of.adapted,
        classifier: (rules.classifier)(of.counts),
        attr: planned.attr.clone(),
        id,
    };
    emulator::EmulationSettings {
        geometry: plan.model.geometry.clone(),
        prefetch: plan.model.prefetch,
        events: (EVENT..).zip(&plan.events).zip(&plan.modelled).map(event).collect(),
        side_attr: plan.side.clone(),
        side_id: side(plan),
        burst: plan.model.burst,
        count: settings.count,
        ring_pages: plan.ring_pages,
        layouts: plan.model.layouts.clone(),
        data_mappings: plan.data_mappings,
        allocators: plan.model.heap.then(|| rules.allocators.clone()),
    }
}

/// Id of sideband records.
fn side(plan: &EmulatedPlan) -> u64 {
    EVENT + u64::try_from(plan.events.len()).unwrap_or(0)
}

fn status(ended: TaskExit) -> CommandStatus {
    match ended {
        TaskExit::Exited(status) => CommandStatus::Exited(status),
        TaskExit::Killed(signal) => CommandStatus::Killed(signal),
    }
}

impl Sampling for EmulatedSession {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn target(&self) -> Target {
        self.plan.target
    }

    fn planned(&self) -> &[PlannedEvent] {
        &self.plan.events
    }

    fn opened(&self) -> &[PlannedEvent] {
        &self.plan.events
    }

    fn given_up(&self) -> &[Fallback] {
        &[]
    }

    fn model(&self) -> Option<String> {
        Some(self.plan.model.to_string())
    }

    fn seed(&self) -> Option<u64> {
        self.plan.modelled.iter().find_map(|of| of.seed)
    }

    fn notes(&self) -> Vec<String> {
        self.plan.notes.iter().chain(&self.notes).cloned().collect()
    }

    fn last_notes(&self) -> &[String] {
        &self.last_notes
    }

    fn broke_off(&self) -> bool {
        self.broke_off
    }

    fn goes_on_natively(&self) -> bool {
        self.left
    }

    fn preamble(
        &mut self,
        facts: &Facts,
        command_line: &[String],
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        let EmulatedPlan { events, modelled, model, .. } = &self.plan;
        let ids: Vec<u64> = (EVENT..=side(&self.plan)).collect();
        let mut announced = Vec::new();
        for ((event, of), ids) in events.iter().zip(modelled).zip(ids.chunks(1)) {
            let mut note = format!("{};{};served=embedded", event.promises, model.note());
            if let Some(seed) = of.seed {
                let periods = if of.adapted { "adapted" } else { "drawn" };
                note.push_str(&format!(";periods={periods};seed={seed}"));
            }
            let (attr, name) = (&event.attr, event.name.as_str());
            announced.push(EventAnnouncement { attr, ids, name, note: Some(note) });
        }
        let (attr, ids) = (&self.plan.side, ids.get(events.len()..).unwrap_or_default());
        announced.push(EventAnnouncement { attr, ids, name: SIDE_NAME, note: None });
        let mut facts = facts.clone();
        facts.pmus.get_or_insert_default().insert(0, pmu());
        announce(&announced, &facts, command_line, &mut self.output_buffer.bytes)?;
        self.sync_clock();
        let proc = self.settings.root.join("proc");
        let mut synthesizer = Synthesizer::new(&proc, &self.plan.side);
        kernel(&mut synthesizer, &mut self.output_buffer.bytes);
        self.output_buffer.side += synthesizer.records;
        self.output_buffer.flush(sink, &mut self.ledger).map_err(SessionError::Sink)
    }

    fn start(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError> {
        self.started.get_or_insert_with(Instant::now);
        if let Some(command) = &mut self.command {
            command.release()?;
        }
        let synthesized = std::mem::take(&mut self.synthesized);
        self.output_buffer.bytes.extend(synthesized.bytes);
        self.output_buffer.side += synthesized.records;
        self.ledger.side_lost += synthesized.left_out;
        write::finished_init(NATIVE_ORDER, &mut self.output_buffer.bytes);
        self.output_buffer.flush(sink, &mut self.ledger).map_err(SessionError::Sink)
    }

    fn wait(&mut self, timeout: Duration) -> Result<TargetState, SessionError> {
        if let Some(emulation) = &self.emulation {
            let state = emulation.wait(timeout).state;
            self.look(state);
        }
        Ok(self.state)
    }

    fn set_counting(&mut self, _on: bool) -> Result<(), SessionError> {
        Err(NO_PAUSE)
    }

    fn drain(&mut self, sink: &mut dyn Sink) -> Result<DrainPass, SessionError> {
        let pass = self.pass();
        self.output_buffer.flush(sink, &mut self.ledger).map_err(SessionError::Sink)?;
        Ok(pass)
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<Ledger, SessionError> {
        self.end(sink)
    }

    fn command(&mut self) -> Option<&mut Command> {
        self.command.as_mut()
    }

    fn stopper(&self) -> io::Result<Option<OwnedFd>> {
        self.emulation.as_ref().map_or(Ok(None), Emulation::stopper)
    }
}
