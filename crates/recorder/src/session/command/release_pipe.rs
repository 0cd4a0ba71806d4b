//! The pipes by which commands that wait are given leave to run.

use std::io::{PipeWriter, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Our ends of the leave pipes of all commands that wait. A child that is
/// forked meanwhile must not keep any: its sibling would never see the end
/// of file.
static RELEASE_PIPES: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

pub(super) fn release_pipes() -> MutexGuard<'static, Vec<RawFd>> {
    RELEASE_PIPES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Our end of one leave pipe, listed in [`RELEASE_PIPES`] while it is open.
#[derive(Debug)]
pub(super) struct ReleasePipe(Option<PipeWriter>);

impl ReleasePipe {
    /// `pipe` is in the list already.
    pub(super) fn listed(pipe: PipeWriter) -> ReleasePipe {
        ReleasePipe(Some(pipe))
    }

    pub(super) fn release(mut self) {
        if let Some(pipe) = &mut self.0 {
            // A child that is gone closed its end; its failure pipe tells.
            let _gone = pipe.write_all(&[1]);
        }
    }
}

impl Drop for ReleasePipe {
    fn drop(&mut self) {
        let mut release_pipes = release_pipes();
        if let Some(pipe) = self.0.take() {
            release_pipes.retain(|&fd| fd != pipe.as_raw_fd());
            drop(pipe);
        }
    }
}
