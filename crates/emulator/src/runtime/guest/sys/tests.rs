//! The library's functions and the image's own, on memory laid out as in a
//! target, and what they wrote decoded.

mod region;
mod stack;

use std::sync::atomic::AtomicU64;

use perfdata::sample::{Sample, SampleLayout};
use perfdata::{Attr, ByteOrder, Pid, SampleType, Tid};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};

use super::super::ring::{HEAD, LIMIT, TAIL};
use super::*;
use crate::block::{self, AccessKind, COUNTED_FROM, ExitReason, LOCKED};
use crate::event::{Class, EmulatedEvent};
use crate::geometry::Geometry;
use crate::runtime::{EventSetup, RuntimeSetup, ThreadSetup, image};

type Function = unsafe extern "C" fn(*mut u8) -> u64;

/// The runtime's functions: compiled into this test, or from the image.
#[derive(Clone, Copy)]
struct Code {
    access: Function,
    record: Function,
    lookup: Function,
}

fn library() -> Code {
    Code { access, record, lookup }
}

fn mapped() -> Code {
    let image = image();
    let size = image.bytes.len().next_multiple_of(4096);
    let flags = MapFlags::PRIVATE;
    // SAFETY: a new mapping.
    let map = unsafe { mmap_anonymous(std::ptr::null_mut(), size, ProtFlags::WRITE, flags) };
    let map = map.unwrap().cast::<u8>();
    // SAFETY: it is large enough and ours.
    unsafe { map.copy_from_nonoverlapping(image.bytes.as_ptr(), image.bytes.len()) };
    // SAFETY: the mapping is ours.
    unsafe { mprotect(map.cast(), size, MprotectFlags::READ | MprotectFlags::EXEC) }.unwrap();
    let at = |offset: usize| {
        // SAFETY: within the image.
        let entry = unsafe { map.add(offset) };
        // SAFETY: build.rs found the function there.
        unsafe { std::mem::transmute::<*mut u8, Function>(entry) }
    };
    Code { access: at(image.access), record: at(image.record), lookup: at(image.lookup) }
}

#[repr(align(4096))]
#[derive(Clone, Copy)]
struct Page(#[allow(dead_code, reason = "seen as words")] [u64; 512]);

struct Memory(Vec<Page>);

impl Memory {
    fn new(bytes: usize) -> Memory {
        Memory(vec![Page([0; 512]); bytes.div_ceil(4096)])
    }

    fn address(&mut self) -> u64 {
        u64::try_from(self.0.as_mut_ptr().addr()).unwrap()
    }

    fn words(&mut self) -> &[AtomicU64] {
        // SAFETY: as many words, and u64s may be used as atomics.
        unsafe { slice::from_raw_parts(self.0.as_mut_ptr().cast(), self.0.len() * 512) }
    }

    fn bytes(&mut self) -> &[u8] {
        // SAFETY: as many bytes.
        unsafe { slice::from_raw_parts(self.0.as_mut_ptr().cast(), self.0.len() * 4096) }
    }
}

struct Target {
    code: Code,
    ring: Memory,
    space: Memory,
    block: Memory,
    setup: RuntimeSetup,
    site: Box<AccessSite>,
    attr: Attr,
}

const RING: usize = 8 * 4096;

fn attr() -> Attr {
    Attr {
        sample_type: SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::CPU
            | SampleType::PERIOD
            | SampleType::REGS_INTR
            | SampleType::WEIGHT_STRUCT
            | SampleType::DATA_SRC,
        sample_regs_intr: 0xff_03ff,
        ..Attr::default()
    }
}

impl Target {
    fn new(code: Code, event: EmulatedEvent, interval: u64, attr: Attr) -> Target {
        let geometry = Geometry::default().with("l1d=32k,8 dtlb=64,4").unwrap();
        Target::with(code, event, interval, attr, &geometry)
    }

    fn with(
        code: Code,
        event: EmulatedEvent,
        interval: u64,
        attr: Attr,
        geometry: &Geometry,
    ) -> Target {
        let event = EventSetup::new(event, interval, &attr, 77).unwrap();
        let setup = RuntimeSetup::new(geometry, vec![event]).unwrap();
        let mut ring = Memory::new(4096 + RING);
        let mut space = Memory::new(setup.space_size());
        let mut block = Memory::new(setup.thread_size());
        ring.words()[LIMIT / 8].store(u64::MAX, Ordering::Relaxed);
        let ring_address = ring.address();
        setup.space(space.words(), ring_address, u64::try_from(RING).unwrap(), false);
        let thread = ThreadSetup {
            index: 0,
            pid: Pid(100),
            tid: Tid(101),
            block: block.address(),
            space: space.address(),
            miss: 0xabc,
            seed: 0,
            filtered: false,
        };
        setup.thread(space.words(), block.words(), thread);
        let site = Box::new(AccessSite {
            ip: 0x40_1000,
            resume: 0,
            offset: 0,
            size: 8,
            kind: AccessKind::Load as u8,
            length: 4,
            marks: 0,
            elements: 0,
        });
        Target { code, ring, space, block, setup, site, attr }
    }

    fn put(&mut self, offset: usize, value: u64) {
        self.block.words()[offset / 8].store(value, Ordering::Relaxed);
    }

    fn get(&mut self, offset: usize) -> u64 {
        self.block.words()[offset / 8].load(Ordering::Relaxed)
    }

    /// As the stub does it: 0 or a stop.
    fn run(&mut self, address: u64) -> u64 {
        let clock = self.get(block::CLOCK);
        self.put(block::CLOCK, clock + 1);
        self.put(block::ADDRESS, address);
        let site = u64::try_from(std::ptr::from_ref(&*self.site).addr()).unwrap();
        self.put(block::SITE, site);
        let block = self.block.0.as_mut_ptr().cast();
        // SAFETY: the block, its space, ring and site are alive.
        let next = unsafe { (self.code.access)(block) };
        if next == RuntimeAction::Record as u64 { self.record() } else { next }
    }

    /// A string instruction, part after part as translated code does them:
    /// the elements of each.
    fn parts(&mut self, registers: [u64; 3], down: bool) -> Vec<u64> {
        let [mut count, from, to] = registers;
        let size = u64::from(self.site.size);
        let mut done = 0_u64;
        let mut parts = Vec::new();
        self.put(block::REST, 0);
        while count != 0 {
            let bytes = if down { (done * size).wrapping_neg() } else { done * size };
            self.put(block::REGISTERS + 8, count);
            self.put(block::REGISTERS + 48, from.wrapping_add(bytes));
            self.put(block::REGISTERS + 56, to.wrapping_add(bytes));
            assert_eq!(self.run(0), 0);
            let part = self.get(block::REGISTERS + 8);
            assert_eq!(part + self.get(block::REST), count);
            parts.push(part);
            done += part;
            count -= part;
        }
        parts
    }

    fn record(&mut self) -> u64 {
        // SAFETY: as above.
        unsafe { (self.code.record)(self.block.0.as_mut_ptr().cast()) }
    }

    fn drain(&mut self, mut visit: impl FnMut(&Sample<'_>)) -> usize {
        let layout = SampleLayout::new(&self.attr, ByteOrder::Little).unwrap();
        let load = |words: &[AtomicU64], at: usize| words[at / 8].load(Ordering::Relaxed);
        let head = usize::try_from(load(self.ring.words(), HEAD)).unwrap();
        let mut tail = usize::try_from(load(self.ring.words(), TAIL)).unwrap();
        let data = self.ring.bytes()[4096..].to_vec();
        let mut count = 0;
        while tail < head {
            let byte = |at: usize| data[(tail + at) % RING];
            let size = usize::from(u16::from_le_bytes([byte(6), byte(7)]));
            let whole: Vec<u8> = (0..size).map(byte).collect();
            assert_eq!(whole[..4], 9_u32.to_le_bytes(), "PERF_RECORD_SAMPLE");
            let misc = perfdata::Misc(u16::from_le_bytes([whole[4], whole[5]]));
            visit(&layout.decode(misc, &whole[8..]).unwrap());
            tail += size;
            count += 1;
        }
        self.ring.words()[TAIL / 8].store(u64::try_from(tail).unwrap(), Ordering::Relaxed);
        count
    }
}

fn each(test: impl Fn(Code)) {
    test(library());
    test(mapped());
}

#[test]
fn every_third_miss_is_a_record_of_what_it_was() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 3, attr());
        for register in 0..16 {
            target.put(block::REGISTERS + 8 * register, u64::try_from(register).unwrap() + 500);
        }
        target.put(block::FLAGS, 0x246);
        target.site.marks = LOCKED;
        for n in 0..6 {
            // A hit that the table does not answer: it crosses no line.
            assert_eq!(target.run(0x1_0000 + n * 64), 0);
            assert_eq!(target.run(0x1_0000 + n * 64 + 8), 0);
        }
        let mut seen = Vec::new();
        let mut times = Vec::new();
        target.drain(|sample| {
            assert_eq!(sample.identifier, Some(77));
            assert_eq!(sample.ip, Some(0x40_1000));
            let task = sample.task.unwrap();
            assert_eq!((task.pid, task.tid), (Pid(100), Tid(101)));
            assert_eq!(sample.period, Some(3));
            let registers = sample.regs_intr.unwrap();
            // ax bx cx dx si di bp sp ip flags, then r8 on.
            let order = [0, 3, 1, 2, 6, 7, 5, 4];
            for (number, register) in (0..).zip(order) {
                assert_eq!(registers.get(number), Some(500 + register), "register {number}");
            }
            assert_eq!(registers.get(8), Some(0x40_1000));
            assert_eq!(registers.get(9), Some(0x246));
            for number in 16..24 {
                assert_eq!(registers.get(number), Some(500 + u64::from(number) - 8));
            }
            let source = sample.data_src.unwrap();
            assert_eq!(source.level(), perfdata::data_src::Level::Ram);
            assert_eq!(source.operation(), perfdata::data_src::Operation::LOAD);
            assert!(source.is_locked());
            assert_eq!(sample.misc.0, 2 | 1 << 14, "user mode, exact");
            seen.push(sample.addr.unwrap());
            times.push(sample.time.unwrap());
        });
        assert_eq!(seen, [0x1_0000 + 2 * 64, 0x1_0000 + 5 * 64]);
        assert!(times[0] < times[1]);
    });
}

#[test]
fn a_full_ring_stops_and_nothing_is_lost() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        let mut addresses = Vec::new();
        for n in 0..1000 {
            let mut next = target.run(0x1_0000 + n * 64);
            while next != 0 {
                assert_eq!(next, RuntimeAction::Stop as u64);
                assert_eq!(target.get(block::EXIT), ExitReason::RingFull as u64);
                assert_eq!(target.record(), RuntimeAction::Stop as u64, "still full");
                assert!(target.drain(|sample| addresses.push(sample.addr.unwrap())) > 0);
                next = target.record();
            }
        }
        target.drain(|sample| addresses.push(sample.addr.unwrap()));
        let all: Vec<_> = (0..1000).map(|n| 0x1_0000 + n * 64).collect();
        assert_eq!(addresses, all);
    });
}

#[test]
fn the_count_stops_after_the_last_record() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        target.ring.words()[LIMIT / 8].store(2, Ordering::Relaxed);
        assert_eq!(target.run(0x1_0000), 0);
        assert_eq!(target.run(0x2_0000), RuntimeAction::Stop as u64);
        assert_eq!(target.get(block::EXIT), ExitReason::Count as u64);
        assert_eq!(target.record(), 0, "it goes on");
        assert_eq!(target.run(0x3_0000), RuntimeAction::Stop as u64);
        assert_eq!(target.record(), 0);
        assert_eq!(target.drain(|_| ()), 2);
    });
}

#[test]
fn each_line_of_a_string_copy_has_its_registers() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        target.site.kind = AccessKind::Move as u8;
        target.site.size = 8;
        let (from, to, count) = (0x1_0020, 0x8_0000, 40);
        assert_eq!(target.parts([count, from, to], false), [1, 39]);
        let mut seen = Vec::new();
        target.drain(|sample| {
            let registers = sample.regs_intr.unwrap();
            let [rcx, rsi, rdi] = [2, 4, 5].map(|number| registers.get(number).unwrap());
            let done = count - rcx;
            assert_eq!((rsi, rdi), (from + 8 * done, to + 8 * done));
            let addr = sample.addr.unwrap();
            assert!(addr == rsi || addr == rdi);
            seen.push(addr);
        });
        // Reads: the rest of the first line, then each; writes: each line.
        let mut expected: Vec<u64> = vec![from];
        expected.extend((1..6).map(|n| 0x1_0000 + 64 * n));
        expected.extend((0..5).map(|n| to + 64 * n));
        seen.sort_unstable();
        assert_eq!(seen, expected);
        // Again: nothing misses.
        assert_eq!(target.parts([count, from, to], false), [40]);
        assert_eq!(target.drain(|_| ()), 0);
    });
}

#[test]
fn a_fill_downwards_goes_down() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        target.site.kind = AccessKind::Fill as u8;
        target.site.size = 1;
        target.put(block::FLAGS, 1 << 10);
        assert_eq!(target.parts([200, 0, 0x8_0000], true), [1, 1, 198]);
        let mut seen = Vec::new();
        target.drain(|sample| {
            assert_eq!(sample.regs_intr.unwrap().get(5), sample.addr);
            seen.push(sample.addr.unwrap());
        });
        assert_eq!(seen, [0x8_0000, 0x7_ffff, 0x7_ffbf, 0x7_ff7f, 0x7_ff3f]);
    });
}

/// What may fault is looked up by itself, what lies behind only when that
/// has been done.
#[test]
fn a_part_of_a_string_ends_with_its_pages() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        target.site.kind = AccessKind::Fill as u8;
        target.site.size = 8;
        // Two bytes before a page's end: an element lies in two.
        let parts = target.parts([1100, 0, 0x2_0000 - 10], false);
        assert_eq!(parts, [1, 1, 511, 1, 511, 1, 74]);
        assert_eq!(target.drain(|_| ()), 139);
        // As much as there is: the first page, and no more.
        target.put(block::REST, 0);
        target.put(block::REGISTERS + 8, u64::MAX);
        target.put(block::REGISTERS + 56, 0x10_0000);
        assert_eq!(target.run(0), 0);
        assert_eq!(target.get(block::REGISTERS + 8), 1);
        assert_eq!(target.get(block::REST), u64::MAX - 1);
        assert_eq!(target.drain(|_| ()), 1);
    });
}

#[test]
fn gathers_touch_what_the_mask_lets_them() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        target.site.kind = AccessKind::Gather as u8;
        target.site.size = 8;
        // 4 elements, 32-bit indexes, times 8, mask in a vector.
        target.site.elements = 4 | 2 << 8 | 3 << 10;
        let index =
            |a: i32, b: i32| u64::from(a.cast_unsigned()) | u64::from(b.cast_unsigned()) << 32;
        target.put(block::VECTORS, index(-8, 100));
        target.put(block::VECTORS + 8, index(200, 300));
        for (n, mask) in [1_u64 << 63, 0, u64::MAX, 1 << 63].into_iter().enumerate() {
            target.put(block::VECTORS + 64 + 8 * n, mask);
        }
        assert_eq!(target.run(0x1_0000), 0);
        let mut seen = Vec::new();
        target.drain(|sample| seen.push(sample.addr.unwrap()));
        assert_eq!(seen, [0x1_0000 - 64, 0x1_0000 + 1600, 0x1_0000 + 2400]);
        // The mask register's bits 1 and 2.
        target.site.elements |= 1 << 12;
        target.site.kind = AccessKind::Scatter as u8;
        target.put(block::VECTORS + 64, 0b110);
        assert_eq!(target.run(0x5_0000), 0);
        seen.clear();
        target.drain(|sample| seen.push(sample.addr.unwrap()));
        assert_eq!(seen, [0x5_0000 + 800, 0x5_0000 + 1600]);
        // A masked store is one access, from the first to the last element.
        target.site.elements = 8 | 1 << 12;
        target.site.kind = AccessKind::MaskedStore as u8;
        target.site.size = 4;
        target.put(block::VECTORS + 64, 0b1010_0000);
        assert_eq!(target.run(0x6_0000), 0);
        seen.clear();
        target.drain(|sample| seen.push(sample.addr.unwrap()));
        assert_eq!(seen, [0x6_0000 + 20]);
    });
}

#[test]
fn a_counted_instruction_is_a_record_when_the_countdown_is_over() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::Class(Class::Retired), 5, attr());
        target.site.kind = AccessKind::None as u8;
        target.site.marks = 1 << COUNTED_FROM;
        for _ in 0..20 {
            let left = target.get(block::COUNTDOWNS) - 1;
            target.put(block::COUNTDOWNS, left);
            if left == 0 {
                assert_eq!(target.run(0), 0);
            }
        }
        assert_eq!(target.drain(|sample| assert_eq!(sample.addr, Some(0))), 4);
    });
}

#[test]
fn indirect_branches_are_found_and_entered() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        let Target { space, setup, .. } = &mut target;
        let table = setup.branches(space.words());
        for n in 0..1000 {
            assert!(branches::set(table, 0x40_0000 + n * 16, 0x7000_0000 + n));
        }
        target.put(block::BRANCH, 0x40_0010);
        let block = target.block.0.as_mut_ptr().cast::<u8>();
        // SAFETY: the block and its space are alive.
        assert_eq!(unsafe { (target.code.lookup)(block) }, 0x7000_0001);
        assert_eq!(target.get(block::BRANCHES + 8 * 0x10), 0x7000_0001);
        assert_eq!(target.get(block::BRANCHES + 8 * 0x20), 0xabc, "as set up");
        target.put(block::BRANCH, 0x40_0011);
        // SAFETY: as above.
        assert_eq!(unsafe { (target.code.lookup)(block) }, 0);
    });
}

#[test]
fn every_field_is_where_the_decoder_expects_it() {
    each(|code| {
        let all = SampleType::from_bits_retain(super::super::record::FIELDS);
        let some = all - SampleType::WEIGHT_STRUCT;
        let others = all.iter().map(|bit| all - SampleType::WEIGHT - bit);
        for fields in others.chain(some.iter().map(|bit| some - bit)) {
            let attr = Attr {
                sample_type: fields,
                sample_regs_intr: 0xff_0fff,
                sample_regs_user: 0x103,
                sample_stack_user: 40,
                ..Attr::default()
            };
            let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr);
            assert_eq!(target.run(0x1_0000), 0);
            assert_eq!(
                target.drain(|sample| {
                    if let Some(stack) = sample.stack_user {
                        assert_eq!((stack.data.len(), stack.dyn_size), (40, Some(0)), "none there");
                    }
                    if let Some(user) = sample.regs_user {
                        assert_eq!(user.get(8), Some(0x40_1000));
                    }
                    if let Some(intr) = sample.regs_intr {
                        assert_eq!((intr.get(10), intr.get(11)), (Some(0x33), Some(0x2b)));
                    }
                    if let Some(source) = sample.data_src {
                        assert!(source.is_available());
                    }
                }),
                1
            );
        }
    });
}
