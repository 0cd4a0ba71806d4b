//! Small recordings of what no public file holds.

use super::attr::{self, Attr};
use super::bytes::{self, Bytes};
use super::data_source as source;
use super::file::{self, Event, Writer};
use super::sample::Sample;
use std::io::Cursor;

pub(crate) const PID: u32 = 1000;
const ID: u64 = 77;
const START: u64 = 5_000_000_000;
const CODE: u64 = 0x40_0000;
const BASE: u64 = attr::IDENTIFIER | attr::IP | attr::TID | attr::TIME | attr::PERIOD;
/// Frames of these privilege levels follow (`enum perf_callchain_context`).
const CONTEXT_KERNEL: u64 = 128u64.wrapping_neg();
const CONTEXT_USER: u64 = 512u64.wrapping_neg();
/// misc of LOST_SAMPLES that a BPF filter dropped.
const DROPPED_BY_BPF: u16 = 1 << 15;

const LOST: u32 = 2;
const READ: u32 = 8;
const LOST_SAMPLES: u32 = 13;

fn load_event(sample_type: u64) -> Event {
    let attr = Attr {
        kind: attr::HARDWARE_RAW,
        config: 0x1cd,
        config1: 30,
        period: 1,
        sample_type: BASE | sample_type,
        flags: attr::PRECISE_2
            | attr::SAMPLE_ID_ALL
            | attr::EXCLUDE_GUEST
            | attr::MMAP_RECORDS
            | attr::MMAP2_RECORDS
            | attr::COMM_RECORDS,
        ..Attr::default()
    };
    Event { attr, ids: vec![ID], name: "cpu/mem-loads,ldlat=30/P" }
}

fn base(number: u64) -> Sample<'static> {
    Sample {
        misc: bytes::USER | bytes::EXACT_IP,
        identifier: ID,
        ip: CODE + 16 * number,
        pid: PID,
        tid: PID,
        time: START + 1000 * number,
        period: 1 + number,
        ..Sample::default()
    }
}

fn trailer(attr: &Attr, out: &mut Bytes) {
    for (bit, word) in [
        (attr::TID, u64::from(PID) << 32 | u64::from(PID)),
        (attr::TIME, START),
        (attr::ID, ID),
        (attr::STREAM_ID, ID),
        (attr::CPU, 0),
        (attr::IDENTIFIER, ID),
    ] {
        if attr.sample_type & bit != 0 {
            out.u64(word);
        }
    }
}

/// The kernel and a process, then what `records` pushes.
fn recording(event: &Event, records: impl FnOnce(&Attr, &mut Bytes)) -> Vec<u8> {
    let attr = &event.attr;
    let mut out = Bytes::default();
    out.record(bytes::MMAP, bytes::KERNEL, |out| {
        out.u32(u32::MAX);
        out.u32(0);
        out.u64s(&[0xffff_ffff_8100_0000, 0x100_0000, 0xffff_ffff_8100_0000]);
        out.name("[kernel.kallsyms]_text");
        trailer(attr, out);
    });
    out.record(bytes::COMM, bytes::COMM_EXEC, |out| {
        out.u32(PID);
        out.u32(PID);
        out.name("program");
        trailer(attr, out);
    });
    out.record(bytes::MMAP2, bytes::USER, |out| {
        out.u32(PID);
        out.u32(PID);
        out.u64s(&[CODE, 0x10_0000, 0, 0, 0, 0]);
        // PROT_READ | PROT_EXEC, MAP_PRIVATE
        out.u32(5);
        out.u32(2);
        // No file: perf c2c 6.1 dies when addr2line does not find one.
        out.name("//anon");
        trailer(attr, out);
    });
    records(attr, &mut out);
    out.record(bytes::FINISHED_ROUND, 0, |_| ());
    let file = Cursor::new(Vec::new());
    let mut file = Writer::new(file, std::slice::from_ref(event)).unwrap();
    file.records(&out.0).unwrap();
    let mut features = file::machine(2, &["perf", "mem", "record"]);
    features.push((14, one_node()));
    file.finish(&features).unwrap().into_inner()
}

/// NUMA_TOPOLOGY, without which `perf c2c` does not start.
fn one_node() -> Bytes {
    let mut out = Bytes::default();
    out.u32(1);
    out.u32(0);
    out.u64s(&[64 << 20, 32 << 20]);
    out.text("0-1");
    out
}

/// A word of register number `bit` in sample `number`.
pub(crate) fn register(number: u64, bit: u64) -> u64 {
    0x1111_0000_0000_0000 | number << 16 | bit
}

/// REGS_INTR with XMM, REGS_USER: of a 64-bit task, of a 32-bit one, and of
/// one that has none.
pub(crate) fn registers() -> Vec<u8> {
    let mut event = load_event(attr::REGS_USER | attr::REGS_INTR);
    event.attr.regs_user = attr::GENERAL;
    event.attr.regs_intr = attr::GENERAL | attr::XMM;
    recording(&event, |attr, out| {
        for (number, abi) in [(0, 2), (1, 1), (2, 0)] {
            let words = |mask: u64| -> Vec<u64> {
                (0..64)
                    .filter(|bit| mask >> bit & 1 == 1)
                    .map(|bit| register(number, bit))
                    .collect()
            };
            let (user, intr) = (words(attr.regs_user), words(attr.regs_intr));
            let sample =
                Sample { regs_user: (abi, &user), regs_intr: (abi, &intr), ..base(number) };
            sample.put(attr, out);
        }
    })
}

pub(crate) fn places() -> Vec<u8> {
    let event = load_event(
        attr::ADDR
            | attr::CPU
            | attr::WEIGHT_STRUCT
            | attr::DATA_SRC
            | attr::TRANSACTION
            | attr::PHYS_ADDR
            | attr::CGROUP
            | attr::DATA_PAGE_SIZE
            | attr::CODE_PAGE_SIZE,
    );
    let sizes = [4096, 2 << 20, 1 << 30, 0];
    recording(&event, |attr, out| {
        for (number, size) in (0..).zip(sizes) {
            let sample = Sample {
                addr: 0x7f00_0000_1000 + 64 * number,
                cpu: 1,
                // Latency, of the instruction, at its retirement.
                weight: (100 + number) | (200 + number) << 32 | (300 + number) << 48,
                data_src: source::LOAD | source::HIT | source::L2 | source::level(2),
                transaction: number << 1,
                phys_addr: 0x1_2345_6000 + 64 * number,
                cgroup: 4242,
                data_page_size: size,
                code_page_size: sizes[0],
                ..base(number)
            };
            sample.put(attr, out);
        }
    })
}

/// Call chains across privilege levels, and branches.
pub(crate) fn chains() -> Vec<u8> {
    let mut event = load_event(attr::CALLCHAIN | attr::BRANCH_STACK);
    event.attr.branch_sample_type = attr::BRANCH_ANY | attr::BRANCH_HW_INDEX;
    recording(&event, |attr, out| {
        let chain = [
            CONTEXT_KERNEL,
            0xffff_ffff_8100_1000,
            0xffff_ffff_8100_2000,
            CONTEXT_USER,
            CODE + 0x1000,
            CODE + 0x2000,
        ];
        // Mispredicted; predicted in a transaction, 5 cycles.
        let branches =
            [[CODE + 0x1008, CODE + 0x1000, 1], [CODE + 0x2008, CODE + 0x2000, 2 | 4 | 5 << 4]];
        for (number, length) in [(0, 6), (1, 3), (2, 0)] {
            let sample = Sample {
                callchain: &chain[..length],
                branch_index: 7,
                branches: &branches[..length / 3],
                ..base(number)
            };
            sample.put(attr, out);
        }
    })
}

/// Every level there is, by mem_lvl, by mem_lvl_num, or both; the first one
/// sample, the second two, and so on.
pub(crate) const LEVELS: [u64; 20] = {
    use source::{
        ANY_CACHE, CXL, HIT, IO, L1, L2, L3, L4, LEVEL_NA, LFB, LOCAL_RAM, LOCKED, PMEM, RAM,
        REMOTE, REMOTE_CACHE_1, REMOTE_CACHE_2, REMOTE_RAM_1, REMOTE_RAM_2, SNOOP_FORWARD,
        SNOOP_HIT, SNOOP_HITM, SNOOP_MISS, SNOOP_NONE, SNOOP_PEER, TLB_HIT, TLB_L1, TLB_L2,
        TLB_MISS, TLB_WALKER, UNCACHED, hops, level,
    };
    [
        HIT | L1 | level(1) | SNOOP_NONE | TLB_HIT | TLB_L1,
        HIT | LFB | level(0xc) | SNOOP_NONE | TLB_HIT | TLB_L1,
        HIT | L2 | level(2) | SNOOP_NONE | TLB_HIT | TLB_L2,
        HIT | L3 | level(3) | SNOOP_MISS | TLB_MISS | TLB_L2,
        HIT | L3 | level(3) | SNOOP_HIT | TLB_HIT | TLB_WALKER,
        HIT | L3 | level(3) | SNOOP_HITM | LOCKED,
        LEVEL_NA | L4 | SNOOP_NONE,
        HIT | LOCAL_RAM | RAM | SNOOP_MISS,
        HIT | REMOTE_RAM_1 | RAM | REMOTE,
        HIT | REMOTE_RAM_2 | RAM | REMOTE,
        HIT | REMOTE_CACHE_1 | ANY_CACHE | REMOTE | SNOOP_HITM,
        HIT | REMOTE_CACHE_2 | ANY_CACHE | REMOTE | SNOOP_HIT,
        HIT | L3 | level(3) | SNOOP_FORWARD,
        HIT | L2 | level(2) | REMOTE | hops(1) | SNOOP_PEER,
        LEVEL_NA | ANY_CACHE | REMOTE | hops(3) | SNOOP_HITM,
        LEVEL_NA | PMEM,
        LEVEL_NA | PMEM | REMOTE,
        LEVEL_NA | CXL,
        HIT | IO,
        HIT | UNCACHED,
    ]
};

pub(crate) fn levels() -> Vec<u8> {
    let event = load_event(attr::ADDR | attr::WEIGHT | attr::DATA_SRC);
    recording(&event, |attr, out| {
        let all =
            LEVELS.iter().zip(1u64..).flat_map(|(level, count)| (0..count).map(move |_| level));
        for (number, level) in (0..).zip(all) {
            let sample = Sample {
                addr: 0x7f00_0000_0000 + 64 * number,
                weight: 10 + number,
                data_src: source::LOAD | level,
                ..base(number)
            };
            sample.put(attr, out);
        }
    })
}

/// Two threads on one cache line: stores of the one, loads of the other
/// that find the line modified, near and far.
pub(crate) const STORES: u64 = 30;
pub(crate) const LOCAL_HITM: u64 = 20;
pub(crate) const REMOTE_HITM: u64 = 5;
pub(crate) const LINE: u64 = 0x7f00_0000_2040;

pub(crate) fn sharing() -> Vec<u8> {
    use source::{
        ANY_CACHE, HIT, L1, L3, LOAD, REMOTE, REMOTE_CACHE_1, SNOOP_HITM, STORE, TLB_HIT, TLB_L1,
        level,
    };
    let event = load_event(attr::ADDR | attr::CPU | attr::WEIGHT | attr::DATA_SRC);
    let kinds = [
        (STORES, STORE | HIT | L1 | level(1), 0, 1),
        (LOCAL_HITM, LOAD | HIT | L3 | level(3) | SNOOP_HITM, 90, 2),
        (REMOTE_HITM, LOAD | HIT | REMOTE_CACHE_1 | ANY_CACHE | REMOTE | SNOOP_HITM, 400, 2),
    ];
    recording(&event, |attr, out| {
        let mut number = 0;
        for (count, data_src, weight, thread) in kinds {
            for _ in 0..count {
                let sample = Sample {
                    tid: PID + thread,
                    cpu: thread - 1,
                    addr: LINE + 8 * u64::from(thread),
                    weight,
                    data_src: data_src | TLB_HIT | TLB_L1,
                    ..base(number)
                };
                sample.put(attr, out);
                number += 1;
            }
        }
    })
}

/// Records of the kernel that tell of losses: in the ring, of samples, of
/// samples that a filter dropped; and in what events count.
pub(crate) const LOSSES: [u64; 4] = [11, 12, 13, 14];

pub(crate) fn losses() -> Vec<u8> {
    let mut event = load_event(attr::READ);
    event.attr.read_format = attr::READ_ID | attr::READ_LOST;
    recording(&event, |attr, out| {
        let [ring, samples, filter, counted] = LOSSES;
        Sample { read: &[1000, ID, counted], ..base(0) }.put(attr, out);
        out.record(LOST, 0, |out| {
            out.u64s(&[ID, ring]);
            trailer(attr, out);
        });
        for (misc, lost) in [(0, samples), (DROPPED_BY_BPF, filter)] {
            out.record(LOST_SAMPLES, misc, |out| {
                out.u64(lost);
                trailer(attr, out);
            });
        }
        out.record(READ, 0, |out| {
            out.u32(PID);
            out.u32(PID);
            out.u64s(&[2000, ID, counted]);
            trailer(attr, out);
        });
        Sample { read: &[2000, ID, counted], ..base(1) }.put(attr, out);
    })
}

/// Caps without branch targets, with them, and with data 4 besides (Zen 4).
pub(crate) const IBS_CAPS: [u32; 3] = [0x1f, 0x3ff, 0x1fff];

/// Registers of `ibs_op`, as the kernel's driver collects them by caps
/// (perf_ibs_handle_irq(), arch/x86/events/amd/ibs.c).
pub(crate) fn ibs_registers(caps: u32, number: u64) -> Vec<u64> {
    const BRANCH_TARGETS: u32 = 1 << 5;
    const DATA_4: u32 = 1 << 10;
    // Counting ops, enabled, valid; retired 20, tagged 30 cycles.
    let mut registers =
        vec![1 << 19 | 1 << 18 | 1 << 17 | 0x100, CODE + 16 * number, 30 << 16 | 20];
    // Served by DRAM; a load that missed the L1 for 90 cycles, address valid.
    registers.extend([3, 90 << 32 | 1 << 18 | 1 << 17 | 1 << 7 | 1]);
    registers.extend([0x7f00_0000_3000 + 8 * number, 0x1_0000_3000 + 8 * number]);
    if caps & BRANCH_TARGETS != 0 {
        registers.push(CODE + 0x4000);
    }
    if caps & DATA_4 != 0 {
        registers.push(0);
    }
    registers
}

pub(crate) fn ibs() -> Vec<u8> {
    let mut event = load_event(attr::RAW | attr::ADDR);
    event.attr.kind = 11;
    event.attr.config = 1 << 19;
    event.name = "ibs_op//";
    recording(&event, |attr, out| {
        for (number, caps) in (0..).zip(IBS_CAPS) {
            let mut raw = Bytes::default();
            raw.u32(caps);
            raw.u64s(&ibs_registers(caps, number));
            let sample =
                Sample { raw: &raw.0, addr: 0x7f00_0000_3000 + 8 * number, ..base(number) };
            sample.put(attr, out);
        }
    })
}

/// Every field of a sample at once, and STACK_USER with and without bytes.
pub(crate) fn everything() -> Vec<u8> {
    let all = (1 << 25) - 1;
    let mut event = load_event(all & !attr::WEIGHT);
    event.attr.read_format = attr::READ_ID;
    event.attr.branch_sample_type = attr::BRANCH_ANY | attr::BRANCH_HW_INDEX;
    event.attr.regs_user = 1;
    event.attr.regs_intr = 1 << 7 | attr::XMM;
    event.attr.stack_user = 16;
    recording(&event, |attr, out| {
        let xmm: Vec<u64> = (0..33).map(|word| register(0, word)).collect();
        for (number, stack) in [(0, &[0xab; 16][..]), (1, &[])] {
            let sample = Sample {
                id: ID,
                stream_id: 78,
                addr: 1,
                cpu: 1,
                read: &[5, ID],
                callchain: &[CONTEXT_USER, CODE],
                raw: b"payload",
                branch_index: 3,
                branches: &[[CODE, CODE + 8, 2]],
                regs_user: (2, &[6]),
                stack_user: (stack, 8),
                weight: 7,
                data_src: source::LOAD | source::HIT | source::L1,
                transaction: 8,
                regs_intr: (2, &xmm),
                phys_addr: 9,
                cgroup: 10,
                data_page_size: 4096,
                code_page_size: 2 << 20,
                aux: b"aux data",
                ..base(number)
            };
            sample.put(attr, out);
        }
    })
}
