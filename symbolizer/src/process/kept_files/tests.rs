use super::*;
use perfdata::side::FileIdentity;
use perfdata::{Task, Tid};
use std::io::Read;
use std::os::unix::fs::symlink;

fn record<'a>(pid: i32, path: &'a [u8], inode: u64) -> SideRecord<'a> {
    SideRecord::Mmap2(Mapping {
        task: Task { pid: Pid(pid), tid: Tid(pid) },
        start: 0x1000,
        length: 0x1000,
        page_offset: 0,
        file: FileIdentity::Inode { major: 8, minor: 1, inode, generation: 0 },
        protection: Some(PROT_EXEC),
        flags: Some(2),
        path,
    })
}

/// /proc of a process in the namespace of that name.
fn process_in(root: &Path, pid: &str, namespace: &str, below: &Path) {
    let directory = root.join("proc").join(pid);
    std::fs::create_dir_all(directory.join("ns")).unwrap();
    symlink(namespace, directory.join("ns/mnt")).unwrap();
    symlink(below, directory.join("root")).unwrap();
}

#[test]
fn files_of_other_roots_outlive_their_processes() {
    let scene = tempfile::tempdir().unwrap();
    let root = scene.path();
    let places = ["ours", "inside", "below"].map(|name| root.join(name));
    let [our, inner, chrooted] = places.each_ref().map(|place| {
        std::fs::create_dir_all(place).unwrap();
        std::fs::write(place.join("program"), place.file_name().unwrap().as_encoded_bytes())
            .unwrap();
        place.join("program").metadata().unwrap().ino()
    });
    let [ours, inside, below] = places;
    process_in(root, "self", "mnt:[1]", &ours);
    process_in(root, "10", "mnt:[1]", &ours);
    process_in(root, "11", "mnt:[2]", &inside);
    process_in(root, "12", "mnt:[1]", &below);
    let mut kept = KeptFiles::new(root);
    for (pid, inode) in [(10, our), (11, inner), (12, chrooted), (12, 1), (13, 113)] {
        kept.record(Misc(0), &record(pid, b"/program", inode));
    }
    kept.record(Misc::MMAP_DATA, &record(11, b"/program", 200));
    std::fs::remove_dir_all(root.join("proc")).unwrap();
    std::fs::remove_dir_all(&inside).unwrap();
    let read = |inode| {
        let told =
            FileVersion::from(&FileIdentity::Inode { major: 8, minor: 1, inode, generation: 0 });
        let mut text = String::new();
        kept.file(b"/program", &told)?.read_to_string(&mut text).unwrap();
        Some(text)
    };
    assert_eq!(read(our), None, "what we can open at any time");
    for (foreign, text) in [(inner, "inside"), (chrooted, "below")] {
        assert_eq!(read(foreign).as_deref(), Some(text));
        assert_eq!(read(foreign).as_deref(), Some(text), "a second time");
    }
    assert_eq!((read(113), read(200)), (None, None));
    assert_eq!(read(1), None, "another file lies there now");
}

/// A recording carries what is ours, too, where no package put it.
#[test]
fn what_users_built_is_kept_for_a_recording() {
    let scene = tempfile::tempdir().unwrap();
    let root = scene.path();
    let paths = ["/home/me/built", "/usr/bin/packaged", "/usr/local/bin/installed", "/gone"];
    let inodes = paths.map(|path| {
        let place = root.join(&path[1..]);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, path).unwrap();
        place.metadata().unwrap().ino()
    });
    process_in(root, "self", "mnt:[1]", root);
    process_in(root, "10", "mnt:[1]", root);
    let mut kept = KeptFiles { for_later: true, ..KeptFiles::new(root) };
    // 13 has ended before anybody looked.
    for ((path, inode), pid) in paths.into_iter().zip(inodes).zip([10, 10, 10, 13]) {
        kept.record(Misc(0), &record(pid, path.as_bytes(), inode));
        kept.record(Misc(0), &record(13, path.as_bytes(), inode + 1_000_000));
    }
    assert!(!kept.is_empty());
    let packer = FilePacker::new(tempfile::tempfile().unwrap(), 1 << 20);
    kept.pack_into(&packer);
    let packed = packer.finish().unwrap();
    let archive = zip::ZipArchive::new(packed.archive).unwrap();
    let mut names: Vec<_> = archive.file_names().map(|name| name.unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["gone", "hardmeter-files.json", "home/me/built", "usr/local/bin/installed"]);
}

#[test]
fn no_more_files_are_kept_than_agreed() {
    let scene = tempfile::tempdir().unwrap();
    let root = scene.path();
    std::fs::write(root.join("program"), "").unwrap();
    process_in(root, "self", "mnt:[1]", root);
    process_in(root, "11", "mnt:[2]", root);
    let mut kept = KeptFiles::new(root);
    let inode = root.join("program").metadata().unwrap().ino();
    for number in 0..300 {
        let path = format!("/program-{number}");
        std::fs::hard_link(root.join("program"), root.join(&path[1..])).unwrap();
        kept.record(Misc(0), &record(11, path.as_bytes(), inode));
    }
    assert_eq!((kept.files.len(), kept.left_out()), (MOST_FILES, 44));
}
