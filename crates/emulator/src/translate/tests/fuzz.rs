//! Random instructions, natively and translated.

use std::collections::BTreeSet;
use std::io::Write;

use iced_x86::{Code, Decoder, DecoderOptions, Mnemonic};

use super::generator::{Generator, Random};
use super::*;

/// Caches for each kind of checks; all write the same stubs to the one zone.
fn caches() -> Vec<CodeCache> {
    let mut caches = Vec::new();
    for bmi2 in [true, false] {
        for fetch in [false, true] {
            let countdowns = if fetch { all_of(&[0]) } else { Vec::new() };
            let instrumentation = Instrumentation {
                data: true,
                fetch,
                countdowns,
                burst: fetch,
                heap: fetch,
                turns: fetch,
            };
            caches.push(cache(instrumentation, features(bmi2)));
        }
    }
    prepare_block(&caches[0], false, false);
    caches
}

fn drawn(base: &State, random: &mut Random) -> State {
    let mut start = base.clone();
    start.registers.eflags = 0x202 | random.next() & 0x8d5;
    for byte in start.data.iter_mut().step_by(3) {
        *byte = random.byte();
    }
    // x87: whether registers are in use, which is the top one, their values.
    start.vectors[4] = if random.below(2) == 0 { 0xff } else { 0 };
    start.vectors[3] = random.byte() & 0x38;
    for register in start.vectors[32..160].chunks_mut(16) {
        register[..10].fill_with(|| random.byte());
    }
    let end = start.vectors.len().min(2432);
    for at in (160..416).chain(576..832).chain(832.min(end)..end) {
        start.vectors[at] = random.byte();
    }
    // Indices that stay near: of four bytes, then of eight.
    for register in [1, 3, 5, 7, 9, 13].map(|number| 160 + 16 * number) {
        for lane in start.vectors[register..register + 16].chunks_mut(4) {
            lane[1..].fill(0);
        }
        for lane in start.vectors[register + 416..register + 432].chunks_mut(4) {
            lane[1..].fill(0);
        }
    }
    for register in [3, 9].map(|number| 160 + 16 * number) {
        for lane in start.vectors[register..register + 16].chunks_mut(8) {
            lane[1..].fill(0);
        }
    }
    start
}

/// Whether what a program does natively depends on what is in the memory that
/// is not its own but the translator's, or changes that.
fn reaches_the_harness(child: &Child, start: &State) -> bool {
    let [first, second] = [0x5a, 0xa5].map(|fill| {
        let all = sys::memory(sys::LOG, sys::ENGINE_LEN);
        all.fill(fill);
        let (signal, state) = run_native(child, start);
        let changed = sys::memory(sys::LOG, sys::ENGINE_LEN).iter().any(|&byte| byte != fill);
        (signal, state, changed)
    });
    let differ = first.0 != second.0 || difference(&first.1, &second.1).is_some();
    sys::memory(sys::LOG, sys::ENGINE_LEN).fill(0);
    differ || first.2 || second.2
}

fn told(code: &[u8]) -> String {
    let mut text = String::new();
    for one in Decoder::with_ip(64, code, sys::CODE, DecoderOptions::NONE) {
        let at = usize::try_from(one.ip() - sys::CODE).unwrap();
        let bytes = &code[at..(at + one.len()).min(code.len())];
        text += &format!("  {:#x}: {:?} {bytes:02x?}\n", one.ip(), one.code());
    }
    text
}

/// The instructions before the one where it ended.
fn reached(codes: &mut BTreeSet<Code>, code: &[u8], end: u64) {
    let all = Decoder::with_ip(64, code, sys::CODE, DecoderOptions::NONE);
    codes.extend(all.into_iter().take_while(|one| one.ip() < end).map(|one| one.code()));
}

fn number(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(otherwise, |value| value.parse().expect("a number"))
}

fn generator(child: &Child, base: &State) -> Generator {
    Generator::new(|bytes| {
        sys::memory(sys::CODE, 0x40).fill(0xcc);
        sys::memory(sys::CODE, bytes.len()).copy_from_slice(bytes);
        run_native(child, base).0 != Signal(libc::SIGILL)
    })
}

#[derive(Clone)]
struct Case {
    code: Vec<u8>,
    start: State,
    instrumentation: usize,
    fill: bool,
    record: bool,
}

enum Verdict {
    /// Where it ended, and whether in a fault.
    Same(u64, bool),
    /// The end depends on what is not the program's.
    Unfit,
    Different(String),
}

fn case(generator: &mut Generator, base: &State, number: u64) -> Case {
    let mut random = Random::new(number);
    let code = generator.sequence(&mut random);
    let which = usize::try_from(random.below(8)).unwrap();
    let instrumentation = if which < 5 { 0 } else { which % 4 };
    let (fill, record) = (random.below(4) != 0, random.below(2) == 0);
    Case { code, start: drawn(base, &mut random), instrumentation, fill, record }
}

/// Flags of arithmetic.
const STATUS: u64 = 0x8d5;

/// Whether the instruction there repeats a comparison. Where an access of one
/// faults, Intel's processors show the flags from before the instruction (SDM,
/// volume 2, REP), AMD's those of the last comparison, as the translation does.
fn repeats_a_comparison(code: &[u8], ip: u64) -> bool {
    let at = ip.checked_sub(sys::CODE).and_then(|at| usize::try_from(at).ok());
    let rest = at.and_then(|at| code.get(at..)).unwrap_or_default();
    let one = Decoder::with_ip(64, rest, ip, DecoderOptions::NONE).decode();
    let compares = matches!(
        one.mnemonic(),
        Mnemonic::Cmpsb
            | Mnemonic::Cmpsw
            | Mnemonic::Cmpsd
            | Mnemonic::Cmpsq
            | Mnemonic::Scasb
            | Mnemonic::Scasw
            | Mnemonic::Scasd
            | Mnemonic::Scasq
    );
    one.is_string_instruction() && compares && (one.has_rep_prefix() || one.has_repne_prefix())
}

fn judge(child: &Child, caches: &mut Vec<CodeCache>, case: &Case) -> Verdict {
    let cache = &mut caches[case.instrumentation];
    place(cache, &case.code);
    prepare_tables(cache, case.fill, case.record);
    let (signal, mut native) = run_native(child, &case.start);
    let end = native.registers.rip;
    let (own, translated) = run_translated(child, cache, &case.start);
    if signal.0 == libc::SIGTRAP && own.is_none() && end > sys::CODE {
        native.registers.rip -= 1;
    } else if signal.0 != libc::SIGTRAP && repeats_a_comparison(&case.code, end) {
        let flags = &mut native.registers.eflags;
        *flags = *flags & !STATUS | translated.registers.eflags & STATUS;
    }
    if translated.registers.rip >> 47 != 0 {
        // A branch to no address faults natively before it is done, here
        // behind it: docs/emulator.md says so.
        return Verdict::Unfit;
    }
    let what = match own {
        Some(own) if own != signal => {
            Some(format!("signal: native {signal:?}, translated {own:?}"))
        }
        _ => difference(&native, &translated),
    };
    let Some(what) = what else { return Verdict::Same(end, signal.0 != libc::SIGTRAP) };
    let unknowable = reaches_the_harness(child, &case.start);
    *caches = self::caches();
    if unknowable { Verdict::Unfit } else { Verdict::Different(what) }
}

/// The same difference by fewer instructions, and what it is.
fn shrunk(child: &Child, caches: &mut Vec<CodeCache>, mut case: Case, mut what: String) -> String {
    let mut from = 0;
    while from < case.code.len() {
        let rest = case.code.get(from..).unwrap_or_default();
        let ip = sys::CODE + from as u64;
        let length = Decoder::with_ip(64, rest, ip, DecoderOptions::NONE).decode().len().max(1);
        let mut less = case.clone();
        less.code.drain(from..(from + length).min(less.code.len()));
        if let Verdict::Different(other) = judge(child, caches, &less) {
            (case, what) = (less, other);
        } else {
            from += length;
        }
    }
    let (fill, record) = (case.fill, case.record);
    format!(
        "needs {}, fill {fill}, record {record}: {what}\n{}",
        case.instrumentation,
        told(&case.code)
    )
}

/// `HARDMETER_FUZZ_SEQUENCES` says how many, `HARDMETER_FUZZ_SEED` the first one.
#[test]
fn random_sequences_come_out_the_same() {
    let count = number("HARDMETER_FUZZ_SEQUENCES", 2000);
    let seed = number("HARDMETER_FUZZ_SEED", 1);
    let child = Child::start();
    let mut caches = caches();
    let mut base = start_state(&child);
    // All parts of the processor's state are in use, as far as there are any.
    base.vectors[512] |= base.vectors[464] & 0xe7;
    let mut generator = generator(&child, &base);
    let (mut done, mut faults, mut unfit, mut codes) = (0, 0, 0, BTreeSet::new());
    let mut failures = Vec::new();
    for number in seed..seed + count {
        let case = case(&mut generator, &base, number);
        done += 1;
        match judge(&child, &mut caches, &case) {
            Verdict::Same(end, fault) => {
                reached(&mut codes, &case.code, end);
                faults += u64::from(fault);
            }
            Verdict::Unfit => unfit += 1,
            Verdict::Different(what) => {
                let text = shrunk(&child, &mut caches, case, what);
                failures.push(format!("sequence {number}, {text}"));
            }
        }
        if failures.len() > 10 {
            break;
        }
    }
    let known = generator.known();
    let text = format!(
        "{done} sequences from {seed}: {faults} end in a fault, {unfit} cannot be compared, {} different \
         instructions were executed; known: {known:?}",
        codes.len()
    );
    writeln!(std::io::stderr(), "{text}").unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let enough = faults < count * 9 / 10 && unfit < count / 100 && codes.len() > 800;
    assert!(count < 1000 || enough, "{text}");
}
