//! A file of the cache: a header that is believed only as far as the file
//! reaches, and tables whose numbers lead anywhere. CRCs are not compared
//! when fuzzing, or nothing behind them would be reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use symbolizer::cache::index::Index;

fuzz_target!(|data: &[u8]| {
    let path = std::env::temp_dir().join(format!("hardmeter-fuzz-cache-{}", std::process::id()));
    let written = File::create(&path).and_then(|mut file| file.write_all(data));
    written.expect("the temporary directory can be written");
    let file = File::open(&path).expect("what was written can be read");
    let id = data.get(16..36).unwrap_or_default();
    let Ok(mut index) = Index::open(file, id, 0) else { return };
    let shown: Arc<str> = "prog".into();
    let base = data.get(80..88).and_then(|bytes| bytes.first_chunk().copied());
    let base = base.map_or(0, u64::from_le_bytes);
    for distance in [0, 1, 2, 3, 4, 7, 8, 16, 100, 4096, 1 << 20, u64::from(u32::MAX), u64::MAX] {
        if let Ok(frames) = index.frames(base.wrapping_add(distance), &shown) {
            assert!(frames.frames.len() <= 300, "calls are inlined into each other without end");
        }
    }
});
