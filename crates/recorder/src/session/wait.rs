//! Waiting until there is something to do.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::event_set::all_hung_up;
use super::{Session, SessionError};
use crate::Target;

/// How long to wait at most once poll(2) cannot tell about the rings, or
/// while what was counted waits for room.
const UNPOLLABLE_WAIT: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetState {
    /// It runs; the system always does, a control group until it is removed.
    #[default]
    Running,
    /// The command or process has ended; children that it started, and that
    /// are sampled too, still run.
    Left,
    /// It and all that is sampled have ended.
    Gone,
}

/// Why a wait ended; nothing set: time was up, or a signal came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionWake {
    /// A ring has filled up to its mark.
    pub records: bool,
    pub target: TargetState,
    /// For each extra descriptor, whether it can be read or has hung up.
    pub extra: Vec<bool>,
}

impl Session {
    /// Waits until a ring has filled up to a quarter, the target has ended,
    /// an extra descriptor can be read, a signal came, or `timeout` is over.
    /// Records below the mark do not wake: use a timeout, and drain after
    /// each wait.
    ///
    /// # Errors
    /// poll(2) failed.
    pub fn wait(
        &mut self,
        timeout: Duration,
        extra: &[BorrowedFd<'_>],
    ) -> Result<SessionWake, SessionError> {
        // Nothing wakes for what programs tell of their heap.
        let is_brief = self.rings_unpollable
            || self.programs.has_waiting()
            || self.pauses.are_unsettled()
            || self.heap.is_some();
        let timeout = if is_brief { timeout.min(UNPOLLABLE_WAIT) } else { timeout };
        let spec = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let rings = if self.rings_unpollable { &[][..] } else { &self.rings[..] };
        let target = match self.state {
            TargetState::Running => {
                let command = self.command.as_ref().map(AsFd::as_fd);
                command.or(self.pidfd.as_ref().map(AsFd::as_fd))
            }
            TargetState::Left | TargetState::Gone => None,
        };
        let ring_fds = rings.iter().flat_map(|ring| [ring.side.as_fd(), ring.samples.as_fd()]);
        let mut fds: Vec<PollFd<'_>> = ring_fds
            .chain(target)
            .chain(extra.iter().copied())
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        match poll(&mut fds, Some(&spec)).map_err(io::Error::from) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {
                let extra = vec![false; extra.len()];
                return Ok(SessionWake { records: false, target: self.state, extra });
            }
            Err(error) => return Err(SessionError::System { call: "poll", error }),
        }
        let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        let (of_rings, rest) = ready.split_at(2 * rings.len());
        let (of_target, of_extra) = rest.split_at(usize::from(target.is_some()));
        let records = of_rings.iter().any(|flags| flags.contains(PollFlags::IN));
        // POLLHUP: the thread that the rings' owners were opened on has
        // ended. Records still come, but poll would return at once for ever.
        let unpollable = of_rings.iter().any(|f| f.intersects(PollFlags::HUP | PollFlags::ERR));
        let ended = of_target.iter().any(|flags| !flags.is_empty());
        let extra = of_extra.iter().map(|flags| !flags.is_empty()).collect();
        self.rings_unpollable |= unpollable;
        if ended {
            self.state = TargetState::Left;
        }
        if self.plan.target == Target::Cgroup
            && self.settings.cgroup.as_ref().is_some_and(|cgroup| cgroup.is_gone())
        {
            self.state = TargetState::Gone;
        }
        if self.state == TargetState::Left && self.events_hung_up()? {
            self.state = TargetState::Gone;
        }
        Ok(SessionWake { records, target: self.state, extra })
    }

    /// An event hangs up once its task and all that inherited it are gone.
    fn events_hung_up(&self) -> Result<bool, SessionError> {
        all_hung_up(&self.sets).map_err(|error| SessionError::System { call: "poll", error })
    }
}
