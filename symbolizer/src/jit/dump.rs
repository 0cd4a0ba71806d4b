//! jitdump: the file in which a compiler tells what code it made, when, where
//! (tools/perf/Documentation/jitdump-specification.txt).

use super::map::LONGEST_NAME;
use rustc_hash::FxHashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

const MAGIC: u32 = 0x4a69_5444;
/// Bytes before a record's fields: kind, size, time.
const PREFIX: u64 = 16;
/// Bytes of a record that are read: fields and name. Code is passed over.
const MOST_HEAD: u64 = 4096 + 64;
/// Routines of one file, moved ones counted again.
const MOST_ROUTINES: u64 = 1 << 18;
/// Bytes of all names of one file.
const MOST_NAMES: u64 = 64 << 20;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const CLOSE: u32 = 3;
/// Times are the processor's counter, not CLOCK_MONOTONIC.
const ARCH_TIMESTAMP: u64 = 1;

/// What is wrong with a jitdump file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JitDumpError {
    /// It does not start as one.
    #[error("it does not start as a jitdump file of version 1 does")]
    Header,
    /// A record that does not hold together; nothing behind it can be found.
    #[error("the record at byte {at} claims {size} bytes")]
    Record {
        /// Offset of the record.
        at: u64,
        /// What it claims.
        size: u32,
    },
    /// More than is kept.
    #[error("it tells of more than {MOST_ROUTINES} routines, or its names take too much memory")]
    TooMany,
    /// The system refused to read.
    #[error("{0}")]
    Read(String),
}

impl From<io::Error> for JitDumpError {
    fn from(error: io::Error) -> JitDumpError {
        JitDumpError::Read(error.to_string())
    }
}

/// What a record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitEvent {
    /// From when on, nanoseconds of the writer's clock.
    pub time: u64,
    /// First address.
    pub start: u64,
    /// Bytes, at least 1, within the address space.
    pub size: u64,
    /// The routine that lies there; none: it was moved away.
    pub name: Option<Arc<str>>,
}

/// Reads a file that may still be growing.
#[derive(Clone, Debug)]
pub struct JitDump {
    little: bool,
    /// The writer's process, as it sees itself.
    pub pid: u32,
    /// Whether its times are CLOCK_MONOTONIC, nanoseconds.
    pub monotonic: bool,
    /// Where the next record starts.
    position: u64,
    /// The latest time read.
    pub last: u64,
    /// Whether the writer has said that nothing follows.
    pub closed: bool,
    routines: u64,
    names: u64,
    by_index: FxHashMap<u64, (u64, u64, Arc<str>)>,
}

impl JitDump {
    /// Reads the header. None: it is not complete yet.
    ///
    /// # Errors
    /// The file is none, or cannot be read.
    pub fn open<R: Read + Seek>(source: &mut R) -> Result<Option<JitDump>, JitDumpError> {
        source.seek(SeekFrom::Start(0))?;
        let head = up_to(source, 40)?;
        if head.len() < 4 {
            return Ok(None);
        }
        let little = head[..4] == MAGIC.to_le_bytes();
        if !little && head[..4] != MAGIC.to_be_bytes() {
            return Err(JitDumpError::Header);
        }
        let fields = Fields { bytes: &head, little };
        let Some(flags) = fields.u64(32) else { return Ok(None) };
        let (version, size) = (fields.u32(4), fields.u32(8).unwrap_or(0));
        if version != Some(1) || size < 40 {
            return Err(JitDumpError::Header);
        }
        Ok(Some(JitDump {
            little,
            pid: fields.u32(20).unwrap_or(0),
            monotonic: flags & ARCH_TIMESTAMP == 0,
            position: size.into(),
            last: 0,
            closed: false,
            routines: 0,
            names: 0,
            by_index: FxHashMap::default(),
        }))
    }

    /// Reads the records that are complete, from where the last call ended.
    ///
    /// # Errors
    /// What is damaged; what was told before it stands.
    pub fn read<R: Read + Seek>(
        &mut self,
        source: &mut R,
        each: &mut dyn FnMut(JitEvent),
    ) -> Result<(), JitDumpError> {
        let end = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(self.position))?;
        let mut source = io::BufReader::with_capacity(1 << 16, source);
        while !self.closed && end.saturating_sub(self.position) >= PREFIX {
            let prefix = up_to(&mut source, PREFIX)?;
            let fields = Fields { bytes: &prefix, little: self.little };
            let (Some(kind), Some(size), Some(time)) =
                (fields.u32(0), fields.u32(4), fields.u64(8))
            else {
                break;
            };
            let whole = u64::from(size);
            if whole < PREFIX {
                return Err(JitDumpError::Record { at: self.position, size });
            }
            if whole > end - self.position {
                break;
            }
            let head = (whole - PREFIX).min(MOST_HEAD);
            let body = match kind {
                LOAD | MOVE => up_to(&mut source, head)?,
                _ => Vec::new(),
            };
            let skip = whole - PREFIX - body.len() as u64;
            source.seek_relative(i64::try_from(skip).unwrap_or(i64::MAX))?;
            let bad = JitDumpError::Record { at: self.position, size };
            self.position += whole;
            self.last = self.last.max(time);
            let fields = Fields { bytes: &body, little: self.little };
            match kind {
                LOAD => self.load(&fields, time, each).ok_or(bad)?,
                MOVE => self.moved(&fields, time, each).ok_or(bad)?,
                CLOSE => self.closed = true,
                // Lines, unwinding, and what later versions add.
                _ => {}
            }
            if self.routines > MOST_ROUTINES || self.names > MOST_NAMES {
                return Err(JitDumpError::TooMany);
            }
        }
        Ok(())
    }

    /// pid, tid, vma, address, size, index, name, NUL.
    fn load(
        &mut self,
        fields: &Fields<'_>,
        time: u64,
        each: &mut dyn FnMut(JitEvent),
    ) -> Option<()> {
        let (start, size, index) = (fields.u64(16)?, fields.u64(24)?, fields.u64(32)?);
        let rest = fields.bytes.get(40..)?;
        let name = &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())];
        let name: Arc<str> = String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]).into();
        self.routines += 1;
        self.names += name.len() as u64;
        self.by_index.insert(index, (start, size, Arc::clone(&name)));
        tell(each, JitEvent { time, start, size, name: Some(name) });
        Some(())
    }

    /// pid, tid, vma, old address, new address, size, index.
    fn moved(
        &mut self,
        fields: &Fields<'_>,
        time: u64,
        each: &mut dyn FnMut(JitEvent),
    ) -> Option<()> {
        let (old, new) = (fields.u64(16)?, fields.u64(24)?);
        let (size, index) = (fields.u64(32)?, fields.u64(40)?);
        self.routines += 1;
        // One that nothing was told of has no name at either place.
        let known = self.by_index.get_mut(&index).filter(|(start, ..)| *start == old);
        let name = known.map(|(start, _, name)| {
            *start = new;
            Arc::clone(name)
        });
        tell(each, JitEvent { time, start: old, size, name: None });
        tell(each, JitEvent { time, start: new, size, name });
        Some(())
    }
}

/// An event, unless it is of no byte or of more than there can be.
fn tell(each: &mut dyn FnMut(JitEvent), event: JitEvent) {
    if event.size > 0 && event.start.checked_add(event.size - 1).is_some() {
        each(event);
    }
}

/// As many bytes as there are, up to `most`.
fn up_to<R: Read>(source: &mut R, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Numbers at offsets.
struct Fields<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl Fields<'_> {
    fn u32(&self, at: usize) -> Option<u32> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn u64(&self, at: usize) -> Option<u64> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }
}

#[cfg(test)]
pub(crate) mod tests;
