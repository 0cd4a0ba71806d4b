//! The thread that traces the target by ptrace(2).

mod attach;
mod birth;
mod buffers;
mod call;
mod code;
mod engine;
mod enter;
mod features;
mod filter;
mod fixed;
mod halt;
mod injection;
mod leave;
mod lend;
mod limits;
mod maps;
mod page_sizes;
mod place;
mod progress;
pub(crate) mod registers;
mod rights;
mod settle;
mod side;
mod signal;
mod smaps;
mod space;
mod status;
mod step;
mod tracing;
mod trap;
mod trouble;
mod turns;

use std::io::{PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::emulation::{
    EmulationAccount, EmulationSettings, EmulationTarget, EmulationWake, Ended, Fault, StartError,
    TargetStanding,
};
use crate::runtime::target::ring::{HEAD, LIMIT, PAGE, TAIL};
use crate::sys::mapping::Memory;
use progress::TracerProgress;

/// The other threads' end of the tracer.
#[derive(Debug)]
pub(crate) struct Handle {
    ring: Arc<Memory>,
    progress: Arc<TracerProgress>,
    /// Its end wakes the tracer, which then leaves the target.
    alarm: Mutex<Option<PipeWriter>>,
    thread: Option<JoinHandle<Result<EmulationAccount, Fault>>>,
}

/// How long records may wait in the ring unseen.
const GLANCE: Duration = Duration::from_millis(5);
/// Offsets of data_offset and data_size in page 0.
const DATA_OFFSET: usize = 1040;
const DATA_SIZE: usize = 1048;

fn system<E: Into<std::io::Error>>(doing: &'static str) -> impl Fn(E) -> StartError {
    move |error| StartError::System { doing, error: error.into() }
}

impl Handle {
    pub(crate) fn start(
        target: EmulationTarget,
        settings: EmulationSettings,
    ) -> Result<Handle, StartError> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err(StartError::Machine { arch: std::env::consts::ARCH });
        }
        if !settings.ring_pages.is_power_of_two() {
            let text = format!("a ring of {} pages: use a power of two", settings.ring_pages);
            return Err(StartError::Settings(text));
        }
        let pages = usize::try_from(settings.ring_pages).unwrap_or(usize::MAX);
        let bytes = pages.saturating_add(1).saturating_mul(PAGE);
        let ring = Memory::new("hardmeter ring", bytes).map_err(system("making the ring"))?;
        let ring = Arc::new(ring);
        ring.word(DATA_OFFSET).store(PAGE as u64, Ordering::Relaxed);
        ring.word(DATA_SIZE).store((bytes - PAGE) as u64, Ordering::Relaxed);
        ring.word(LIMIT).store(settings.count.unwrap_or(u64::MAX), Ordering::Relaxed);
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let bell = eventfd(0, flags).map_err(system("eventfd"))?;
        let progress = Arc::new(TracerProgress::new(bell));
        let (tell, told) = mpsc::channel();
        let (own_ring, own_progress) = (Arc::clone(&ring), Arc::clone(&progress));
        let thread = std::thread::Builder::new()
            .name("emulated PMU".into())
            .spawn(move || {
                // Whoever waits must learn of this thread's end, whatever
                // ends it; the kernel kills what it traced still.
                let _last = Last(Arc::clone(&own_progress));
                let begun = attach::begin(target, settings, own_ring, own_progress);
                match begun {
                    Ok((engine, alarm)) => {
                        let _starter = tell.send(Ok(alarm));
                        engine.run()
                    }
                    Err(error) => {
                        let _starter = tell.send(Err(error));
                        Ok(EmulationAccount::default())
                    }
                }
            })
            .map_err(system("starting a thread"))?;
        let gone = || StartError::Settings("the tracer's thread ended at once".into());
        let alarm = told.recv().map_err(|_| gone())??;
        let alarm = Mutex::new(Some(alarm));
        Ok(Handle { ring, progress, alarm, thread: Some(thread) })
    }

    pub(crate) fn ring(&self) -> BorrowedFd<'_> {
        self.ring.file()
    }

    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.progress.bell.as_fd()
    }

    /// Whether a quarter of the ring is filled.
    fn filled(&self) -> bool {
        let word = |at| self.ring.word(at).load(Ordering::Acquire);
        let size = (self.ring.len() - PAGE) as u64;
        word(HEAD).wrapping_sub(word(TAIL)) >= size / 4
    }

    pub(crate) fn wait(&self, timeout: Duration) -> EmulationWake {
        let end = Instant::now() + timeout;
        loop {
            let standing = self.standing();
            let records = self.progress.filled() || self.filled();
            let left = end.saturating_duration_since(Instant::now());
            if records || standing != TargetStanding::Emulated || left.is_zero() {
                self.progress.heard();
                return EmulationWake { records, standing };
            }
            let mut files = [PollFd::new(&self.progress.bell, PollFlags::IN)];
            let wait = Timespec::try_from(left.min(GLANCE)).ok();
            if poll(&mut files, wait.as_ref()).is_ok_and(|ready| ready > 0) {
                self.progress.heard();
                let standing = self.standing();
                return EmulationWake {
                    records: self.progress.filled() || self.filled(),
                    standing,
                };
            }
        }
    }

    pub(crate) fn stop(&self) {
        let writer = self.alarm.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut writer) = writer {
            // Others may hold copies of it, so that to close it says nothing.
            // Who does not read it has heard one already.
            let _heard = writer.write(b"!");
        }
    }

    pub(crate) fn stopper(&self) -> std::io::Result<Option<OwnedFd>> {
        let writer = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = writer.as_ref().map(PipeWriter::try_clone).transpose()?;
        Ok(copy.map(OwnedFd::from))
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        self.progress.ended()
    }

    pub(crate) fn standing(&self) -> TargetStanding {
        self.progress.standing()
    }

    pub(crate) fn finish(mut self) -> Result<EmulationAccount, Fault> {
        self.stop();
        let thread = self.thread.take();
        let result = thread.map(JoinHandle::join);
        match result {
            Some(Ok(result)) => result,
            _ => Err(Fault("the tracer's thread broke down".into())),
        }
    }
}

/// Says at its end that nothing is emulated any more.
struct Last(Arc<TracerProgress>);

impl Drop for Last {
    fn drop(&mut self) {
        if self.0.standing() == TargetStanding::Emulated {
            self.0.stand(TargetStanding::Gone);
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // What it had to say was asked for by nobody.
            let _unheard = thread.join();
        }
    }
}
