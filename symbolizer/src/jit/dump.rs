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
    #[error("it does not start as a jitdump file of version 1 does")]
    Header,
    #[error("the record at byte {at} claims {size} bytes")]
    Record { at: u64, size: u32 },
    #[error("it tells of more than {MOST_ROUTINES} routines, or its names take too much memory")]
    TooMany,
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
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    /// A file as a compiler writes it.
    #[derive(Clone, Debug)]
    pub(crate) struct Written {
        pub(crate) bytes: Vec<u8>,
    }

    pub(crate) struct WrittenRoutine {
        pub(crate) start: u64,
        pub(crate) size: u64,
        pub(crate) index: u64,
    }

    impl Written {
        pub(crate) fn new(pid: u32, flags: u64) -> Written {
            let mut written = Written { bytes: Vec::new() };
            for word in [MAGIC, 1, 40, 62, 0, pid] {
                written.bytes.extend(word.to_le_bytes());
            }
            written.words(&[7, flags]);
            written
        }

        fn words(&mut self, words: &[u64]) {
            for word in words {
                self.bytes.extend(word.to_le_bytes());
            }
        }

        fn prefix(&mut self, kind: u32, size: usize, time: u64) {
            self.bytes.extend(kind.to_le_bytes());
            self.bytes.extend(u32::try_from(size).unwrap().to_le_bytes());
            self.bytes.extend(time.to_le_bytes());
        }

        pub(crate) fn load(&mut self, time: u64, routine: WrittenRoutine, name: &str) {
            let WrittenRoutine { start, size, index } = routine;
            let code = usize::try_from(size.min(64)).unwrap();
            self.prefix(LOAD, 16 + 40 + name.len() + 1 + code, time);
            self.words(&[0, start, start, size, index]);
            self.bytes.extend(name.as_bytes());
            self.bytes.push(0);
            self.bytes.extend(vec![0xcc; code]);
        }

        fn moved(&mut self, time: u64, new: u64, routine: WrittenRoutine) {
            let WrittenRoutine { start: old, size, index } = routine;
            self.prefix(MOVE, 16 + 48, time);
            self.words(&[0, old, old, new, size, index]);
        }
    }

    fn events(bytes: &[u8]) -> (Vec<JitEvent>, Result<(), JitDumpError>) {
        let mut source = Cursor::new(bytes);
        let mut dump = JitDump::open(&mut source).unwrap().unwrap();
        let mut events = Vec::new();
        let result = dump.read(&mut source, &mut |event| events.push(event));
        (events, result)
    }

    fn event(time: u64, start: u64, size: u64, name: Option<&str>) -> JitEvent {
        JitEvent { time, start, size, name: name.map(Arc::from) }
    }

    #[test]
    fn loads_and_moves_are_told_with_their_times() {
        let mut written = Written::new(42, 0);
        written.load(100, WrittenRoutine { start: 0x1000, size: 0x80, index: 1 }, "hot loop");
        written.prefix(2, 16 + 5, 110);
        written.bytes.extend([1; 5]);
        written.moved(200, 0x9000, WrittenRoutine { start: 0x1000, size: 0x80, index: 1 });
        written.moved(210, 0x6000, WrittenRoutine { start: 0x5000, size: 0x10, index: 9 });
        written.prefix(CLOSE, 16, 300);
        written.load(400, WrittenRoutine { start: 0x1, size: 1, index: 2 }, "behind the end");
        let (told, result) = events(&written.bytes);
        assert_eq!(result, Ok(()));
        let expected = [
            event(100, 0x1000, 0x80, Some("hot loop")),
            event(200, 0x1000, 0x80, None),
            event(200, 0x9000, 0x80, Some("hot loop")),
            event(210, 0x5000, 0x10, None),
            event(210, 0x6000, 0x10, None),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_no_jitdump_is_refused() {
        let good = Written::new(1, 0).bytes;
        let open = |bytes: &[u8]| JitDump::open(&mut Cursor::new(bytes)).map(|dump| dump.is_some());
        assert_eq!(open(&good), Ok(true));
        assert_eq!(open(&good[..39]), Ok(false));
        assert_eq!(open(b"no dump at all"), Err(JitDumpError::Header));
        let mut version = good.clone();
        version[4] = 2;
        assert_eq!(open(&version), Err(JitDumpError::Header));
        let counter = Written::new(1, ARCH_TIMESTAMP).bytes;
        let dump = JitDump::open(&mut Cursor::new(counter)).unwrap().unwrap();
        assert!(!dump.monotonic);
    }

    #[test]
    fn a_record_that_cannot_be_ends_the_reading_and_is_said() {
        let mut written = Written::new(1, 0);
        written.load(1, WrittenRoutine { start: 0x10, size: 4, index: 0 }, "f");
        let at = written.bytes.len() as u64;
        written.prefix(LOAD, 15, 2);
        let (told, result) = events(&written.bytes);
        assert_eq!(told.len(), 1);
        assert_eq!(result, Err(JitDumpError::Record { at, size: 15 }));
        let mut short = Written::new(1, 0);
        short.prefix(LOAD, 16 + 39, 2);
        short.bytes.extend([0; 39]);
        assert_eq!(events(&short.bytes).1, Err(JitDumpError::Record { at: 40, size: 55 }));
    }

    #[test]
    fn code_of_no_byte_or_beyond_the_last_address_is_not_told() {
        let mut written = Written::new(1, 0);
        written.load(1, WrittenRoutine { start: 0x10, size: 0, index: 0 }, "empty");
        written.load(1, WrittenRoutine { start: u64::MAX, size: 2, index: 0 }, "beyond");
        written.load(1, WrittenRoutine { start: u64::MAX, size: 1, index: 0 }, "last");
        assert_eq!(events(&written.bytes).0, [event(1, u64::MAX, 1, Some("last"))]);
    }

    proptest! {
        /// However the file grows, the same is told.
        #[test]
        fn a_growing_file_tells_what_the_whole_one_does(
            loads in prop::collection::vec((0_u64..50, 1_u64..40, 0_u64..200), 1..20),
            cuts in prop::collection::vec(0_usize..4000, 0..6),
        ) {
            let mut written = Written::new(1, 0);
            for (index, (start, size, time)) in loads.iter().enumerate() {
                written.load(*time, WrittenRoutine { start: *start, size: *size, index: index as u64 }, &format!("f{index}"));
            }
            let (whole, result) = events(&written.bytes);
            prop_assert_eq!(result, Ok(()));
            prop_assert_eq!(whole.len(), loads.len());
            let mut cuts = cuts;
            cuts.push(written.bytes.len());
            cuts.sort_unstable();
            let (mut dump, mut told) = (None, Vec::new());
            for cut in cuts {
                let mut source = Cursor::new(&written.bytes[..cut.min(written.bytes.len())]);
                if dump.is_none() {
                    dump = JitDump::open(&mut source).unwrap();
                }
                if let Some(dump) = &mut dump {
                    dump.read(&mut source, &mut |event| told.push(event)).unwrap();
                }
            }
            prop_assert_eq!(told, whole);
        }
    }
}
