//! perf's map of generated code: what /tmp/perf-PID.map says.

mod pieces;

use pieces::Piece;
use std::io::{self, BufRead, ErrorKind};

/// Bytes of a name that count.
pub(super) const LONGEST_NAME: usize = 4096;
/// Bytes of a line that count: blanks and two numbers before the name.
const LONGEST_LINE: usize = 2 * LONGEST_NAME;
/// Bytes of a file that is read: some millions of routines.
pub(crate) const MOST_BYTES: u64 = 256 << 20;
/// Lines of a file that name something.
pub(crate) const MOST_LINES: usize = 8_000_000;

/// What there is memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapRoom {
    /// Lines that name something.
    pub(crate) lines: usize,
    /// Bytes of their names, the two of each one's length among them.
    pub(crate) names: usize,
}

impl MapRoom {
    /// For one file: what it may have of lines, and all that its bytes can
    /// become.
    const FILE: MapRoom = MapRoom { lines: MOST_LINES, names: usize::MAX };

    pub(crate) fn beside(self, map: &PerfMap) -> MapRoom {
        MapRoom {
            lines: self.lines.saturating_sub(map.lines()),
            names: self.names.saturating_sub(map.names.len()),
        }
    }
}

/// Routines of generated code by address, from lines `START SIZE NAME`
/// (hexadecimal, with or without 0x; the name is the rest of the line). The
/// file has no times: a compiler appends, and where lines overlap the later
/// one is the newer code.
///
/// Such files have millions of lines: each takes 16 bytes here, its name, and
/// two bytes more; 24 to 48 besides where lines overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfMap {
    /// By first address, the older first.
    routines: Vec<Listed>,
    /// What is seen of them where they overlap; None: they do not.
    pieces: Option<Vec<Piece>>,
    /// The names in the order of lines, each behind its length in two bytes.
    names: Vec<u8>,
    passed_over: u64,
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listed {
    start: u64,
    /// Bytes from its first to its last.
    reach: u32,
    /// Where its name is: the larger, the newer the line.
    name: u32,
}

impl Listed {
    fn last(self) -> u64 {
        self.start.saturating_add(self.reach.into())
    }
}

/// What a map says of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfMapEntry<'a> {
    /// As the compiler wrote it, its first 4096 bytes; U+FFFD stands for what
    /// is no UTF-8.
    pub name: &'a str,
    /// First address of the routine.
    pub start: u64,
    /// Last address that belongs to it, seen from the one asked for.
    pub last: u64,
}

/// Why a map is not read.
#[derive(Debug, thiserror::Error)]
pub enum PerfMapError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it has more than {most} lines, all that is kept in memory")]
    Lines { most: usize },
    #[error("its names have more than {most} bytes, all that is kept in memory")]
    Names { most: usize },
    #[error("it has more than {most} bytes")]
    Bytes { most: u64 },
}

impl PerfMap {
    /// [Parses](PerfMap::parse) a file.
    ///
    /// # Errors
    /// More than there is `room` for, of lines 8,000,000 at most; more than
    /// 256 MiB; those of `source`.
    pub(crate) fn read(mut source: impl BufRead, room: MapRoom) -> Result<PerfMap, PerfMapError> {
        let mut map = PerfMap::default();
        let (mut line, mut bytes) = (Vec::new(), 0);
        let most = MapRoom { lines: room.lines.min(MOST_LINES), ..room };
        loop {
            let part = match source.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                part => part?,
            };
            if part.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', part);
            let length = end.unwrap_or(part.len());
            let room = LONGEST_LINE.saturating_sub(line.len());
            line.extend_from_slice(&part[..length.min(room)]);
            let used = length + usize::from(end.is_some());
            source.consume(used);
            bytes += used as u64;
            if bytes > MOST_BYTES {
                return Err(PerfMapError::Bytes { most: MOST_BYTES });
            }
            if end.is_some() {
                map.push(&line, most)?;
                line.clear();
            }
        }
        map.push(&line, most)?;
        map.routines.sort_unstable_by_key(|routine| (routine.start, routine.name));
        let overlaps = |pair: &[Listed]| pair[0].last() >= pair[1].start;
        if map.routines.windows(2).any(overlaps) {
            map.pieces = Some(pieces::seen(&map.routines));
        }
        Ok(map)
    }

    /// Reads all lines. Those that are none of its form, name no byte, or
    /// 4 GiB and more, are passed over and counted; an unfinished last line,
    /// which the compiler is still writing, is among them unless it reads as
    /// a whole one.
    ///
    /// # Errors
    /// More than 8,000,000 lines, or than 256 MiB.
    pub fn parse(bytes: &[u8]) -> Result<PerfMap, PerfMapError> {
        PerfMap::read(bytes, MapRoom::FILE)
    }

    fn push(&mut self, line: &[u8], most: MapRoom) -> Result<(), PerfMapError> {
        let Some((start, reach, name)) = entry(line) else {
            self.passed_over += u64::from(!line.trim_ascii().is_empty());
            return Ok(());
        };
        // Both bounds keep names far below 4 GiB, even if each byte becomes
        // a replacement of three.
        let Ok(at) = u32::try_from(self.names.len()) else {
            return Err(PerfMapError::Lines { most: most.lines });
        };
        if self.routines.len() >= most.lines {
            return Err(PerfMapError::Lines { most: most.lines });
        }
        let name = String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]);
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        if self.names.len() + size_of::<u16>() + name.len() > most.names {
            return Err(PerfMapError::Names { most: most.names });
        }
        self.names.extend_from_slice(&length.to_le_bytes());
        self.names.extend_from_slice(name.as_bytes());
        self.routines.push(Listed { start, reach, name: at });
        Ok(())
    }

    /// The routine at a run-time address.
    pub fn find(&self, address: u64) -> Option<PerfMapEntry<'_>> {
        let (routine, last) = match &self.pieces {
            Some(pieces) => {
                let after = pieces.partition_point(|piece| piece.first <= address);
                let piece = pieces[..after].last()?;
                (self.routines.get(piece.routine as usize)?, piece.last)
            }
            None => {
                let after = self.routines.partition_point(|routine| routine.start <= address);
                let routine = self.routines[..after].last()?;
                (routine, routine.last())
            }
        };
        (address <= last).then(|| PerfMapEntry {
            name: self.name(routine.name as usize),
            start: routine.start,
            last,
        })
    }

    fn name(&self, at: usize) -> &str {
        let name = self.names.get(at..).and_then(|names| {
            let (length, rest) = names.split_first_chunk::<2>()?;
            rest.get(..u16::from_le_bytes(*length).into())
        });
        name.and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
    }

    /// Lines that named nothing.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Lines that named something.
    pub fn lines(&self) -> usize {
        self.routines.len()
    }

    /// Whether no line named anything.
    pub fn is_empty(&self) -> bool {
        self.routines.is_empty()
    }
}

/// First address, bytes from there to the last, and name.
fn entry(line: &[u8]) -> Option<(u64, u32, &[u8])> {
    let (start, rest) = number(line.trim_ascii_start())?;
    let (size, rest) = number(rest.trim_ascii_start())?;
    let name = rest.trim_ascii();
    let reach = size.checked_sub(1)?;
    start.checked_add(reach)?;
    let reach = u32::try_from(reach).ok()?;
    (!name.is_empty()).then_some((start, reach, name))
}

/// A hexadecimal number with a blank behind it.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    let length = memchr::memchr2(b' ', b'\t', text)?;
    let (digits, rest) = text.split_at(length);
    let sound = (1..=16).contains(&length) && digits.iter().all(u8::is_ascii_hexdigit);
    let number = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    sound.then_some((number, rest))
}

#[cfg(test)]
mod tests;
