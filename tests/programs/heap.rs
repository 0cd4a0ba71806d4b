// Blocks of Rust's allocator: boxes, vectors, maps; each write to one is noted under the line that
// asked for it, and the sums are printed, `FILE:LINE COUNT`, at the end.
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};

#[inline(never)]
fn touch(block: &[AtomicU8], times: usize) {
    for at in 0..times {
        block[at % block.len()].store(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Notes(BTreeMap<u32, usize>);

impl Notes {
    fn written(&mut self, block: &[AtomicU8], line: u32, times: usize) {
        touch(block, times);
        *self.0.entry(line).or_default() += times;
    }
}

fn main() {
    let mut notes = Notes::default();
    for round in 1..4_usize {
        let boxed = Box::new([const { AtomicU8::new(0) }; 160]);
        notes.written(&boxed[..], line!() - 1, 5);
        let collected: Vec<AtomicU8> = (0..300).map(|_| AtomicU8::new(0)).collect();
        notes.written(&collected, line!() - 1, 6);
        let mut grown = Vec::new();
        for at in 0..500 {
            grown.push(AtomicU8::new(0));
            if at % 50 == 49 {
                notes.written(&grown, line!() - 2, 7);
            }
        }
        grown.truncate(3);
        grown.shrink_to_fit();
        notes.written(&grown, line!() - 1, 8);
        let shared: Rc<[AtomicU8]> = Rc::from(collected);
        notes.written(&shared, line!() - 1, round);
        let mut tree = BTreeMap::new();
        for at in 0..40 {
            let value = tree.entry(at).or_insert([const { AtomicU8::new(0) }; 90]);
            notes.written(value, line!() - 1, 2);
        }
    }
    for (line, count) in notes.0 {
        println!("heap.rs:{line} {count}");
    }
}
