//! Copies of the stack in records.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::*;

const PAGE: usize = 4096;

/// Two pages of numbers, behind which nothing is mapped: the address of the first.
fn pages_before_a_hole() -> u64 {
    let flags = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping.
    let map = unsafe { mmap_anonymous(std::ptr::null_mut(), 3 * PAGE, flags, MapFlags::PRIVATE) };
    let map = map.unwrap().cast::<u8>();
    for word in 0..2 * PAGE / 8 {
        // SAFETY: within the first two pages.
        let place = unsafe { map.cast::<u64>().add(word) };
        // SAFETY: it is ours.
        unsafe { place.write(word.try_into().unwrap()) };
    }
    // SAFETY: within the mapping.
    let third = unsafe { map.add(2 * PAGE) };
    // SAFETY: it is ours, and nothing refers to it.
    unsafe { munmap(third.cast(), PAGE) }.unwrap();
    map.addr().try_into().unwrap()
}

#[test]
fn the_stack_is_copied_as_far_as_it_goes() {
    let stack = pages_before_a_hole();
    let attr = Attr {
        sample_type: SampleType::IP | SampleType::REGS_USER | SampleType::STACK_USER,
        sample_regs_user: 1 << 7,
        sample_stack_user: 5000,
        ..Attr::default()
    };
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr.clone());
        // So that one of the copies lies at the end and at the begin of the ring's data.
        for (turn, (below, real)) in [(8192, 5000), (5000, 5000), (4096, 4096), (8, 8), (0, 0)]
            .into_iter()
            .cycle()
            .take(20)
            .enumerate()
        {
            let top = stack + 2 * 4096 - below;
            target.put(block::REGISTERS + 8 * 4, top);
            let address = 0x1_0000 + 64 * u64::try_from(turn).unwrap();
            assert_eq!(target.run(address), 0);
            let records = target.drain(|sample| {
                assert_eq!(sample.regs_user.unwrap().get(7), Some(top));
                let copy = sample.stack_user.unwrap();
                assert_eq!((copy.data.len(), copy.dyn_size), (5000, Some(real)));
                let words = copy.data.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
                let first = (top - stack) / 8;
                let expected = (0..625).map(|at| if at * 8 < real { first + at } else { 0 });
                assert!(words.eq(expected), "{below} bytes below the end");
            });
            assert_eq!(records, 1);
        }
    });
}

#[test]
fn a_record_is_never_longer_than_its_header_can_tell() {
    let stack = pages_before_a_hole();
    let attr = Attr {
        sample_type: SampleType::IP | SampleType::STACK_USER,
        sample_stack_user: 65_528,
        ..Attr::default()
    };
    assert!(EventSetup::new(EmulatedEvent::L1DataMiss, 1, &attr, 1).is_ok());
    let attr = Attr { sample_stack_user: 28_000, ..attr };
    each(|code| {
        let mut target = Target::new(code, EmulatedEvent::L1DataMiss, 1, attr.clone());
        target.put(block::REGISTERS + 8 * 4, stack);
        assert_eq!(target.run(0x1_0000), 0);
        assert_ne!(target.run(0x2_0000), 0, "the ring has no room for a second one");
        let copied = |sample: &Sample<'_>| {
            assert_eq!(sample.stack_user.unwrap().dyn_size, Some(8192));
        };
        assert_eq!(target.drain(copied), 1);
        assert_eq!(target.record(), 0);
        assert_eq!(target.drain(copied), 1);
    });
}
