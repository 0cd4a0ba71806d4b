use super::builder::Builder;
use super::folder::{self, Folder, FolderError};
use super::index::Index;
use crate::frames::{Depth, Frame, Frames, NoDebug, Source};
use proptest::prelude::*;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::time::Duration;

const ID: &[u8] = &[0xab; 20];

fn shown() -> Arc<str> {
    "/here/prog".into()
}

fn frames(names: &[u8], depth: Depth) -> Frames {
    let frame = |(index, name): (usize, &u8)| Frame {
        name: (*name > 0).then(|| format!("routine_{name}").into()),
        source: (*name > 1).then(|| Source {
            file: format!("/src/{}.c", name % 3).into(),
            line: u32::from(*name),
            column: u32::from(*name % 2),
        }),
        inlined: index + 1 < names.len(),
    };
    Frames { frames: names.iter().enumerate().map(frame).collect(), depth }
}

fn file(bytes: &[u8]) -> File {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    file.reopen().unwrap()
}

fn small() -> (Vec<(u64, Frames)>, Vec<u8>) {
    let not_covered = || Depth::Symbols(NoDebug::NotCovered { file: shown() });
    let damaged = NoDebug::Damaged { file: shown(), why: "unit at 0x10".into() };
    let stretches = vec![
        (0x1000, frames(&[3, 2, 7], Depth::Debug)),
        (0x1003, frames(&[2, 7], Depth::Debug)),
        (0x1010, frames(&[], not_covered())),
        (0x2000, frames(&[0], Depth::Debug)),
        (0x2004, frames(&[1], Depth::Symbols(damaged.clone()))),
        (0x2005, frames(&[4], Depth::Lines(damaged))),
    ];
    let mut builder = Builder::default();
    for (address, frames) in &stretches {
        builder.add(*address, frames).unwrap();
    }
    (stretches, builder.finish(ID, 0).unwrap())
}

#[test]
fn an_index_answers_what_was_put_into_it() {
    let (stretches, bytes) = small();
    let mut index = Index::open(file(&bytes), ID, 0).unwrap();
    for (number, (start, expected)) in stretches.iter().enumerate() {
        let end = stretches.get(number + 1).map_or(start + 50, |next| next.0);
        for address in [*start, end - 1] {
            assert_eq!(&index.frames(address, &shown()).unwrap(), expected, "{address:#x}");
        }
    }
    let before = index.frames(0xfff, &shown()).unwrap();
    assert_eq!(before, frames(&[], Depth::Symbols(NoDebug::NotCovered { file: shown() })));
    // Prelink moved the program.
    let mut moved = Index::open(file(&bytes), ID, 0x70_0000).unwrap();
    assert_eq!(moved.frames(0x70_1003, &shown()).unwrap(), stretches[1].1);
    // The same build at another place.
    let other: Arc<str> = "/there/prog".into();
    let frames = index.frames(0x1012, &other).unwrap();
    assert_eq!(frames.depth, Depth::Symbols(NoDebug::NotCovered { file: other }));
}

#[test]
fn a_file_with_any_byte_changed_or_missing_is_not_believed() {
    let (stretches, bytes) = small();
    let ask = |bytes: &[u8]| -> Result<Vec<Frames>, String> {
        let mut index = Index::open(file(bytes), ID, 0)?;
        stretches.iter().map(|(address, _)| index.frames(*address, &shown())).collect()
    };
    assert!(ask(&bytes).is_ok());
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 0x41;
        assert!(ask(&changed).is_err(), "byte {place} changed");
        assert!(ask(&bytes[..place]).is_err(), "cut at {place}");
    }
    assert!(ask(&[&bytes[..], b"x"].concat()).is_err());
    let other = Index::open(file(&bytes), &[1], 0).unwrap_err();
    assert!(other.contains("another build"), "{other}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn many_stretches_over_many_blocks_are_found(
        steps in prop::collection::vec((1_u64..9000, prop::collection::vec(0_u8..40, 0..5)), 1..6000),
    ) {
        let mut builder = Builder::default();
        let mut at = 0xffff_ffff_8000_0000_u64;
        let mut all = vec![];
        builder.add(at, &frames(&[9], Depth::Debug)).unwrap();
        for (step, names) in steps {
            at += step;
            let frames = frames(&names, Depth::Debug);
            builder.add(at, &frames).unwrap();
            all.push((at, frames));
        }
        let mut index = Index::open(file(&builder.finish(ID, 0).unwrap()), ID, 0).unwrap();
        for (address, expected) in all {
            prop_assert_eq!(index.frames(address, &shown()).unwrap(), expected);
        }
    }
}

#[test]
fn what_debug_info_says_nothing_of_has_no_index() {
    let mut builder = Builder::default();
    let why = NoDebug::NotCovered { file: shown() };
    builder.add(1, &frames(&[1], Depth::Symbols(why))).unwrap();
    assert!(builder.finish(ID, 0).is_err());
    let mut builder = Builder::default();
    builder.add(1, &frames(&[1], Depth::Debug)).unwrap();
    let far = builder.add(1 << 40, &frames(&[1], Depth::Debug));
    assert!(far.unwrap_err().contains("4 GiB"));
}

#[test]
fn the_folder_is_found_as_xdg_says() {
    let path = |xdg: &str, home: &str| {
        let word = |word: &str| (!word.is_empty()).then(|| word.into());
        folder::path(word(xdg), word(home)).map(|path| path.display().to_string())
    };
    assert_eq!(path("/x", "/h").as_deref(), Some("/x/hardmeter"));
    assert_eq!(path("x", "/h").as_deref(), Some("/h/.cache/hardmeter"));
    assert_eq!(path("", "h"), None);
    assert_eq!(path("", ""), None);
}

#[test]
fn a_folder_or_file_that_others_could_write_is_refused() {
    let scene = tempfile::tempdir().unwrap();
    let path = scene.path().join("cache/hardmeter");
    assert!(Folder::open(&path).unwrap().is_none());
    let folder = Folder::make(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let (_, bytes) = small();
    folder.put(ID, &bytes, u64::MAX).unwrap();
    let entry = path.join(format!("{}.index", "ab".repeat(20)));
    assert_eq!(fs::metadata(&entry).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(Index::open(folder.find(ID).unwrap().unwrap(), ID, 0).is_ok());
    fs::set_permissions(&entry, Permissions::from_mode(0o666)).unwrap();
    assert!(folder.find(ID).unwrap_err().contains("mode 666"));
    fs::rename(&entry, path.join("moved")).unwrap();
    symlink("moved", &entry).unwrap();
    assert!(folder.find(ID).unwrap_err().contains("symbolic link"));
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    assert!(folder.find(ID).unwrap_err().contains("no regular file"));
    fs::set_permissions(&path, Permissions::from_mode(0o770)).unwrap();
    assert!(matches!(Folder::open(&path), Err(FolderError::Unsafe { .. })));
    let link = scene.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(Folder::open(&link).is_err());
}

#[test]
fn the_oldest_used_go_when_there_is_too_much() {
    let scene = tempfile::tempdir().unwrap();
    let folder = Folder::make(&scene.path().join("c")).unwrap();
    for id in 1..=3_u8 {
        folder.put(&[id], &[0; 100], u64::MAX).unwrap();
        let time = std::time::SystemTime::now() - Duration::from_secs(1000 - u64::from(id));
        let file = File::options().write(true).open(folder.path().join(format!("0{id}.index")));
        file.unwrap().set_modified(time).unwrap();
    }
    // The first is used again.
    assert!(folder.find(&[1]).unwrap().is_some());
    fs::write(folder.path().join("notes.txt"), "not ours").unwrap();
    folder.put(&[4], &[0; 100], 250).unwrap();
    let mut left: Vec<_> =
        folder.entries().unwrap().into_iter().map(|entry| entry.build_id).collect();
    left.sort();
    assert_eq!(left, ["01", "04"]);
    assert_eq!(folder.clear().unwrap(), (2, 200));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
