use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use perfdata::stream::write;
use perfdata::{Attr, AttrFlags, EventType, Misc, SampleType, SidebandRecord};
use recorder::Modes;
use recorder::session::preamble::SIDE_NAME;
use recorder::sys::event::NATIVE_ORDER;

use super::*;
use crate::control::StoredCounts;
use crate::standing::history::{History, HistoryAccount};
use crate::standing::role::TargetDescription;
use crate::store::Clock;

/// Time passes when a test says so.
#[derive(Debug, Default)]
struct Fake {
    now: AtomicU64,
    offset: AtomicI64,
}

impl Clock for Fake {
    fn monotonic(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    fn realtime(&self) -> u64 {
        self.monotonic().saturating_add_signed(self.offset.load(Ordering::Relaxed))
    }

    fn boot(&self) -> [u8; 16] {
        [7; 16]
    }
}

const SECOND: u64 = 1_000_000_000;

#[derive(Debug)]
struct Failing {
    below: Subdirectory,
    fails: Arc<Mutex<Option<(DiskCall, i32)>>>,
}

impl StoreLocation for Failing {
    fn open(&self) -> io::Result<Directory> {
        self.below.open()
    }

    fn fault(&self, call: DiskCall) -> io::Result<()> {
        match *self.fails.lock().unwrap() {
            Some((failing, errno)) if failing == call => Err(io::Error::from_raw_os_error(errno)),
            _ => Ok(()),
        }
    }
}

struct Scene {
    path: PathBuf,
    _kept: Option<tempfile::TempDir>,
    clock: Arc<Fake>,
    status: Arc<SharedCounts<StandingStatus>>,
    fails: Arc<Mutex<Option<(DiskCall, i32)>>>,
    spool: Spool,
    sampling: RecordedStream,
    appended: u64,
}

fn attr(config: u64, sample_type: SampleType) -> Attr {
    let flags = AttrFlags::SAMPLE_ID_ALL;
    Attr { kind: EventType::SOFTWARE, config, sample_type, flags, ..Attr::default() }
}

fn front(id: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write::file_header(NATIVE_ORDER, &mut out);
    let sampled = attr(2, SampleType::IDENTIFIER | SampleType::IP | SampleType::ADDR);
    let side = attr(9, SampleType::IDENTIFIER | SampleType::TID);
    for (attr, id, name) in [(&sampled, id, "page_fault"), (&side, id + 1, SIDE_NAME)] {
        write::attr(attr, &[id], NATIVE_ORDER, &mut out).unwrap();
        write::event_name(id, name, NATIVE_ORDER, &mut out).unwrap();
    }
    write::event_unit(id, "source=software", NATIVE_ORDER, &mut out).unwrap();
    out
}

/// Samples, each with its number for IP.
fn samples(id: u64, numbers: std::ops::Range<u64>) -> Vec<u8> {
    let mut out = Vec::new();
    for number in numbers {
        out.extend([9, 0, 0, 0, 2, 0, 32, 0]);
        // The last so that it does not pack well.
        for word in [id, number, number.wrapping_mul(0x9e37_79b9_7f4a_7c15)] {
            out.extend(word.to_ne_bytes());
        }
    }
    out
}

impl Scene {
    fn at(path: &Path, free: u64) -> Scene {
        let kept = RetentionLimits {
            directory: path.to_owned(),
            bytes: 1 << 20,
            age: Duration::from_secs(600),
            free,
        };
        let role = StandingSpec {
            name: "web".into(),
            event: "page_fault".into(),
            modes: Modes::USER,
            interval: None,
            allow_skid: false,
            call_graph: None,
            counted: None,
            target: TargetDescription::System,
            kept,
        };
        let clock = Arc::<Fake>::default();
        clock.now.store(SECOND, Ordering::Relaxed);
        let (status, fails) = (Arc::default(), Arc::default());
        let below = Subdirectory { directory: path.to_owned(), name: "web".into() };
        let place = Failing { below, fails: Arc::clone(&fails) };
        let own: Arc<dyn Clock> = clock.clone();
        let spool = Spool::new(&role, Box::new(place), own, Arc::clone(&status));
        let sampling = RecordedStream::new(11, &front(100));
        let (path, appended) = (path.to_owned(), 0);
        Scene { path, _kept: None, clock, status, fails, spool, sampling, appended }
    }

    fn new() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let scene = Scene::at(directory.path(), 0);
        Scene { _kept: Some(directory), ..scene }
    }

    /// Another process on the same directory, after this one was killed:
    /// nothing was closed.
    fn again(self, stream: u64, id: u64) -> Scene {
        let Scene { path, _kept, clock, spool, .. } = self;
        drop(spool);
        let mut next = Scene::at(&path, 0);
        next.spool.clock = clock.clone();
        let sampling = RecordedStream::new(stream, &front(id));
        Scene { _kept, clock, sampling, ..next }
    }

    fn append(&mut self, id: u64, count: u64) {
        let bytes = samples(id, self.appended..self.appended + count);
        self.appended += count;
        self.spool.append(&Chunk::new(&bytes), &self.sampling);
    }

    fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.now.fetch_add(SECOND, Ordering::Relaxed);
            self.spool.tick();
        }
    }

    fn account(&mut self, since: Option<Duration>) -> (HistoryAccount, Vec<u8>) {
        let readable = self.spool.readable().unwrap();
        let clock: Arc<dyn Clock> = self.clock.clone();
        let history = History { readable, since, goes_on: false, clock };
        let mut stream = Vec::new();
        write::file_header(NATIVE_ORDER, &mut stream);
        let account = history.run(&mut |piece| {
            stream.extend(piece);
            true
        });
        (account, stream)
    }

    fn bytes(&self) -> u64 {
        let entries = std::fs::read_dir(self.path.join("web")).unwrap();
        entries.filter_map(|entry| Some(entry.unwrap().metadata().ok()?.len())).sum()
    }

    /// Waits for the packer, which lags behind on a busy machine: until then
    /// nothing may be packed, and there is more than is kept.
    fn packs_all(&mut self) {
        self.spool.tick();
        while self.spool.closed.iter().any(|closed| closed.state != SegmentState::Packed)
            || self.names().iter().any(|name| name.ends_with(".tmp"))
        {
            std::thread::sleep(Duration::from_millis(5));
            self.spool.tick();
        }
    }

    #[track_caller]
    fn conserves(&self) -> u64 {
        let StoredCounts { written, unwritten: lost, .. } = self.status.lock().stored;
        assert_eq!(written + lost, self.appended);
        lost
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path.join("web")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Numbers of the samples in a stream that a decoder takes without complaint,
/// and whether each of its events has an account.
fn decoded(stream: &[u8]) -> (Vec<u64>, bool) {
    use perfdata::stream::{StreamDecoder, StreamRecord, StreamStep};
    let mut decoder = StreamDecoder::new();
    let (mut rest, mut numbers) = (stream, Vec::new());
    loop {
        match decoder.step(rest).unwrap() {
            StreamStep::NeedMore(_) => break,
            StreamStep::Record { consumed, record } => {
                if let StreamRecord::Sample(sample) = record {
                    numbers.push(u64::from_ne_bytes(sample.payload[8..16].try_into().unwrap()));
                }
                rest = &rest[consumed..];
            }
        }
    }
    assert!(rest.is_empty(), "{} bytes are left", rest.len());
    let tally = decoder.tally();
    assert_eq!(tally.unknown_id + tally.unplaced, 0);
    assert!(tally.unreadable().is_none());
    (numbers, decoder.events().iter().all(|event| !event.lacks_ledger()))
}

#[test]
fn segments_are_closed_packed_and_thrown_away() {
    let mut scene = Scene::new();
    for _ in 0..400 {
        scene.append(100, 500);
        scene.pass(1);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(scene.conserves(), 0);
    scene.packs_all();
    let room = (1 << 20) + 2 * 160 * 1024;
    assert!(scene.bytes() <= room, "{} bytes: {:?}", scene.bytes(), scene.names());
    let (account, stream) = scene.account(None);
    assert_eq!(account.gaps, Vec::<String>::new());
    let (numbers, is_whole) = decoded(&stream);
    assert!(is_whole);
    assert_eq!(numbers.last(), Some(&(scene.appended - 1)));
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "none is missing inside");
    assert!(numbers[0] > 0, "the oldest are gone");
    let names = scene.names();
    assert!(names.iter().any(|name| name.ends_with(".seg.zst")), "{names:?}");
    // By age, too: all but the one that is written.
    scene.append(100, 1);
    scene.pass(700);
    scene.append(100, 1);
    scene.pass(1);
    let (_, stream) = scene.account(None);
    let (numbers, _) = decoded(&stream);
    assert_eq!(numbers.last(), Some(&(scene.appended - 1)));
    assert!(numbers.len() <= 2, "{}", numbers.len());
}

#[test]
fn what_is_thrown_away_while_it_is_packed_leaves_nothing() {
    let mut scene = Scene::new();
    scene.append(100, 10);
    let directory = scene.spool.directory.as_ref().unwrap();
    directory.create(7, SegmentState::Packing).unwrap();
    packer::replace_closed(directory, 7).unwrap();
    assert_eq!(scene.names(), ["0000000000.open", "0000000007.seg.zst"]);
    scene.spool.packer.reports.0.send((7, 0)).unwrap();
    scene.spool.tick();
    assert_eq!(scene.names(), ["0000000000.open"]);
}

#[test]
fn a_part_of_what_was_recorded_is_a_stream_of_its_own() {
    let mut scene = Scene::new();
    for _ in 0..60 {
        scene.append(100, 300);
        scene.pass(1);
    }
    for seconds in [0, 1, 7, 30, 59] {
        let (account, stream) = scene.account(Some(Duration::from_secs(seconds)));
        let (numbers, is_whole) = decoded(&stream);
        assert_eq!((account.samples, is_whole), (numbers.len() as u64, true));
        // What was written that long ago or later: 300 each second.
        assert_eq!(account.samples, seconds * 300, "{seconds} s");
    }
    assert_eq!(scene.account(Some(Duration::from_secs(1000))).0.samples, scene.appended);
}

#[test]
fn what_is_kept_is_told_before_anything_is_written() {
    let mut scene = Scene::new();
    scene.append(100, 1000);
    scene.pass(2);
    let before = scene.status.lock().stored.bytes;
    assert!(before > 0);
    let mut scene = scene.again(12, 200);
    assert_eq!(scene.status.lock().stored.bytes, 0);
    scene.pass(1);
    assert!(scene.status.lock().stored.bytes >= before, "{:?}", scene.status);
}

#[test]
fn a_clock_that_is_set_changes_neither_what_is_kept_nor_what_is_recent() {
    let mut scene = Scene::new();
    scene.append(100, 10);
    scene.pass(5);
    for step in [86_400 * 365, -86_400 * 700] {
        scene.clock.offset.fetch_add(step * SECOND.cast_signed(), Ordering::Relaxed);
        scene.pass(1);
        scene.append(100, 10);
        scene.pass(4);
        let (account, _) = scene.account(Some(Duration::from_secs(4)));
        assert_eq!(account.samples, 10, "{step}: what came since");
    }
    let (account, stream) = scene.account(None);
    assert_eq!((account.samples, decoded(&stream).0.len()), (30, 30), "nothing is thrown away");
    let numbers = scene.spool.readable().unwrap().numbers;
    assert_eq!(numbers, [0, 1, 2], "each step begins a segment, with its own offset");
}

#[test]
fn what_a_killed_writer_wrote_is_read_and_the_gap_is_told() {
    let mut scene = Scene::new();
    scene.append(100, 10);
    scene.append(100, 10);
    let written = scene.names();
    assert_eq!(written, ["0000000000.open"]);
    // A part of a frame had been written, too.
    let path = scene.path.join("web/0000000000.open");
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(&[77; 21]).unwrap();
    scene.clock.now.fetch_add(3 * SECOND, Ordering::Relaxed);
    let mut scene = scene.again(12, 200);
    scene.append(200, 5);
    scene.pass(1);
    let (account, stream) = scene.account(None);
    assert_eq!(account.samples, 25);
    let [gap] = &account.gaps[..] else { panic!("{account:?}") };
    assert!(gap.contains("3.000 s are missing"), "{gap}");
    assert_eq!(account.damage, Vec::<String>::new(), "all that is there can be read");
    let (numbers, is_whole) = decoded(&stream);
    assert!(is_whole, "each sampling has an account");
    assert_eq!(numbers, (0..20).chain(0..5).collect::<Vec<_>>());
    assert_eq!(scene.account(None).0, account, "as often as it is read");
}

#[test]
fn copies_links_and_damage_cost_themselves_only() {
    let mut scene = Scene::new();
    for _ in 0..3 {
        scene.append(100, 10);
        scene.spool.close();
    }
    scene.packs_all();
    let web = scene.path.join("web");
    let file = |name: &str| web.join(name);
    assert_eq!(scene.names().len(), 3);
    std::fs::copy(file("0000000001.seg.zst"), file("0000000007.seg.zst")).unwrap();
    std::os::unix::fs::symlink("0000000002.seg.zst", file("0000000008.seg.zst")).unwrap();
    let whole = std::fs::read(file("0000000001.seg.zst")).unwrap();
    let Scene { path, _kept, spool, .. } = scene;
    let refused = Scene::at(&path, 0).spool.readable().unwrap_err().to_string();
    assert!(refused.contains("still writes there"), "{refused}");
    drop(spool);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(file("0000000001.seg.zst"), &damaged).unwrap();
        let mut scene = Scene::at(&path, 0);
        scene.clock.now.store(50 * SECOND, Ordering::Relaxed);
        let (account, stream) = scene.account(None);
        let (numbers, _) = decoded(&stream);
        let expected: Vec<u64> = (0..10).chain(20..30).collect();
        let rest: Vec<u64> =
            numbers.iter().copied().filter(|number| !(10..20).contains(number)).collect();
        assert_eq!(rest, expected, "byte {at}: the others are whole");
        assert!(numbers.len() == 30 || account.damage.len() == 2, "byte {at}: {account:?}");
        assert!(account.damage.iter().any(|gap| gap.contains("copy of 1")), "{account:?}");
    }
}

#[test]
fn a_failing_disk_costs_what_it_does_not_take_and_that_is_told() {
    for call in [DiskCall::Write, DiskCall::Sync] {
        for errno in [libc::EIO, libc::ENOSPC, libc::EDQUOT, libc::EROFS] {
            let mut scene = Scene::new();
            scene.append(100, 10);
            scene.pass(1);
            *scene.fails.lock().unwrap() = Some((call, errno));
            for _ in 0..5 {
                scene.append(100, 10);
                scene.pass(1);
            }
            *scene.fails.lock().unwrap() = None;
            scene.pass(2);
            scene.append(100, 10);
            let lost = scene.conserves();
            assert!((1..=50).contains(&lost), "{call:?}: {lost}");
            let (account, stream) = scene.account(None);
            let (numbers, _) = decoded(&stream);
            assert_eq!(account.lost, lost, "{call:?} {errno}: LOST records tell it");
            assert_eq!(numbers.len() as u64 + lost, scene.appended);
            assert_eq!(numbers.last(), Some(&(scene.appended - 1)), "it goes on");
        }
    }
}

/// A LOST record of an event, as a session writes it.
fn lost(id: u64, lost: u64) -> Vec<u8> {
    let mut out = Vec::new();
    // A trailer of TID and IDENTIFIER.
    let trailer = [0, id].map(u64::to_ne_bytes).concat();
    SidebandRecord::Lost { id, lost }.encode(Misc(0), &trailer, NATIVE_ORDER, &mut out).unwrap();
    out
}

#[test]
fn losses_that_a_failing_disk_does_not_take_are_told_though_nothing_more_comes() {
    let mut scene = Scene::new();
    scene.append(100, 10);
    scene.spool.append(&Chunk::new(&lost(100, 3)), &scene.sampling);
    assert_eq!(scene.account(None).0.lost, 3);
    *scene.fails.lock().unwrap() = Some((DiskCall::Write, libc::ENOSPC));
    scene.append(100, 10);
    scene.spool.append(&Chunk::new(&lost(100, 7)), &scene.sampling);
    *scene.fails.lock().unwrap() = None;
    // The disk is left alone for a while.
    for _ in 0..5 {
        scene.pass(1);
        scene.spool.write_gap(&scene.sampling);
    }
    let (account, stream) = scene.account(None);
    assert_eq!((decoded(&stream).0.len(), account.lost), (10, 3 + 10 + 7));
    scene.pass(1);
    scene.spool.write_gap(&scene.sampling);
    assert_eq!(scene.account(None).0.lost, 20, "once");
}

struct Mounted(tempfile::TempDir);

impl Mounted {
    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _gone = std::process::Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// Mounts one; None: not to be had here.
fn small(test: &str) -> Option<Mounted> {
    let directory = tempfile::tempdir().unwrap();
    let mut mount = std::process::Command::new("mount");
    let mounted = mount.args(["-t", "tmpfs", "-o", "size=8m,mode=755", "none"]);
    if !mounted.arg(directory.path()).status().is_ok_and(|status| status.success()) {
        writeln!(io::stderr(), "skipped {test}: no tmpfs can be mounted").unwrap();
        return None;
    }
    Some(Mounted(directory))
}

#[test]
fn a_full_file_system_stops_the_recording_until_there_is_room() {
    for free in [0, 1 << 20] {
        let test = "a_full_file_system_stops_the_recording_until_there_is_room";
        let Some(directory) = small(test) else { return };
        let mut scene = Scene::at(directory.path(), free);
        scene.append(100, 1000);
        assert_eq!(scene.conserves(), 0);
        let ballast = directory.path().join("ballast");
        let left = Directory::new(std::fs::File::open(directory.path()).unwrap().into());
        let room = left.free().unwrap() - free - 50_000;
        std::fs::write(&ballast, vec![1; usize::try_from(room).unwrap()]).unwrap();
        for _ in 0..100 {
            scene.append(100, 1000);
            scene.pass(1);
        }
        let lost = scene.conserves();
        assert!(lost > 0, "{free}");
        // It is looked at before each segment, which have 128 KiB here.
        assert!(left.free().unwrap() + 256 * 1024 >= free, "what is to be free is");
        std::fs::remove_file(&ballast).unwrap();
        scene.pass(2);
        let before = scene.conserves();
        scene.append(100, 1000);
        scene.pass(1);
        assert_eq!(scene.conserves(), before, "it goes on");
        let (account, stream) = scene.account(None);
        assert_eq!(account.lost, before);
        assert_eq!(decoded(&stream).0.len() as u64 + before, scene.appended);
    }
}

#[test]
fn a_file_system_that_becomes_read_only_is_survived() {
    let test = "a_file_system_that_becomes_read_only_is_survived";
    let Some(directory) = small(test) else { return };
    let mut scene = Scene::at(directory.path(), 0);
    let remount = |how: &str| {
        let mut mount = std::process::Command::new("mount");
        let mount = mount.args(["-o", &format!("remount,{how}")]).arg(directory.path());
        assert!(mount.status().unwrap().success());
    };
    scene.append(100, 10);
    // The kernel lets nobody do so while a file is written.
    scene.spool.close();
    scene.packs_all();
    remount("ro");
    scene.append(100, 10);
    scene.pass(2);
    assert_eq!(scene.conserves(), 10);
    remount("rw");
    scene.append(100, 10);
    assert_eq!(scene.conserves(), 10);
    let (account, stream) = scene.account(None);
    assert_eq!((account.lost, decoded(&stream).0.len()), (10, 20));
}

#[test]
fn a_directory_that_is_removed_is_made_again() {
    let mut scene = Scene::new();
    scene.append(100, 10);
    std::fs::remove_dir_all(scene.path.join("web")).unwrap();
    scene.pass(1);
    scene.append(100, 10);
    scene.pass(1);
    let (_, stream) = scene.account(None);
    assert_eq!(decoded(&stream).0, (10..20).collect::<Vec<_>>());
    assert_eq!(scene.names(), ["0000000001.open"]);
}
