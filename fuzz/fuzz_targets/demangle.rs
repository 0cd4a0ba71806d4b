//! Any bytes as a name: no panic, a name of bounded length, and of what stands
//! behind a name nothing changes it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbolizer::demangle;

/// Bytes of a name that is spelled out (docs/symbols.md).
const LONGEST: usize = 16 * 1024;

fuzz_target!(|input: &[u8]| {
    let name = demangle(input);
    let as_it_was = String::from_utf8_lossy(input);
    let version = input.iter().position(|byte| *byte == b'@');
    let tail = version.map_or(0, |at| input.len() - at);
    assert!(name == as_it_was || name.len() <= LONGEST + tail, "{} bytes", name.len());
    assert_eq!(demangle(input), name, "asked again");
    if name != as_it_was && version.is_none() {
        let stub = [input, b"@plt"].concat();
        assert_eq!(demangle(&stub), format!("{name}@plt"));
    }
});
