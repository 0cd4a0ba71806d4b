//! A session, driven by its program.

use crate::named_stream::NamedStream;
use crate::region::{listen, unlisten};
use crate::settings::own_tid;
use crate::{NamedSample, SampledTasks, SamplerError, SamplerSettings, open};
use emulator::Geometry;
use recorder::emulated::Model;
use recorder::regions::RegionMarker;
use recorder::session::SessionSettings;
use recorder::{Facts, Ledger, Sampling, TargetState, source};
use std::path::Path;
use std::time::Duration;

/// Events of a thread, a process or a command, sampled while it is enabled.
///
/// It belongs to the thread that opened it: the kernel's rings wake nobody
/// once that has ended. Dropped, it stops; a command or process runs on. A child of fork(2) that
/// inherits it cannot use it, and dropping it there leaves the parent's alone.
#[derive(Debug)]
pub struct Sampler {
    /// None: it was left to the process that opened it.
    session: Option<Box<dyn Sampling>>,
    /// The process that opened it: a child of fork(2) has the descriptors, and not the rings.
    process: u32,
    stream: NamedStream,
    state: SamplerState,
    /// Marks of this process go into the session's log.
    listener: Option<u64>,
}

type SamplerParts<'s> = (&'s mut (dyn Sampling + 'static), &'s mut NamedStream);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SamplerState {
    /// A command has not begun; of others nothing is counted yet.
    Opened,
    Counting,
    Paused,
    Finished,
}

impl Sampler {
    /// Opens the events, which count nothing yet.
    ///
    /// # Errors
    /// What cannot be sampled here, and what to do.
    pub fn open(settings: SamplerSettings) -> Result<Sampler, SamplerError> {
        let request = settings.request();
        let facts = Facts::read_for(Path::new("/"), &request).map_err(SamplerError::Facts)?;
        let is_own = settings.is_own();
        let session_settings = SessionSettings {
            command: match &settings.tasks {
                SampledTasks::Command(words) => words.clone(),
                _ => Vec::new(),
            },
            thread: (settings.tasks == SampledTasks::ThisThread).then(own_tid),
            begins_paused: !matches!(settings.tasks, SampledTasks::Command(_)),
            regions: settings.regions,
            ..SessionSettings::default()
        };
        // Nobody emulates the thread that is to do it.
        let choice = if is_own { recorder::SourceChoice::Pmu } else { settings.source };
        let geometry = Geometry::of_machine(Path::new("/"));
        let model = Model {
            geometry,
            tlbs_asked: false,
            prefetch: false,
            burst: None,
            classify: false,
            heap: false,
            layouts: Vec::new(),
        };
        let plan = source::plan(&request, choice, model, &facts)?;
        let mut session = open(plan, session_settings)?;
        let mut stream = NamedStream::new();
        let words: Vec<String> = std::env::args().collect();
        session.preamble(&facts, &words, &mut stream.bytes)?;
        let log = session.regions().filter(|_| is_own);
        let marker = log.and_then(|log| RegionMarker::open(Path::new(&log.path())).ok());
        let listener = marker.map(listen);
        let (session, process) = (Some(session), std::process::id());
        Ok(Sampler { session, process, stream, state: SamplerState::Opened, listener })
    }

    fn parts(&mut self) -> Result<SamplerParts<'_>, SamplerError> {
        let session = self.session.as_deref_mut();
        let session = session.filter(|_| std::process::id() == self.process);
        session.map(|session| (session, &mut self.stream)).ok_or(SamplerError::Forked)
    }

    /// Counts from now on; the first time, lets a command go.
    ///
    /// # Errors
    /// A command that cannot be executed; a call that should not fail.
    pub fn enable(&mut self) -> Result<(), SamplerError> {
        let state = self.state;
        let (session, stream) = self.parts()?;
        let mut is_due = matches!(state, SamplerState::Opened | SamplerState::Paused);
        if state == SamplerState::Opened {
            session.start(&mut stream.bytes)?;
            is_due = session.command().is_none();
        }
        if is_due {
            session.set_counting(true)?;
        }
        if state != SamplerState::Finished {
            self.state = SamplerState::Counting;
        }
        Ok(())
    }

    /// Counts no more until it is enabled again.
    ///
    /// # Errors
    /// A call that should not fail; the emulated PMU does not pause.
    pub fn disable(&mut self) -> Result<(), SamplerError> {
        let state = self.state;
        let (session, _) = self.parts()?;
        if state == SamplerState::Counting {
            session.set_counting(false)?;
            self.state = SamplerState::Paused;
        }
        Ok(())
    }

    /// The samples that there are, in order of time: while it is disabled or
    /// finished all of them, else those of before the last two calls, as
    /// older ones could come. Those that the iterator is not asked for stay.
    ///
    /// # Errors
    /// A fault of hardmeter.
    pub fn samples(&mut self) -> Result<Samples<'_>, SamplerError> {
        let state = self.state;
        let (session, stream) = self.parts()?;
        if state != SamplerState::Finished {
            session.drain(&mut stream.bytes)?;
        }
        stream.take_in()?;
        if matches!(state, SamplerState::Paused | SamplerState::Finished) {
            stream.finish();
        }
        Ok(Samples { stream })
    }

    /// Waits until a ring has filled up somewhat, the target has ended, or the
    /// time is over. Of another process or a command.
    ///
    /// # Errors
    /// poll(2) failed.
    pub fn wait(&mut self, at_most: Duration) -> Result<TargetState, SamplerError> {
        Ok(self.parts()?.0.wait(at_most)?)
    }

    /// Stops for good, and gives the account: the kernel's count is what was
    /// delivered and what was lost. The last samples are there to be asked
    /// for.
    ///
    /// # Errors
    /// A count that cannot be read.
    pub fn finish(&mut self) -> Result<Ledger, SamplerError> {
        let (session, stream) = self.parts()?;
        let ledger = session.finish(&mut stream.bytes)?;
        self.state = SamplerState::Finished;
        self.stream.take_in()?;
        self.stream.finish();
        Ok(ledger)
    }

    /// Delivered samples that the event's type does not mean, or that cannot
    /// be told to be meant.
    pub fn left_out(&self) -> u64 {
        self.stream.left_out()
    }

    /// Marks of regions that there was no room for between two calls; complete
    /// only after [`finish`](Sampler::finish). A sample behind a lost one may be
    /// in the wrong region.
    pub fn lost_marks(&self) -> u64 {
        let log = self.session.as_ref().and_then(|session| session.regions());
        log.map_or(0, |log| log.account().lost)
    }

    /// What the user should know, in sentences: precision that was given up,
    /// doubts about an attach.
    pub fn notes(&self) -> Vec<String> {
        self.session.as_ref().map(|session| session.notes()).unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if std::process::id() != self.process {
            // To stop would stop the parent's, whose descriptors these are.
            std::mem::forget(self.session.take());
            return;
        }
        if let Some(listener) = self.listener {
            unlisten(listener);
        }
    }
}

/// Samples, oldest first.
#[derive(Debug)]
pub struct Samples<'s> {
    stream: &'s mut NamedStream,
}

impl Iterator for Samples<'_> {
    type Item = NamedSample;

    fn next(&mut self) -> Option<NamedSample> {
        self.stream.next()
    }
}

#[cfg(test)]
mod tests {
    use super::Sampler;
    use crate::{Region, SampledTasks, SamplerSettings};

    #[test]
    fn marks_that_there_is_no_room_for_are_counted() {
        let settings = SamplerSettings {
            tasks: SampledTasks::ThisThread,
            ..SamplerSettings::new("page_fault")
        };
        let mut sampler = Sampler::open(settings).expect("a software event of one's own thread");
        sampler.enable().unwrap();
        let times = 100_000;
        for _ in 0..times {
            drop(Region::enter("much"));
        }
        sampler.finish().unwrap();
        let read = sampler.session.as_ref().unwrap().regions().unwrap().account().read;
        assert!(sampler.lost_marks() > 0 && read > 0, "{} lost of {read}", sampler.lost_marks());
        assert_eq!(sampler.lost_marks() + read, 2 * times, "one as it begins, one as it ends");
    }
}
