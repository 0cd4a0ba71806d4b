//! Marks of regions, as they lie in the ring.

use perfdata::region::LONGEST_NAME;
use perfdata::stream::write;
use perfdata::{RegionMark, RegionSide, Task, Time};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use super::*;

/// A page with text at its end, behind which nothing can be read: the address of
/// that end.
fn end_of_memory(text: &[u8]) -> u64 {
    let flags = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping.
    let map = unsafe { mmap_anonymous(std::ptr::null_mut(), 8192, flags, MapFlags::PRIVATE) };
    let map = map.unwrap().cast::<u8>();
    // SAFETY: within the mapping.
    let end = unsafe { map.add(4096) };
    // SAFETY: as above.
    let begin = unsafe { end.sub(text.len()) };
    // SAFETY: it is ours.
    unsafe { begin.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
    // SAFETY: nothing refers to it.
    unsafe { mprotect(end.cast(), 4096, MprotectFlags::empty()) }.unwrap();
    end.addr().try_into().unwrap()
}

fn address(text: &[u8]) -> u64 {
    text.as_ptr().addr().try_into().unwrap()
}

impl Target {
    fn mark(&mut self, side: RegionSide, name: u64) -> u64 {
        let kind = match side {
            RegionSide::Begin => AccessKind::RegionBegin,
            RegionSide::End => AccessKind::RegionEnd,
        };
        self.site.kind = kind as u8;
        self.put(block::REGISTERS + 8 * 7, name);
        let next = self.run(0);
        self.site.kind = AccessKind::Load as u8;
        next
    }

    fn take(&mut self) -> Vec<u8> {
        let load = |words: &[AtomicU64], at: usize| words[at / 8].load(Ordering::Relaxed);
        let head = load(self.ring.words(), HEAD);
        let tail = load(self.ring.words(), TAIL);
        let data = &self.ring.bytes()[4096..];
        let taken = (tail..head).map(|at| data[usize::try_from(at).unwrap() % RING]).collect();
        self.ring.words()[TAIL / 8].store(head, Ordering::Relaxed);
        taken
    }
}

fn written(time: u64, side: RegionSide, name: &[u8]) -> Vec<u8> {
    let task = Task { pid: Pid(100), tid: Tid(101) };
    let mark = RegionMark { time: Time(time), task, side, name };
    let mut bytes = Vec::new();
    write::region(77, &mark, ByteOrder::Little, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_mark_is_what_a_stream_has() {
    let long = [b'x'; 300];
    let end = end_of_memory(b"last\0");
    let names: [(u64, &[u8]); 6] = [
        (address(b"sweep\0"), b"sweep"),
        (address(b"eight by\0"), b"eight by"),
        (address(&long), &long[..LONGEST_NAME]),
        (end - 5, b"last"),
        (end - 2, b"t"),
        (address(b"\xff/ \xc3\0"), b"\xff/ \xc3"),
    ];
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        for (time, (at, name)) in (1..).zip(names.into_iter().cycle().take(500)) {
            let side = if time % 2 == 0 { RegionSide::Begin } else { RegionSide::End };
            assert_eq!(target.mark(side, at), 0);
            assert_eq!(target.take(), written(time, side, name));
        }
        for at in [0, address(b"\0")] {
            let time =
                target.ring.words()[super::super::super::ring::TIME / 8].load(Ordering::Relaxed);
            assert_eq!(target.mark(RegionSide::End, at), 0);
            assert_eq!(target.take(), written(time + 1, RegionSide::End, b""));
        }
    });
}

#[test]
fn what_has_no_name_is_no_mark() {
    let end = end_of_memory(b"no end");
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        for at in [0, address(b"\0"), end - 6, end, 1, 0xdead_beef_0000_0000, u64::MAX, 1 << 63] {
            assert_eq!(target.mark(RegionSide::Begin, at), 0);
        }
        for at in [end - 6, end, 1, 0xdead_beef_0000_0000, u64::MAX, 1 << 63] {
            assert_eq!(target.mark(RegionSide::End, at), 0);
        }
        assert_eq!(target.take(), []);
        let words = target.block.words();
        assert!(!target.setup.give_up_mark(words), "none is due");
    });
}

#[test]
fn a_mark_that_finds_no_room_is_due_until_there_is_some() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        let name = address(b"sweep\0");
        let mut marks = 0;
        while target.mark(RegionSide::Begin, name) == 0 {
            marks += 1;
        }
        assert_eq!(marks, RING / 72);
        assert_eq!(target.get(block::EXIT), ExitReason::RingFull as u64);
        assert!(target.setup.has_mark(target.block.words()));
        target.site.kind = AccessKind::RegionBegin as u8;
        assert_ne!(target.record(), 0, "there is none yet");
        assert_eq!(target.take().len(), marks * 72);
        assert_eq!(target.record(), 0);
        assert_eq!(target.take().len(), 72);
        assert!(!target.setup.has_mark(target.block.words()));
    });
}

/// Somebody else reads the name where a filter judges system calls.
#[test]
fn a_name_comes_from_outside_where_calls_are_judged() {
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr());
        target.setup.run_token(target.space.words()).wait_slot(0).filter(true);
        assert_eq!(target.mark(RegionSide::End, 0), 0, "there is nothing to read");
        assert_eq!(target.take().len(), 64);
        for (told, name) in
            [(b"sweep\0\0\0then".as_slice(), Some(b"sweep".as_slice())), (b"", None)]
        {
            assert_ne!(target.mark(RegionSide::Begin, 0x1234), 0);
            assert_eq!(target.get(block::EXIT), ExitReason::Name as u64);
            let setup = target.setup.clone();
            setup.put_name(target.block.words(), told);
            assert_eq!(target.get(block::EXIT), ExitReason::RingFull as u64);
            target.site.kind = AccessKind::RegionBegin as u8;
            assert_eq!(target.record(), 0);
            let expected = name.map(|name| written(2, RegionSide::Begin, name));
            assert_eq!(target.take(), expected.unwrap_or_default());
        }
    });
}
