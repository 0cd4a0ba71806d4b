//! Any bytes as a list of kernel symbols: lines must be taken or refused as a
//! slow reader of words takes or refuses them, and the table must name every
//! address as a scan of all the lines does, wherever the kernel runs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbolizer::{KernelSymbols, ListError, SymbolList};

/// Up, not at all, and down, past zero.
const MOVES: [u64; 3] = [0x1e20_0000, 0, 0xffff_ffff_e000_0000];
const PAGE: u64 = 4096;

#[derive(Clone, Copy)]
struct Line<'a> {
    address: u64,
    kind: u8,
    name: &'a [u8],
    module: Option<&'a [u8]>,
}

enum Read<'a> {
    Symbol(Line<'a>),
    Nothing,
    Wrong,
}

fn blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn words(line: &[u8]) -> Vec<&[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}

fn read(line: &[u8]) -> Read<'_> {
    match symbol(line) {
        Some(line) => Read::Symbol(line),
        None => match words(line)[..] {
            [] => Read::Nothing,
            // As nm prints what is defined elsewhere: no address.
            [b"U" | b"w" | b"v", _] if line[0] == b' ' => Read::Nothing,
            _ => Read::Wrong,
        },
    }
}

fn symbol(line: &[u8]) -> Option<Line<'_>> {
    let mut parts = line.splitn(3, |&byte| byte == b' ');
    let (Some(address), Some(&[kind]), Some(rest)) = (parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    if !(1..=16).contains(&address.len()) || !address.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let address = u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()?;
    if !kind.is_ascii_graphic() {
        return None;
    }
    let mut tokens = rest.splitn(2, blank);
    let name = tokens.next().filter(|name| !name.is_empty())?;
    let mut module = tokens.next().unwrap_or_default();
    while let Some(shorter) = module.split_first().filter(|(first, _)| blank(first)) {
        module = shorter.1;
    }
    while let Some(shorter) = module.split_last().filter(|(last, _)| blank(last)) {
        module = shorter.1;
    }
    let module = match module {
        [] => None,
        [b'[', inner @ .., b']'] if !inner.is_empty() => Some(inner),
        _ => return None,
    };
    Some(Line { address, kind, name, module })
}

/// Name, module and extent of the routine that holds a listed address.
fn scan<'a>(lines: &[Line<'a>], asked: u64) -> Option<(&'a [u8], Option<&'a [u8]>, u64, u64)> {
    let ends = |name: &[u8]| {
        matches!(name, b"_etext" | b"_einittext")
            || (name.starts_with(b"__") && name.ends_with(b"_text_end"))
    };
    let marks = |name: &[u8]| {
        ends(name)
            || matches!(name, b"_text" | b"_stext" | b"_sinittext" | b"__pi__text")
            || (name.starts_with(b"__") && name.ends_with(b"_text_start"))
    };
    let start = lines.iter().map(|line| line.address).filter(|&start| start <= asked).max()?;
    let here = || lines.iter().filter(|line| line.address == start && b"tTwW".contains(&line.kind));
    let chosen = here()
        .rfind(|line| !marks(line.name))
        .or_else(|| here().next_back().filter(|_| !here().any(|line| ends(line.name))))?;
    let page = (start / PAGE * PAGE).saturating_add(PAGE);
    // `min_by_key` gives the first of equals, as the list has them.
    let next = lines.iter().filter(|line| line.address > start).min_by_key(|line| line.address);
    let reaches = |next: &Line<'_>| match chosen.module {
        Some(b"bpf") => start >> 21 == next.address >> 21,
        Some(module) if module.starts_with(b"__builtin__") => start / PAGE == next.address / PAGE,
        _ => next.address - start <= 256 << 10,
    };
    let end = match next {
        Some(next) if next.module == chosen.module && reaches(next) => next.address,
        Some(next) => next.address.min(page),
        None => page,
    };
    (asked < end).then_some((chosen.name, chosen.module, start, end))
}

fuzz_target!(|input: &[u8]| {
    let mut lines = Vec::new();
    let mut wrong = None;
    for (number, line) in (1..).zip(input.split(|&byte| byte == b'\n')) {
        match read(line) {
            Read::Symbol(line) => lines.push(line),
            Read::Nothing => {}
            Read::Wrong => {
                wrong = Some(number);
                break;
            }
        }
    }
    for by in MOVES {
        let list = match SymbolList::parse(input.to_vec()) {
            Ok(list) => list,
            Err(ListError::Line { line, .. }) => return assert_eq!(Some(line), wrong),
            Err(ListError::Empty) => return assert!(lines.is_empty() && wrong.is_none()),
            Err(ListError::Hidden) => {
                return assert!(lines.iter().all(|line| line.address == 0) && !lines.is_empty());
            }
            Err(ListError::Stub { .. }) => {
                let stub = b"The real System.map is in";
                return assert!(input.windows(stub.len()).any(|text| text == stub));
            }
            Err(error) => panic!("no input is large enough for: {error}"),
        };
        assert_eq!((list.len(), wrong), (lines.len(), None));
        for line in &lines {
            let Ok(name) = std::str::from_utf8(line.name) else { continue };
            let own = |other: &&Line| other.module.is_none() && other.name == line.name;
            assert_eq!(list.address_of(name), lines.iter().find(own).map(|line| line.address));
        }

        let table = KernelSymbols::new(list, by);
        let listed = |address: u64| address.wrapping_sub(by);
        let routines: Vec<_> = (0..table.len()).map(|index| table.routine(index)).collect();
        assert_eq!(table.is_empty(), routines.is_empty());
        for (index, routine) in routines.iter().enumerate() {
            assert_eq!(routine.index, index);
            assert!(listed(routine.start) < listed(routine.end));
        }
        for pair in routines.windows(2) {
            assert!(listed(pair[0].start) < listed(pair[1].start));
            assert!(listed(pair[0].end) <= listed(pair[1].start));
        }
        let extents: Vec<_> = table.extents().collect();
        for routine in &routines {
            let inside = |extent: &&std::ops::Range<u64>| {
                listed(extent.start) <= listed(routine.start)
                    && listed(routine.end) <= listed(extent.end)
            };
            assert_eq!(extents.iter().filter(inside).count(), 1);
        }

        let near = lines.iter().flat_map(|line| {
            [-1, 0, 1, 4095, 4096].map(|step| line.address.wrapping_add_signed(step))
        });
        let ends = routines
            .iter()
            .flat_map(|routine| [listed(routine.end), listed(routine.end).wrapping_sub(1)]);
        for address in near.chain(ends).chain([0, u64::MAX]) {
            let found = table.find(address.wrapping_add(by));
            let seen = found.map(|found| {
                assert_eq!(Some(&found), routines.get(found.index));
                (found.name, found.module, listed(found.start), listed(found.end))
            });
            assert_eq!(seen, scan(&lines, address), "{address:#x} moved by {by:#x}");
            assert!(seen.is_none() || table.spans(address.wrapping_add(by)));
        }
    }
});
