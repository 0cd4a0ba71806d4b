//! Takes one row after the other to its outcome.

use super::cases::{Case, event, masks};
use super::extents::{MODEL, first, fixed, in_time, interval, is_free};
use super::judge::{Judgement, judge};
use super::program::Program;
use super::recording::{Attempt, Cast, natively, record};
use super::row::{By, Judged, Outcome};
use super::{NO_LOOPS, cpus, samples};
use crate::ebs::arguments::{EmulationChoice, Steering};
use crate::ebs::sample::{OutputChoice, OutputPlace, SampleJob};
use crate::ebs::selftest::SelftestJob;
use crate::terminal::causes;
use crate::terminal::signals::{AskedEnd, Catcher};
use anyhow::{Context, Result};
use emulator::Geometry;
use recorder::catalogue::CatalogueType;
use recorder::plan::Outline;
use recorder::{Facts, Request, Target, source};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// A signal to all of a terminal's programs has come to each within that.
const WHILE: Duration = Duration::from_millis(50);

/// Loops that take less are run twice, to know what they take without
/// sampling.
const SHORT: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct Tester<'a> {
    job: &'a SelftestJob,
    facts: &'a Facts,
    catcher: Catcher,
    machine: Geometry,
    cpus: Option<[usize; 2]>,
    /// How long programs take without sampling.
    native: HashMap<(Program, u64, u64), Duration>,
}

impl<'a> Tester<'a> {
    pub(super) fn new(job: &'a SelftestJob, facts: &'a Facts, catcher: Catcher) -> Tester<'a> {
        let root = Path::new("/");
        Tester {
            job,
            facts,
            catcher,
            machine: Geometry::of_machine(root),
            cpus: cpus::of_two_cores(root),
            native: HashMap::new(),
        }
    }

    /// Samples a type on a program. None: a signal came.
    pub(super) fn outcome(
        &mut self,
        entry: &'static CatalogueType,
        case: &Case,
        slice: Duration,
    ) -> Option<Outcome> {
        if !cfg!(target_arch = "x86_64") {
            return Some(Outcome::WhyNot(NO_LOOPS.to_owned()));
        }
        let mut asked = Question {
            request: Request {
                masks: masks(entry),
                ..Request::new(event(entry), case.modes, Target::Command)
            },
            emulation: EmulationChoice {
                source: self.job.source,
                cache: MODEL.to_owned(),
                ..EmulationChoice::default()
            },
        };
        let outline = match self.outline(&mut asked) {
            Ok(outline) => outline,
            Err(why) => return Some(Outcome::WhyNot(causes::told(&why))),
        };
        match self.sampled(asked, outline, case, slice) {
            Ok(outcome) => outcome,
            // The terminal's SIGINT ends a program, too, and maybe sooner.
            Err(_) if self.is_interrupted() => None,
            Err(error) => Some(Outcome::Broken(causes::told(&error))),
        }
    }

    fn is_interrupted(&mut self) -> bool {
        std::thread::sleep(WHILE);
        self.catcher.asked() != AskedEnd::default()
    }

    /// What would be opened. Types of the kernel are the kernel's, whoever
    /// is to count those of a CPU.
    fn outline(&self, asked: &mut Question) -> Result<Outline> {
        use recorder::SourceChoice;
        let is_of_cpu = matches!(
            asked.request.event.event()?,
            recorder::request::event_spec::RequestedEvent::Type(CatalogueType {
                kind: recorder::catalogue::EventKind::Hardware(_),
                ..
            })
        );
        if !is_of_cpu {
            asked.emulation.source = SourceChoice::Auto;
        }
        let facts = Facts::read_for(Path::new("/"), &asked.request)?;
        let model = asked.emulation.model(Path::new("/"))?;
        let choice = asked.emulation.source;
        Ok(source::outline(&asked.request, choice, Some(&model), &facts)?)
    }

    fn sampled(
        &mut self,
        asked: Question,
        outline: Outline,
        case: &Case,
        slice: Duration,
    ) -> Result<Option<Outcome>> {
        let planned = outline.sampled().next().context("a plan without an event")?;
        let by = By::of(planned.planned.promises.source);
        let needs_cores = case.program == Program::Moves
            || case.program == Program::Sharing && by == By::Hardware;
        if needs_cores && self.cpus.is_none() {
            let why = "it takes two cores, and this process may use one: give it more CPUs";
            return Ok(Some(Outcome::WhyNot(why.to_owned())));
        }
        let geometry = match by {
            By::Emulated => asked.emulation.model(Path::new("/"))?.geometry,
            _ => self.machine.clone(),
        };
        let start = match first(case, by, &geometry, self.facts) {
            Ok(extent) => extent,
            Err(why) => return Ok(Some(Outcome::WhyNot(why))),
        };
        let extent = match is_free(case.program, by) {
            true => {
                let cast = Cast { program: case.program, extent: start, cpus: self.cpus };
                in_time(start, self.native(cast)?, slice)
            }
            false => fixed(case.program, start, by),
        };
        let cast = Cast { program: case.program, extent, cpus: self.cpus };
        let native = self.native(cast)?;
        let mut request = asked.request;
        request.interval = interval(case, extent, &outline);
        let job = SampleJob {
            asked: recorder::Job::new(request),
            prefers_frame_pointers: false,
            chooses_modes: false,
            emulation: asked.emulation,
            serving: self.job.serving.clone(),
            steering: Steering::default(),
            cgroup: None,
            command: Vec::new(),
            output: OutputChoice::Stream(OutputPlace::Stdout),
            carries_files: false,
            keeps_stacks: false,
            page: None,
            is_quiet: true,
        };
        let recorded = match record(job, cast, self.facts, &mut self.catcher)? {
            Attempt::Recorded(recorded) => recorded,
            Attempt::Refused(why) => return Ok(Some(Outcome::WhyNot(causes::told(&why)))),
            Attempt::Interrupted => return Ok(None),
        };
        let observed = samples::observed(&recorded)?;
        let judgement = judge(case, &recorded.truth, &observed);
        if let Judgement { wrong, unjudged: Some(why), .. } = &judgement
            && wrong.is_empty()
        {
            return Ok(Some(Outcome::WhyNot(why.clone())));
        }
        Ok(Some(Outcome::Judged(Box::new(Judged {
            samples: observed.samples.len() as u64,
            opened: observed.events,
            served: recorded.served,
            account: observed.account,
            judgement,
            took: [native, recorded.took],
        }))))
    }

    /// How long a program takes without sampling, by a run of it unless there
    /// was one.
    fn native(&mut self, cast: Cast) -> Result<Duration> {
        let key = (cast.program, cast.extent.elements, cast.extent.passes);
        if let Some(took) = self.native.get(&key) {
            return Ok(*took);
        }
        let mut took = natively(cast)?;
        if took < SHORT {
            // The first run of a short loop is slow for reasons of its own.
            took = took.min(natively(cast)?);
        }
        self.native.insert(key, took);
        Ok(took)
    }
}

#[derive(Clone, Debug)]
struct Question {
    request: Request,
    emulation: EmulationChoice,
}
