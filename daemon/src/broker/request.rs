//! Requests of workers to the supervisor.

use std::num::NonZeroU64;
use std::time::Duration;

use arrayvec::{ArrayString, ArrayVec};
use perfdata::Attr;
use recorder::remote::protocol::NamedTarget;
use recorder::request::{CallGraph, EventRequest};
use recorder::session::synthesize::KernelFile;
use recorder::{EventSpec, Modes, Request, Target, catalogue};
use serde::{Deserialize, Serialize};

use super::program::WireProgram;
use crate::channel::MAX_MESSAGE;
use crate::control::{NAME_BYTES, StandingStatus};

/// Bytes of a control group's path: what the rest of the longest job leaves.
pub(crate) const MAX_PATH: usize = MAX_MESSAGE - 256;
pub(crate) const ATTR_WORDS: usize = Attr::MAX_SIZE as usize / 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum GroupRole {
    Single,
    /// The leader of a group, whose member is opened next.
    Leader,
    /// The member of a group, whose leader was opened before it.
    Member,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskOnCpu {
    /// A thread of the grant's process; -1: any, of a grant for the system or
    /// a control group.
    pub(crate) tid: i32,
    pub(crate) cpu: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EventOpening {
    pub(crate) place: TaskOnCpu,
    pub(crate) attr: [u64; ATTR_WORDS],
    pub(crate) role: GroupRole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WireEvent {
    /// Place of the type in the table.
    pub(crate) event: u64,
    /// None: the type's default.
    pub(crate) interval: Option<NonZeroU64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WireJob {
    /// At least one.
    pub(crate) events: ArrayVec<WireEvent, { Request::MAX_EVENTS }>,
    pub(crate) modes: Modes,
    pub(crate) allow_skid: bool,
    pub(crate) call_graph: Option<CallGraph>,
    pub(crate) data_mappings: bool,
    pub(crate) target: NamedTarget,
    /// Of a control group, below the hierarchy's root.
    pub(crate) path: ArrayVec<u8, MAX_PATH>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BrokerRequest {
    Grant(Box<WireJob>),
    Open {
        grant: u64,
        opening: EventOpening,
    },
    /// /proc/PID/maps of a process under a grant.
    Maps {
        grant: u64,
        pid: i32,
    },
    /// A list of the kernel's, with its addresses, under a grant for kernel
    /// mode.
    Kernel {
        grant: u64,
        file: KernelFile,
    },
    /// May this worker end, having been given so many connections?
    Leave {
        given: u64,
    },
    Release {
        grant: u64,
    },
    /// So many bytes, for a session's rings or a client's queue; where a
    /// standing session's worker asks, for that user's.
    Reserve {
        bytes: u64,
        session: bool,
        reader: Option<u32>,
    },
    /// What was reserved is free again. Not answered.
    Free {
        reservation: u64,
    },
    /// A connection has ended. Not answered.
    Closed,
    /// Have a standing session read to this user: the answer comes with the
    /// end of a pipe.
    Follow {
        name: ArrayString<NAME_BYTES>,
        since: Option<Duration>,
        live: bool,
    },
    /// A line of the list of standing sessions, by its place.
    Standing {
        place: u64,
    },
    Report {
        status: StandingStatus,
    },
    /// Load a program that counts in the kernel, with maps that lie within a
    /// reservation.
    Program {
        reservation: u64,
        program: Box<WireProgram>,
    },
}

impl WireJob {
    /// The numbers of a request; None: it is none that can be granted (no
    /// type of the table, event masks, a path that is too long).
    pub(crate) fn of(request: &Request, target: NamedTarget, path: &[u8]) -> Option<WireJob> {
        if !request.masks.is_empty() || request.also.len() >= Request::MAX_EVENTS {
            return None;
        }
        let events = request.each().map(|one| WireEvent::of(&one.event, one.interval));
        Some(WireJob {
            events: events.collect::<Option<_>>()?,
            modes: request.modes,
            allow_skid: request.allow_skid,
            call_graph: request.call_graph,
            data_mappings: request.data_mappings,
            target,
            path: path.try_into().ok()?,
        })
    }

    /// The request that the numbers stand for, on the target that was found.
    /// None: there is no such type.
    pub(crate) fn request(&self, target: Target) -> Option<Request> {
        let mut events = self.events.iter().map(WireEvent::request);
        let EventRequest { event, interval, .. } = events.next()??;
        Some(Request {
            interval,
            also: events.collect::<Option<_>>()?,
            allow_skid: self.allow_skid,
            call_graph: self.call_graph,
            data_mappings: self.data_mappings,
            ..Request::new(event, self.modes, target)
        })
    }
}

impl WireEvent {
    /// None: it is no type of the table, or an interval of nothing.
    fn of(event: &EventSpec, interval: Option<u64>) -> Option<WireEvent> {
        let entry = catalogue::find(event.text())?;
        let place = catalogue::all().position(|one| one.name == entry.name)?;
        let interval = match interval {
            Some(interval) => Some(NonZeroU64::new(interval)?),
            None => None,
        };
        Some(WireEvent { event: place.try_into().ok()?, interval })
    }

    /// None: there is no such type.
    fn request(&self) -> Option<EventRequest> {
        let entry = catalogue::all().nth(usize::try_from(self.event).ok()?)?;
        let interval = self.interval.map(NonZeroU64::get);
        Some(EventRequest { event: entry.name.into(), interval, seed: None })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use recorder::machine::process_identity::ProcessIdentity;
    use recorder::request::StackBytes;

    use super::*;
    use crate::channel::{decode, encode, passed};
    use crate::control::{StandingState, StoredCounts};

    #[test]
    fn asks_come_out_as_they_went_in() {
        let event = WireEvent { event: 3, interval: NonZeroU64::new(1000) };
        let job = WireJob {
            events: ArrayVec::from_iter([event]),
            modes: Modes::KERNEL,
            allow_skid: false,
            call_graph: Some(CallGraph::Stack(StackBytes::DEFAULT)),
            data_mappings: true,
            target: NamedTarget::Process(ProcessIdentity { pid: 7, start_time: 1 << 40 }),
            path: ArrayVec::new(),
        };
        let grant = |job| BrokerRequest::Grant(Box::new(job));
        let stored = StoredCounts { bytes: u64::MAX, ..StoredCounts::default() };
        for request in [
            grant(job.clone()),
            grant(WireJob {
                // The longest there is.
                events: [WireEvent { event: u64::MAX, interval: NonZeroU64::new(u64::MAX) }; 8]
                    .into(),
                target: NamedTarget::Held(ProcessIdentity { pid: i32::MIN, start_time: u64::MAX }),
                path: ArrayVec::from([0xff; MAX_PATH]),
                ..job.clone()
            }),
            grant(WireJob {
                target: NamedTarget::System,
                modes: Modes::USER,
                call_graph: Some(CallGraph::BranchStack),
                ..job.clone()
            }),
            grant(WireJob { target: NamedTarget::Cgroup { id: 1 << 50 }, ..job }),
            BrokerRequest::Open {
                grant: 7,
                opening: EventOpening {
                    place: TaskOnCpu { tid: -1, cpu: 3 },
                    attr: [u64::MAX; ATTR_WORDS],
                    role: GroupRole::Single,
                },
            },
            BrokerRequest::Open {
                grant: 7,
                opening: EventOpening {
                    place: TaskOnCpu { tid: 9, cpu: 0 },
                    attr: [1; ATTR_WORDS],
                    role: GroupRole::Member,
                },
            },
            BrokerRequest::Maps { grant: u64::MAX, pid: 1 },
            BrokerRequest::Release { grant: 0 },
            BrokerRequest::Reserve { bytes: 1 << 40, session: true, reader: None },
            BrokerRequest::Reserve { bytes: 0, session: false, reader: Some(0) },
            BrokerRequest::Free { reservation: 9 },
            BrokerRequest::Closed,
            BrokerRequest::Leave { given: 3 },
            BrokerRequest::Kernel { grant: 2, file: KernelFile::Symbols },
            BrokerRequest::Kernel { grant: 2, file: KernelFile::Modules },
            BrokerRequest::Follow {
                name: "x".repeat(NAME_BYTES).as_str().try_into().unwrap(),
                since: None,
                live: true,
            },
            BrokerRequest::Follow {
                name: ArrayString::new(),
                since: Some(Duration::MAX),
                live: false,
            },
            BrokerRequest::Standing { place: 3 },
            BrokerRequest::Report { status: StandingStatus { state: StandingState::Down, stored } },
        ] {
            assert_eq!(passed(&request), Some(request));
        }
    }

    #[test]
    fn every_type_of_the_table_has_a_number() {
        for entry in catalogue::all() {
            let request = Request::new(entry.name, Modes::USER, Target::System);
            let Some(job) = WireJob::of(&request, NamedTarget::System, &[]) else {
                panic!("{}", entry.name)
            };
            assert_eq!(job.request(Target::System), Some(request));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_ask_or_none(
            bytes in prop::collection::vec(prop_oneof![0..4u8, any::<u8>()], 0..48),
        ) {
            for packet in (0..=bytes.len()).map(|end| &bytes[..end]) {
                if let Some(request) = decode::<BrokerRequest>(packet) {
                    let mut bytes = [0; MAX_MESSAGE];
                    prop_assert_eq!(encode(&request, &mut bytes).unwrap(), packet);
                }
            }
        }
    }
}
