//! As many memory samples as a benchmark asks for: loads and stores of
//! several processes that run one real program, on eight CPUs.

use super::attr::{self, Attr};
use super::bytes::{self, Bytes};
use super::data_source as source;
use super::elf::{Program, Segment};
use super::file::{self, Event, Writer};
use super::sample::Sample;
use std::io::{self, Seek, Write};

const CPUS: u32 = 8;
const PROCESSES: u32 = 6;
const THREADS: u32 = 4;
/// Instructions that are hit; the first ones far more often than the last.
const SITES: usize = 8192;
/// Samples between two marks of a round: what rings of 512 KiB hold.
const ROUND: u64 = 32_768;
/// Nanoseconds between two samples, and of the first.
const STEP: u64 = 1_000;
const START: u64 = 1_000_000_000_000;

const LOADS: u64 = 100;
const STORES: u64 = 200;
const SIDE: u64 = 300;

const SAMPLE_TYPE: u64 = attr::IDENTIFIER
    | attr::IP
    | attr::TID
    | attr::TIME
    | attr::ADDR
    | attr::CPU
    | attr::PERIOD
    | attr::WEIGHT
    | attr::DATA_SRC;

const PAGE: u64 = 4096;
const HEAP: u64 = 0x5555_6000_0000;
const HEAP_SIZE: u64 = 64 << 20;
const ARENA: u64 = 0x7f00_0000_0000;
const ARENA_SIZE: u64 = 256 << 20;
const STACK: u64 = 0x7ffd_0000_0000;
const STACK_SIZE: u64 = 132 << 10;

/// Of a thousand loads: how many up to here, what served them, least latency
/// and how much more there may be, in cycles.
const SERVED: [(u64, u64, u64, u64); 7] = [
    (700, source::HIT | source::L1 | source::level(1) | source::SNOOP_NONE, 7, 8),
    (770, source::HIT | source::LFB | source::level(12) | source::SNOOP_NONE, 20, 120),
    (870, source::HIT | source::L2 | source::level(2) | source::SNOOP_NONE, 14, 20),
    (950, source::HIT | source::L3 | source::level(3) | source::SNOOP_MISS, 40, 60),
    (960, source::HIT | source::L3 | source::level(3) | source::SNOOP_HITM, 80, 90),
    (990, source::HIT | source::LOCAL_RAM | source::level(13) | source::SNOOP_MISS, 180, 250),
    (1000, source::HIT | source::REMOTE_RAM_1 | source::level(13) | source::REMOTE, 300, 400),
];

/// Numbers that look random and are the same every time (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn below_u32(&mut self, bound: u32) -> u32 {
        u32::try_from(self.below(u64::from(bound))).unwrap()
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    /// As `one_of`, but half of them are of the first eighth.
    fn popular<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let chance = self.below(1 << 16);
        &all[usize::try_from((chance.pow(3) * all.len() as u64) >> 48).unwrap()]
    }
}

/// An instruction, by its address in the ELF file, and where its data lie.
struct Site {
    address: u64,
    is_store: bool,
    data: Data,
}

enum Data {
    Variable(u64, u64),
    Heap,
    Arena,
    Stack,
}

fn event(config: u64, first_id: u64, name: &'static str) -> Event {
    let flags = attr::PRECISE_2 | attr::SAMPLE_ID_ALL | attr::EXCLUDE_GUEST;
    let attr = Attr {
        kind: attr::HARDWARE_RAW,
        config,
        period: 10_007,
        sample_type: SAMPLE_TYPE,
        flags,
        config1: if config == 0x1cd { 3 } else { 0 },
        ..Attr::default()
    };
    Event { attr, ids: (first_id..first_id + u64::from(CPUS)).collect(), name }
}

fn events() -> [Event; 3] {
    let mut side = event(attr::DUMMY, SIDE, "dummy:HG");
    side.attr.kind = attr::SOFTWARE;
    side.attr.flags = attr::SAMPLE_ID_ALL
        | attr::MMAP_RECORDS
        | attr::MMAP2_RECORDS
        | attr::MMAP_DATA_RECORDS
        | attr::COMM_RECORDS
        | attr::COMM_EXEC_RECORDS
        | attr::TASK_RECORDS;
    side.attr.sample_type &= !(attr::WEIGHT | attr::DATA_SRC);
    [
        event(0x1cd, LOADS, "cpu/mem-loads,ldlat=3/P"),
        event(0x82d0, STORES, "cpu/mem-stores/P"),
        side,
    ]
}

/// Where the program lies in a process.
fn base(process: u32) -> u64 {
    0x5600_0000_0000 + (u64::from(process) << 28)
}

fn pid(process: u32) -> u32 {
    1000 + 100 * process
}

/// A thread of a process, by the kernel's numbers.
#[derive(Clone, Copy)]
struct Thread {
    pid: u32,
    tid: u32,
}

impl Thread {
    fn main(pid: u32) -> Thread {
        Thread { pid, tid: pid }
    }
}

fn trailer(out: &mut Bytes, task: Thread, time: u64, cpu: u32) {
    out.u32(task.pid);
    out.u32(task.tid);
    out.u64(time);
    out.u64(u64::from(cpu));
    out.u64(SIDE + u64::from(cpu));
}

struct Mapping<'a> {
    start: u64,
    size: u64,
    offset: u64,
    protection: u32,
    /// 0 where no file is mapped.
    inode: u64,
    path: &'a str,
}

fn put_mapping(task: Thread, time: u64, it: &Mapping<'_>, out: &mut Bytes) {
    const EXECUTE: u32 = 4;
    let data = if it.protection & EXECUTE == 0 { bytes::MMAP_DATA } else { 0 };
    out.record(bytes::MMAP2, bytes::USER | data, |out| {
        out.u32(task.pid);
        out.u32(task.tid);
        out.u64s(&[it.start, it.size, it.offset]);
        // major, minor; inode, its generation
        out.u64s(&[0, it.inode, 0]);
        out.u32(it.protection);
        // MAP_PRIVATE
        out.u32(2);
        out.name(it.path);
        trailer(out, task, time, 0);
    });
}

fn put_comm(task: Thread, time: u64, name: &str, out: &mut Bytes) {
    out.record(bytes::COMM, bytes::COMM_EXEC, |out| {
        out.u32(task.pid);
        out.u32(task.tid);
        out.name(name);
        trailer(out, task, time, 0);
    });
}

fn put_birth_or_death(kind: u32, task: Thread, parent: Thread, time: u64, out: &mut Bytes) {
    out.record(kind, 0, |out| {
        for id in [task.pid, parent.pid, task.tid, parent.tid] {
            out.u32(id);
        }
        out.u64(time);
        trailer(out, if kind == bytes::FORK { parent } else { task }, time, 0);
    });
}

fn mapped<'a>(segment: &Segment, base: u64, program: &'a Program) -> Mapping<'a> {
    let inside = segment.address % PAGE;
    let protection = 1 | u32::from(segment.writable) << 1 | u32::from(segment.executable) << 2;
    Mapping {
        start: base + segment.address - inside,
        size: (segment.size + inside).next_multiple_of(PAGE),
        offset: segment.offset - segment.offset % PAGE,
        protection,
        inode: program.inode,
        path: &program.path,
    }
}

fn put_process(program: &Program, base: u64, task: Thread, time: u64, out: &mut Bytes) {
    for segment in &program.segments {
        put_mapping(task, time, &mapped(segment, base, program), out);
    }
    for (start, size, path) in
        [(HEAP, HEAP_SIZE, "[heap]"), (ARENA, ARENA_SIZE, "//anon"), (STACK, STACK_SIZE, "[stack]")]
    {
        let (offset, protection, inode) = (0, 3, 0);
        let mapping = Mapping { start, size, offset, protection, inode, path };
        put_mapping(task, time, &mapping, out);
    }
}

fn prelude(program: &Program, out: &mut Bytes) {
    out.record(bytes::MMAP, bytes::KERNEL, |out| {
        out.u32(u32::MAX);
        out.u32(0);
        out.u64s(&[0xffff_ffff_8100_0000, 0x100_0000, 0xffff_ffff_8100_0000]);
        out.name("[kernel.kallsyms]_text");
        trailer(out, Thread::main(0), 0, 0);
    });
    for process in 0..PROCESSES {
        let pid = pid(process);
        put_comm(Thread::main(pid), 0, &format!("worker-{process}"), out);
        put_process(program, base(process), Thread::main(pid), 0, out);
        for tid in pid + 1..pid + THREADS {
            put_birth_or_death(bytes::FORK, Thread { pid, tid }, Thread::main(pid), 0, out);
        }
    }
}

fn sites(program: &Program, numbers: &mut Numbers) -> Vec<Site> {
    let within = |(address, size): (u64, u64), writable: bool| {
        program.segments.iter().any(|it| {
            let inside = address >= it.address && address + size <= it.address + it.size;
            inside && (if writable { it.writable } else { it.executable })
        })
    };
    let routines: Vec<_> =
        program.routines.iter().copied().filter(|&routine| within(routine, false)).collect();
    let variables: Vec<_> =
        program.variables.iter().copied().filter(|&variable| within(variable, true)).collect();
    (0..SITES)
        .map(|_| {
            let (start, size) = *numbers.one_of(&routines);
            let data = match numbers.below(10) {
                0..=3 if !variables.is_empty() => {
                    let (start, size) = *numbers.one_of(&variables);
                    Data::Variable(start, size)
                }
                0..=6 => Data::Heap,
                7 | 8 => Data::Arena,
                _ => Data::Stack,
            };
            let address = start + numbers.below(size);
            Site { address, is_store: numbers.below(4) == 0, data }
        })
        .collect()
}

fn data_address(data: &Data, base: u64, numbers: &mut Numbers) -> u64 {
    match *data {
        Data::Variable(start, size) => base + start + numbers.below(size),
        Data::Heap => HEAP + numbers.below(HEAP_SIZE) / 8 * 8,
        Data::Arena => ARENA + numbers.below(ARENA_SIZE) / 8 * 8,
        Data::Stack => STACK + numbers.below(STACK_SIZE) / 8 * 8,
    }
}

/// What served an access, and for how many cycles it was waited for.
fn service(is_store: bool, numbers: &mut Numbers) -> (u64, u64) {
    let chance = numbers.below(1000);
    let &(_, served, least, more) =
        SERVED.iter().find(|(up_to, ..)| chance < *up_to).unwrap_or(&SERVED[0]);
    let tlb = match numbers.below(20) {
        0 => source::TLB_HIT | source::TLB_WALKER,
        1 => source::TLB_HIT | source::TLB_L2,
        _ => source::TLB_HIT | source::TLB_L1,
    };
    let lock = if numbers.below(100) == 0 { source::LOCKED } else { 0 };
    if is_store {
        let hit = if chance < 900 { source::HIT } else { source::MISS };
        return (source::STORE | hit | source::L1 | source::level(1) | tlb | lock, 0);
    }
    (source::LOAD | served | tlb | lock, least + numbers.below(more))
}

/// Who runs on a CPU, and its ring.
struct OneCpu {
    number: u32,
    process: u32,
    thread: u32,
    ring: Bytes,
}

impl OneCpu {
    fn new(number: u32) -> OneCpu {
        OneCpu { number, process: 0, thread: 0, ring: Bytes::default() }
    }
}

pub(crate) fn write<W: Write + Seek>(samples: u64, program: &Program, out: W) -> io::Result<W> {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let sites = sites(program, &mut numbers);
    let events = events();
    let mut file = Writer::new(out, &events)?;
    let mut buffer = Bytes::default();
    prelude(program, &mut buffer);
    file.records(&buffer.0)?;
    let mut cpus: Vec<_> = (0..CPUS).map(OneCpu::new).collect();
    let (mut time, mut left, mut round) = (START, samples, 0);
    while left > 0 {
        let now = left.min(ROUND);
        short_lived(program, round, time, &mut cpus[0].ring);
        for _ in 0..now {
            time += STEP;
            let number = numbers.below_u32(CPUS);
            let cpu = &mut cpus[usize::try_from(number).unwrap()];
            if numbers.below(256) == 0 {
                cpu.process = numbers.below_u32(PROCESSES);
                cpu.thread = numbers.below_u32(THREADS);
            }
            let site = numbers.popular(&sites);
            put_sample(site, &events, cpu, time, &mut numbers);
        }
        buffer.0.clear();
        for cpu in &mut cpus {
            buffer.raw(&cpu.ring.0);
            cpu.ring.0.clear();
        }
        buffer.record(bytes::FINISHED_ROUND, 0, |_| ());
        file.records(&buffer.0)?;
        left -= now;
        round += 1;
    }
    file.finish(&file::machine(CPUS, &["/usr/bin/perf", "mem", "record", "-a"]))
}

fn put_sample(
    site: &Site,
    events: &[Event; 3],
    cpu: &mut OneCpu,
    time: u64,
    numbers: &mut Numbers,
) {
    let (pid, base) = (pid(cpu.process), base(cpu.process));
    let (data_src, weight) = service(site.is_store, numbers);
    let (first_id, event) = if site.is_store { (STORES, &events[1]) } else { (LOADS, &events[0]) };
    let sample = Sample {
        misc: bytes::USER | bytes::EXACT_IP,
        identifier: first_id + u64::from(cpu.number),
        ip: base + site.address,
        pid,
        tid: pid + cpu.thread,
        time,
        addr: data_address(&site.data, base, numbers),
        cpu: cpu.number,
        period: 10_007,
        weight,
        data_src,
        ..Sample::default()
    };
    sample.put(&event.attr, &mut cpu.ring);
}

/// A process that starts the program and ends at once: one a round.
fn short_lived(program: &Program, round: u32, time: u64, out: &mut Bytes) {
    let (parent, child) = (Thread::main(pid(0)), Thread::main(100_000 + round));
    put_birth_or_death(bytes::FORK, child, parent, time + 1, out);
    put_comm(child, time + 2, "short-lived", out);
    put_process(program, base(PROCESSES), child, time + 3, out);
    put_birth_or_death(bytes::EXIT, child, parent, time + 4, out);
}
