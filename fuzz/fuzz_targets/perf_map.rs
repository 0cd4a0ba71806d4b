//! Any bytes as perf's map of generated code: every address is named as a
//! reader of all lines, the last first, names it, and what is kept is bounded
//! by what was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbolizer::PerfMap;

fn number(word: &str) -> Option<u64> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let sound = (1..=16).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_hexdigit());
    sound.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// START SIZE NAME by words.
fn slow(line: &[u8]) -> Option<(u64, u64, String)> {
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let line = line.trim_ascii();
    let first = line.iter().position(|byte| is_blank(byte))?;
    let rest = line[first..].trim_ascii_start();
    let second = rest.iter().position(|byte| is_blank(byte))?;
    let start = number(std::str::from_utf8(&line[..first]).ok()?)?;
    let size = number(std::str::from_utf8(&rest[..second]).ok()?)?;
    let name = rest[second..].trim_ascii();
    let last = start.checked_add(size.checked_sub(1)?)?;
    let name = String::from_utf8_lossy(&name[..name.len().min(4096)]);
    let is_near = last - start <= u64::from(u32::MAX);
    (!name.is_empty() && is_near).then(|| (start, last, name.into_owned()))
}

fuzz_target!(|input: &[u8]| {
    let map = PerfMap::parse(input).expect("has few lines");
    let lines: Vec<_> = input.split(|&byte| byte == b'\n').map(slow).collect();
    let wrong = input
        .split(|&byte| byte == b'\n')
        .zip(&lines)
        .filter(|(line, read)| read.is_none() && !line.trim_ascii().is_empty());
    assert_eq!(map.passed_over(), wrong.count() as u64);
    let lines: Vec<_> = lines.into_iter().flatten().collect();
    assert_eq!(map.is_empty(), lines.is_empty());
    // Each lookup of the slow reader looks at all lines.
    for (start, last, _) in lines.iter().take(200) {
        for address in [start.wrapping_sub(1), *start, *last, last.wrapping_add(1)] {
            let expected = lines.iter().rfind(|line| (line.0..=line.1).contains(&address));
            let found = map.find(address);
            assert_eq!(
                found.map(|it| (it.name, it.start)),
                expected.map(|it| (it.2.as_str(), it.0)),
                "{address:#x}"
            );
            if let (Some(found), Some(expected)) = (found, expected) {
                assert!((address..=expected.1).contains(&found.last), "{address:#x}");
            }
        }
    }
});
