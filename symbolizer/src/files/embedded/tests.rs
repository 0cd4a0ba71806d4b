use super::index::{EmbeddedInode, EmbeddedPart, EmbeddedVersion};
use super::packer::FilePacker;
use super::reader::{EmbeddedFiles, EmbeddedFilesError};
use std::fs::File;
use std::io::{Read, Write};

const ROOM: u64 = 1 << 20;

fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn named(directory: &tempfile::TempDir, bytes: &[u8]) -> File {
    let path = directory.path().join(format!("of {} bytes", bytes.len()));
    std::fs::write(&path, bytes).unwrap();
    File::open(path).unwrap()
}

fn text(file: std::io::Result<File>) -> String {
    let mut text = String::new();
    file.unwrap().read_to_string(&mut text).unwrap();
    text
}

fn version(build_id: Option<&[u8]>, inode: Option<u64>) -> EmbeddedVersion {
    let inode = inode.map(|inode| EmbeddedInode { major: 8, minor: 1, inode });
    EmbeddedVersion::new(build_id, inode)
}

fn mapped(path: &str, version: EmbeddedVersion) -> EmbeddedPart {
    EmbeddedPart::Mapped { path: path.to_owned(), root: String::new(), version }
}

fn beside(path: &str) -> EmbeddedPart {
    EmbeddedPart::Beside { path: path.to_owned() }
}

/// The archive in the middle of another file, as in a recording.
fn reread(packer: FilePacker) -> EmbeddedFiles {
    let mut packed = packer.finish().unwrap();
    let mut bytes = vec![7; 100];
    std::io::Seek::rewind(&mut packed.archive).unwrap();
    packed.archive.read_to_end(&mut bytes).unwrap();
    bytes.extend([9; 50]);
    EmbeddedFiles::open(file_of(&bytes), 100, packed.size).unwrap()
}

#[test]
fn each_part_finds_its_file() {
    let packer = FilePacker::new(tempfile::tempfile().unwrap(), ROOM);
    let (one, two) = (file_of(b"one"), file_of(b"another"));
    packer.pack(mapped("/bin/x", version(Some(b"\x01\x02"), None)), &one);
    packer.pack(mapped("/bin/x", version(None, Some(77))), &two);
    packer.pack(mapped("/bin/alias", version(Some(b"\x01\x02"), Some(5))), &one);
    packer.pack(beside("/usr/lib/debug/x.debug"), &two);
    packer.pack(EmbeddedPart::Map { pid: 12, path: "/tmp/perf-1.map".into() }, &file_of(b"map"));
    packer.pack(EmbeddedPart::Dump { pid: 12, path: "/d/jit-1.dump".into() }, &file_of(b"dump"));
    packer.pack_bytes(EmbeddedPart::Vdso { build_id: Some("ab".into()), length: 4 }, b"vdso");
    let files = reread(packer);
    assert_eq!(files.len(), 7);
    let find = |path: &str, build_id, inode| {
        files.mapped(path.as_bytes(), &version(build_id, inode)).map(|(file, _)| text(file))
    };
    assert_eq!(find("/bin/x", Some(b"\x01\x02"), None).as_deref(), Some("one"));
    let padded: &[u8] = &[&[1, 2][..], &[0; 18]].concat();
    assert_eq!(find("/bin/x", Some(padded), None), None, "two bytes are no short build id");
    assert_eq!(find("/bin/x", None, Some(77)).as_deref(), Some("another"));
    assert_eq!(find("/bin/x", Some(b"\x03"), None), None, "another build");
    assert_eq!(find("/bin/x", None, Some(78)), None, "another file");
    assert_eq!(find("/bin/x", None, None), None, "which of the two");
    assert_eq!(find("/bin/alias", None, None).as_deref(), Some("one"), "the only one");
    assert_eq!(find("/bin/y", Some(b"\x01\x02"), None), None);
    assert_eq!(files.beside("/usr/lib/debug/x.debug").map(text).as_deref(), Some("another"));
    assert!(files.beside("/bin/x").is_none(), "what was mapped is told by more than a path");
    assert_eq!(files.map(12).map(|(file, _)| text(file)).as_deref(), Some("map"));
    assert!(files.map(1).is_none());
    assert_eq!(files.dump(12, b"/d/jit-1.dump").map(text).as_deref(), Some("dump"));
    assert!(files.dump(13, b"/d/jit-1.dump").is_none());
    for (build_id, length) in [(Some("ab"), 9), (None, 4)] {
        assert_eq!(files.vdso(build_id, length).map(text).as_deref(), Some("vdso"));
    }
    assert!(files.vdso(Some("cd"), 4).is_none());
    let again = files.beside("/usr/lib/debug/x.debug");
    assert_eq!(again.map(text).as_deref(), Some("another"), "a second time from its start");
}

#[test]
fn files_are_packed_once_and_up_to_the_limit() {
    let packer = FilePacker::new(tempfile::tempfile().unwrap(), 10);
    let directory = tempfile::tempdir().unwrap();
    let (small, large) = (named(&directory, b"small"), named(&directory, b"too large"));
    packer.pack(beside("/a"), &small);
    packer.pack(beside("/a"), &large);
    packer.pack(beside("/b"), &small);
    packer.pack(beside("/c"), &large);
    packer.pack(beside("/d"), &file_of(b"fits!"));
    let packed = packer.finish().unwrap();
    assert_eq!((packed.files, packed.unpacked), (2, 10));
    assert_eq!(packed.left_out, ["/c (1 MiB)"]);
    let files = EmbeddedFiles::open(packed.archive, 0, packed.size).unwrap();
    let read = |path| files.beside(path).map(text);
    assert_eq!(read("/a").as_deref(), Some("small"), "the first file in a part counts");
    assert_eq!(read("/b").as_deref(), Some("small"));
    assert_eq!(read("/c"), None);
    assert_eq!(read("/d").as_deref(), Some("fits!"));
}

#[test]
fn members_stay_below_where_they_are_unpacked() {
    let packer = FilePacker::new(tempfile::tempfile().unwrap(), ROOM);
    packer.pack(beside("/a/../../etc/x"), &file_of(b"1"));
    packer.pack(beside("/a/etc/x"), &file_of(b"2"));
    packer.pack(beside("/hardmeter-files.json"), &file_of(b"3"));
    let packed = packer.finish().unwrap();
    let archive = zip::ZipArchive::new(packed.archive).unwrap();
    let names = archive.file_names().map(|name| name.unwrap().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    assert_eq!(names, ["a/etc/x", "a/etc/x~2", "hardmeter-files.json", "hardmeter-files.json~2"]);
}

#[test]
fn damaged_archives_are_refused_or_give_errors() {
    let packer = FilePacker::new(tempfile::tempfile().unwrap(), ROOM);
    let content: Vec<u8> = (0..20_000_u32).flat_map(|it| (it * it).to_le_bytes()).collect();
    packer.pack(beside("/a"), &file_of(&content));
    let mut packed = packer.finish().unwrap();
    let mut bytes = Vec::new();
    std::io::Seek::rewind(&mut packed.archive).unwrap();
    packed.archive.read_to_end(&mut bytes).unwrap();
    let mut wrong = 0;
    for at in (0..bytes.len()).step_by(97) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let Ok(files) = EmbeddedFiles::open(file_of(&damaged), 0, packed.size) else {
            wrong += 1;
            continue;
        };
        match files.beside("/a") {
            None | Some(Err(_)) => wrong += 1,
            Some(Ok(mut file)) => {
                let mut read = Vec::new();
                file.read_to_end(&mut read).unwrap();
                assert_eq!(read, content, "byte {at}");
            }
        }
    }
    assert!(wrong > 100, "{wrong}");
    for end in [0, 1, 21, 100, bytes.len() - 1] {
        let cut = EmbeddedFiles::open(file_of(&bytes[..end]), 0, end as u64);
        assert!(matches!(cut, Err(EmbeddedFilesError::Archive(_))), "{end}");
    }
}

/// Of a few kilobytes that unpack to more than a disk holds.
#[test]
fn an_archive_unpacks_to_so_much_and_no_more() {
    let packer = FilePacker::new(tempfile::tempfile().unwrap(), 1 << 40);
    let large = tempfile::tempfile().unwrap();
    large.set_len(40 << 20).unwrap();
    packer.pack(beside("/zeros"), &large);
    packer.pack(beside("/small"), &file_of(b"small"));
    let packed = packer.finish().unwrap();
    assert!(packed.size < 1 << 20, "{}", packed.size);
    let files = EmbeddedFiles::open(packed.archive, 0, packed.size).unwrap();
    let refused = files.beside("/zeros").unwrap().unwrap_err().to_string();
    assert!(refused.contains("more than it can unpack to"), "{refused}");
    assert_eq!(files.beside("/small").map(text).as_deref(), Some("small"));
}

#[test]
fn another_form_is_told() {
    let mut zip = zip::ZipWriter::new(tempfile::tempfile().unwrap());
    zip.start_file("hardmeter-files.json", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(br#"{"version":2,"files":[]}"#).unwrap();
    let mut file = zip.finish().unwrap();
    let size = std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).unwrap();
    let refused = EmbeddedFiles::open(file, 0, size).unwrap_err();
    assert_eq!(refused.to_string(), "their index has form 2; forms up to 1 are known here");
}
