//! Chains whose part of user space comes in a record of its own (Linux 6.18):
//! recordings made by hand, as no kernel here writes them.

use crate::convert::ebs;
use perfdata::attr::EventType;
use perfdata::bytes::RecordWords;
use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::stream::write::{attr, event_name, file_header, finished_round};
use perfdata::{
    Attr, AttrFlags, ByteOrder, ChainContext, Misc, Pid, Sample, SampleId, SampleLayout,
    SampleType, SidebandRecord, Task, Tid, Time,
};
use std::path::Path;
use tempfile::TempDir;

const ORDER: ByteOrder = ByteOrder::Little;
/// What a frame pointer that is none may lead to.
const SECRET: u64 = u64::from_le_bytes(*b"m/.cargo");

struct Stream {
    layout: SampleLayout,
    bytes: Vec<u8>,
}

impl Stream {
    fn new() -> Stream {
        let event = Attr {
            kind: EventType::SOFTWARE,
            config: 2,
            sample_period: 1,
            sample_type: SampleType::IP
                | SampleType::TID
                | SampleType::TIME
                | SampleType::CALLCHAIN,
            flags: AttrFlags::SAMPLE_ID_ALL
                | AttrFlags::MMAP2
                | AttrFlags::DEFER_CALLCHAIN
                | AttrFlags::DEFER_OUTPUT,
            ..Attr::default()
        };
        let mut bytes = Vec::new();
        file_header(ORDER, &mut bytes);
        attr(&event, &[1], ORDER, &mut bytes).unwrap();
        event_name(1, "page-faults", ORDER, &mut bytes).unwrap();
        let mut stream = Stream { layout: SampleLayout::new(&event, ORDER).unwrap(), bytes };
        let mapping = Mapping {
            task: task(1),
            start: 0x40_0000,
            length: 0x1000,
            page_offset: 0,
            file: FileIdentity::Inode { major: 0, minor: 0, inode: 0, generation: 0 },
            protection: Some(5),
            flags: Some(2),
            path: b"//anon",
        };
        stream.side(&SidebandRecord::Mmap2(mapping), 1, 1);
        stream
    }

    fn side(&mut self, record: &SidebandRecord<'_>, tid: i32, time: u64) {
        let id = SampleId { task: Some(task(tid)), time: Some(Time(time)), ..SampleId::default() };
        let mut trailer = Vec::new();
        self.layout.encode_trailer(&id, &mut trailer).unwrap();
        record.encode(Misc(2), &trailer, ORDER, &mut self.bytes).unwrap();
    }

    /// A sample in the kernel whose callers in user space come later.
    fn sample(&mut self, tid: i32, time: u64, cookie: u64) {
        let chain = words(&[
            ChainContext::KERNEL.0,
            0xffff_8000_0000_1000,
            ChainContext::USER_DEFERRED.0,
            cookie,
        ]);
        let sample = Sample {
            misc: Misc(1),
            ip: Some(0xffff_8000_0000_1000),
            task: Some(task(tid)),
            time: Some(Time(time)),
            callchain: Some(RecordWords::new(&chain, ORDER)),
            ..Sample::default()
        };
        self.layout.encode(&sample, &mut self.bytes).unwrap();
    }

    fn sent(&mut self, tid: i32, time: u64, cookie: u64) {
        let chain = words(&[ChainContext::USER.0, 0x40_0010, SECRET, 0x40_0020]);
        let chain = RecordWords::new(&chain, ORDER);
        self.side(&SidebandRecord::CallchainDeferred { cookie, chain }, tid, time);
    }

    fn round(&mut self) {
        finished_round(ORDER, &mut self.bytes);
    }
}

fn task(tid: i32) -> Task {
    Task { pid: Pid(1), tid: Tid(tid) }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn frames(file: &Path) -> (Vec<Vec<String>>, String) {
    let out = ebs(&["script", "-F", "tid,time,ip"], &[file]);
    let text = String::from_utf8(out.stdout).unwrap();
    let mut records = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match line.starts_with('\t') {
            false => records.push(vec![line.trim().to_owned()]),
            true => records.last_mut().unwrap().push(line.trim().to_owned()),
        }
    }
    (records, String::from_utf8(out.stderr).unwrap())
}

#[test]
fn chains_that_were_deferred_are_whole_in_every_form() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pipe.data");
    let mut stream = Stream::new();
    // One way into the kernel; another thread's with the same number; one
    // that takes rounds; one that never ends.
    stream.sample(1, 10, 70);
    stream.sample(1, 11, 70);
    stream.sample(2, 12, 70);
    stream.sample(1, 13, 71);
    stream.sent(1, 20, 70);
    (0..4).for_each(|_| stream.round());
    stream.sample(3, 30, 72);
    stream.sent(1, 31, 71);
    stream.sent(3, 32, 72);
    stream.round();
    std::fs::write(&file, &stream.bytes).unwrap();

    let (records, said) = frames(&file);
    let tids: Vec<&str> = records.iter().map(|it| it[0].split(' ').next().unwrap()).collect();
    assert_eq!(tids, ["1", "1", "2", "1", "3"], "in order of time");
    let secret = format!("{SECRET:x}");
    let whole = ["ffff800000001000", "400010", &secret, "400020"];
    for (record, expected) in records.iter().zip([4, 4, 1, 4, 4]) {
        assert_eq!(record[1..], whole[..expected], "{}", record[0]);
    }
    let unsent = "1 call chains are without user space's part";
    assert!(said.contains(unsent), "{said}");

    let other = folder.path().join("other.data");
    for form in [&["convert"][..], &["convert", "--pipe"]] {
        let done = ebs(form, &[&file, &other]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(frames(&other), (records.clone(), said.clone()), "{form:?}");
        let anonymous = [form, &["--anonymise"]].concat();
        let done = ebs(&anonymous, &[&file, &other]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let cleaned = |text: &String| if *text == secret { "0".to_owned() } else { text.clone() };
        let expected: Vec<Vec<String>> =
            records.iter().map(|record| record.iter().map(cleaned).collect()).collect();
        assert_eq!(frames(&other).0, expected, "{anonymous:?}");
        let bytes = std::fs::read(&other).unwrap();
        assert_eq!(memchr::memmem::find(&bytes, &SECRET.to_le_bytes()), None);
    }
}
