//! Records in, names and reasons out.

#![allow(clippy::print_stderr, reason = "a test that skips says why")]

use super::*;
use crate::KernelSource;
use record::{Task, Tid};

const NONE: Misc = Misc(0);

fn at(time: u64) -> SampleId {
    SampleId { time: Some(Time(time)), ..SampleId::default() }
}

fn task(pid: i32) -> Task {
    Task { pid: Pid(pid), tid: Tid(pid) }
}

fn mapping<'a>(
    pid: i32,
    (start, length): (u64, u64),
    offset: u64,
    path: &'a [u8],
) -> SideRecord<'a> {
    SideRecord::Mmap2(MappingRecord {
        task: task(pid),
        start,
        length,
        page_offset: offset,
        file: FileIdentity::Unknown,
        protection: Some(5),
        flags: Some(2),
        path,
    })
}

fn silent() -> Symbolizer {
    Symbolizer::new(Options { kernel: KernelSource::None, ..Options::default() })
}

fn text(symbolizer: &mut Symbolizer, mode: CpuMode, pid: i32, (ip, time): (u64, u64)) -> String {
    let place = symbolizer.place(mode, Pid(pid), ip, Time(time));
    let again = symbolizer.place(mode, Pid(pid), ip, Time(time));
    assert_eq!(place, again);
    let object = symbolizer.object_name(place.object).to_owned();
    format!("{object} {:#x} {}", place.address, symbolizer.resolve(place).text())
}

#[test]
fn what_is_no_code_of_a_file() {
    let mut symbolizer = silent();
    let mut user = |pid, ip| text(&mut symbolizer, CpuMode::User, pid, (ip, 9));
    assert_eq!(user(1, 5), "[unknown-process] 0x5 [unknown-process]");
    let mut symbolizer = silent();
    symbolizer.side(NONE, &mapping(1, (0x1000, 0x1000), 0, b"//anon"), &at(1));
    symbolizer.side(NONE, &mapping(1, (0x3000, 0x1000), 0, b"/memfd:jit (deleted)"), &at(1));
    symbolizer.side(NONE, &mapping(1, (0x5000, 0x1000), 0x2000, b"/no/such/file"), &at(1));
    let mut user = |ip| text(&mut symbolizer, CpuMode::User, 1, (ip, 9));
    assert_eq!(user(0x1005), "//anon 0x1005 [anonymous]");
    assert_eq!(user(0x3005), "/memfd:jit (deleted) 0x3005 [anonymous]");
    assert_eq!(user(0x5005), "/no/such/file 0x2005 [file-gone]");
    assert_eq!(user(0x2005), "[not-mapped] 0x2005 [not-mapped]");
    for (mode, tag) in [
        (CpuMode::GuestUser, "[guest]"),
        (CpuMode::GuestKernel, "[guest]"),
        (CpuMode::Hypervisor, "[hypervisor]"),
        (CpuMode::Unknown, "[unknown-mode]"),
        (CpuMode::Kernel, "[no-kernel-symbols]"),
    ] {
        assert!(text(&mut symbolizer, mode, 1, (7, 9)).ends_with(tag), "{tag}");
    }
}

#[test]
fn anonymous_memory_of_two_processes_is_not_one_place() {
    let mut symbolizer = silent();
    for pid in [1, 2] {
        symbolizer.side(NONE, &mapping(pid, (0x1000, 0x1000), 0, b"//anon"), &at(1));
    }
    let mut place = |pid| symbolizer.place(CpuMode::User, Pid(pid), 0x1005, Time(2));
    assert_ne!(place(1), place(2));
}

#[test]
fn exec_fork_and_threads() {
    let mut symbolizer = silent();
    let mut side = |misc, record: SideRecord<'_>, time| symbolizer.side(misc, &record, &at(time));
    side(NONE, mapping(1, (0x1000, 0x1000), 0, b"/old"), 10);
    side(NONE, SideRecord::Fork { task: task(2), parent: task(1), time: Time(20) }, 20);
    side(Misc::FORK_EXEC, SideRecord::Fork { task: task(3), parent: task(1), time: Time(20) }, 20);
    let thread = Task { pid: Pid(1), tid: Tid(9) };
    side(NONE, SideRecord::Fork { task: thread, parent: task(1), time: Time(21) }, 21);
    side(NONE, SideRecord::Comm { task: task(1), name: b"renamed" }, 25);
    side(Misc::COMM_EXEC, SideRecord::Comm { task: task(1), name: b"new" }, 30);
    side(NONE, mapping(1, (0x1000, 0x1000), 0, b"/new"), 31);
    let mut object = |pid, time| {
        let place = symbolizer.place(CpuMode::User, Pid(pid), 0x1005, Time(time));
        symbolizer.object_name(place.object).to_owned()
    };
    assert_eq!(object(1, 9), "[not-mapped]");
    assert_eq!(object(1, 29), "/old");
    assert_eq!(object(1, 30), "[not-mapped]");
    assert_eq!(object(1, 31), "/new");
    assert_eq!(object(2, 99), "/old");
    assert_eq!(object(2, 19), "[not-mapped]");
    assert_eq!(object(3, 99), "[unknown-process]");
}

#[test]
fn build_ids_and_inodes_of_one_file_are_one_object() {
    let mut symbolizer = silent();
    let mut object = |pid, file| {
        let SideRecord::Mmap2(record) = mapping(pid, (0x1000, 0x1000), 0, b"/file") else {
            return ObjectId(0);
        };
        symbolizer.side(NONE, &SideRecord::Mmap2(MappingRecord { file, ..record }), &at(1));
        symbolizer.place(CpuMode::User, Pid(pid), 0x1000, Time(1)).object
    };
    let inode = |inode| FileIdentity::Inode { major: 8, minor: 1, inode, generation: 0 };
    let first = object(1, inode(5));
    assert_eq!(object(2, FileIdentity::BuildId(b"abc")), first);
    assert_eq!(object(3, FileIdentity::BuildId(b"abc")), first);
    assert_eq!(object(4, inode(5)), first);
    let other = object(5, inode(6));
    assert_ne!(other, first);
    assert_ne!(object(6, FileIdentity::BuildId(b"xyz")), first);
}

#[test]
fn routines_that_the_kernel_made_come_and_go() {
    let mut symbolizer = silent();
    let told = |name: &'static [u8], flags| SideRecord::Ksymbol {
        address: 0xffff_ffff_c000_0000,
        length: 0x40,
        kind: 1,
        flags,
        name,
    };
    symbolizer.side(NONE, &told(b"bpf_prog_1", 0), &at(10));
    symbolizer.side(NONE, &told(b"bpf_prog_1", 1), &at(20));
    symbolizer.side(NONE, &told(b"bpf_prog_2", 0), &at(30));
    let mut kernel =
        |time| text(&mut symbolizer, CpuMode::Kernel, 1, (0xffff_ffff_c000_0008, time));
    assert_eq!(kernel(15), "[bpf] 0xffffffffc0000008 bpf_prog_1");
    assert_eq!(kernel(25), "[kernel] 0xffffffffc0000008 [no-kernel-symbols]");
    assert_eq!(kernel(35), "[bpf] 0xffffffffc0000008 bpf_prog_2");
}

/// A machine whose kernel is a list of four symbols.
fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
    std::fs::write(root.path().join("proc/sys/kernel/osrelease"), "6.1.0\n").unwrap();
    let list = "ffffffff91000000 T _text\nffffffff91000000 T first\nffffffff91000100 T _etext\n\
        ffffffffc0000000 t probe\t[nf_tables]\n";
    std::fs::write(root.path().join("proc/kallsyms"), list).unwrap();
    root
}

#[test]
fn a_recording_of_another_boot_gets_no_names_of_this_one() {
    let root = machine();
    let options = Options { root: root.path().to_owned(), ..Options::default() };
    let kernel = |symbolizer: &mut Symbolizer| {
        text(symbolizer, CpuMode::Kernel, 1, (0xffff_ffff_9100_0008, 1))
    };
    let told = |address| {
        mapping(-1, (0xffff_ffff_9000_0000, 0x100_0000), address, b"[kernel.kallsyms]_text")
    };
    let mut symbolizer = Symbolizer::new(options.clone());
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 first");
    symbolizer.side(NONE, &told(0xffff_ffff_9100_0000), &at(0));
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 first");
    symbolizer.side(NONE, &told(0xffff_ffff_8100_0000), &at(0));
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 [other-kernel]");
    let mut symbolizer = Symbolizer::new(options.clone());
    symbolizer.recorded_release("6.1.0");
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 first");
    symbolizer.recorded_release("6.2.0");
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 [other-kernel]");
    // kptr_restrict hid the address from the recorder: nothing to compare.
    let mut symbolizer = Symbolizer::new(options);
    symbolizer.side(NONE, &told(0), &at(0));
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 first");
}

#[test]
fn modules_by_list_and_by_record_are_one_object() {
    let root = machine();
    let mut symbolizer =
        Symbolizer::new(Options { root: root.path().to_owned(), ..Options::default() });
    let ip = 0xffff_ffff_c000_0010;
    assert_eq!(
        text(&mut symbolizer, CpuMode::Kernel, 1, (ip, 1)),
        format!("[nf_tables] {ip:#x} probe")
    );
    let before = symbolizer.place(CpuMode::Kernel, Pid(1), ip, Time(1));
    let path = b"/lib/modules/6.1.0/kernel/net/nf-tables.ko.xz";
    symbolizer.side(NONE, &mapping(-1, (0xffff_ffff_c000_0000, 0x1000), 0, path), &at(0));
    assert_eq!(symbolizer.place(CpuMode::Kernel, Pid(1), ip, Time(1)), before);
}

#[test]
fn the_vdso_of_this_process() {
    let maps = std::fs::read("/proc/self/maps").unwrap();
    let entries = crate::parse_maps(&maps).unwrap();
    let Some(vdso) = entries.iter().find(|entry| entry.path == b"[vdso]") else {
        eprintln!("skipped: this process has no vdso");
        return;
    };
    let own = OwnVdso::read(std::path::Path::new("/")).unwrap();
    let mut symbolizer = silent();
    symbolizer.maps(Pid(1), &entries, Time(0));
    let mut named = 0;
    for step in (0..vdso.end - vdso.start).step_by(16) {
        let place = symbolizer.place(CpuMode::User, Pid(1), vdso.start + step, Time(1));
        assert_eq!(place.address, step);
        let name = symbolizer.resolve(place).text().to_owned();
        assert!(
            name.contains("vdso_")
                || name.starts_with("__")
                || name.starts_with('[')
                || !name.is_empty()
        );
        named += usize::from(
            name.contains("vdso_clock_gettime") || name.contains("kernel_clock_gettime"),
        );
    }
    assert!(named > 0, "clock_gettime is in every vdso");
    let another = crate::object::Vdso { build_id: None, length: vdso.end - vdso.start + 4096 };
    assert!(matches!(own.check(&another, None), Err(Reason::Vdso { .. })));
}
