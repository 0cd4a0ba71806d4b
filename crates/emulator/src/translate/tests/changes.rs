//! Code that changes, is counted, is forgotten.

use super::*;

/// Runs until a stop that the harness does not handle by itself.
fn enter(child: &Child, cache: &mut CodeCache, start: &State) {
    let mut begin = start.clone();
    begin.registers.rip = cache.translate(variant(), start.registers.rip, &mut Shared).unwrap();
    begin.registers.gs_base = sys::BLOCK;
    apply(child, &begin);
}

fn stop(child: &Child, cache: &mut CodeCache) -> CodeStop {
    loop {
        assert_eq!(child.go(), Signal(libc::SIGTRAP));
        let mut registers = child.registers();
        match cache.stop_at(registers.rip - 1).unwrap() {
            CodeStop::Direct { target } => {
                registers.rip = cache.translate(variant(), target, &mut Shared).unwrap();
                child.set_registers(&registers);
            }
            other => return other,
        }
    }
}

/// mov eax, VALUE; int3
fn answer(value: u8) -> [u8; 6] {
    [0xb8, value, 0, 0, 0, 0xcc]
}

fn set_up(instrumentation: Instrumentation) -> (Child, CodeCache, State) {
    let child = Child::start();
    let cache = cache(instrumentation, features(true));
    prepare_block(&cache, true, false);
    let start = start_state(&child);
    (child, cache, start)
}

#[test]
fn invalidated_code_is_translated_again() {
    let (child, mut cache, start) = set_up(needs_data());
    // L: call 8 bytes on; dec rcx; jnz L; ..., at 16: the answer, ret
    place(&mut cache, &[0xe8, 11, 0, 0, 0, 0x48, 0xff, 0xc9, 0x75, 0xf6, 0xcc]);
    let function = |value: u8| [0xb8, value, 0, 0, 0, 0xc3];
    sys::memory(sys::CODE + 16, 6).copy_from_slice(&function(1));
    enter(&child, &mut cache, &start);
    assert!(matches!(stop(&child, &mut cache), CodeStop::Indirect | CodeStop::Instruction { .. }));
    let (_, state) = run_translated(&child, &mut cache, &start);
    assert_eq!(state.registers.rax, 1);
    sys::memory(sys::CODE + 16, 6).copy_from_slice(&function(2));
    assert!(cache.has_code(sys::CODE + 16..sys::CODE + 17));
    let gone = cache.invalidate(sys::CODE + 17..sys::CODE + 18);
    assert_eq!(gone, [(CodeVariant::Modelled, sys::CODE + 16)]);
    assert!(!cache.has_code(sys::CODE + 16..sys::CODE + 22));
    assert!(cache.has_code(sys::CODE..sys::CODE + 5));
    let (_, state) = run_translated(&child, &mut cache, &start);
    assert_eq!(state.registers.rax, 2);
}

/// A thread's table of branches keeps the way to code that is gone.
#[test]
fn indirect_branches_to_invalidated_code_are_looked_up() {
    let (child, mut cache, start) = set_up(needs_data());
    // lea rax, [rip+7]; call rax; dec rcx; int3; at 14: the answer, ret
    place(&mut cache, &[0x48, 0x8d, 0x05, 7, 0, 0, 0, 0xff, 0xd0, 0x48, 0xff, 0xc9, 0xcc]);
    let function = |value: u8| [0xb8, value, 0, 0, 0, 0xc3];
    let at = sys::CODE + 14;
    sys::memory(at, 6).copy_from_slice(&function(1));
    for _ in 0..2 {
        let (_, state) = run_translated(&child, &mut cache, &start);
        assert_eq!(state.registers.rax, 1);
    }
    let branches = sys::BLOCK + block::BRANCHES as u64 + 8 * (at & 0xffff);
    let before = sys::word(branches);
    assert_ne!(Some(before), cache.miss(), "the table knows the function");
    sys::memory(at, 6).copy_from_slice(&function(2));
    assert_eq!(cache.invalidate(at..at + 6), [(CodeVariant::Modelled, at)]);
    sys::set_word(sys::LOG + 0xf_0000, 0);
    enter(&child, &mut cache, &start);
    assert_eq!(child.go(), Signal(libc::SIGTRAP));
    let first = cache.stop_at(child.registers().rip - 1);
    assert_eq!(first, Some(CodeStop::Indirect), "and not the dead block's breakpoint");
    assert_eq!(sys::word(sys::BLOCK + block::BRANCH as u64), at);
    let (_, state) = run_translated(&child, &mut cache, &start);
    assert_eq!(state.registers.rax, 2);
}

#[test]
fn what_runs_on_into_changed_code_finds_it_again() {
    let (child, mut cache, mut start) = set_up(needs_data());
    // L: dec rcx; jz X; mov eax, 1; jmp L; X: int3
    place(&mut cache, &[0x48, 0xff, 0xc9, 0x74, 7, 0xb8, 1, 0, 0, 0, 0xeb, 0xf4, 0xcc]);
    start.registers.rcx = 50;
    run_translated(&child, &mut cache, &start);
    sys::memory(sys::CODE + 6, 1).copy_from_slice(&[2]);
    let gone = [sys::CODE + 5, sys::CODE].map(|pc| (CodeVariant::Modelled, pc));
    assert_eq!(cache.invalidate(sys::CODE + 6..sys::CODE + 7), gone);
    enter(&child, &mut cache, &start);
    let mut stops = 0;
    loop {
        assert_eq!(child.go(), Signal(libc::SIGTRAP));
        let mut registers = child.registers();
        let Some(CodeStop::Direct { target }) = cache.stop_at(registers.rip - 1) else { break };
        registers.rip = cache.translate(variant(), target, &mut Shared).unwrap();
        child.set_registers(&registers);
        stops += 1;
    }
    assert_eq!(child.registers().rax, 2);
    assert!(stops < 4, "{stops} stops for a loop of 50");
}

#[test]
fn checked_code_notices_a_change() {
    let (child, mut cache, start) = set_up(needs_data());
    place(&mut cache, &answer(1));
    let (_, state) = run_translated(&child, &mut cache, &start);
    assert_eq!(state.registers.rax, 1);
    assert_eq!(
        cache.check_pages(sys::CODE..sys::CODE + 4096),
        [(CodeVariant::Modelled, sys::CODE)]
    );
    for value in 2..6 {
        sys::memory(sys::CODE, 6).copy_from_slice(&answer(value));
        enter(&child, &mut cache, &start);
        let found = stop(&child, &mut cache);
        if value == 2 {
            assert_eq!(found, CodeStop::Instruction { ip: sys::CODE + 5 });
        } else {
            assert_eq!(found, CodeStop::Changed { ip: sys::CODE });
            let registers = child.registers();
            assert_eq!((registers.rax, registers.rcx), (start.registers.rax, start.registers.rcx));
            cache.invalidate(sys::CODE..sys::CODE + 6);
            enter(&child, &mut cache, &start);
            assert_eq!(stop(&child, &mut cache), CodeStop::Instruction { ip: sys::CODE + 5 });
        }
        assert_eq!(child.registers().rax, u64::from(value));
    }
}

#[test]
fn a_burst_ends_when_its_instructions_are_done() {
    let instrumentation = Instrumentation { burst: true, ..needs_data() };
    let (child, mut cache, start) = set_up(instrumentation);
    // L: add rax, [rbx]; dec rcx; jnz L (five times); int3
    place(&mut cache, &[0x48, 0x03, 0x03, 0x48, 0xff, 0xc9, 0x75, 0xf8, 0xcc]);
    let burst = sys::BLOCK + block::BURST as u64;
    sys::set_word(burst, 10);
    enter(&child, &mut cache, &start);
    // Blocks of three instructions: the fourth has no room. The runtime of
    // the test changes to the other half, and adds 100 instructions.
    assert_eq!(stop(&child, &mut cache), CodeStop::Indirect);
    assert_eq!(sys::word(sys::BLOCK + block::BRANCH as u64), sys::CODE);
    assert_eq!(sys::word(sys::BLOCK + block::TURN as u64), 3);
    assert_eq!((variant(), sys::word(burst)), (CodeVariant::Bare, 1 + 100));
    let mut registers = child.registers();
    let step = sys::word(start.registers.rbx);
    let twice = start.registers.rax.wrapping_add(step).wrapping_add(step);
    let (sum, carry) = twice.overflowing_add(step);
    assert_eq!((registers.rax, registers.rcx), (sum, 2));
    assert_eq!(registers.eflags & FLAGS, u64::from(carry));
    // The other translation looks nothing up, and is entered by branches of
    // its own.
    let looked_up = sys::word(sys::LOG);
    registers.rip = cache.translate(variant(), sys::CODE, &mut Shared).unwrap();
    child.set_registers(&registers);
    assert_eq!(stop(&child, &mut cache), CodeStop::Instruction { ip: sys::CODE + 8 });
    assert_eq!(child.registers().rcx, 0);
    assert_eq!(sys::word(sys::LOG), looked_up);
    // Two blocks of three, and the breakpoint's own.
    assert_eq!(sys::word(burst), 101 - 2 * 3 - 1);
}

#[test]
fn a_full_cache_says_so_and_works_after_a_flush() {
    let (child, mut cache, start) = set_up(needs_data());
    place(&mut cache, &answer(7));
    let mut made = 0_u8;
    loop {
        match cache.translate(variant(), sys::CODE, &mut Shared) {
            Ok(_) => made = made.saturating_add(1),
            Err(error) => {
                assert!(matches!(error, crate::code_cache::TranslateError::Full { .. }));
                break;
            }
        }
        assert!(cache.used() < 16 << 20);
        cache.invalidate(sys::CODE..sys::CODE + 6);
        for _ in 0..500 {
            cache.translate(variant(), sys::CODE, &mut Shared).ok();
            cache.invalidate(sys::CODE..sys::CODE + 6);
        }
    }
    assert!(made > 10);
    cache.flush();
    let (_, state) = run_translated(&child, &mut cache, &start);
    assert_eq!(state.registers.rax, 7);
}

#[test]
fn a_call_with_a_bad_address_stops() {
    let (child, mut cache, start) = set_up(needs_data());
    // mov eax, 1 (write); mov edi, 1; xor esi, esi; mov edx, 1; syscall; int3
    place(
        &mut cache,
        &[0xb8, 1, 0, 0, 0, 0xbf, 1, 0, 0, 0, 0x31, 0xf6, 0xba, 1, 0, 0, 0, 0x0f, 0x05, 0xcc],
    );
    enter(&child, &mut cache, &start);
    let ip = sys::CODE + 17;
    let found = stop(&child, &mut cache);
    assert_eq!(found, CodeStop::BadAddress { ip, next: ip + 2 });
    assert_eq!(child.registers().rax, 0_u64.wrapping_sub(14));
    assert_eq!(sys::word(sys::BLOCK + block::EXIT_ARGUMENT as u64), 1);
    // The table keeps the call from being made.
    sys::memory(sys::BLOCK + block::SYSCALLS as u64 + 1, 1)[0] = 1;
    enter(&child, &mut cache, &start);
    assert_eq!(stop(&child, &mut cache), CodeStop::Syscall { ip, next: ip + 2 });
    assert_eq!((child.registers().rax, child.registers().rcx), (1, start.registers.rcx));
}
