//! A rayon pool: sums, sorts, nested joins, a panic that is caught.
use rayon::prelude::*;
use std::collections::HashMap;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn main() {
    let sum: u64 = (0..2_000_000u64).into_par_iter().map(|n| n ^ n >> 3).sum();
    let mut words: Vec<String> = (0..50_000u64).map(|n| format!("{:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    words.par_sort();
    let counts = words.par_iter().fold(HashMap::new, |mut m: HashMap<u8, u64>, w| { *m.entry(w.as_bytes()[0]).or_default() += 1; m })
        .reduce(HashMap::new, |mut a, b| { for (k, v) in b { *a.entry(k).or_default() += v; } a });
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort();
    std::panic::set_hook(Box::new(|_| {}));
    let caught = std::panic::catch_unwind(|| (0..100).into_par_iter().for_each(|n| assert!(n != 77)));
    println!("{sum} {} {} {counts:?} {} {}", words[0], words[49_999], fib(18), caught.is_err());
}
