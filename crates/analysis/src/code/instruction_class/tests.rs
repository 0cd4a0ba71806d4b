//! The classes against rules that look at objdump's text alone.

use super::{InstructionClass, InstructionClasses, classes, computing, decode};
use iced_x86::Mnemonic;
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

struct Listed {
    bits: u32,
    bytes: Vec<u8>,
    mnemonic: String,
    operands: String,
}

impl Listed {
    fn text(&self) -> String {
        let bytes = self.bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        format!("{bytes} {} {}", self.mnemonic, self.operands)
    }

    fn last_operand(&self) -> &str {
        let mut depth = 0;
        let comma = self.operands.char_indices().rev().find(|&(_, letter)| {
            depth += i32::from(letter == ')') - i32::from(letter == '(');
            letter == ',' && depth == 0
        });
        comma.map_or(self.operands.as_str(), |(at, _)| &self.operands[at + 1..])
    }
}

fn listed() -> Vec<Listed> {
    let files = [
        include_str!("../../../fixtures/insn_x86.csv"),
        include_str!("../../../fixtures/simd_x87.csv"),
    ];
    let mut listed = Vec::new();
    for file in files {
        let mut reader = csv::Reader::from_reader(file.as_bytes());
        for row in reader.records() {
            let row = row.unwrap();
            let bytes = &row[1];
            let byte = |at| u8::from_str_radix(&bytes[at..at + 2], 16).unwrap();
            let prefixes = ["bnd", "notrack", "lock", "rep", "repz", "repnz", "{nf}", "{evex}"];
            let mut words = row[2].split_whitespace().skip_while(|word| prefixes.contains(word));
            listed.push(Listed {
                bits: row[0].parse().unwrap(),
                bytes: (0..bytes.len()).step_by(2).map(byte).collect(),
                mnemonic: words.next().unwrap_or("").to_owned(),
                operands: words.collect::<Vec<_>>().join(" "),
            });
        }
    }
    assert!(listed.len() > 5_500, "{}", listed.len());
    listed
}

/// What the decoder does not know, and how many vectors that costs: the
/// second half of the general registers with what came with it (APX), and
/// user access to MSRs.
const UNKNOWN: [(&str, usize); 2] = [("APX", 363), ("USER_MSR", 4)];

fn extension(listed: &Listed) -> &'static str {
    let after_prefixes = listed.bytes.iter().skip_while(|byte| [0x66, 0x67].contains(*byte));
    let head: Vec<u8> = after_prefixes.copied().take(2).collect();
    let high = |number: u32| listed.operands.contains(&format!("%r{number}"));
    match head.as_slice() {
        [0xd5, _] if listed.bits == 64 => "APX",
        // EVEX, map 4: instructions that had other encodings before.
        [0x62, map] if map & 7 == 4 => "APX",
        [0x62, _] if (16..32).any(high) => "APX",
        _ if listed.mnemonic.ends_with("wrmsr") || listed.mnemonic == "urdmsr" => "USER_MSR",
        _ => "",
    }
}

#[test]
fn every_instruction_has_the_length_that_objdump_says() {
    let mut unknown: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for listed in listed() {
        let known = decode(&listed.bytes, listed.bits, 0x1000);
        match extension(&listed) {
            _ if known.is_some_and(|known| known.len() == listed.bytes.len()) => {}
            "" => wrong.push(listed.text()),
            extension => {
                assert!(known.is_none(), "taken for another instruction: {}", listed.text());
                *unknown.entry(extension).or_default() += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} {:#?}", wrong.len(), wrong);
    assert_eq!(unknown.into_iter().collect::<Vec<_>>(), UNKNOWN);
}

/// Classes by the text. None: not told by it.
fn by_text(listed: &Listed) -> Option<InstructionClass> {
    let name = listed.mnemonic.as_str();
    let vector = ["%xmm", "%ymm", "%zmm"].iter().any(|start| listed.operands.contains(start));
    let mmx = listed.operands.contains("%mm");
    if name.starts_with('f') && !["fx", "femms"].iter().any(|start| name.starts_with(start))
        || ["fxch", "fxam", "fxtract"].contains(&name)
    {
        return x87_by_text(name);
    }
    let bare = name.strip_prefix('v').unwrap_or(name);
    let to_general = bare.starts_with("cvt") && (bare.contains("2si") || bare.contains("2usi"));
    if !vector && !mmx && !to_general {
        return None;
    }
    let starts = |starts: &[&str]| starts.iter().any(|start| bare.starts_with(start));
    let rearranges = starts(&["movmsk", "movddup", "movshdup", "movsldup", "gatherpf"]);
    if !rearranges
        && (starts(&[
            "mov",
            "lddqu",
            "maskmov",
            "pmaskmov",
            "broadcast",
            "gather",
            "pgather",
            "scatter",
            "pscatter",
            "insertf",
            "inserti",
            "extract",
        ]) || starts(&["pbroadcast"]) && !starts(&["pbroadcastm"]))
    {
        return (!starts(&["scatterpf"])).then_some(InstructionClass::X87SimdMoves);
    }
    if starts(&["gatherpf"]) {
        return None;
    }
    match floating(bare) {
        Some("ps") => Some(InstructionClass::PackedSp),
        Some("pd") => Some(InstructionClass::PackedDp),
        Some("ss") => Some(InstructionClass::ScalarSp),
        Some("sd") => Some(InstructionClass::ScalarDp),
        Some(_) => None,
        None if vector => Some(InstructionClass::Mmx128),
        None => Some(InstructionClass::Mmx64),
    }
}

/// The floating-point type in a name without its leading `v`.
fn floating(bare: &str) -> Option<&'static str> {
    const TYPES: [&str; 6] = ["ps", "pd", "ss", "sd", "ph", "sh"];
    if let Some(rest) = bare.strip_prefix("cvt") {
        let (from, to) = rest.rsplit_once('2')?;
        let read = TYPES[..4].iter().find(|kind| from.ends_with(*kind));
        let written = || TYPES.iter().find(|kind| to.starts_with(*kind));
        let half = || TYPES[4..].iter().find(|kind| from.ends_with(*kind));
        return read.or_else(written).or_else(half).copied();
    }
    if ["pf", "pi2f"].iter().any(|start| bare.starts_with(start)) {
        return Some("ps");
    }
    match bare {
        "movddup" | "shuff64x2" => return Some("pd"),
        "movshdup" | "movsldup" | "shuff32x4" => return Some("ps"),
        _ => {}
    }
    let integer = bare.starts_with('p') && !bare.starts_with("perm");
    TYPES.into_iter().find(|kind| !integer && bare.ends_with(kind))
}

fn x87_by_text(name: &str) -> Option<InstructionClass> {
    const CONTROL: [&str; 20] = [
        "fnop", "fninit", "fnclex", "fincstp", "fdecstp", "ffree", "fldcw", "fnstcw", "fnstsw",
        "fldenv", "fnstenv", "fnsave", "frstor", "fwait", "fnstsw", "finit", "fclex", "fstcw",
        "fstsw", "fsave",
    ];
    const CONSTANTS: [&str; 7] = ["fld1", "fldz", "fldpi", "fldl2e", "fldl2t", "fldlg2", "fldln2"];
    const MOVES: [&str; 7] = ["fld", "fst", "fild", "fist", "fbld", "fbstp", "fxch"];
    if CONTROL.contains(&name) {
        return None;
    }
    let moves = MOVES.iter().chain(&["fcmov"]).any(|start| name.starts_with(start));
    Some(match moves && !CONSTANTS.contains(&name) {
        true => InstructionClass::X87SimdMoves,
        false => InstructionClass::X87,
    })
}

const COMPUTING: [InstructionClass; 8] = [
    InstructionClass::PackedSp,
    InstructionClass::PackedDp,
    InstructionClass::ScalarSp,
    InstructionClass::ScalarDp,
    InstructionClass::Mmx64,
    InstructionClass::Mmx128,
    InstructionClass::X87,
    InstructionClass::X87SimdMoves,
];

fn decoded() -> Vec<(Listed, InstructionClasses)> {
    let all = listed().into_iter();
    let decoded = all.filter_map(|listed| {
        let instruction = decode(&listed.bytes, listed.bits, 0x1000)?;
        let whole = instruction.len() == listed.bytes.len();
        whole.then(|| (listed, classes(&instruction)))
    });
    decoded.collect()
}

#[test]
fn computing_classes_are_those_that_the_text_tells() {
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<InstructionClass, usize> = BTreeMap::new();
    for (listed, classes) in decoded() {
        let found: Vec<_> = classes.iter().filter(|class| COMPUTING.contains(class)).collect();
        let expected = by_text(&listed);
        if found != expected.into_iter().collect::<Vec<_>>() {
            wrong.push(format!("{}: {found:?}, by its text {expected:?}", listed.text()));
        }
        found.into_iter().for_each(|class| *counts.entry(class).or_default() += 1);
    }
    assert!(wrong.is_empty(), "{} {:#?}", wrong.len(), wrong);
    // No class is tested by a handful only.
    assert!(COMPUTING.iter().all(|class| counts[class] >= 40), "{counts:?}");
}

#[test]
fn the_table_has_mnemonics_and_classes_that_there_are() {
    let known: Vec<_> =
        Mnemonic::values().map(|it| format!("{it:?}").to_ascii_lowercase()).collect();
    let mut met = BTreeSet::new();
    for (class, name) in computing::rows() {
        assert!(known.iter().any(|it| it == name), "`{name}` is not the decoder's");
        assert!(met.insert(name), "`{name}` stands there twice");
        let is_class = class.parse().is_ok_and(|class| COMPUTING.contains(&class));
        assert!(is_class || class == "none", "{class} {name}");
    }
    let tried: BTreeSet<_> = listed()
        .iter()
        .filter_map(|listed| decode(&listed.bytes, listed.bits, 0x1000))
        .map(|instruction| format!("{:?}", instruction.mnemonic()).to_ascii_lowercase())
        .collect();
    let untried: Vec<_> = met.into_iter().filter(|name| !tried.contains(*name)).collect();
    // What the lists of instructions lack.
    assert_eq!(untried, ["fstpnce", "movntsd", "movntss", "pi2fw", "vgatherqpd"]);
}

/// Reads and writes by the text. None: not told by it.
fn memory_by_text(listed: &Listed) -> Option<(bool, bool)> {
    const NOTHING: [&str; 9] = [
        "lea",
        "nop",
        "prefetch",
        "vgatherpf",
        "vscatterpf",
        "clflush",
        "clwb",
        "cldemote",
        "invlpg",
    ];
    const ON_THE_STACK: [(&str, bool, bool); 8] = [
        ("push", false, true),
        ("pop", true, false),
        ("ret", true, false),
        ("leave", true, false),
        ("enter", false, true),
        ("call", false, true),
        ("erets", true, false),
        ("eretu", true, false),
    ];
    const STRINGS: [(&str, bool, bool); 6] = [
        ("movs", true, true),
        ("cmps", true, false),
        ("stos", false, true),
        ("lods", true, false),
        ("scas", true, false),
        ("xlat", true, false),
    ];
    /// Whose last operand is written and not read.
    const STORES: [&str; 28] = [
        "mov",
        "set",
        "st",
        "vmov",
        "vst",
        "fst",
        "fist",
        "fbstp",
        "fnst",
        "fnsave",
        "kmov",
        "vpmov",
        "extractps",
        "vextract",
        "pextr",
        "vpextr",
        "vcvtps2ph",
        "vcompress",
        "vpcompress",
        "scatter",
        "vscatter",
        "vpscatter",
        "vmaskmov",
        "vpmaskmov",
        "fxsave",
        "sgdt",
        "sttilecfg",
        "tilestored",
    ];
    /// Whose last operand is read and not written.
    const READERS: [&str; 37] = [
        "cmp ",
        "cmpb ",
        "cmpl ",
        "cmpq ",
        "test",
        "bt ",
        "div",
        "idiv",
        "mul",
        "jmp",
        "fld",
        "fild",
        "fbld",
        "fadd",
        "fsub",
        "fmul",
        "fdiv",
        "fcom",
        "fiadd",
        "fisub",
        "fimul",
        "fidiv",
        "ficom",
        "frstor",
        "fxrstor",
        "xrstor",
        "ldmxcsr",
        "lgdt",
        "ptwrite",
        "ldtilecfg",
        "bound",
        "aesencwide",
        "aesdecwide",
        "nop",
        "vmread",
        "fucom",
        "jmpabs",
    ];
    /// Whose operands do not tell.
    const OTHERWISE: [(&str, bool, bool); 12] = [
        ("clzero", false, true),
        ("maskmov", false, true),
        ("vmaskmovdqu", false, true),
        ("movdir64b", true, true),
        ("enqcmd", true, true),
        ("wrss", false, true),
        ("wruss", false, true),
        ("xsavec", false, true),
        ("xsaves", false, true),
        ("xsave", true, true),
        ("umonitor", true, false),
        ("rdmsrlist", true, true),
    ];
    let name = listed.mnemonic.as_str();
    // MPX is gone: its instructions do nothing.
    if ["bnd", "wrmsrlist", "uiret"].iter().any(|start| name.starts_with(start)) {
        return None;
    }
    let otherwise = OTHERWISE.iter().find(|(start, ..)| name.starts_with(start));
    if let Some(&(_, reads, writes)) = otherwise {
        return Some((reads, writes));
    }
    let starts = |starts: &[&str]| starts.iter().any(|start| format!("{name} ").starts_with(start));
    if listed.operands.is_empty() || listed.operands.starts_with("%es:") || name == "xlat" {
        let strings = STRINGS.iter().find(|(start, ..)| name.starts_with(start));
        if let Some(&(_, reads, writes)) = strings {
            return Some((reads, writes));
        }
    }
    if ["movsb", "movsl", "movsq", "lods", "cmps"].iter().any(|string| name.starts_with(string))
        && listed.operands.contains("%ds:")
    {
        return Some((true, name.starts_with("movs")));
    }
    let source = listed.operands.strip_suffix(listed.last_operand()).unwrap_or("");
    let in_memory = |text: &str| text.replace("%st(", "").contains('(') || text.starts_with("*0x");
    let stack = ON_THE_STACK.iter().find(|(start, ..)| name.starts_with(start));
    if let Some(&(_, reads, writes)) = stack.filter(|_| !name.starts_with("popcnt")) {
        let operand = in_memory(&listed.operands);
        let read = operand && !name.starts_with("pop");
        let written = operand && name.starts_with("pop");
        return Some((reads || read, writes || written));
    }
    if starts(&NOTHING) {
        return Some((false, false));
    }
    let last = in_memory(listed.last_operand());
    if !last && !in_memory(source) {
        // An address without registers looks like a target of a jump.
        let addresses = listed.operands.split(',').any(|operand| operand.starts_with("0x"));
        return (!addresses).then_some((false, false));
    }
    Some(match (last, starts(&READERS), starts(&STORES)) {
        (true, true, _) => (true, false),
        (true, _, true) => (false, true),
        (true, ..) => (true, true),
        (false, ..) => (true, false),
    })
}

#[test]
fn memory_classes_are_those_that_the_text_tells() {
    let mut wrong = Vec::new();
    let mut told = 0;
    for (listed, classes) in decoded() {
        let reads = classes.contains(InstructionClass::ReadsMemory);
        let writes = classes.contains(InstructionClass::WritesMemory);
        assert_eq!(classes.contains(InstructionClass::AccessesMemory), reads || writes);
        let Some(expected) = memory_by_text(&listed) else { continue };
        told += 1;
        if (reads, writes) != expected {
            wrong.push(format!(
                "{}: {:?}, by its text {expected:?}",
                listed.text(),
                (reads, writes)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} {:#?}", wrong.len(), wrong);
    assert!(told > 4_500, "{told}");
}

proptest! {
    /// Sampled bytes may be data, or start amid an instruction.
    #[test]
    fn any_bytes_have_classes_or_are_no_instruction(
        bytes in prop::collection::vec(any::<u8>(), 0..=15),
        bits in prop::sample::select(vec![16, 32, 64]),
    ) {
        if let Some(instruction) = decode(&bytes, bits, 0x1000) {
            prop_assert!((1..=bytes.len()).contains(&instruction.len()));
            let classes = classes(&instruction);
            prop_assert!(classes.iter().filter(|class| COMPUTING.contains(class)).count() <= 1);
            let reads = classes.contains(InstructionClass::ReadsMemory);
            let writes = classes.contains(InstructionClass::WritesMemory);
            prop_assert_eq!(classes.contains(InstructionClass::AccessesMemory), reads || writes);
            prop_assert!(!classes.contains(InstructionClass::SplitLoad));
        }
    }
}

#[test]
fn code_of_another_width_is_not_guessed() {
    assert!(decode(&[0x90], 8, 0).is_none());
    // One byte: `dec` in 32-bit code, a prefix without its instruction in 64.
    assert!(decode(&[0x48], 32, 0).is_some());
    assert!(decode(&[0x48], 64, 0).is_none());
}
