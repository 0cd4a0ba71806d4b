//! Requests of workers to the supervisor, in words.

use sampling::machine::incarnation::Incarnation;
use sampling::session::synthesize::KernelFile;
use sampling::{EventSpec, Modes, Request, Target, catalogue};

use super::program::PROGRAM_WORDS;
use crate::control::{NAME_BYTES, STATUS_WORDS};
use record::Pid;

/// Words of a request: a kind, and what the longest (an attr of 144 bytes,
/// with its place) needs.
const WORDS: usize = 24;
/// Bytes of every request.
pub(crate) const ASK_BYTES: usize = 8 * WORDS;
/// Words of the largest attr.
const ATTR_WORDS: usize = record::Attr::MAX_SIZE as usize / 8;
/// Behind an attr.
const RANK_AT: usize = 4 + ATTR_WORDS;
/// A user that is none (chown(2)).
const NOBODY: u64 = u32::MAX as u64;

/// Whose events a grant is for, in numbers: the supervisor opens what they
/// name by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A child of the client's, waiting before its exec.
    Held(Incarnation),
    /// A process.
    Process(Incarnation),
    /// The whole system.
    System,
    /// A control group.
    Cgroup {
        /// Its number.
        id: u64,
        /// Bytes of its path below the hierarchy's root, which come behind
        /// the request.
        path_bytes: u64,
    },
}

/// What an event is to others of its task and CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Nothing.
    Alone,
    /// The leader of a group, whose member is opened next.
    Leads,
    /// The member of a group, whose leader was opened before it.
    Follows,
}

const RANKS: [Rank; 3] = [Rank::Alone, Rank::Leads, Rank::Follows];

/// A job of the catalogue, as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobWords {
    /// Place of the type in the table.
    pub(crate) event: u64,
    /// 0: the type's default.
    pub(crate) interval: u64,
    pub(crate) modes: Modes,
    pub(crate) allow_skid: bool,
    pub(crate) data_mappings: bool,
    pub(crate) wanted: Wanted,
}

/// What a worker asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// May this user have this job?
    Grant(JobWords),
    /// Open an event under a grant.
    Open {
        grant: u64,
        /// A thread of the grant's process; -1: any, of a grant for the
        /// system or a control group.
        tid: i32,
        cpu: i32,
        attr: Vec<u64>,
        rank: Rank,
    },
    /// /proc/PID/maps of a process under a grant.
    Maps { grant: u64, pid: i32 },
    /// A list of the kernel's, with its addresses, under a grant for kernel
    /// mode.
    Kernel { grant: u64, file: KernelFile },
    /// May this worker end, having been given so many connections?
    Leave { given: u64 },
    /// The grant is not needed any more.
    Release { grant: u64 },
    /// So many bytes, for a session's rings or a client's queue; where a
    /// standing session's worker asks, for that user's.
    Reserve { bytes: u64, session: bool, reader: Option<u32> },
    /// What was reserved is free again. Not answered.
    Free { reservation: u64 },
    /// A connection has ended. Not answered.
    Closed,
    /// Have a standing session read to this user: the answer comes with the
    /// end of a pipe.
    Follow {
        name: [u8; NAME_BYTES],
        /// Seconds; [`u64::MAX`]: none were said.
        since: u64,
        live: bool,
    },
    /// A line of the list of standing sessions, by its place.
    Standing { place: u64 },
    /// How a standing session goes: by its own worker.
    Report { status: [u64; STATUS_WORDS] },
    /// Load a program that counts in the kernel, with maps that lie within a
    /// reservation.
    Program { reservation: u64, words: [u64; PROGRAM_WORDS] },
}

impl JobWords {
    /// The words of a request; None: it is none that can be granted (no type
    /// of the table, event masks).
    pub(crate) fn of(request: &Request, wanted: Wanted) -> Option<JobWords> {
        let entry = catalogue::find(&request.event.0)?;
        let event = catalogue::all().position(|one| one.name == entry.name)?;
        if !request.masks.is_empty() || request.interval == Some(0) {
            return None;
        }
        Some(JobWords {
            event: event.try_into().ok()?,
            interval: request.interval.unwrap_or(0),
            modes: request.modes,
            allow_skid: request.allow_skid,
            data_mappings: request.data_mappings,
            wanted,
        })
    }

    /// The request that the words stand for; `pid` is the process's. None:
    /// there is no such type.
    pub(crate) fn request(&self, pid: Pid) -> Option<Request> {
        let entry = catalogue::all().nth(usize::try_from(self.event).ok()?)?;
        let target = match self.wanted {
            Wanted::Held(_) => Target::Command,
            Wanted::Process(_) => Target::Process(pid),
            Wanted::System => Target::System,
            Wanted::Cgroup { .. } => Target::Cgroup,
        };
        Some(Request {
            interval: (self.interval != 0).then_some(self.interval),
            allow_skid: self.allow_skid,
            data_mappings: self.data_mappings,
            ..Request::new(EventSpec(entry.name.into()), self.modes, target)
        })
    }
}

impl Ask {
    pub(crate) fn encode(&self) -> [u8; ASK_BYTES] {
        let mut words = [0u64; WORDS];
        match self {
            Ask::Grant(job) => {
                let bits = [job.modes.user, job.modes.kernel, job.allow_skid, job.data_mappings];
                let of = |process: Incarnation| {
                    [i64::from(process.pid).cast_unsigned(), process.start_time]
                };
                let (wanted, [first, second]) = match job.wanted {
                    Wanted::Held(process) => (0, of(process)),
                    Wanted::Process(process) => (1, of(process)),
                    Wanted::System => (2, [0, 0]),
                    Wanted::Cgroup { id, path_bytes } => (3, [id, path_bytes]),
                };
                let flags = bits.iter().rev().fold(0, |flags, &bit| flags << 1 | u64::from(bit));
                let said = [1, job.event, job.interval, flags, wanted, first, second];
                words[..said.len()].copy_from_slice(&said);
            }
            Ask::Open { grant, tid, cpu, attr, rank } => {
                let place = [*tid, *cpu].map(|number| i64::from(number).cast_unsigned());
                words[..4].copy_from_slice(&[2, *grant, place[0], place[1]]);
                for (word, given) in words[4..4 + ATTR_WORDS].iter_mut().zip(attr) {
                    *word = *given;
                }
                words[RANK_AT] = RANKS.iter().position(|one| one == rank).unwrap_or(0) as u64;
            }
            Ask::Maps { grant, pid } => {
                words[..3].copy_from_slice(&[3, *grant, i64::from(*pid).cast_unsigned()]);
            }
            Ask::Release { grant } => words[..2].copy_from_slice(&[4, *grant]),
            Ask::Reserve { bytes, session, reader } => {
                let reader = reader.map_or(NOBODY, u64::from);
                words[..4].copy_from_slice(&[5, *bytes, u64::from(*session), reader]);
            }
            Ask::Free { reservation } => words[..2].copy_from_slice(&[6, *reservation]),
            Ask::Closed => words[0] = 7,
            Ask::Leave { given } => words[..2].copy_from_slice(&[9, *given]),
            Ask::Kernel { grant, file } => {
                words[..3].copy_from_slice(&[8, *grant, u64::from(*file == KernelFile::Modules)]);
            }
            Ask::Follow { name, since, live } => {
                words[..3].copy_from_slice(&[10, *since, u64::from(*live)]);
                for (word, bytes) in words[3..].iter_mut().zip(name.as_chunks::<8>().0) {
                    *word = u64::from_ne_bytes(*bytes);
                }
            }
            Ask::Standing { place } => words[..2].copy_from_slice(&[11, *place]),
            Ask::Report { status } => {
                words[0] = 12;
                words[1..=STATUS_WORDS].copy_from_slice(status);
            }
            Ask::Program { reservation, words: program } => {
                words[..2].copy_from_slice(&[13, *reservation]);
                words[2..2 + PROGRAM_WORDS].copy_from_slice(program);
            }
        }
        let mut bytes = [0; ASK_BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// None: no request.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Ask> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let words: [u64; WORDS] = words
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .collect::<Vec<_>>()
            .try_into()
            .ok()?;
        let number = |word: u64| i32::try_from(word.cast_signed()).ok();
        let process = || Some(Incarnation { pid: number(words[5])?, start_time: words[6] });
        match words[0] {
            1 => {
                let flags = words[3];
                let bit = |at: u32| flags >> at & 1 == 1;
                if flags >> 4 != 0 {
                    return None;
                }
                Some(Ask::Grant(JobWords {
                    event: words[1],
                    interval: words[2],
                    modes: Modes { user: bit(0), kernel: bit(1) },
                    allow_skid: bit(2),
                    data_mappings: bit(3),
                    wanted: match words[4] {
                        0 => Wanted::Held(process()?),
                        1 => Wanted::Process(process()?),
                        2 => Wanted::System,
                        3 => Wanted::Cgroup { id: words[5], path_bytes: words[6] },
                        _ => return None,
                    },
                }))
            }
            2 => Some(Ask::Open {
                grant: words[1],
                tid: number(words[2])?,
                cpu: number(words[3])?,
                attr: words[4..4 + ATTR_WORDS].to_vec(),
                rank: *RANKS.get(usize::try_from(words[RANK_AT]).ok()?)?,
            }),
            3 => Some(Ask::Maps { grant: words[1], pid: number(words[2])? }),
            4 => Some(Ask::Release { grant: words[1] }),
            5 => Some(Ask::Reserve {
                bytes: words[1],
                session: match words[2] {
                    0 => false,
                    1 => true,
                    _ => return None,
                },
                reader: match words[3] {
                    NOBODY => None,
                    uid => Some(u32::try_from(uid).ok()?),
                },
            }),
            6 => Some(Ask::Free { reservation: words[1] }),
            7 => Some(Ask::Closed),
            8 => Some(Ask::Kernel {
                grant: words[1],
                file: match words[2] {
                    0 => KernelFile::Symbols,
                    1 => KernelFile::Modules,
                    _ => return None,
                },
            }),
            9 => Some(Ask::Leave { given: words[1] }),
            10 => {
                let mut name = [0; NAME_BYTES];
                for (bytes, word) in name.as_chunks_mut::<8>().0.iter_mut().zip(&words[3..]) {
                    *bytes = word.to_ne_bytes();
                }
                let live = [false, true].into_iter().find(|live| u64::from(*live) == words[2])?;
                Some(Ask::Follow { name, since: words[1], live })
            }
            11 => Some(Ask::Standing { place: words[1] }),
            12 => {
                let mut status = [0; STATUS_WORDS];
                status.copy_from_slice(&words[1..=STATUS_WORDS]);
                Some(Ask::Report { status })
            }
            13 => {
                let mut program = [0; PROGRAM_WORDS];
                program.copy_from_slice(&words[2..2 + PROGRAM_WORDS]);
                Some(Ask::Program { reservation: words[1], words: program })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn asks_come_out_as_they_went_in() {
        let job = JobWords {
            event: 3,
            interval: 1000,
            modes: Modes::KERNEL,
            allow_skid: false,
            data_mappings: true,
            wanted: Wanted::Process(Incarnation { pid: 7, start_time: 1 << 40 }),
        };
        for ask in [
            Ask::Grant(job),
            Ask::Grant(JobWords {
                wanted: Wanted::Held(Incarnation { pid: -7, start_time: 0 }),
                ..job
            }),
            Ask::Grant(JobWords { wanted: Wanted::System, modes: Modes::USER, ..job }),
            Ask::Grant(JobWords { wanted: Wanted::Cgroup { id: 1 << 50, path_bytes: 99 }, ..job }),
            Ask::Open { grant: 7, tid: -1, cpu: 3, attr: (0..18).collect(), rank: Rank::Alone },
            Ask::Open { grant: 7, tid: 9, cpu: 0, attr: (0..18).collect(), rank: Rank::Follows },
            Ask::Maps { grant: u64::MAX, pid: 1 },
            Ask::Release { grant: 0 },
            Ask::Reserve { bytes: 1 << 40, session: true, reader: None },
            Ask::Reserve { bytes: 0, session: false, reader: Some(0) },
            Ask::Free { reservation: 9 },
            Ask::Closed,
            Ask::Leave { given: 3 },
            Ask::Kernel { grant: 2, file: KernelFile::Symbols },
            Ask::Kernel { grant: 2, file: KernelFile::Modules },
            Ask::Follow { name: [b'x'; NAME_BYTES], since: u64::MAX, live: true },
            Ask::Standing { place: 3 },
            Ask::Report { status: [1, 2, 3, 4, 5] },
            Ask::Program { reservation: 9, words: std::array::from_fn(|at| at as u64) },
        ] {
            assert_eq!(Ask::decode(&ask.encode()), Some(ask));
        }
    }

    #[test]
    fn every_type_of_the_table_has_words() {
        for entry in catalogue::all() {
            let request = Request::new(EventSpec(entry.name.into()), Modes::USER, Target::System);
            let Some(words) = JobWords::of(&request, Wanted::System) else {
                panic!("{}", entry.name)
            };
            assert_eq!(words.request(Pid(1)), Some(request));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_ask_or_none(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            if let Some(ask) = Ask::decode(&bytes) {
                prop_assert_eq!(bytes.len(), ASK_BYTES);
                prop_assert_eq!(Ask::decode(&ask.encode()), Some(ask));
            }
        }
    }
}
