//! What each zone begins with: the way from translated code to the runtime
//! and back.

use super::assembler::{Assembler, low32};
use super::register::{Gpr, R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI, RSP};
use super::settings::RuntimeAddresses;
use super::stop;
use crate::block;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stubs {
    /// The slow path of an access: rax = its site, rcx = the address, the
    /// program's rax and rcx in their slots.
    pub(crate) slow: u64,
    /// Behind the instructions that set SITE and RESUME.
    pub(crate) entered: u64,
    /// An indirect branch to what the table does not have: the target in
    /// BRANCH, the program's rax and rcx in their slots.
    pub(crate) miss: u64,
    /// Behind the instructions that set SITE and RESUME.
    pub(crate) missed: u64,
    /// BURST is below 0 at the head of the block that BRANCH and TURN tell;
    /// the program's rax and rcx in their slots.
    pub(crate) turn: u64,
    /// Behind the instructions that set SITE and RESUME.
    pub(crate) turned: u64,
    /// Where a lookup's slow path goes on.
    pub(crate) tail: u64,
    /// A breakpoint alone.
    pub(crate) boundary: u64,
    pub(crate) end: u64,
}

const SAVED: [Gpr; 7] = [RDX, RSI, RDI, R8, R9, R10, R11];
/// What else a record shows: rbx, rbp, r12 to r15.
const KEPT: [Gpr; 6] = [Gpr(3), Gpr(5), Gpr(12), Gpr(13), Gpr(14), Gpr(15)];

pub(crate) fn write(code: &mut Assembler, runtime: &RuntimeAddresses) -> Stubs {
    let slow = code.here();
    // prefetcht0 [rcx]: what the program is about to touch comes in while the
    // model works. Never faults, whatever the address.
    code.put(&[0x0f, 0x18, 0x09]);
    code.store(block::SITE, RAX);
    code.store(block::ADDRESS, RCX);
    code.put(&[0x48, 0x8b, 0x40, 0x08]); // mov rax, [rax + 8]
    code.store(block::RESUME, RAX);
    let entered = code.here();
    enter(code, runtime);
    code.copy(RSI, RCX);
    call(code, runtime.quick);
    code.put(&[0x48, 0x85, 0xc0, 0x0f, 0x84]); // test rax, rax; je rest
    let rest = code.bytes.len();
    code.u32(0);
    let back = code.here();
    leave(code, runtime);
    code.close_near(rest);
    access(code, runtime, back);

    let miss = lookup_stub(code, runtime, runtime.lookup);
    let turn = lookup_stub(code, runtime, runtime.turn);
    let tail = code.here();
    for way in [&miss, &turn] {
        let distance = code.bytes.len() - way.to_tail - 4;
        code.patch32(way.to_tail, low32(distance as u64));
    }
    code.load(RCX, block::HOST);
    code.put(&[0xe3, 0]);
    let unknown = code.bytes.len() - 1;
    code.load(RCX, block::BRANCH);
    code.jump_slot(block::HOST);
    code.close_short(unknown);
    code.load(RAX, RAX.slot());
    code.load(RCX, RCX.slot());
    stop::write(code, stop::INDIRECT, 0, 0);
    let boundary = code.here();
    stop::write(code, stop::BOUNDARY, 0, 0);
    code.align(64);
    Stubs {
        slow,
        entered,
        miss: miss.start,
        missed: miss.set,
        turn: turn.start,
        turned: turn.set,
        tail,
        boundary,
        end: code.here(),
    }
}

/// The way to the runtime for where an address of the program lies.
struct LookupStub {
    start: u64,
    /// SITE and RESUME are set.
    set: u64,
    to_tail: usize,
}

fn lookup_stub(code: &mut Assembler, runtime: &RuntimeAddresses, function: u64) -> LookupStub {
    code.align(16);
    let start = code.here();
    code.store_value(block::SITE, 0);
    code.put(&[0x48, 0x8d, 0x0d]); // lea rcx, [tail]
    let to_tail = code.bytes.len();
    code.u32(0);
    code.store(block::RESUME, RCX);
    let set = code.here();
    enter(code, runtime);
    if function == runtime.turn {
        // Compilers copy with string instructions, which DF must not turn.
        code.put(&[0x9c, 0x65, 0x8f, 0x04, 0x25]); // pushfq; pop gs:[FLAGS]
        code.u32(low32(block::FLAGS as u64));
        code.byte(0xfc); // cld
        call(code, function);
        code.put(&[0x65, 0xf6, 0x04, 0x25]); // test byte gs:[FLAGS + 1], 4
        code.u32(low32(block::FLAGS as u64 + 1));
        code.put(&[4, 0x74, 1, 0xfd]); // je over; std
    } else {
        call(code, function);
    }
    code.store(block::HOST, RAX);
    leave(code, runtime);
    LookupStub { start, set, to_tail }
}

/// Saves what the runtime may change, goes to its stack; the block is its
/// argument. DF stays as it is.
fn enter(code: &mut Assembler, runtime: &RuntimeAddresses) {
    code.flags_out();
    for register in SAVED {
        code.store(register.slot(), register);
    }
    code.store(RSP.slot(), RSP);
    code.load(RSP, block::STACK);
    code.byte(0x50); // push rax
    let vectors = vectors(runtime);
    code.add(RSP, -room(&vectors));
    for (place, &vector) in vectors.iter().enumerate() {
        movups(code, 0x11, vector, place);
    }
    code.load(RDI, block::SELF);
}

/// Bytes below the saved flags.
fn room(vectors: &[u8]) -> i32 {
    8 + 16 * i32::try_from(vectors.len()).unwrap_or(16)
}

fn call(code: &mut Assembler, function: u64) {
    code.immediate(RAX, function);
    code.put(&[0xff, 0xd0]);
}

/// Undoes `enter`, goes on at RESUME.
fn leave(code: &mut Assembler, runtime: &RuntimeAddresses) {
    let vectors = vectors(runtime);
    for (place, &vector) in vectors.iter().enumerate() {
        movups(code, 0x10, vector, place);
    }
    code.add(RSP, room(&vectors));
    code.byte(0x58); // pop rax
    code.flags_in();
    for register in SAVED {
        code.load(register, register.slot());
    }
    code.load(RCX, RCX.slot());
    code.load(RAX, RAX.slot());
    code.load(RSP, RSP.slot());
    code.jump_slot(block::RESUME);
}

/// What `quick` left: all flags become known, a record may be due, or the
/// runtime has a reason to stop.
fn access(code: &mut Assembler, runtime: &RuntimeAddresses, back: u64) {
    let flags = block::FLAGS as u64;
    code.put(&[0x48, 0x8b, 0x84, 0x24]); // mov rax, [rsp + room]
    code.put(&room(&vectors(runtime)).to_le_bytes());
    code.flags_in();
    code.put(&[0x9c, 0x65, 0x8f, 0x04, 0x25]); // pushfq; pop gs:[FLAGS]
    code.u32(low32(flags));
    code.byte(0xfc); // cld
    code.load(RDI, block::SELF);
    call(code, runtime.access);
    code.put(&[0x48, 0x83, 0xf8, 1, 0x77, 0]); // cmp rax, 1; ja exit
    let exit = code.bytes.len() - 1;
    code.put(&[0x0f, 0x82]); // jb done
    let done = code.bytes.len();
    code.u32(0);
    for register in KEPT {
        code.store(register.slot(), register);
    }
    let again = code.here();
    code.load(RDI, block::SELF);
    call(code, runtime.record);
    code.put(&[0x48, 0x85, 0xc0, 0x74, 0]); // test rax, rax; je written
    let written = code.bytes.len() - 1;
    code.close_short(exit);
    stop::write(code, stop::RUNTIME, 0, 0);
    // cmp qword gs:[EXIT], RingFull
    code.put(&[0x65, 0x48, 0x83, 0x3c, 0x25]);
    code.u32(low32(block::EXIT as u64));
    code.byte(6);
    code.put(&[0x0f, 0x84]);
    let relative = super::assembler::reach(code.here() + 4, again).unwrap_or(0);
    code.put(&relative.to_le_bytes());
    code.close_short(written);
    code.close_near(done);
    // test byte gs:[FLAGS + 1], 4: the direction flag
    code.put(&[0x65, 0xf6, 0x04, 0x25]);
    code.u32(low32(flags + 1));
    code.byte(4);
    code.put(&[0x74, 1, 0xfd]); // je over; std
    code.jump(back);
}

fn vectors(runtime: &RuntimeAddresses) -> Vec<u8> {
    (0..16).filter(|&vector| runtime.vectors >> vector & 1 == 1).collect()
}

/// movups between an xmm register and its place on the runtime's stack.
fn movups(code: &mut Assembler, opcode: u8, vector: u8, place: usize) {
    if vector >= 8 {
        code.byte(0x44);
    }
    code.put(&[0x0f, opcode, 0x84 | (vector & 7) << 3, 0x24]);
    code.u32(low32(16 * place as u64));
}
