//! Records show the registers and flags before each access.

use super::*;

#[test]
fn registers_and_flags_are_those_before() {
    // cmp rax, rcx; mov rcx, [rbx]; add [rbx+rdx], rcx; push rcx; pop rax;
    // repe cmpsb; cmp eax, eax; lock inc qword [rbx]; call next; next: pop r11
    let code = [
        0x48, 0x39, 0xc8, 0x48, 0x8b, 0x0b, 0x48, 0x01, 0x0c, 0x13, 0x51, 0x58, 0xb9, 4, 0, 0, 0,
        0xf3, 0xa6, 0x39, 0xc0, 0xf0, 0x48, 0xff, 0x03, 0xe8, 0, 0, 0, 0, 0x41, 0x5b,
    ];
    let child = Child::start();
    for bmi2 in [true, false] {
        let mut cache = cache(needs_data(), features(bmi2));
        prepare_block(&cache, false, true);
        place(&mut cache, &code);
        let start = start_state(&child);
        apply(&child, &start);
        let mut steps = Vec::new();
        while (child.registers().rip - sys::CODE) < code.len() as u64 {
            steps.push(child.registers());
            child.step();
        }
        run_translated(&child, &mut cache, &start);
        let count = usize::try_from(sys::word(sys::LOG)).unwrap();
        assert!(count > 8, "{count} records");
        let mut from = 0;
        for entry in 0..count {
            let at = sys::LOG + 8 + (entry * sys::ENTRY * 8) as u64;
            let ip = sys::word(at);
            let found = steps[from..].iter().position(|step| {
                let mut step = *step;
                step.rip == ip
                    && (0..16).all(|number| {
                        *register_mut(&mut step, number) == sys::word(at + 32 + 8 * number as u64)
                    })
                    && (step.eflags ^ sys::word(at + 160)) & FLAGS == 0
            });
            let found = found.unwrap_or_else(|| panic!("record {entry} at {ip:#x} is of no step"));
            from += found;
        }
    }
}

/// At each address of translated code, the program's state there is one that
/// it has natively, and they follow each other as natively.
#[test]
fn every_address_tells_the_state() {
    // begin of a region; cmp rax, rcx; mov rcx, [rbx]; end of a region;
    // add [rbx+rdx], rcx; push rcx; pop rax; mov ecx, 4; repe cmpsb; lock inc qword [rbx]; call next; next: pop rax;
    // push [rbx+8]; jz over; mov r11, [r11*0+rbx]; over: mov ecx, 3; rep movsb;
    // bts [rbx], edx; lea rax, [rip+2];
    // push rax; ret; mov rcx, fs:[rdx]; mov gs:[rdx], rcx; L: dec dl; jnz L;
    // mov ecx, 3; M: inc eax; loop M
    let code = [
        0x0f, 0x1f, 0x84, 0, 1, 0x52, 0x4d, 0x48, 0x48, 0x39, 0xc8, 0x48, 0x8b, 0x0b, 0x0f, 0x1f,
        0x84, 0, 2, 0x52, 0x4d, 0x48, 0x48, 0x01, 0x0c, 0x13, 0x51, 0x58, 0xb9, 4, 0, 0, 0, 0xf3,
        0xa6, 0xf0, 0x48, 0xff, 0x03, 0xe8, 0, 0, 0, 0, 0x58, 0xff, 0x73, 0x08, 0x74, 4, 0x4e,
        0x8b, 0x1c, 0x1b, 0xb9, 3, 0, 0, 0, 0xf3, 0xa4, 0x0f, 0xab, 0x13, 0x48, 0x8d, 0x05, 2, 0,
        0, 0, 0x50, 0xc3, 0x64, 0x48, 0x8b, 0x0a, 0x65, 0x48, 0x89, 0x0a, 0xfe, 0xca, 0x75, 0xfc,
        0xb9, 3, 0, 0, 0, 0xff, 0xc0, 0xe2, 0xfc,
    ];
    let child = Child::start();
    for (bmi2, all) in [(true, true), (false, true), (true, false)] {
        let instrumentation = match all {
            true => Instrumentation {
                fetch: true,
                countdowns: all_of(&[0, 1, 5]),
                burst: true,
                ..needs_data()
            },
            false => needs_data(),
        };
        let mut cache = cache(instrumentation, features(bmi2));
        prepare_block(&cache, true, true);
        place(&mut cache, &code);
        let mut start = start_state(&child);
        start.registers.r11 = 0;
        apply(&child, &start);
        let mut steps = Vec::new();
        while (child.registers().rip - sys::CODE) <= code.len() as u64 {
            steps.push(child.registers());
            if child.registers().rip - sys::CODE == code.len() as u64 {
                break;
            }
            assert_eq!(child.step(), Signal(libc::SIGTRAP));
        }
        let mut begin = start.clone();
        begin.registers.rip = cache.translate(variant(), sys::CODE, &mut Shared).unwrap();
        begin.registers.gs_base = sys::BLOCK;
        sys::set_word(sys::BLOCK + block::FS_BASE as u64, start.registers.fs_base);
        sys::set_word(sys::BLOCK + block::GS_BASE as u64, start.registers.gs_base);
        apply(&child, &begin);
        let mut from = 0;
        let (mut known, mut done) = (0, false);
        while !done {
            let mut registers = child.registers();
            if let Some(stop) = cache.stop_at(registers.rip) {
                match stop {
                    CodeStop::Direct { target } => {
                        registers.rip = cache.translate(variant(), target, &mut Shared).unwrap();
                    }
                    CodeStop::Indirect => {
                        let target = sys::word(sys::BLOCK + block::BRANCH as u64);
                        registers.rip = cache.translate(variant(), target, &mut Shared).unwrap();
                    }
                    CodeStop::Instruction { .. } => done = true,
                    other => panic!("{other:?}"),
                }
                child.set_registers(&registers);
            }
            if let Some(location) = cache.locate(registers.rip)
                && location.phase == InstructionPhase::Before
            {
                let mut now = guest(&child, registers, location.held).registers;
                let found = steps[from..].iter().position(|step| {
                    let mut step = *step;
                    step.rip == location.ip
                        && (0..16).all(|number| {
                            *register_mut(&mut step, number) == *register_mut(&mut now, number)
                        })
                        && (step.eflags ^ now.eflags) & FLAGS == 0
                });
                let found = found.unwrap_or_else(|| {
                    panic!("bmi2 {bmi2}: at {:#x}, {location:?}: no such state", registers.rip)
                });
                // A string instruction moves all in one.
                assert!(found <= 3, "{found} steps at once");
                from += found;
                known += 1;
            }
            if !done {
                assert_eq!(child.step(), Signal(libc::SIGTRAP));
            }
        }
        assert_eq!(from, steps.len() - 1, "bmi2 {bmi2}");
        let places = if all { 3 } else { 1 };
        assert!(known > places * steps.len(), "{known} places for {} steps", steps.len());
    }
}
