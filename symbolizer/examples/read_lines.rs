//! Counts lines as fast as a file can be read: `read_lines [FILE]`, stdin
//! without one. What benches/symbolizer.sh measures eip2r beside.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

const READ: usize = 128 * 1024;
/// Reads to a place between pages are several times slower on some machines.
const PAGE: usize = 4096;
/// With the usual 64 KiB writer and reader wait for each other.
const PIPE: usize = 1 << 20;

fn main() -> io::Result<()> {
    let mut file = match std::env::args_os().nth(1) {
        Some(path) => File::open(path)?,
        None => File::from(io::stdin().as_fd().try_clone_to_owned()?),
    };
    let _ = rustix::pipe::fcntl_setpipe_size(&file, PIPE);
    let mut buffer = vec![0; READ + PAGE];
    let start = buffer.as_ptr().align_offset(PAGE);
    let buffer = &mut buffer[start..start + READ];
    let mut lines = 0;
    loop {
        let read = file.read(buffer)?;
        if read == 0 {
            return writeln!(io::stdout(), "{lines}");
        }
        lines += memchr::memchr_iter(b'\n', &buffer[..read]).count();
    }
}
