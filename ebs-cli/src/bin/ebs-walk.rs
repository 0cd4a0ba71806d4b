//! A program to sample whose cache misses are known: it adds up a square of
//! numbers, row by row and column by column.
//!
//! The square is of 256 x 256 numbers of 8 bytes, rows behind one another.
//! By rows, each line of 64 bytes is loaded once: 8,192 misses of a
//! first-level cache of any size below 512 KiB. By columns, 256 lines lie
//! 2 KiB apart, in two sets of a cache of 64 sets, which hold less than half
//! of them up to 63 ways: each of the 65,536 loads misses. Hardware that
//! prefetches sees fewer.
//!
//! `ebs-walk padded` has rows that are longer by a line, which nothing is in: by
//! columns they are in all sets then, and a line stays until its eight numbers
//! were added.

use std::hint::black_box;
use std::io::{self, Write};

const SIDE: usize = 256;
const LINE: usize = 8;

struct Square {
    numbers: Vec<u64>,
    /// Numbers from one row to the next.
    pitch: usize,
}

fn main() -> io::Result<()> {
    let is_padded = std::env::args_os().nth(1).is_some_and(|word| word == "padded");
    let square = black_box(fill(if is_padded { SIDE + LINE } else { SIDE }));
    let sums = [by_rows(&square), by_columns(&square)];
    let mut out = io::stdout().lock();
    writeln!(out, "by rows {}, by columns {}", sums[0], sums[1])
}

#[inline(never)]
fn fill(pitch: usize) -> Square {
    let mut numbers = vec![0; SIDE * pitch];
    for row in 0..SIDE {
        for column in 0..SIDE {
            numbers[row * pitch + column] = (row * SIDE + column) as u64;
        }
    }
    Square { numbers, pitch }
}

#[inline(never)]
fn by_rows(square: &Square) -> u64 {
    let mut sum = 0;
    for row in 0..SIDE {
        for column in 0..SIDE {
            sum += square.numbers[row * square.pitch + column];
        }
    }
    sum
}

#[inline(never)]
fn by_columns(square: &Square) -> u64 {
    let mut sum = 0;
    for column in 0..SIDE {
        for row in 0..SIDE {
            sum += square.numbers[row * square.pitch + column];
        }
    }
    sum
}
