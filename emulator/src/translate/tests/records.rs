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
