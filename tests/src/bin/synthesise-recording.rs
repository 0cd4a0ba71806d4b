//! `synthesise-recording SAMPLES FILE [PROGRAM]`: perf.data in file form with
//! as many memory samples as a benchmark asks for, of processes that run
//! PROGRAM, else this one, whose symbols are known.

#![allow(clippy::unwrap_used, reason = "the synthesiser belongs to tests")]

#[path = "../../../crates/perfdata/tests/synthesiser/mod.rs"]
mod synthesiser;

use std::fs::File;
use std::io::{self, BufWriter, Error};
use std::path::PathBuf;
use synthesiser::{elf::Program, flood};

fn main() -> io::Result<()> {
    let usage = || Error::other("usage: synthesise-recording SAMPLES FILE [PROGRAM]");
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (samples, file) = match words.as_slice() {
        [samples, file] | [samples, file, _] => (samples.parse().map_err(|_| usage())?, file),
        _ => return Err(usage()),
    };
    let program = match words.get(2) {
        Some(program) => PathBuf::from(program),
        None => std::env::current_exe()?,
    };
    let program = Program::read(&program)?;
    let out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    flood::write(samples, &program, out).map(drop)
}
