//! Sessions on this machine's real events. Where the kernel refuses them the
//! tests print why and pass.
#![allow(clippy::print_stderr, reason = "a test that skips says why")]

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command as StdCommand, Stdio};
use std::sync::Arc;

use perfdata::stream::{StreamDecoder, StreamRecord, StreamStep};
use perfdata::{Attr, AttrFlags, Cpu, CpuMode, EventType, ReadFormat, SampleType, SoftwareEvent};

use super::*;
use crate::Cgroup;
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use crate::machine::facts::Facts;
use crate::session::attach::AttachBudget;
use crate::{CommandError, CommandStatus, PlannedEvent, Promises, RingPages};

mod attached;
mod cgroup;
mod loss;
mod older;
mod pausing;
mod quiet;
mod running;
mod several;

#[derive(Clone, Copy)]
struct EventCode {
    kind: EventType,
    config: u64,
}

const PAGE_FAULTS: EventCode =
    EventCode { kind: EventType::SOFTWARE, config: SoftwareEvent::PAGE_FAULTS.0 };

fn facts() -> Facts {
    Facts::read(Path::new("/")).unwrap()
}

fn plan_of(counted: EventCode, target: Target, pages: u32) -> Plan {
    let EventCode { kind, config } = counted;
    let facts = facts();
    let flags = AttrFlags::SAMPLE_ID_ALL | AttrFlags::EXCLUDE_HV;
    let common = SampleType::IDENTIFIER | SampleType::TID | SampleType::TIME | SampleType::CPU;
    let read_format = ReadFormat::TOTAL_TIME_ENABLED
        | ReadFormat::TOTAL_TIME_RUNNING
        | ReadFormat::ID
        | ReadFormat::LOST;
    let event = Attr {
        kind,
        config,
        sample_period: 1,
        sample_type: common | SampleType::IP | SampleType::ADDR | SampleType::PERIOD,
        read_format,
        flags,
        ..Attr::default()
    };
    let side = Attr {
        kind: EventType::SOFTWARE,
        config: 9,
        sample_type: common,
        read_format,
        flags: flags
            | AttrFlags::MMAP
            | AttrFlags::MMAP2
            | AttrFlags::COMM
            | AttrFlags::COMM_EXEC
            | AttrFlags::TASK
            | AttrFlags::BUILD_ID,
        ..Attr::default()
    };
    let promises = Promises {
        source: SampleSource::KernelSoftware,
        ip: IpPromise::Causing,
        address: AddressPromise::Faulting,
        registers: RegistersPromise::None,
        weight: WeightPromise::None,
    };
    Plan {
        name: "test_event".into(),
        events: vec![PlannedEvent {
            name: "test_event".into(),
            pmu: "software".into(),
            attr: event,
            cpus: None,
            leader: None,
            carrier: false,
            least_precise: 0,
            promises,
            filter: perfdata::SampleFilter::ALL,
        }],
        side,
        fallbacks: crate::Fallback::ALL.to_vec(),
        target,
        in_kernel: None,
        cpus: facts.cpus.online.clone().unwrap_or_else(|| vec![Cpu(0)]),
        rings: RingPages { samples: pages, side: 64 },
        notes: vec![],
        page_size: facts.page_bytes(),
        access: facts.access,
    }
}

/// Whether this process may count kernel-mode page faults at all.
fn events_refused() -> bool {
    match Session::open(plan_of(PAGE_FAULTS, Target::Command, 1), command(&["true"], None)) {
        Ok(_) => false,
        Err(error) => {
            eprintln!("skipped: perf events cannot be opened here: {error}");
            true
        }
    }
}

fn command(words: &[&str], count: Option<u64>) -> SessionSettings {
    let command = words.iter().map(OsString::from).collect();
    SessionSettings { command, count, ..SessionSettings::default() }
}

/// Opens, writes the preamble, starts.
fn started(plan: Plan, settings: SessionSettings, sink: &mut dyn Sink) -> Session {
    let mut session = Session::open(plan, settings).unwrap();
    session.preamble(&facts(), &["test".into()], sink).unwrap();
    session.start(sink).unwrap();
    session
}

fn run_to_end(session: &mut Session, sink: &mut dyn Sink) {
    while session.wait(Duration::from_millis(100), &[]).unwrap().target == TargetState::Running {
        session.drain(sink).unwrap();
    }
}

#[derive(Debug, Default)]
struct Content {
    addresses: Vec<u64>,
    /// Samples of user mode.
    of_user: usize,
    cpus: Vec<Cpu>,
    sides: Vec<String>,
    notes: Vec<String>,
    lost_samples: u64,
    lost: u64,
}

fn decode(mut bytes: &[u8]) -> Content {
    let mut decoder = StreamDecoder::new();
    let mut content = Content::default();
    while !bytes.is_empty() {
        let consumed = match decoder.step(bytes).unwrap() {
            StreamStep::NeedMore(n) => panic!("the stream ends {n} bytes early"),
            StreamStep::Record { consumed, record } => {
                match record {
                    StreamRecord::Sample(record) => {
                        let sample = record.decode(&decoder).unwrap();
                        content.of_user += usize::from(record.misc.cpu_mode() == CpuMode::User);
                        content.addresses.push(sample.addr.unwrap());
                        content.cpus.extend(sample.cpu);
                    }
                    StreamRecord::Sideband { record, .. } => match record {
                        perfdata::SidebandRecord::Lost { lost, .. } => content.lost += lost,
                        perfdata::SidebandRecord::LostSamples { lost } => {
                            content.lost_samples += lost
                        }
                        other => content.sides.push(format!("{other:?}")),
                    },
                    _ => {}
                }
                consumed
            }
        };
        bytes = &bytes[consumed..];
    }
    content.notes = decoder.events()[0].notes.clone();
    content
}

/// A C program of the tests, compiled; None where there is no compiler.
fn program(name: &str, directory: &Path) -> Option<std::path::PathBuf> {
    let source =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("tests/programs").join(name);
    let binary = directory.join("program");
    let built =
        StdCommand::new("cc").args(["-O1", "-pthread", "-o"]).arg(&binary).arg(source).status();
    match built {
        Ok(status) => {
            assert!(status.success(), "cc fails on {name}");
            Some(binary)
        }
        Err(error) => {
            eprintln!("skipped: no C compiler (cc): {error}");
            None
        }
    }
}
