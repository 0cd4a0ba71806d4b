//! Any bytes as a jitdump file: read at once or as it grows it must tell the
//! same, nothing beyond the address space, and keep no more than it read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use symbolizer::{JitDump, JitDumpError, JitEvent};

/// What is told of a file that grows to these lengths.
fn told(input: &[u8], lengths: &[usize]) -> (Vec<JitEvent>, Result<u64, JitDumpError>) {
    let (mut dump, mut told) = (None, Vec::new());
    for length in lengths {
        let mut source = Cursor::new(&input[..*length]);
        if dump.is_none() {
            match JitDump::open(&mut source) {
                Ok(opened) => dump = opened,
                Err(error) => return (told, Err(error)),
            }
        }
        if let Some(dump) = &mut dump
            && let Err(error) = dump.read(&mut source, &mut |event| told.push(event))
        {
            return (told, Err(error));
        }
    }
    (told, Ok(dump.map_or(0, |dump| dump.last)))
}

fuzz_target!(|input: &[u8]| {
    let Some((&cut, input)) = input.split_first() else { return };
    let (whole, result) = told(input, &[input.len()]);
    let at = input.len() * usize::from(cut) / 256;
    assert_eq!(told(input, &[at / 2, at, input.len()]), (whole.clone(), result));
    let mut names = 0;
    for event in &whole {
        assert!(event.size > 0 && event.start.checked_add(event.size - 1).is_some(), "{event:?}");
        names += event.name.as_ref().map_or(0, |name| name.len());
    }
    // A replaced character takes three bytes, a moved routine names again.
    assert!(whole.len() <= input.len() / 8 && names <= whole.len() * 3 * 4096);
});
