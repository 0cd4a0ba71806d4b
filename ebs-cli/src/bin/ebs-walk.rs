//! A program to sample whose cache misses are known: it adds up a square of
//! numbers, row by row and column by column.
//!
//! The square is of 256 x 256 numbers of 8 bytes, rows behind one another.
//! By rows, each line of 64 bytes is loaded once: 8,192 misses of a
//! first-level cache of any size below 512 KiB. By columns, 256 lines lie
//! 2 KiB apart, in two sets of a cache of 64 sets, which hold less than half
//! of them up to 63 ways: each of the 65,536 loads misses. Hardware that
//! prefetches sees fewer.

use std::hint::black_box;
use std::io::{self, Write};

/// Numbers in a row, and in a column.
const SIDE: usize = 256;

fn main() -> io::Result<()> {
    let square = black_box(fill());
    let sums = [by_rows(&square), by_columns(&square)];
    let mut out = io::stdout().lock();
    writeln!(out, "by rows {}, by columns {}", sums[0], sums[1])
}

#[inline(never)]
fn fill() -> Vec<u64> {
    let mut square = vec![0; SIDE * SIDE];
    for (place, number) in square.iter_mut().enumerate() {
        *number = place as u64;
    }
    square
}

#[inline(never)]
fn by_rows(square: &[u64]) -> u64 {
    let mut sum = 0;
    for row in 0..SIDE {
        for column in 0..SIDE {
            sum += square[row * SIDE + column];
        }
    }
    sum
}

#[inline(never)]
fn by_columns(square: &[u64]) -> u64 {
    let mut sum = 0;
    for column in 0..SIDE {
        for row in 0..SIDE {
            sum += square[row * SIDE + column];
        }
    }
    sum
}
