//! A program under the emulated PMU, and its records as they lie in the ring.

use std::{
    io::{Read, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use emulator::{
    Burst, Classifier, EmulatedEvent, Emulation, EmulationAccount, EmulationSettings,
    EmulationState, EmulationTarget, EventCounts, EventSettings, Geometry, TaskExit,
};
use perfdata::{
    Arch, Attr, AttrFlags, ByteOrder, DataSrc, Misc, Pid, RecordType, SampleLayout, SampleType,
    registers,
};

use crate::sys::Ring;

/// Bits of registers in a record, in the order of their encoding.
const ENCODED: [u32; 16] = [0, 2, 3, 1, 7, 6, 4, 5, 16, 17, 18, 19, 20, 21, 22, 23];
const FLAGS_BIT: u32 = 9;
const IP_BIT: u32 = 8;
/// Identifier of the first event's samples.
const FIRST: u64 = 7;
const LIMIT: Duration = Duration::from_secs(100);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) ip: u64,
    pub(crate) address: u64,
    /// rax rcx rdx rbx rsp rbp rsi rdi r8 to r15.
    pub(crate) registers: [u64; 16],
    pub(crate) flags: u64,
    pub(crate) thread: u32,
    pub(crate) time: u64,
    pub(crate) data_src: DataSrc,
    pub(crate) period: u64,
    /// Place of the event in the recording.
    pub(crate) event: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) geometry: &'static str,
    pub(crate) event: EmulatedEvent,
    pub(crate) interval: u64,
    pub(crate) seed: Option<u64>,
    pub(crate) classifier: Option<Classifier>,
    pub(crate) burst: Option<Burst>,
    /// Records after which the program is left.
    pub(crate) count: Option<u64>,
    /// Events in the same run: what of these is an event's own.
    pub(crate) also: Vec<Recording>,
}

#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) records: Vec<Record>,
    /// Every byte of the ring, in its order.
    pub(crate) bytes: Vec<u8>,
    pub(crate) out: Vec<u8>,
    pub(crate) ended: Option<TaskExit>,
    pub(crate) account: EmulationAccount,
    /// It ran on natively to its end.
    pub(crate) left: bool,
}

impl Recorded {
    #[track_caller]
    pub(crate) fn counts(&self) -> &EventCounts {
        self.account.by_event.first().unwrap()
    }
}

impl Recording {
    pub(crate) fn every(event: EmulatedEvent, geometry: &'static str) -> Recording {
        Recording {
            geometry,
            event,
            interval: 1,
            seed: None,
            classifier: None,
            burst: None,
            count: None,
            also: Vec::new(),
        }
    }

    /// Runs a program to its end, its memory placed as always.
    #[allow(clippy::zombie_processes, reason = "the emulation reaps the program, or leaves it")]
    #[track_caller]
    pub(crate) fn of(&self, program: &Path, arguments: &[&str]) -> Recorded {
        let mut held = hold(program, arguments);
        let settings = self.settings();
        let layout = SampleLayout::new(&settings.side_attr, ByteOrder::Little).unwrap();
        let target = EmulationTarget::Held(Pid(i32::try_from(held.id()).unwrap()));
        let emulation = Emulation::start(target, settings).unwrap();
        let ring = Ring::map(emulation.ring());
        held.stdin.take().unwrap().write_all(b"\n").unwrap();
        let mut stdout = held.stdout.take().unwrap();
        let reader = thread::spawn(move || {
            let mut out = Vec::new();
            stdout.read_to_end(&mut out).unwrap();
            out
        });
        let mut bytes = Vec::new();
        let start = Instant::now();
        loop {
            let woken = emulation.wait(Duration::from_millis(100));
            ring.drain(&mut bytes);
            if woken.state != EmulationState::Emulated {
                break;
            }
            assert!(start.elapsed() < LIMIT, "{} does not end", program.display());
        }
        ring.drain(&mut bytes);
        let (ended, left) = (emulation.ended(), emulation.state() == EmulationState::Left);
        let account = emulation.finish().unwrap();
        Recorded {
            records: samples(&bytes, &layout),
            bytes,
            out: reader.join().unwrap(),
            ended: ended.or_else(|| left.then(|| end(&held.wait().unwrap()))),
            account,
            left,
        }
    }

    pub(crate) fn settings(&self) -> EmulationSettings {
        let attr = Attr {
            sample_type: SampleType::IDENTIFIER
                | SampleType::IP
                | SampleType::TID
                | SampleType::TIME
                | SampleType::ADDR
                | SampleType::CPU
                | SampleType::PERIOD
                | SampleType::DATA_SRC
                | SampleType::WEIGHT_STRUCT
                | SampleType::REGS_INTR,
            sample_regs_intr: registers::general(Arch::X86_64),
            flags: AttrFlags::SAMPLE_ID_ALL,
            ..Attr::default()
        };
        let event = |(id, one): (u64, &Recording)| EventSettings {
            event: one.event,
            interval: one.interval,
            seed: one.seed,
            adapted: false,
            classifier: one.classifier.clone(),
            attr: Attr { sample_period: one.interval, ..attr.clone() },
            id,
        };
        let events = (FIRST..).zip(std::iter::once(self).chain(&self.also)).map(event).collect();
        let side_attr = Attr {
            flags: AttrFlags::SAMPLE_ID_ALL
                | AttrFlags::MMAP
                | AttrFlags::MMAP2
                | AttrFlags::COMM
                | AttrFlags::COMM_EXEC
                | AttrFlags::TASK,
            ..attr.clone()
        };
        EmulationSettings {
            geometry: Geometry::default().with(self.geometry).unwrap(),
            prefetch: false,
            events,
            side_attr,
            side_id: FIRST - 1,
            burst: self.burst,
            count: self.count,
            ring_pages: 256,
            layouts: Vec::new(),
            data_mappings: false,
            allocators: None,
        }
    }
}

pub(crate) fn end(status: &ExitStatus) -> TaskExit {
    status.code().map_or_else(|| TaskExit::Killed(status.signal().unwrap()), TaskExit::Exited)
}

/// A shell that waits for a line, then becomes the program.
fn hold(program: &Path, arguments: &[&str]) -> Child {
    let mut held = Command::new("setarch")
        .args(["-R", "sh", "-c", "echo; read line; exec \"$0\" \"$@\""])
        .arg(program)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0];
    held.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    held
}

/// The samples among the records of a ring; each of them must be whole.
fn samples(bytes: &[u8], layout: &SampleLayout) -> Vec<Record> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let word = |at: usize| u16::from_le_bytes(rest[at..at + 2].try_into().unwrap());
        let kind = u32::from_le_bytes(rest[..4].try_into().unwrap());
        let size = usize::from(word(6));
        assert!(size >= 8 && size % 8 == 0 && size <= rest.len(), "record of {size} bytes");
        if RecordType(kind) == RecordType::SAMPLE {
            let sample = layout.decode(Misc(word(4)), &rest[8..size]).unwrap();
            assert!(Misc(word(4)).contains(Misc::EXACT_IP), "IP not exact");
            let words = sample.regs_intr.unwrap();
            let ip = sample.ip.unwrap();
            assert_eq!(words.get(IP_BIT), Some(ip), "the register and the field");
            let event = sample.identifier.and_then(|id| id.checked_sub(FIRST)).unwrap();
            records.push(Record {
                ip,
                address: sample.addr.unwrap(),
                registers: ENCODED.map(|bit| words.get(bit).unwrap()),
                flags: words.get(FLAGS_BIT).unwrap(),
                thread: u32::try_from(sample.task.unwrap().tid.0).unwrap(),
                time: sample.time.unwrap().0,
                data_src: sample.data_src.unwrap(),
                period: sample.period.unwrap(),
                event: usize::try_from(event).unwrap(),
            });
        }
        rest = &rest[size..];
    }
    records
}
