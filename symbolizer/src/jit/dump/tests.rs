use super::*;
use proptest::prelude::*;
use std::io::Cursor;

/// A file as a compiler writes it.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) bytes: Vec<u8>,
}

/// A routine that is told of.
pub(crate) struct Routine {
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

    pub(crate) fn load(&mut self, time: u64, routine: Routine, name: &str) {
        let Routine { start, size, index } = routine;
        let code = usize::try_from(size.min(64)).unwrap();
        self.prefix(LOAD, 16 + 40 + name.len() + 1 + code, time);
        self.words(&[0, start, start, size, index]);
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.bytes.extend(vec![0xcc; code]);
    }

    fn moved(&mut self, time: u64, new: u64, routine: Routine) {
        let Routine { start: old, size, index } = routine;
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
    written.load(100, Routine { start: 0x1000, size: 0x80, index: 1 }, "hot loop");
    written.prefix(2, 16 + 5, 110);
    written.bytes.extend([1; 5]);
    written.moved(200, 0x9000, Routine { start: 0x1000, size: 0x80, index: 1 });
    written.moved(210, 0x6000, Routine { start: 0x5000, size: 0x10, index: 9 });
    written.prefix(CLOSE, 16, 300);
    written.load(400, Routine { start: 0x1, size: 1, index: 2 }, "behind the end");
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
    written.load(1, Routine { start: 0x10, size: 4, index: 0 }, "f");
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
    written.load(1, Routine { start: 0x10, size: 0, index: 0 }, "empty");
    written.load(1, Routine { start: u64::MAX, size: 2, index: 0 }, "beyond");
    written.load(1, Routine { start: u64::MAX, size: 1, index: 0 }, "last");
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
            written.load(*time, Routine { start: *start, size: *size, index: index as u64 }, &format!("f{index}"));
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
