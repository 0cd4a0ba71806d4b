//! Runs a program under the emulated PMU and prints what came of it:
//! `emulate [-t EVENT] [-g GEOMETRY] [-i N [--seed S]] [-c COUNT] [-o FILE] [-r PAGES] [-f] [-b ON/EVERY[+WARM]] (-p PID | PROGRAM ARGUMENTS)`.
//!
//! FILE gets a line for each record; the counts go to stderr. With -f the
//! program's address space is not randomized (setarch -R).

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, ExitCode};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use emulator::runtime::guest::ring::{HEAD, PAGE, TAIL};
use emulator::{
    Burst, Class, EmulatedEvent, Emulation, EmulationSettings, EmulationState, EmulationTarget,
    EventSettings, Geometry, TaskExit,
};
use perfdata::bytes::Cursor;
use perfdata::{
    Attr, AttrFlags, ByteOrder, Pid, RecordHeader, RecordType, SampleLayout, SampleType,
};

#[allow(unsafe_code, reason = "memory that others write")]
mod sys;

struct Arguments {
    event: EmulatedEvent,
    geometry: Geometry,
    interval: u64,
    seed: Option<u64>,
    count: Option<u64>,
    out: Option<File>,
    pages: u32,
    fixed: bool,
    burst: Option<Burst>,
    pid: Option<i32>,
    program: Vec<String>,
}

fn event(name: &str) -> Result<EmulatedEvent, String> {
    Ok(match name {
        "l1" => EmulatedEvent::L1DataMiss,
        "l2" => EmulatedEvent::L2Miss,
        "l3" => EmulatedEvent::L3Miss,
        "dtlb" => EmulatedEvent::DtlbMiss,
        "walk" => EmulatedEvent::PageWalk,
        "split" => EmulatedEvent::SplitLoad,
        "blocked" => EmulatedEvent::BlockedForward,
        "hitm" => EmulatedEvent::HitModified,
        "instr" => EmulatedEvent::Class(Class::Retired),
        _ => return Err(format!("{name}: l1, l2, l3, dtlb, walk, split, blocked, hitm or instr")),
    })
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut found = Arguments {
        event: EmulatedEvent::L1DataMiss,
        geometry: Geometry::default(),
        interval: 100,
        seed: None,
        count: None,
        out: None,
        pages: 256,
        fixed: false,
        burst: None,
        pid: None,
        program: Vec::new(),
    };
    let mut words = std::env::args().skip(1).peekable();
    while let Some(word) = words.next_if(|word| word.starts_with('-')) {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "-t" => found.event = event(&value()?)?,
            "-g" => found.geometry = found.geometry.with(&value()?)?,
            "-i" => found.interval = value()?.parse()?,
            "--seed" => found.seed = Some(value()?.parse()?),
            "-c" => found.count = Some(value()?.parse()?),
            "-o" => found.out = Some(File::create(value()?)?),
            "-r" => found.pages = value()?.parse()?,
            "-p" => found.pid = Some(value()?.parse()?),
            "-f" => found.fixed = true,
            "-b" => {
                let text = value()?;
                let (on, every) =
                    text.split_once('/').ok_or("-b wants ON/EVERY or ON/EVERY+WARM")?;
                let (every, warm) = match every.split_once('+') {
                    Some((every, warm)) => (every, Some(warm.parse()?)),
                    None => (every, None),
                };
                found.burst = Some(Burst { on: on.parse()?, every: every.parse()?, warm });
            }
            _ => return Err(format!("{word}: no such option").into()),
        }
    }
    found.program = words.collect();
    if found.program.is_empty() && found.pid.is_none() {
        return Err("give a program or -p PID".into());
    }
    Ok(found)
}

/// A shell that waits for a line before it becomes the program.
fn hold(program: &[String], fixed: bool) -> Result<(Child, std::path::PathBuf), Box<dyn Error>> {
    let pipe = std::env::temp_dir().join(format!("emulate-{}", std::process::id()));
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)?;
    let script = r#"read line <"$0"; exec "$@""#;
    let mut command = Command::new(if fixed { "setarch" } else { "sh" });
    if fixed {
        command.args(["-R", "sh"]);
    }
    let child = command.args(["-c", script]).arg(&pipe).args(program).spawn()?;
    Ok((child, pipe))
}

fn settings(arguments: &Arguments) -> EmulationSettings {
    let fields = SampleType::IDENTIFIER
        | SampleType::IP
        | SampleType::TID
        | SampleType::TIME
        | SampleType::ADDR
        | SampleType::CPU
        | SampleType::PERIOD
        | SampleType::REGS_INTR;
    let attr = Attr {
        sample_type: fields,
        sample_regs_intr: 0xff_03ff,
        flags: AttrFlags::SAMPLE_ID_ALL,
        ..Attr::default()
    };
    let trailer = SampleType::IDENTIFIER | SampleType::TID | SampleType::TIME | SampleType::CPU;
    let side_attr = Attr { sample_type: trailer, ..attr.clone() };
    let event = EventSettings {
        event: arguments.event,
        interval: arguments.interval,
        seed: arguments.seed,
        adapted: false,
        classifier: None,
        attr,
        id: 1,
    };
    EmulationSettings {
        geometry: arguments.geometry.clone(),
        prefetch: false,
        events: vec![event],
        side_attr,
        side_id: 2,
        burst: arguments.burst,
        count: arguments.count,
        ring_pages: arguments.pages,
        layouts: Vec::new(),
        data_mappings: false,
        allocators: None,
    }
}

/// Takes what is in the ring; the number of samples.
fn drain(
    ring: &memmap2::MmapRaw,
    layout: &SampleLayout,
    out: &mut Option<File>,
) -> io::Result<u64> {
    let bytes = ring.len();
    let words = sys::words(ring);
    let place = |at: usize| &words[at / 8];
    let (head, tail) = (place(HEAD).load(Ordering::Acquire), place(TAIL));
    let mut at = tail.load(Ordering::Relaxed);
    let size = (bytes - PAGE) as u64;
    let mut samples = 0;
    let mut text = Vec::new();
    while at < head {
        let word = |offset: u64| {
            let word = PAGE + usize::try_from((at + offset) & (size - 1)).unwrap_or(0);
            place(word).load(Ordering::Relaxed).to_le_bytes()
        };
        let header = word(0);
        let header = RecordHeader::decode(&mut Cursor::new(&header, ByteOrder::Little))
            .map_err(|_| io::Error::other("a record without a header"))?;
        let length = u64::from(header.size);
        if length < 8 {
            return Err(io::Error::other("a record without a size"));
        }
        let body: Vec<u8> = (8..length).step_by(8).flat_map(word).collect();
        if header.kind == RecordType::SAMPLE {
            samples += 1;
            let sample = layout.decode(header.misc, &body).map_err(io::Error::other)?;
            if out.is_some() {
                writeln!(text, "{sample:x?}")?;
            }
        } else if out.is_some() {
            writeln!(text, "{header:?}")?;
        }
        at += length;
    }
    tail.store(at, Ordering::Release);
    if let Some(out) = out {
        out.write_all(&text)?;
    }
    Ok(samples)
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = arguments()?;
    let settings = settings(&arguments);
    let layout = SampleLayout::new(&settings.events[0].attr, ByteOrder::Little)?;
    let started = Instant::now();
    let (mut child, target) = match arguments.pid {
        Some(pid) => (None, EmulationTarget::Process(Pid(pid))),
        None => {
            let (child, pipe) = hold(&arguments.program, arguments.fixed)?;
            let pid = i32::try_from(child.id())?;
            (Some((child, pipe)), EmulationTarget::Held(Pid(pid)))
        }
    };
    let emulation = Emulation::start(target, settings)?;
    let ring = memmap2::MmapOptions::new().map_raw(emulation.ring().as_raw_fd())?;
    if let Some((_, pipe)) = &child {
        std::fs::write(pipe, "\n")?;
        std::fs::remove_file(pipe)?;
    }
    let mut samples = 0;
    let state = loop {
        let woken = emulation.wait(Duration::from_millis(100));
        samples += drain(&ring, &layout, &mut arguments.out)?;
        if woken.state != EmulationState::Emulated {
            break woken.state;
        }
    };
    samples += drain(&ring, &layout, &mut arguments.out)?;
    let ended = emulation.ended();
    let took = started.elapsed();
    let account = emulation.finish()?;
    writeln!(
        io::stderr(),
        "emulate: {state:?} {ended:?} after {took:?}; {samples} samples read; {account:?}"
    )?;
    let code = match (ended, &mut child) {
        (Some(TaskExit::Exited(code)), _) => code,
        (Some(TaskExit::Killed(signal)), _) => 128 + signal,
        (None, Some((child, _))) => child.wait()?.code().unwrap_or(1),
        (None, None) => 0,
    };
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        let _unheard = writeln!(io::stderr(), "emulate: {error}");
        ExitCode::from(125)
    })
}
