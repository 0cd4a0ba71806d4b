//! A recording of IBS as kernels before 6.1 made them, of registers alone, and with a
//! thread whose name would do something: made by hand, as no machine here has IBS.

use super::HOSTILE;
use perfdata::attr::EventType;
use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::stream::Feature;
use perfdata::stream::write::{attr, event_name, feature, file_header, finished_round};
use perfdata::{
    Attr, AttrFlags, ByteOrder, Cpu, Misc, Pid, Sample, SampleId, SampleLayout, SampleType,
    SidebandRecord, Task, Tid, Time,
};
use tests::{Scene, workload};

const ORDER: ByteOrder = ByteOrder::Little;
const USER: Misc = Misc(2);
/// IBS of a Zen 2, as `perf_event_attr` and CPUID have it.
const IBS_OP: EventType = EventType(11);
const CPU_ID: &str = "AuthenticAMD,23,49,0";

/// The stream as it grows.
struct IbsStream {
    bytes: Vec<u8>,
    layout: SampleLayout,
    task: Task,
}

/// What an access came to, by an emulated one.
struct IbsAccess {
    time: u64,
    ip: u64,
    address: u64,
    is_store: bool,
    level: String,
}

impl IbsStream {
    fn new(task: Task) -> IbsStream {
        let fields = SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::CPU
            | SampleType::PERIOD
            | SampleType::RAW;
        let event = Attr {
            kind: IBS_OP,
            sample_period: 160,
            sample_type: fields,
            flags: AttrFlags::SAMPLE_ID_ALL | AttrFlags::MMAP2 | AttrFlags::COMM,
            ..Attr::default()
        };
        let mut bytes = Vec::new();
        file_header(ORDER, &mut bytes);
        attr(&event, &[1], ORDER, &mut bytes).unwrap();
        event_name(1, "ibs_op//", ORDER, &mut bytes).unwrap();
        for of in [Feature::Arch("x86_64".into()), Feature::CpuId(CPU_ID.into())] {
            feature(&of, ORDER, &mut bytes).unwrap();
        }
        IbsStream { bytes, layout: SampleLayout::new(&event, ORDER).unwrap(), task }
    }

    fn side(&mut self, record: &SidebandRecord<'_>) {
        let id = SampleId {
            task: Some(self.task),
            time: Some(Time(1)),
            cpu: Some(Cpu(0)),
            identifier: Some(1),
            ..SampleId::default()
        };
        let mut trailer = Vec::new();
        self.layout.encode_trailer(&id, &mut trailer).unwrap();
        record.encode(USER, &trailer, ORDER, &mut self.bytes).unwrap();
    }

    fn sample(&mut self, access: &IbsAccess) {
        let (source, cycles) = match access.level.as_str() {
            "L1 hit" => (0, 0),
            "RAM hit" => (3, 400),
            _ => (2, 90),
        };
        let missed = if cycles > 0 { 1 << 7 | 1 << 20 | cycles << 32 } else { 0 };
        let data3 = missed | if access.is_store { 2 } else { 1 };
        let registers = [1 << 18, 0, 0, source, data3, access.address, 0, 0];
        let words = registers.iter().flat_map(|register: &u64| register.to_le_bytes());
        let raw: Vec<u8> = 0x3ff_u32.to_le_bytes().into_iter().chain(words).collect();
        let sample = Sample {
            misc: Misc(USER.0 | Misc::EXACT_IP.0),
            identifier: Some(1),
            ip: Some(access.ip),
            task: Some(self.task),
            time: Some(Time(access.time)),
            addr: Some(access.address),
            cpu: Some(Cpu(0)),
            period: Some(160),
            raw: Some(&raw),
            ..Sample::default()
        };
        self.layout.encode(&sample, &mut self.bytes).unwrap();
    }
}

/// `ibs.data`: the accesses of an emulated `patterns.c` as IBS would have told them.
pub(super) fn record(scene: &Scene) {
    let source = workload::sources().join("patterns.c");
    let line = format!("gcc -O1 -g -static -no-pie -o patterns {}", source.display());
    scene.shell(&line).success();
    let line = "ebs -u --source emulated -t memory_loads,memory_stores -i =20,=20 -c all -d";
    scene.run(&format!("{line} -o model.data ./patterns nodes")).success();
    let text = scene.run("ebs export --to csv model.data").success().out;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let titles = reader.headers().unwrap().clone();
    let column = |title: &str| titles.iter().position(|it| it == title).unwrap();
    let columns = ["time", "ip", "addr", "op", "level"].map(column);
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let task = Task { pid: Pid(4321), tid: Tid(4321) };
    let mut stream = IbsStream::new(task);
    // Longer ones than 256 bytes are not kept.
    let name = format!("{HOSTILE}{}", "x".repeat(100));
    stream.side(&SidebandRecord::Comm { task, name: name.as_bytes() });
    let program = scene.path("patterns").display().to_string();
    stream.side(&SidebandRecord::Mmap2(Mapping {
        task,
        start: 0x40_0000,
        length: 0x10_0000,
        page_offset: 0,
        file: FileIdentity::Inode { major: 0, minor: 0, inode: 0, generation: 0 },
        protection: Some(5),
        flags: Some(2),
        path: program.as_bytes(),
    }));
    for row in reader.records().map(Result::unwrap) {
        let [time, ip, addr, op, level] = columns.map(|column| row[column].to_owned());
        stream.sample(&IbsAccess {
            time: time.parse().unwrap(),
            ip: hex(&ip),
            address: hex(&addr),
            is_store: op.contains("store"),
            level,
        });
    }
    finished_round(ORDER, &mut stream.bytes);
    scene.write("ibs.data", &stream.bytes);
}
