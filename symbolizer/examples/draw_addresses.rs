//! Draws instruction pointers as a profile would have them, the same for the
//! same list: `draw_addresses (--kernel LIST | --elf FILE) LINES [PREFIX]`.
//!
//! Which routine is hit follows Zipf's law over the routines in an order of
//! no meaning; within one, instructions lie 16 bytes apart and the first are
//! the hottest. A line is PREFIX and 16 hexadecimal digits. benches/symbolizer.sh
//! feeds its runs with it.

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use symbolizer::{ElfSymbols, KernelSymbols, SymbolList};

/// Where an instruction may begin, from one to the next.
const STEP: u64 = 16;

/// splitmix64: equal on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// In 0..1.
    fn unit(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap_or(0)) / 4_294_967_296.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or(0)
    }
}

fn routines(kind: &str, path: &str) -> Result<Vec<Range<u64>>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    Ok(match kind {
        "--kernel" => {
            let kernel = KernelSymbols::new(SymbolList::parse(bytes)?, 0);
            let all = (0..kernel.len()).map(|index| kernel.routine(index));
            all.filter(|routine| routine.module.is_none())
                .map(|routine| routine.start..routine.end)
                .collect()
        }
        "--elf" => {
            let symbols = ElfSymbols::parse(&bytes)?;
            symbols.stretches().collect()
        }
        other => return Err(format!("`{other}` is neither --kernel nor --elf").into()),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, path, lines, rest @ ..] = &words[..] else {
        return Err("usage: draw_addresses (--kernel LIST | --elf FILE) LINES [PREFIX]".into());
    };
    let prefix = rest.first().map_or("", String::as_str);
    let mut routines = routines(kind, path)?;
    let mut random = Random(1);
    for index in (1..routines.len()).rev() {
        routines.swap(index, random.below(index + 1));
    }
    let mut sum = 0.0;
    let weights: Vec<f64> = (1..=routines.len())
        .map(|rank| {
            sum += 1.0 / f64::from(u32::try_from(rank).unwrap_or(u32::MAX));
            sum
        })
        .collect();
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    for _ in 0..lines.parse::<u64>()? {
        let drawn = random.unit() * sum;
        let rank = weights.partition_point(|&weight| weight <= drawn);
        let routine = routines.get(rank).or(routines.last()).ok_or("no routines")?;
        let steps = ((routine.end - routine.start) / STEP).clamp(1, 1 << 20);
        let skewed =
            random.below(usize::try_from(steps)?).min(random.below(usize::try_from(steps)?));
        writeln!(out, "{prefix}{:016x}", routine.start + STEP * skewed as u64)?;
    }
    out.flush()?;
    Ok(())
}
