//! One emulation: a thread that traces the target, and the ring that
//! the target fills.

use std::io::{self, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::attach;
use super::progress::TracerProgress;
use crate::account::{
    EmulationAccount, EmulationState, EmulationWake, Fault, StartError, TaskExit,
};
use crate::runtime::guest::ring::{HEAD, LIMIT, PAGE, TAIL};
use crate::settings::{EmulationSettings, EmulationTarget};
use crate::sys::mapping::SharedMemory;

/// A target that runs under the emulated PMU. Dropping it stops it.
#[derive(Debug)]
pub struct Emulation {
    ring: Arc<SharedMemory>,
    progress: Arc<TracerProgress>,
    /// Its end wakes the tracer, which then leaves the target.
    alarm: Mutex<Option<PipeWriter>>,
    thread: Option<JoinHandle<Result<EmulationAccount, Fault>>>,
}

/// How long records may wait in the ring unseen.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// Offsets of data_offset and data_size in page 0.
const DATA_OFFSET: usize = 1040;
const DATA_SIZE: usize = 1048;

impl Emulation {
    /// Takes hold of the target: a held command stays held, and is emulated
    /// from its exec on; the threads of a process are emulated at once. All
    /// tracing is done by a thread of its own, which reaps the target's
    /// process: do not wait(2) for it unless it [was left](EmulationState::Left).
    ///
    /// # Errors
    /// [`StartError`]; the target is as it was.
    pub fn start(
        target: EmulationTarget,
        settings: EmulationSettings,
    ) -> Result<Emulation, StartError> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err(StartError::Machine { arch: std::env::consts::ARCH });
        }
        if !settings.ring_pages.is_power_of_two() {
            let text = format!("a ring of {} pages: use a power of two", settings.ring_pages);
            return Err(StartError::Settings(text));
        }
        let pages = usize::try_from(settings.ring_pages).unwrap_or(usize::MAX);
        let bytes = pages.saturating_add(1).saturating_mul(PAGE);
        let ring = SharedMemory::new("hardmeter ring", bytes)
            .map_err(StartError::system("making the ring"))?;
        let ring = Arc::new(ring);
        ring.word(DATA_OFFSET).store(PAGE as u64, Ordering::Relaxed);
        ring.word(DATA_SIZE).store((bytes - PAGE) as u64, Ordering::Relaxed);
        ring.word(LIMIT).store(settings.count.unwrap_or(u64::MAX), Ordering::Relaxed);
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake_fd = eventfd(0, flags).map_err(StartError::system("eventfd"))?;
        let progress = Arc::new(TracerProgress::new(wake_fd));
        let (tell, told) = mpsc::channel();
        let (own_ring, own_progress) = (Arc::clone(&ring), Arc::clone(&progress));
        let thread = std::thread::Builder::new()
            .name("emulated PMU".into())
            .spawn(move || {
                // Whoever waits must learn of this thread's end, whatever
                // ends it; the kernel kills what it traced still.
                let _last = StateGuard(Arc::clone(&own_progress));
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
            .map_err(StartError::system("starting a thread"))?;
        let gone = || StartError::Settings("the tracer's thread ended at once".into());
        let alarm = told.recv().map_err(|_| gone())??;
        let alarm = Mutex::new(Some(alarm));
        Ok(Emulation { ring, progress, alarm, thread: Some(thread) })
    }

    /// The memory of the ring: a page laid out as the kernel's
    /// perf_event_mmap_page, data pages behind it. To be mapped shared and
    /// writable; samples and sideband records as the kernel writes them.
    pub fn ring(&self) -> BorrowedFd<'_> {
        self.ring.file()
    }

    /// Readable (poll(2)) when [`wait`](Emulation::wait) would return at
    /// once: something has come to pass since it last did.
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.progress.wake_fd.as_fd()
    }

    /// Whether a quarter of the ring is filled.
    fn filled(&self) -> bool {
        let word = |at| self.ring.word(at).load(Ordering::Acquire);
        let size = (self.ring.len() - PAGE) as u64;
        word(HEAD).wrapping_sub(word(TAIL)) >= size / 4
    }

    /// Waits until records should be drained or the target's standing
    /// changes, at most `timeout`. Threads fill the ring without telling:
    /// drain at every return.
    pub fn wait(&self, timeout: Duration) -> EmulationWake {
        let end = Instant::now() + timeout;
        loop {
            let state = self.state();
            let records = self.progress.filled() || self.filled();
            let left = end.saturating_duration_since(Instant::now());
            if records || state != EmulationState::Emulated || left.is_zero() {
                self.progress.clear_wake();
                return EmulationWake { records, state };
            }
            let mut files = [PollFd::new(&self.progress.wake_fd, PollFlags::IN)];
            let wait = Timespec::try_from(left.min(CHECK_INTERVAL)).ok();
            if poll(&mut files, wait.as_ref()).is_ok_and(|ready| ready > 0) {
                self.progress.clear_wake();
                let state = self.state();
                return EmulationWake { records: self.progress.filled() || self.filled(), state };
            }
        }
    }

    /// Lets every thread run on natively; returns at once, and
    /// [`EmulationState::Left`] says when it is done.
    pub fn stop(&self) {
        let writer = self.alarm.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut writer) = writer {
            // Others may hold copies of it, so that to close it says nothing.
            // Who does not read it has heard one already.
            let _heard = writer.write(b"!");
        }
    }

    /// A pipe to which a byte is written to the same end, from a signal's
    /// handler say; None: it was stopped already.
    ///
    /// # Errors
    /// No descriptor is left for a copy of it.
    pub fn stopper(&self) -> io::Result<Option<OwnedFd>> {
        let writer = self.alarm.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = writer.as_ref().map(PipeWriter::try_clone).transpose()?;
        Ok(copy.map(OwnedFd::from))
    }

    /// How the target's own process ended, once it has while it was traced.
    pub fn ended(&self) -> Option<TaskExit> {
        self.progress.ended()
    }

    pub fn state(&self) -> EmulationState {
        self.progress.state()
    }

    /// Stops, waits until all is left or gone, and gives the books. The ring
    /// must have been drained before, or room in it is waited for one
    /// second.
    ///
    /// # Errors
    /// [`Fault`] when the emulation broke off before.
    pub fn finish(mut self) -> Result<EmulationAccount, Fault> {
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
struct StateGuard(Arc<TracerProgress>);

impl Drop for StateGuard {
    fn drop(&mut self) {
        if self.0.state() == EmulationState::Emulated {
            self.0.set_state(EmulationState::Gone);
        }
    }
}

impl AsFd for Emulation {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake_fd()
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // What it had to say was asked for by nobody.
            let _unheard = thread.join();
        }
    }
}
