//! The loops, in assembly: what the compiler makes of Rust has no addresses
//! that are known beforehand.
//!
//! Each puts [`COOKIE`](crate::ebs::selftest::truth::COOKIE) into r9 first and leaves it there, so that a
//! record's registers can be judged wherever in the loop they were taken.
//! The register that holds an address is not the one that a load writes: PEBS
//! shows registers after the instruction.

use super::{Circle, Region};
use std::arch::global_asm;
use std::ops::Range;

global_asm!(
    r#"
    .pushsection .text.hardmeter_selftest, "ax", @progbits

    # A label that other parts of this program can name, and nobody else.
    .macro known name
    .globl \name
    .hidden \name
    \name:
    .endm

    # rdi: first address, rsi: count, rdx: stride, rcx: passes
    .p2align 6
    known hm_walk
    mov r9d, 0x5e1f7e57
    mov r10, rdi
    mov r8, rcx
    xor eax, eax
3:
    mov rdi, r10
    mov r11, rsi
2:
    known hm_walk_load
    mov rcx, [rdi]
    known hm_walk_next
    add rax, rcx
    add rdi, rdx
    dec r11
    jnz 2b
    dec r8
    jnz 3b
    ret
    known hm_walk_end

    # rdi: first address, rsi: rows, rdx: bytes of a row, rcx: passes;
    # eight columns of eight bytes
    .p2align 6
    known hm_columns
    mov r9d, 0x5e1f7e57
4:
    mov r8d, 8
3:
    mov r10, rdi
    mov r11, rsi
2:
    known hm_columns_load
    mov rax, [r10]
    known hm_columns_next
    add r10, rdx
    dec r11
    jnz 2b
    add rdi, 8
    dec r8d
    jnz 3b
    sub rdi, 64
    dec rcx
    jnz 4b
    ret
    known hm_columns_end

    # rdi: first node, rsi: count
    .p2align 6
    known hm_chase
    mov r9d, 0x5e1f7e57
2:
    known hm_chase_load
    mov rax, [rdi + 8]
    known hm_chase_next
    mov rdi, rax
    dec rsi
    jnz 2b
    ret
    known hm_chase_end

    # rdi: first address, rsi: count, rdx: stride, rcx: passes
    .p2align 6
    known hm_stores
    mov r9d, 0x5e1f7e57
    mov r10, rdi
3:
    mov rdi, r10
    mov r11, rsi
2:
    known hm_stores_store
    mov [rdi], r11
    known hm_stores_next
    add rdi, rdx
    dec r11
    jnz 2b
    dec rcx
    jnz 3b
    ret
    known hm_stores_end

    # rdi: address, rsi: count
    .p2align 6
    known hm_blocked
    mov r9d, 0x5e1f7e57
2:
    mov byte ptr [rdi + 1], sil
    known hm_blocked_load
    mov rcx, [rdi]
    known hm_blocked_next
    dec rsi
    jnz 2b
    ret
    known hm_blocked_end

    # rsi: count; bits of a linear congruential generator decide
    .p2align 6
    known hm_branches
    mov r9d, 0x5e1f7e57
    movabs r8, 6364136223846793005
    mov rax, r8
    xor ecx, ecx
2:
    imul rax, r8
    add rax, r9
    bt rax, 60
    known hm_branches_branch
    jc 3f
    known hm_branches_next
    inc rcx
3:
    dec rsi
    jnz 2b
    ret
    known hm_branches_end

    # rsi: count, of each of three loops
    .p2align 6
    known hm_compute
    mov r9d, 0x5e1f7e57
    xorps xmm0, xmm0
    xorps xmm1, xmm1
    xorps xmm2, xmm2
    xorps xmm3, xmm3
    xorps xmm4, xmm4
    xorps xmm5, xmm5
    xorps xmm6, xmm6
    xorps xmm7, xmm7
    mov rcx, rsi
2:
    known hm_compute_packed_sp
    addps xmm0, xmm1
    known hm_compute_packed_dp
    addpd xmm2, xmm3
    known hm_compute_scalar_sp
    addss xmm4, xmm5
    known hm_compute_scalar_dp
    addsd xmm6, xmm7
    known hm_compute_simd
    paddd xmm8, xmm9
    known hm_compute_move
    movaps xmm10, xmm11
    known hm_compute_dec
    dec rcx
    known hm_compute_jnz
    jnz 2b
    known hm_compute_between
    mov rcx, rsi
3:
    known hm_compute_mmx
    paddw mm0, mm1
    known hm_compute_mmx_dec
    dec rcx
    known hm_compute_mmx_jnz
    jnz 3b
    known hm_compute_emms
    emms
    fld1
    mov rcx, rsi
4:
    known hm_compute_x87
    .byte 0xd8, 0xc8 # fmul st, st(0)
    known hm_compute_x87_dec
    dec rcx
    known hm_compute_x87_jnz
    jnz 4b
    known hm_compute_last
    .byte 0xdd, 0xd8 # fstp st(0)
    ret
    known hm_compute_end

    # rsi: count of getppid(2)
    .p2align 6
    known hm_calls
    mov r9d, 0x5e1f7e57
2:
    mov eax, 110
    known hm_calls_call
    syscall
    known hm_calls_next
    dec rsi
    jnz 2b
    ret
    known hm_calls_end

    # rdi: word, rsi: value that gives the turn, rdx: value that hands it on,
    # rcx: count; after 200 looks sched_yield(2), for machines with one CPU
    .p2align 6
    known hm_turns
    mov r9d, 0x5e1f7e57
    mov r10, rcx
3:
    mov r8d, 200
2:
    known hm_turns_load
    mov rax, [rdi]
    known hm_turns_next
    cmp rax, rsi
    je 4f
    pause
    dec r8d
    jnz 2b
    mov eax, 24
    syscall
    jmp 3b
4:
    mov [rdi], rdx
    dec r10
    jnz 3b
    ret
    known hm_turns_end

    .purgem known
    .popsection
"#
);

/// An instruction of a loop and the one after it.
#[derive(Clone, Copy, Debug)]
pub(in crate::ebs::selftest) struct Label {
    pub(in crate::ebs::selftest) name: &'static str,
    at: fn() -> *const u8,
    next: fn() -> *const u8,
}

impl Label {
    pub(in crate::ebs::selftest) fn at(&self) -> u64 {
        (self.at)().addr() as u64
    }

    pub(in crate::ebs::selftest) fn next(&self) -> u64 {
        (self.next)().addr() as u64
    }
}

/// What a loop touches from an address on, bytes at most: eight columns.
const REACH: u64 = 64;

#[derive(Clone, Copy, Debug)]
pub(in crate::ebs::selftest) struct Path {
    /// The first, bytes from the start of its memory.
    pub(in crate::ebs::selftest) offset: u64,
    pub(in crate::ebs::selftest) count: u64,
    pub(in crate::ebs::selftest) stride: u64,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::ebs::selftest) struct Loop {
    start: fn() -> *const u8,
    end: fn() -> *const u8,
    pub(in crate::ebs::selftest) labels: &'static [Label],
    /// Its arguments are an address and what goes with it.
    code: unsafe extern "sysv64" fn(u64, u64, u64, u64) -> u64,
}

impl Loop {
    pub(in crate::ebs::selftest) fn code(&self) -> Range<u64> {
        (self.start)().addr() as u64..(self.end)().addr() as u64
    }

    /// Runs it on registers alone, `count` times.
    pub(in crate::ebs::selftest) fn run(&self, count: u64) {
        assert!(!self.takes_memory(), "this loop needs memory to run on");
        // SAFETY: it reads and writes no memory; it ends after `count` times,
        // and keeps the registers that the ABI wants kept.
        unsafe { (self.code)(0, count.max(1), 0, 0) };
    }

    pub(in crate::ebs::selftest) fn run_on(&self, region: &mut Region, path: Path, passes: u64) {
        let Path { offset, count, stride } = path;
        assert!(self.code().start != CHASE.code().start, "a chase needs a circle");
        let reach = (count.max(1) - 1).saturating_mul(stride).saturating_add(offset);
        let reach = reach.saturating_add(REACH);
        assert!(reach <= region.bytes(), "{reach} bytes of {}", region.bytes());
        // SAFETY: all that it touches is in the region, which is ours alone:
        // REACH bytes at most from each address on, as was just checked.
        unsafe { (self.code)(region.start() + offset, count.max(1), stride, passes.max(1)) };
    }

    pub(in crate::ebs::selftest) fn run_along(circle: &Circle, count: u64) {
        // SAFETY: it reads 16 bytes from each node on, and each node of a
        // circle names another one of it, all within its region.
        unsafe { (CHASE.code)(circle.first(), count.max(1), 0, 0) };
    }

    /// Waits `count` times for its turn at the first word of a region, and
    /// hands it on, while another thread does the same with the values
    /// changed. `word` is the start of a region that is never given back.
    pub(in crate::ebs::selftest) fn take_turns(word: u64, mine: u64, theirs: u64, count: u64) {
        // SAFETY: the word is the first of a region that is there until the
        // process ends; aligned words of 8 bytes are read and written whole,
        // in assembly, of which the compiler assumes nothing.
        unsafe { (TURNS.code)(word, mine, theirs, count.max(1)) };
    }

    fn takes_memory(&self) -> bool {
        let alone = [&BRANCHES, &COMPUTE, &CALLS];
        !alone.iter().any(|other| other.code().start == self.code().start)
    }
}

macro_rules! symbols {
    ($($name:ident = $symbol:literal;)*) => {
        unsafe extern "C" {
            $(#[link_name = $symbol] static $name: u8;)*
        }
    };
}

macro_rules! loops {
    ($($(#[$doc:meta])* $loop:ident: $code:ident = $symbol:literal .. $end:ident
        [$($name:literal: $at:ident .. $next:ident),* $(,)?];)*) => {
        unsafe extern "sysv64" {
            $(#[link_name = $symbol] fn $code(a: u64, b: u64, c: u64, d: u64) -> u64;)*
        }
        $(
            $(#[$doc])*
            pub(in crate::ebs::selftest) static $loop: Loop = Loop {
                start: || $code as *const u8,
                end: || &raw const $end,
                labels: &[$(Label {
                    name: $name,
                    at: || &raw const $at,
                    next: || &raw const $next,
                }),*],
                code: $code,
            };
        )*
    };
}

symbols! {
    WALK_LOAD = "hm_walk_load"; WALK_NEXT = "hm_walk_next"; WALK_END = "hm_walk_end";
    COLUMNS_LOAD = "hm_columns_load"; COLUMNS_NEXT = "hm_columns_next";
    COLUMNS_END = "hm_columns_end";
    CHASE_LOAD = "hm_chase_load"; CHASE_NEXT = "hm_chase_next"; CHASE_END = "hm_chase_end";
    STORES_STORE = "hm_stores_store"; STORES_NEXT = "hm_stores_next";
    STORES_END = "hm_stores_end";
    BLOCKED_LOAD = "hm_blocked_load"; BLOCKED_NEXT = "hm_blocked_next";
    BLOCKED_END = "hm_blocked_end";
    BRANCHES_BRANCH = "hm_branches_branch"; BRANCHES_NEXT = "hm_branches_next";
    BRANCHES_END = "hm_branches_end";
    PACKED_SP = "hm_compute_packed_sp"; PACKED_DP = "hm_compute_packed_dp";
    SCALAR_SP = "hm_compute_scalar_sp"; SCALAR_DP = "hm_compute_scalar_dp";
    SIMD = "hm_compute_simd"; MOVE = "hm_compute_move"; DEC = "hm_compute_dec";
    JNZ = "hm_compute_jnz"; BETWEEN = "hm_compute_between"; MMX = "hm_compute_mmx";
    MMX_DEC = "hm_compute_mmx_dec"; MMX_JNZ = "hm_compute_mmx_jnz"; EMMS = "hm_compute_emms";
    X87 = "hm_compute_x87"; X87_DEC = "hm_compute_x87_dec"; X87_JNZ = "hm_compute_x87_jnz";
    LAST = "hm_compute_last"; COMPUTE_END = "hm_compute_end";
    CALLS_CALL = "hm_calls_call"; CALLS_NEXT = "hm_calls_next"; CALLS_END = "hm_calls_end";
    TURNS_LOAD = "hm_turns_load"; TURNS_NEXT = "hm_turns_next"; TURNS_END = "hm_turns_end";
}

loops! {
    /// Loads at a stride.
    WALK: walk = "hm_walk" .. WALK_END ["load": WALK_LOAD .. WALK_NEXT];
    /// Loads of a table by columns.
    COLUMNS: columns = "hm_columns" .. COLUMNS_END ["load": COLUMNS_LOAD .. COLUMNS_NEXT];
    /// Loads each of which gives the address of the next.
    CHASE: chase = "hm_chase" .. CHASE_END ["load": CHASE_LOAD .. CHASE_NEXT];
    /// Stores at a stride.
    STORES: stores = "hm_stores" .. STORES_END ["store": STORES_STORE .. STORES_NEXT];
    /// Loads of eight bytes of which one was just stored.
    BLOCKED: blocked = "hm_blocked" .. BLOCKED_END ["load": BLOCKED_LOAD .. BLOCKED_NEXT];
    /// Branches that nothing can foresee.
    BRANCHES: branches = "hm_branches" .. BRANCHES_END
        ["branch": BRANCHES_BRANCH .. BRANCHES_NEXT];
    /// One instruction of each class that computes.
    COMPUTE: compute = "hm_compute" .. COMPUTE_END [
        "packed_sp": PACKED_SP .. PACKED_DP, "packed_dp": PACKED_DP .. SCALAR_SP,
        "scalar_sp": SCALAR_SP .. SCALAR_DP, "scalar_dp": SCALAR_DP .. SIMD,
        "simd": SIMD .. MOVE, "move": MOVE .. DEC, "dec": DEC .. JNZ, "jnz": JNZ .. BETWEEN,
        "mmx": MMX .. MMX_DEC, "mmx_dec": MMX_DEC .. MMX_JNZ, "mmx_jnz": MMX_JNZ .. EMMS,
        "x87": X87 .. X87_DEC, "x87_dec": X87_DEC .. X87_JNZ, "x87_jnz": X87_JNZ .. LAST,
    ];
    /// System calls.
    CALLS: calls = "hm_calls" .. CALLS_END ["call": CALLS_CALL .. CALLS_NEXT];
    /// A word that two threads hand to each other.
    TURNS: turns = "hm_turns" .. TURNS_END ["load": TURNS_LOAD .. TURNS_NEXT];
}
