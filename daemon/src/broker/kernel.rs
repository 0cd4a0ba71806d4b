//! The kernel as a worker has it: what it refuses the worker's user, the
//! supervisor opens or loads.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use perfdata::Cpu;
use recorder::in_kernel::{HitSource, InKernel, KernelProgram, LoadError};
use recorder::session::kernel::{Kernel, Linux};
use recorder::session::synthesize::{GrantedView, KernelFile};
use recorder::sys::event::{EncodedAttr, EventPlace, PerfEvent};

use super::{
    ATTR_WORDS, Broker, BrokerError, BrokerRefusal, BrokerRequest, EventOpening, GroupRole,
    TaskOnCpu, WireProgram,
};

/// Opens as this process's user, and under a grant, if there is one, where
/// that is refused. Programs come from the supervisor alone: bpf(2) is what
/// a worker is killed for.
#[derive(Debug)]
pub(crate) struct BrokeredKernel<'b> {
    pub(super) broker: &'b Broker,
    pub(super) grant: Option<u64>,
    pub(super) reservation: u64,
}

impl Kernel for BrokeredKernel<'_> {
    fn open(&self, attr: &mut EncodedAttr, place: EventPlace<'_>) -> io::Result<PerfEvent> {
        let opened = Linux.open(attr, place);
        let Some(grant) = self.grant else { return opened };
        match opened {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) => {}
            result => return result,
        }
        let role = match place.leader {
            Some(_) => GroupRole::Member,
            None if place.leads => GroupRole::Leader,
            None => GroupRole::Single,
        };
        // An older kernel's is shorter: zeros stand for the rest.
        let mut words = [0; ATTR_WORDS];
        words.iter_mut().zip(attr.words()).for_each(|(to, word)| *to = *word);
        let place = TaskOnCpu { tid: place.pid, cpu: place.cpu };
        let opening = EventOpening { place, attr: words, role };
        let request = BrokerRequest::Open { grant, opening };
        let opened = self.broker.call_for_fd(&request);
        if let Err(BrokerError::Refused(BrokerRefusal::AttrSize(known))) = opened {
            attr.set_size(known);
        }
        Ok(PerfEvent::received(opened?, attr.read_format()))
    }

    fn share(&self, event: &PerfEvent, owner: &PerfEvent) -> io::Result<()> {
        Linux.share(event, owner)
    }

    /// On all CPUs that are online, whatever `cpus` are: what is set aside
    /// is for those.
    fn load(
        &self,
        in_kernel: &InKernel,
        source: HitSource,
        _cpus: &[Cpu],
    ) -> Result<KernelProgram, LoadError> {
        // The daemon samples types of its table only, and watched addresses.
        let HitSource::Overflow(contents) = source else {
            let why = "the daemon counts no tracepoints: say --no-daemon";
            return Err(LoadError::ByDaemon(why.to_owned()));
        };
        let program = WireProgram::of(in_kernel, contents)
            .ok_or_else(|| LoadError::ByDaemon("the daemon knows no such program".to_owned()))?;
        let fds = self.broker.program(self.reservation, program).map_err(LoadError::ByDaemon)?;
        KernelProgram::from_descriptors(in_kernel, source, fds)
            .map_err(|error| LoadError::ByDaemon(error.to_string()))
    }
}

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
        Ok(self.broker.call_for_fd(&BrokerRequest::Kernel { grant: self.grant, file })?)
    }
}
