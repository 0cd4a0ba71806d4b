//! Records in, names and reasons out.

#![allow(clippy::print_stderr, reason = "a test that skips says why")]

use super::*;
use crate::KernelSource;
use crate::Resolution;
use perfdata::{Task, Tid};

const NONE: Misc = Misc(0);

fn at(time: u64) -> SampleId {
    SampleId { time: Some(Time(time)), ..SampleId::default() }
}

fn task(pid: i32) -> Task {
    Task { pid: Pid(pid), tid: Tid(pid) }
}

fn below(root: &tempfile::TempDir) -> SymbolizerOptions {
    SymbolizerOptions { root: root.path().to_owned(), ..SymbolizerOptions::default() }
}

fn mapping<'a>(
    pid: i32,
    start: u64,
    length: u64,
    offset: u64,
    path: &'a [u8],
) -> SidebandRecord<'a> {
    SidebandRecord::Mmap2(Mapping {
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
    Symbolizer::new(SymbolizerOptions {
        kernel: KernelSource::None,
        ..SymbolizerOptions::default()
    })
}

fn text(symbolizer: &mut Symbolizer, mode: CpuMode, pid: i32, ip: u64, time: u64) -> String {
    let place = symbolizer.place(mode, Pid(pid), ip, Time(time));
    let again = symbolizer.place(mode, Pid(pid), ip, Time(time));
    assert_eq!(place, again);
    let object = symbolizer.object_name(place.object).to_owned();
    format!("{object} {:#x} {}", place.address, symbolizer.resolve(place).text())
}

#[test]
fn code_is_whose_address_it_has_where_the_machine_tells() {
    let mut symbolizer = silent();
    symbolizer.side(NONE, &mapping(1, 0x40_1000, 0x1000, 0, b"/memfd:low (deleted)"), &at(1));
    symbolizer.side(NONE, &mapping(1, 0x7f00_0000_1000, 0x1000, 0, b"//anon"), &at(1));
    let kernel = "[kernel] 0x401010 [no-kernel-symbols]";
    let in_kernel_mode =
        |symbolizer: &mut Symbolizer, ip| text(symbolizer, CpuMode::Kernel, 1, ip, 9);
    assert_eq!(in_kernel_mode(&mut symbolizer, 0x40_1010), kernel, "maybe of 32 bits");
    let (high, user) = (0x7f00_0000_1010, "//anon 0x7f0000001010 [anonymous]");
    assert_eq!(in_kernel_mode(&mut symbolizer, high), user);
    let mut told = |arch: &str| {
        let features = Features { arch: Some(arch.to_owned()), ..Features::default() };
        symbolizer.recorded(&features);
        in_kernel_mode(&mut symbolizer, 0x40_1010)
    };
    assert_eq!(told("i686"), kernel);
    assert_eq!(told("s390x"), kernel);
    assert_eq!(told("x86_64"), "/memfd:low (deleted) 0x401010 [anonymous]");
    let text = 0xffff_ffff_8100_0000;
    assert_eq!(symbolizer.owner(CpuMode::User, text), CpuMode::Kernel);
    assert_eq!(symbolizer.owner(CpuMode::GuestUser, text), CpuMode::GuestUser);
    let vsyscall = symbolizer.place(CpuMode::User, Pid(1), 0xffff_ffff_ff60_0000, Time(9));
    assert_eq!(vsyscall.object, ObjectId::UNMAPPED, "the process has it mapped or not");
}

#[test]
fn what_is_no_code_of_a_file() {
    let mut symbolizer = silent();
    let mut user = |pid, ip| text(&mut symbolizer, CpuMode::User, pid, ip, 9);
    assert_eq!(user(1, 5), "[unknown-process] 0x5 [unknown-process]");
    let mut symbolizer = silent();
    symbolizer.side(NONE, &mapping(1, 0x1000, 0x1000, 0, b"//anon"), &at(1));
    symbolizer.side(NONE, &mapping(1, 0x3000, 0x1000, 0, b"/memfd:jit (deleted)"), &at(1));
    symbolizer.side(NONE, &mapping(1, 0x5000, 0x1000, 0x2000, b"/no/such/file"), &at(1));
    symbolizer.side(NONE, &mapping(1, 0x7000, 0x1000, 0x2000, b"/ (deleted)"), &at(1));
    let mut user = |ip| text(&mut symbolizer, CpuMode::User, 1, ip, 9);
    assert_eq!(user(0x1005), "//anon 0x1005 [anonymous]");
    assert_eq!(user(0x3005), "/memfd:jit (deleted) 0x3005 [anonymous]");
    assert_eq!(user(0x5005), "/no/such/file 0x2005 [file-gone]");
    assert_eq!(user(0x7005), "/ (deleted) 0x2005 [file-gone]");
    assert_eq!(user(0x2005), "[not-mapped] 0x2005 [not-mapped]");
    for (mode, tag) in [
        (CpuMode::GuestUser, "[guest]"),
        (CpuMode::GuestKernel, "[guest]"),
        (CpuMode::Hypervisor, "[hypervisor]"),
        (CpuMode::Unknown, "[unknown-mode]"),
        (CpuMode::Kernel, "[no-kernel-symbols]"),
    ] {
        assert!(text(&mut symbolizer, mode, 1, 7, 9).ends_with(tag), "{tag}");
    }
}

/// The advice to record mappings of data is for recordings that have none.
#[test]
fn data_that_no_mapping_holds_says_what_to_record() {
    let reason = |symbolizer: &mut Symbolizer, address| {
        let place = symbolizer.data_place(CpuMode::User, Pid(1), address, Time(9));
        match symbolizer.resolve_data(place) {
            Resolution::Unknown(reason) => reason.to_string(),
            Resolution::Routine(routine) => panic!("{}", routine.name),
        }
    };
    let mut symbolizer = silent();
    symbolizer.side(NONE, &mapping(1, 0x1000, 0x1000, 0, b"//anon"), &at(1));
    let advised =
        "no recorded mapping holds this data address: record with -d (ebs -d, perf record -d)";
    assert_eq!(reason(&mut symbolizer, 0x9000), advised);
    let SidebandRecord::Mmap2(memory) = mapping(1, 0x3000, 0x1000, 0, b"/memfd:hello (deleted)")
    else {
        panic!()
    };
    let file = FileIdentity::Inode { major: 0, minor: 1, inode: 7, generation: 0 };
    let memory = SidebandRecord::Mmap2(Mapping { file, ..memory });
    symbolizer.side(Misc::MMAP_DATA, &memory, &at(1));
    assert_eq!(reason(&mut symbolizer, 0x9000), "no recorded mapping holds this data address");
    assert_eq!(reason(&mut symbolizer, 0x3008), "/memfd:hello has no named variables");
}

#[test]
fn anonymous_memory_of_two_processes_is_not_one_place() {
    let mut symbolizer = silent();
    for pid in [1, 2] {
        symbolizer.side(NONE, &mapping(pid, 0x1000, 0x1000, 0, b"//anon"), &at(1));
    }
    let mut place = |pid| symbolizer.place(CpuMode::User, Pid(pid), 0x1005, Time(2));
    assert_ne!(place(1), place(2));
}

#[test]
fn exec_fork_and_threads() {
    let mut symbolizer = silent();
    let mut side =
        |misc, record: SidebandRecord<'_>, time| symbolizer.side(misc, &record, &at(time));
    side(NONE, mapping(1, 0x1000, 0x1000, 0, b"/old"), 10);
    side(NONE, SidebandRecord::Fork { task: task(2), parent: task(1), time: Time(20) }, 20);
    side(
        Misc::FORK_EXEC,
        SidebandRecord::Fork { task: task(3), parent: task(1), time: Time(20) },
        20,
    );
    let thread = Task { pid: Pid(1), tid: Tid(9) };
    side(NONE, SidebandRecord::Fork { task: thread, parent: task(1), time: Time(21) }, 21);
    side(NONE, SidebandRecord::Comm { task: task(1), name: b"renamed" }, 25);
    side(Misc::COMM_EXEC, SidebandRecord::Comm { task: task(1), name: b"new" }, 30);
    side(NONE, mapping(1, 0x1000, 0x1000, 0, b"/new"), 31);
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

    let mut offset = |frame, time| symbolizer.offset_in_file(Pid(1), frame, Time(time));
    assert_eq!(offset(0x1005, 29), Some((5, Time(29))));
    assert_eq!(offset(0x1005, 30), Some((5, Time(29))), "in the midst of the exec");
    assert_eq!(offset(0x3000, 30), None);
    assert_eq!(offset(0x1005, 9), None);
}

#[test]
fn build_ids_and_inodes_of_one_file_are_one_object() {
    let mut symbolizer = silent();
    let mut object = |pid, file| {
        let SidebandRecord::Mmap2(record) = mapping(pid, 0x1000, 0x1000, 0, b"/file") else {
            return ObjectId(0);
        };
        symbolizer.side(NONE, &SidebandRecord::Mmap2(Mapping { file, ..record }), &at(1));
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

/// Mappings of old recorders say neither build id nor inode: the list of
/// build ids at hand tells that the file found here is another one.
#[test]
fn files_that_were_built_otherwise_have_no_names() {
    let program = std::env::current_exe().unwrap();
    let path = program.to_str().unwrap();
    let built =
        |id: &[u8]| BuildId { misc: Misc(2), pid: -1, id: id.to_vec(), path: path.to_owned() };
    let said = |build_ids: Vec<BuildId>| {
        let mut symbolizer = silent();
        symbolizer.recorded(&Features { build_ids, ..Features::default() });
        symbolizer.side(NONE, &mapping(1, 0x1000, 0x1000, 0, path.as_bytes()), &at(1));
        text(&mut symbolizer, CpuMode::User, 1, 0x1005, 9)
    };
    let other = said(vec![built(&[7; 20])]);
    assert!(other.ends_with("[build-id-differs]"), "{other}");
    let several = said(vec![built(&[7; 20]), built(&[8; 20])]);
    assert_eq!(several, said(Vec::new()), "which of them was mapped is not known");
}

fn ksymbol(address: u64, kind: u16, flags: u16, name: &[u8]) -> SidebandRecord<'_> {
    SidebandRecord::Ksymbol { address, length: 0x40, kind, flags, name }
}

/// Comparing each with all others takes hours: the test does not end.
#[test]
fn many_files_of_one_path_cost_no_more() {
    let mut symbolizer = silent();
    let SidebandRecord::Mmap2(record) = mapping(1, 0x1000, 0x1000, 0, b"/file") else {
        unreachable!("it is made as one")
    };
    let vdso = Mapping { path: b"[vdso]", ..record };
    for inode in 1..400_000_u64 {
        let id = inode.to_le_bytes();
        let identity = match inode % 2 {
            0 => FileIdentity::BuildId(&id),
            _ => FileIdentity::Inode { major: 8, minor: 1, inode, generation: 0 },
        };
        for record in [record, vdso] {
            let record = Mapping { file: identity, ..record };
            symbolizer.side(NONE, &SidebandRecord::Mmap2(record), &at(inode));
        }
    }
}

#[test]
fn routines_of_one_name_hold_their_own_addresses_only() {
    let mut symbolizer = silent();
    for (address, name) in [(0x1000, b"prog"), (0x2000, b"prog")] {
        let address = 0xffff_ffff_c000_0000 + address;
        symbolizer.side(NONE, &ksymbol(address, 1, 0, name), &at(1));
    }
    let mut place =
        |ip: u64| symbolizer.place(CpuMode::Kernel, Pid(1), 0xffff_ffff_c000_0000 + ip, Time(2));
    let (first, second) = (place(0x1008), place(0x2008));
    for place in [first, second] {
        let Resolution::Routine(routine) = symbolizer.resolve(place) else { panic!("no routine") };
        assert_eq!((&*routine.name, routine.offset), ("prog", 8));
    }
    for address in [second.address, first.address - 9, first.address + 0x38] {
        let crossed = Place { object: first.object, address };
        assert_eq!(symbolizer.resolve(crossed).text(), "[between-symbols]", "{address:#x}");
    }
}

#[test]
fn routines_that_the_kernel_made_say_what_they_are() {
    let mut symbolizer = silent();
    for (kind, object) in [(0, "[ksymbol]"), (1, "[bpf]"), (2, "[ool]"), (9, "[ksymbol]")] {
        let address = 0xffff_ffff_c000_0000 + u64::from(kind) * 0x1000;
        symbolizer.side(NONE, &ksymbol(address, kind, 0, b"made"), &at(1));
        let named = text(&mut symbolizer, CpuMode::Kernel, 1, address, 2);
        assert_eq!(named, format!("{object} {address:#x} made"));
    }
}

#[test]
fn a_task_of_pid_minus_one_is_no_kernel() {
    let mut symbolizer = silent();
    symbolizer.side(NONE, &ksymbol(0x5000, 1, 0, b"made"), &at(1));
    symbolizer.side(NONE, &mapping(-1, 0x6000, 0x1000, 0, b"[module]"), &at(1));
    let mut user = |ip| text(&mut symbolizer, CpuMode::User, -1, ip, 2);
    assert_eq!(user(0x5008), "[unknown-process] 0x5008 [unknown-process]");
    assert_eq!(user(0x6008), "[unknown-process] 0x6008 [unknown-process]");
    // The kernel marks mappings that a task made as a user's.
    symbolizer.side(Misc(2), &mapping(-1, 0x6000, 0x1000, 0, b"module"), &at(1));
    let mut at = |mode| text(&mut symbolizer, mode, -1, 0x6008, 2);
    assert_eq!(at(CpuMode::User), "module 0x6008 [anonymous]");
    assert_eq!(at(CpuMode::Kernel), "[module] 0x6008 [no-kernel-symbols]");
}

#[test]
fn routines_that_the_kernel_made_come_and_go() {
    let mut symbolizer = silent();
    let told = |name: &'static [u8], flags| ksymbol(0xffff_ffff_c000_0000, 1, flags, name);
    symbolizer.side(NONE, &told(b"bpf_prog_1", 0), &at(10));
    symbolizer.side(NONE, &told(b"bpf_prog_1", 1), &at(20));
    symbolizer.side(NONE, &told(b"bpf_prog_2", 0), &at(30));
    let mut kernel = |time| text(&mut symbolizer, CpuMode::Kernel, 1, 0xffff_ffff_c000_0008, time);
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

fn anchor() -> SidebandRecord<'static> {
    let address = 0xffff_ffff_9100_0000;
    mapping(-1, address, 0x100, address, b"[kernel.kallsyms]_text")
}

#[test]
fn a_recording_of_another_boot_gets_no_names_of_this_one() {
    let root = machine();
    let options = below(&root);
    let kernel = |symbolizer: &mut Symbolizer| {
        text(symbolizer, CpuMode::Kernel, 1, 0xffff_ffff_9100_0008, 1)
    };
    let told = |address| {
        mapping(-1, 0xffff_ffff_9000_0000, 0x100_0000, address, b"[kernel.kallsyms]_text")
    };
    let mut symbolizer = Symbolizer::new(options.clone());
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 first");
    symbolizer.side(NONE, &told(0xffff_ffff_9100_0000), &at(0));
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 first");
    symbolizer.side(NONE, &told(0xffff_ffff_8100_0000), &at(0));
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 [other-kernel]");
    let mut symbolizer = Symbolizer::new(options.clone());
    symbolizer.recorded_release("6.1.0");
    symbolizer.side(NONE, &told(0xffff_ffff_9100_0000), &at(0));
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 first");
    symbolizer.recorded_release("6.2.0");
    assert_eq!(kernel(&mut symbolizer), "[kernel] 0xffffffff91000008 [other-kernel]");
}

#[test]
fn a_recording_without_an_anchor_gets_no_names_of_any_boot() {
    let root = machine();
    let options = below(&root);
    let place = (0xffff_ffff_9100_0008, 1);
    let range = (0xffff_ffff_9000_0000, 0x100_0000);
    // kptr_restrict hid the address from the recorder, or its kernel has a
    // symbol that this one's list has not.
    let told = [
        mapping(-1, range.0, range.1, 0, b"[kernel.kallsyms]_text"),
        mapping(-1, range.0, range.1, place.0, b"[kernel.kallsyms]_stext"),
        mapping(1, 0x1000, 0x1000, 0, b"/file"),
    ];
    for told in told {
        let mut symbolizer = Symbolizer::new(options.clone());
        symbolizer.recorded_release("6.1.0");
        symbolizer.side(NONE, &told, &at(0));
        let named = text(&mut symbolizer, CpuMode::Kernel, 1, place.0, place.1);
        assert_eq!(named, "[kernel] 0xffffffff91000008 [kernel-unplaced]", "{told:?}");
    }
    // This kernel's list, given as a file, of addresses that were not moved.
    let file = KernelSource::File {
        path: root.path().join("proc/kallsyms"),
        offset: crate::KernelOffset::Detect,
    };
    let mut symbolizer = Symbolizer::new(SymbolizerOptions { kernel: file, ..options });
    symbolizer.recorded_release("6.1.0");
    let named = text(&mut symbolizer, CpuMode::Kernel, 1, place.0, place.1);
    assert_eq!(named, "[kernel] 0xffffffff91000008 first");
}

#[test]
fn a_root_without_a_release_is_said_to_have_none() {
    let root = tempfile::tempdir().unwrap();
    let options = below(&root);
    let mut symbolizer = Symbolizer::new(options);
    symbolizer.recorded_release("6.1.0");
    let Err(reason) = symbolizer.kernel_extents() else { panic!("there is no list") };
    let said = reason.to_string();
    assert!(said.contains("not known") && !said.contains("this is ;"), "{said}");
}

/// What hides addresses is kptr_restrict or, at 0, perf_event_paranoid.
#[test]
fn hidden_addresses_name_every_way_out() {
    let root = machine();
    std::fs::write(root.path().join("proc/kallsyms"), "0000000000000000 T _text\n").unwrap();
    let options = below(&root);
    let mut symbolizer = Symbolizer::new(options);
    symbolizer.recorded_release("6.1.0");
    let Err(reason) = symbolizer.kernel_extents() else { panic!("the list is hidden") };
    assert_eq!(reason, Reason::KernelHidden);
    for way in ["root", "CAP_SYSLOG", "kernel.kptr_restrict=0", "kernel.perf_event_paranoid"] {
        assert!(reason.to_string().contains(way), "{reason}");
    }
}

#[test]
fn modules_by_list_and_by_record_are_one_object() {
    let root = machine();
    let mut symbolizer = Symbolizer::new(below(&root));
    let ip = 0xffff_ffff_c000_0010;
    assert_eq!(
        text(&mut symbolizer, CpuMode::Kernel, 1, ip, 1),
        format!("[nf_tables] {ip:#x} probe")
    );
    let before = symbolizer.place(CpuMode::Kernel, Pid(1), ip, Time(1));
    let path = b"/lib/modules/6.1.0/kernel/net/nf-tables.ko.xz";
    symbolizer.side(NONE, &mapping(-1, 0xffff_ffff_c000_0000, 0x1000, 0, path), &at(0));
    symbolizer.side(NONE, &anchor(), &at(0));
    assert_eq!(symbolizer.place(CpuMode::Kernel, Pid(1), ip, Time(1)), before);
    assert_eq!(symbolizer.resolve(before).text(), "probe");
    // Recorded while another module lay there.
    symbolizer.side(NONE, &mapping(-1, 0xffff_ffff_c000_0000, 0x1000, 0, b"[other]"), &at(5));
    assert_eq!(
        text(&mut symbolizer, CpuMode::Kernel, 1, ip, 9),
        format!("[other] {ip:#x} [between-symbols]")
    );
}

#[test]
fn the_vdso_of_this_process() {
    let maps = std::fs::read("/proc/self/maps").unwrap();
    let entries = crate::parse_maps(&maps).unwrap();
    let Some(vdso) = entries.iter().find(|entry| entry.path == b"[vdso]") else {
        eprintln!("skipped: this process has no vdso");
        return;
    };
    let own = OwnVdso::of(std::path::Path::new("/")).unwrap();
    let mut symbolizer = silent();
    symbolizer.maps(Pid(1), &entries, Time(0));
    // What the vdsos of x86-64 and arm64 export (vdso(7)).
    let known = ["clock_gettime", "clock_getres", "gettimeofday", "time", "getcpu", "getrandom"];
    let known = known.map(|call| [format!("__vdso_{call}"), format!("__kernel_{call}")]).concat();
    let more = ["__vdso_sgx_enter_enclave", "__kernel_rt_sigreturn"].map(str::to_owned);
    let known: Vec<&str> = known.iter().chain(&more).map(String::as_str).collect();
    let mut named = 0;
    for step in (0..vdso.end - vdso.start).step_by(16) {
        let place = symbolizer.place(CpuMode::User, Pid(1), vdso.start + step, Time(1));
        assert_eq!(place.address, step);
        match symbolizer.resolve(place) {
            Resolution::Routine(routine) => {
                assert!((routine.start..routine.end).contains(&step), "{routine:?}");
                assert!(known.contains(&&*routine.name), "{routine:?}");
                named += usize::from(routine.name.ends_with("clock_gettime"));
            }
            Resolution::Unknown(reason) => assert!(
                matches!(reason, Reason::BetweenSymbols { .. } | Reason::BeyondSymbols { .. }),
                "{reason:?}"
            ),
        }
    }
    assert!(named > 0, "clock_gettime is in every vdso");
    let another =
        crate::process::objects::Vdso { build_id: None, length: vdso.end - vdso.start + 4096 };
    assert!(matches!(own.check(&another, None), Err(Reason::Vdso { .. })));
}

#[test]
fn objects_beyond_the_room_are_told_of_and_called_nothing_else() {
    let mut symbolizer = silent();
    symbolizer.objects.limit(3);
    let routine =
        |name, address| SidebandRecord::Ksymbol { address, length: 64, kind: 1, flags: 0, name };
    let at_kernel = 0xffff_ffff_c000_0000_u64;
    let names: [&[u8]; 3] = [b"first", b"second", b"third"];
    for (name, address) in names.into_iter().zip((at_kernel..).step_by(64)) {
        symbolizer.side(NONE, &routine(name, address), &at(1));
    }
    assert_eq!(symbolizer.left_out(), None);
    // One more, where the first was.
    symbolizer.side(NONE, &routine(b"fourth", at_kernel), &at(5));
    let (file, memory): (&[u8], &[u8]) = (b"/usr/bin/true", b"//anon");
    symbolizer.side(NONE, &mapping(1, 0x1000, 0x1000, 0, file), &at(1));
    symbolizer.side(NONE, &mapping(1, 0x2000, 0x1000, 0, memory), &at(1));
    let mut text = |mode, ip, time| text(&mut symbolizer, mode, 1, ip, time);
    assert!(text(CpuMode::Kernel, at_kernel + 4, 2).starts_with("[bpf] "));
    let unknown = "[too-many-mappings]";
    for (mode, ip) in
        [(CpuMode::Kernel, at_kernel + 4), (CpuMode::User, 0x1004), (CpuMode::User, 0x2004)]
    {
        let told = text(mode, ip, 6);
        assert!(told.starts_with(unknown) && told.ends_with(unknown), "{told}");
    }
    let note = symbolizer.left_out().unwrap();
    assert!(note.starts_with("3 records of mappings"), "{note}");
}

/// What this process has mapped; None: no vdso is there.
fn maps() -> Option<(Vec<u8>, u64, u64)> {
    let maps = std::fs::read("/proc/self/maps").unwrap();
    let entries = crate::parse_maps(&maps).unwrap();
    let vdso = entries.iter().find(|entry| entry.path == b"[vdso]");
    let extent = vdso.map(|vdso| (vdso.start, vdso.end));
    if extent.is_none() {
        eprintln!("skipped: this process has no vdso");
    }
    extent.map(|(start, end)| (maps, start, end))
}

/// Whether the vdso has names in a recording of such a kernel.
fn is_named(root: &tempfile::TempDir, release: &str, told: &[SidebandRecord<'_>]) -> Option<bool> {
    let (maps, start, end) = maps()?;
    let mut symbolizer = Symbolizer::new(below(root));
    symbolizer.recorded_release(release);
    for record in told {
        symbolizer.side(NONE, record, &at(0));
    }
    symbolizer.maps(Pid(1), &crate::parse_maps(&maps).unwrap(), Time(0));
    let names = (0..end - start).step_by(16).map(|step| {
        let place = symbolizer.place(CpuMode::User, Pid(1), start + step, Time(1));
        symbolizer.resolve(place).text().to_owned()
    });
    let names: Vec<String> = names.collect();
    let is_named = names.iter().any(|name| name.ends_with("clock_gettime"));
    assert_ne!(names.iter().any(|name| name == "[vdso-unknown]"), is_named, "{names:?}");
    Some(is_named)
}

fn listing(list: &str) -> tempfile::TempDir {
    let root = machine();
    std::os::unix::fs::symlink("/proc/self", root.path().join("proc/self")).unwrap();
    std::fs::write(root.path().join("proc/kallsyms"), list).unwrap();
    root
}

fn lies_at(address: u64) -> SidebandRecord<'static> {
    mapping(-1, address, 0x100, address, b"[kernel.kallsyms]_text")
}

/// Users without rights have vdso names: that kernel symbols are hidden from
/// them says nothing about where they recorded.
#[test]
fn the_vdso_of_a_user_without_rights() {
    let root = listing("0000000000000000 T _text\n0000000000000000 T first\n");
    let Some(is_here) = is_named(&root, "6.1.0", &[]) else { return };
    assert!(is_here);
    assert_eq!(is_named(&root, "6.2.0", &[]), Some(false));
    // Readable, and no anchor: nothing says elsewhere. Then another boot.
    let root = listing("ffffffff91000000 T _text\nffffffff91000000 T first\n");
    assert_eq!(is_named(&root, "6.1.0", &[]), Some(true));
    assert_eq!(is_named(&root, "6.1.0", &[anchor()]), Some(true));
    assert_eq!(is_named(&root, "6.1.0", &[lies_at(0xffff_ffff_9200_0000)]), Some(false));
}

/// That a recording is of this boot is seen by the first symbols. The list as
/// a whole, here one with an end that cannot be read, is for the kernel's names.
#[test]
fn the_vdso_needs_no_kernel_symbols() {
    let list = "ffffffff91000000 T _text\nffffffff91000100 T more\n".repeat(3000);
    let root = listing(&(list + "no symbol\n"));
    let Some(is_here) = is_named(&root, "6.1.0", &[anchor()]) else { return };
    assert!(is_here);
    assert_eq!(is_named(&root, "6.1.0", &[lies_at(0xffff_ffff_9200_0000)]), Some(false));
}
