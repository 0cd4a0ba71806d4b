//! Against a resolver that scans the list line by line.

#![allow(clippy::print_stderr, reason = "a test that skips says why")]

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Line {
    address: u64,
    kind: char,
    name: &'static str,
    module: Option<&'static str>,
}

const NAMES: [&str; 12] = [
    "alpha",
    "beta",
    "__gamma",
    "delta.cold",
    "_etext",
    "_einittext",
    "__sched_text_end",
    "__sched_text_start",
    "_text",
    "_stext",
    "x",
    "__pfx_alpha",
];

fn text(lines: &[Line]) -> Vec<u8> {
    let mut text = String::new();
    for Line { address, kind, name, module } in lines {
        text.push_str(&format!("{address:016x} {kind} {name}"));
        if let Some(module) = module {
            text.push_str(&format!("\t[{module}]"));
        }
        text.push('\n');
    }
    text.into_bytes()
}

/// Name and start of the routine at `address`, by the rules in words.
fn scan(lines: &[Line], address: u64) -> Option<(&'static str, u64)> {
    let is_end = |line: &&Line| ["_etext", "_einittext", "__sched_text_end"].contains(&line.name);
    let is_mark = |line: &&Line| {
        is_end(line) || ["_text", "_stext", "__sched_text_start"].contains(&line.name)
    };
    let code = |line: &&Line| "tTwW".contains(line.kind);
    // The nearest lower address at which anything is listed.
    let start = lines.iter().map(|line| line.address).filter(|&start| start <= address).max()?;
    let here: Vec<&Line> =
        lines.iter().filter(|line| line.address == start && code(line)).collect();
    let chosen = here
        .iter()
        .rfind(|line| !is_mark(line))
        .or_else(|| here.last().filter(|_| !here.iter().any(is_end)))?;
    // Only a following symbol of the same module lets it reach beyond its page.
    let next = lines.iter().filter(|line| line.address > start).min_by_key(|line| line.address);
    let reaches =
        next.is_some_and(|next| next.module == chosen.module && next.address - start <= 256 << 10);
    (reaches || address / 4096 == start / 4096).then_some((chosen.name, start))
}

fn line() -> impl Strategy<Value = Line> {
    let address = prop_oneof![
        0_u64..64,
        0x1000_u64..0x1040,
        4090_u64..4100,
        any::<u64>(),
        u64::MAX - 40..=u64::MAX,
    ];
    let kind =
        prop_oneof![3 => Just('t'), 3 => Just('T'), 1 => Just('W'), 2 => Just('d'), 1 => Just('A')];
    let module = prop_oneof![4 => Just(None), 1 => Just(Some("one")), 1 => Just(Some("two"))];
    (address, kind, prop::sample::select(&NAMES[..]), module)
        .prop_map(|(address, kind, name, module)| Line { address, kind, name, module })
}

proptest! {
    #[test]
    fn equals_the_scan(
        mut lines in prop::collection::vec(line(), 1..40),
        asked in prop::collection::vec(any::<u64>(), 0..8),
        offset in prop_oneof![Just(0_u64), any::<u64>()],
        sorted: bool,
    ) {
        prop_assume!(lines.iter().any(|line| line.address != 0));
        if sorted {
            lines.sort_by_key(|line| line.address);
        }
        // At one address the order of the list decides; which module's symbol
        // comes first among equals must be the same for both.
        let mut seen = std::collections::HashMap::new();
        lines.retain(|line| *seen.entry(line.address).or_insert(line.module) == line.module);
        let table = KernelSymbols::new(SymbolList::parse(text(&lines)).unwrap(), offset);
        let near = lines.iter().flat_map(|line| {
            [-1_i64, 0, 1, 7, 4095, 4096].map(|step| line.address.wrapping_add_signed(step))
        });
        for address in near.chain(asked).chain([0, u64::MAX]) {
            let found = table.find(address.wrapping_add(offset));
            let found = found.map(|routine| {
                (std::str::from_utf8(routine.name).unwrap(), routine.start.wrapping_sub(offset))
            });
            let expected = scan(&lines, address);
            // The very last address cannot be below an end.
            if address != u64::MAX {
                prop_assert_eq!(found, expected, "{:#x}", address);
            }
        }
    }
}

#[test]
fn modules_end_where_proc_modules_says() {
    let lines = b"ffffffff81000000 T _text\nffffffff81000000 T start\nffffffff81000100 T _etext\n\
        ffffffffc0000000 t one_a\t[one]\nffffffffc0000040 t one_b\t[one]\n\
        ffffffffc0002000 t two_a\t[two]\nffffffffc0800000 t bpf_prog_1\t[bpf]\n";
    let list = || SymbolList::parse(lines.to_vec()).unwrap();
    let extents =
        [ModuleExtent { name: b"one".to_vec(), base: 0xffff_ffff_c000_0000, size: 0x1080 }];
    let name = |table: &KernelSymbols, address| {
        table.find(address).map(|routine| {
            (String::from_utf8_lossy(routine.name).into_owned(), routine.module.map(<[u8]>::to_vec))
        })
    };
    let one = |name: &str| Some((name.to_owned(), Some(b"one".to_vec())));
    let known = KernelSymbols::with_modules(list(), 0, &extents);
    assert_eq!(name(&known, 0xffff_ffff_c000_107f), one("one_b"));
    assert_eq!(name(&known, 0xffff_ffff_c000_1080), None);
    let unknown = KernelSymbols::new(list(), 0);
    assert_eq!(name(&unknown, 0xffff_ffff_c000_0fff), one("one_b"));
    assert_eq!(name(&unknown, 0xffff_ffff_c000_1000), None);
    assert_eq!(name(&unknown, 0xffff_ffff_8100_0100), None);
    assert_eq!(
        name(&unknown, 0xffff_ffff_c080_0fff),
        Some(("bpf_prog_1".to_owned(), Some(b"bpf".to_vec())))
    );
    let extents: Vec<_> = unknown.extents().collect();
    assert_eq!(extents.len(), 4);
    assert_eq!(unknown.owner(0xffff_ffff_c000_0041).0, Some(0));
    assert_eq!(unknown.owner(0xffff_ffff_8100_0041).0, None);
}

#[test]
fn nothing_holds_the_last_address() {
    let lines = b"fffffffffffffff0 T almost\nffffffffffffffff T last\n";
    let table = KernelSymbols::new(SymbolList::parse(lines.to_vec()).unwrap(), 0);
    assert_eq!((table.len(), table.find(u64::MAX)), (1, None));
    assert_eq!(table.routine(0).end, u64::MAX);
}

/// The running kernel's own list, every symbol of it.
#[test]
fn this_machines_kallsyms() {
    let Ok(bytes) = std::fs::read("/proc/kallsyms") else {
        eprintln!("skipped: no /proc/kallsyms");
        return;
    };
    let list = match SymbolList::parse(bytes) {
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
        Ok(list) => list,
    };
    let mut sorted: Vec<(u64, bool, String)> = list
        .entries
        .iter()
        .map(|entry| {
            let name = String::from_utf8_lossy(list.name(entry)).into_owned();
            (entry.address, entry.is_text(), name)
        })
        .collect();
    sorted.sort_by_key(|entry| entry.0);
    let table = KernelSymbols::new(list, 0);
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        let (address, names) =
            (group[0].0, group.iter().filter(|entry| entry.1).map(|entry| entry.2.as_bytes()));
        let names: Vec<_> = names.collect();
        match table.find(address) {
            Some(routine) if routine.start == address => assert!(names.contains(&routine.name)),
            // Only data, or only an end mark, begins here.
            found => {
                assert!(found.is_none(), "{address:#x}");
                assert!(names.iter().all(|name| is_end_mark(name)), "{address:#x} {names:?}");
            }
        }
    }
}

#[test]
fn variables_end_where_anything_begins() {
    let list =
        b"1000 T _text\n1100 t work\n2000 D init_task\n2040 d other\n2040 D alias\n2080 T late\n\
                 2090 b zeroed\n3000 B _end\n5000 d own\t[module]\n"
            .to_vec();
    let variables = |offset| {
        let table = KernelSymbols::new(SymbolList::parse(list.clone()).unwrap(), offset);
        table.variables().unwrap().unwrap()
    };
    let name = |table: &KernelSymbols, address| {
        table
            .find(address)
            .map(|found| (String::from_utf8_lossy(found.name).into_owned(), address - found.start))
    };
    let here = variables(0);
    for (address, expected) in [
        (0x1100, None),
        (0x1fff, None),
        (0x2000, Some(("init_task", 0))),
        (0x203f, Some(("init_task", 0x3f))),
        (0x2041, Some(("alias", 1))),
        (0x2080, None),
        (0x2fff, Some(("zeroed", 0xf6f))),
        (0x5008, Some(("own", 8))),
        (0x6000, None),
    ] {
        let found = name(&here, address);
        let found = found.as_ref().map(|(name, offset)| (name.as_str(), *offset));
        assert_eq!(found, expected, "{address:#x}");
    }
    assert_eq!(here.module(0x5008), Some(&b"module"[..]));
    // Modules do not move with the kernel.
    let moved = variables(0x10_0000);
    assert_eq!(name(&moved, 0x10_2001), Some(("init_task".to_owned(), 1)));
    assert_eq!(name(&moved, 0x10_5008), None);
    assert_eq!(name(&moved, 0x5008), None);
}

/// As System.map has them on x86-64 before Linux 6.15: what the kernel asks
/// for at run time lies between them and its image.
#[test]
fn variables_of_each_cpu_do_not_reach_up_to_the_image() {
    let list = b"0000000000000000 D __per_cpu_start\n0000000000034000 D __per_cpu_end\n\
                 ffffffff81000000 T _text\nffffffff82a14940 D init_task\n\
                 ffffffff82a18000 B _end\n";
    for offset in [0, 0x1e00_0000] {
        let table = KernelSymbols::new(SymbolList::parse(list.to_vec()).unwrap(), offset);
        let variables = table.variables().unwrap().unwrap();
        let name = |address| variables.find(address).map(|found| found.name);
        assert_eq!(name(0xffff_8880_1234_5678), None);
        assert_eq!(name(0xffff_c900_0000_1000), None);
        assert_eq!(name(0xffff_ffff_82a1_4950 + offset), Some(&b"init_task"[..]));
    }
}

#[test]
fn a_list_of_marks_alone_names_no_variables() {
    let list = b"1000 T _text\n2000 D __start_rodata\n3000 B __init_begin\n".to_vec();
    let table = KernelSymbols::new(SymbolList::parse(list).unwrap(), 0);
    assert!(table.variables().unwrap().is_none());
}

/// Between sections lie gaps of a megabyte; trampolines have a page, BPF
/// programs a pack in which they lie side by side.
#[test]
fn what_lies_far_from_the_next_symbol_is_not_stretched_up_to_it() {
    let lines = b"ffffffff81000000 T _text\nffffffff81000000 T start\n\
        ffffffff81100000 T __entry_text_start\nffffffff81100000 T __entry_text_end\n\
        ffffffff8110410b T srso_alias_return_thunk\nffffffff81200000 t run\n\
        ffffffff81230000 t long\nffffffff81260000 T _etext\n\
        ffffffffc0200040 t bpf_prog_1\t[bpf]\nffffffffc0206000 t bpf_prog_2\t[bpf]\n\
        ffffffffc0400000 t bpf_prog_3\t[bpf]\n\
        ffffffffc0500000 t ftrace_trampoline\t[__builtin__ftrace]\n\
        ffffffffc0502000 t ftrace_trampoline\t[__builtin__ftrace]\n";
    let table = KernelSymbols::new(SymbolList::parse(lines.to_vec()).unwrap(), 0);
    let name = |address| table.find(address).map(|found| found.name);
    let named: [(u64, Option<&[u8]>); 14] = [
        (0xffff_ffff_8110_0000, None),
        (0xffff_ffff_8100_0fff, Some(b"start")),
        (0xffff_ffff_8100_1000, None),
        (0xffff_ffff_8110_4fff, Some(b"srso_alias_return_thunk")),
        (0xffff_ffff_8110_5000, None),
        (0xffff_ffff_8122_ffff, Some(b"run")),
        (0xffff_ffff_8125_ffff, Some(b"long")),
        (0xffff_ffff_c020_5fff, Some(b"bpf_prog_1")),
        (0xffff_ffff_c020_6fff, Some(b"bpf_prog_2")),
        (0xffff_ffff_c020_7000, None),
        (0xffff_ffff_c040_0fff, Some(b"bpf_prog_3")),
        (0xffff_ffff_c040_1000, None),
        (0xffff_ffff_c050_0fff, Some(b"ftrace_trampoline")),
        (0xffff_ffff_c050_1000, None),
    ];
    for (address, wanted) in named {
        assert_eq!(name(address), wanted, "{address:#x}");
    }
}
