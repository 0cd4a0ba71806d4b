//! What a worker's user may not look at, and policy lets a session describe.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use recorder::session::synthesize::{GrantedView, KernelFile};

use super::Broker;

/// Files of /proc that the supervisor opens under a grant.
#[derive(Debug)]
pub(super) struct BrokeredView {
    pub(super) broker: Arc<Broker>,
    pub(super) grant: u64,
}

impl GrantedView for BrokeredView {
    fn maps(&self, pid: i32) -> io::Result<OwnedFd> {
        self.broker.maps(self.grant, pid)
    }

    fn kernel(&self, file: KernelFile) -> io::Result<OwnedFd> {
        self.broker.kernel(self.grant, file)
    }
}
