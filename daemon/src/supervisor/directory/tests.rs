#![allow(clippy::print_stderr, reason = "a test that skips says why")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

fn put(path: &Path, text: &str) -> Result<(), String> {
    let directory = TrustedDirectory::of(path, "a file");
    directory.and_then(|it| it.replace(text.as_bytes())).map_err(|error| error.to_string())
}

#[test]
fn what_lies_at_the_name_is_neither_followed_nor_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("precious"), "mine").unwrap();
    let new = at("ebsd.new");
    // What somebody may have put there, or a daemon that was killed.
    symlink(at("precious"), &new).unwrap();
    put(&at("ebsd.prom"), "1").unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &new,
        rustix::fs::FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    put(&at("ebsd.prom"), "2").unwrap();
    fs::hard_link(at("precious"), &new).unwrap();
    put(&at("ebsd.prom"), "3").unwrap();
    assert_eq!(fs::read_to_string(at("ebsd.prom")).unwrap(), "3");
    fs::remove_file(at("ebsd.prom")).unwrap();
    symlink(at("precious"), at("ebsd.prom")).unwrap();
    put(&at("ebsd.prom"), "4").unwrap();
    assert!(fs::symlink_metadata(at("ebsd.prom")).unwrap().is_file());
    assert_eq!(fs::read_to_string(at("precious")).unwrap(), "mine");
    // A directory stays, and is told.
    fs::create_dir(&new).unwrap();
    assert!(put(&at("ebsd.prom"), "5").unwrap_err().contains("ebsd.prom: "));
    fs::remove_dir(&new).unwrap();
    fs::create_dir(at("taken")).unwrap();
    put(&at("taken"), "6").unwrap_err();
    assert!(!at("taken.new").exists(), "it is tidied up");
}

#[test]
fn anybody_may_read_it_whatever_the_umask() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ebsd.prom");
    let before = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let written = put(&path, "1");
    rustix::process::umask(before);
    written.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
}

#[test]
fn directories_of_others_are_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x");
    for (mode, good) in [(0o755, true), (0o775, false), (0o757, false), (0o1777, true)] {
        fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
        assert_eq!(put(&path, "x").is_ok(), good, "{mode:o}");
    }
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(directory.path(), Some(4321), None).unwrap();
        assert!(put(&path, "x").unwrap_err().contains("user 4321's, mode 755"));
    } else {
        eprintln!("skipped a directory of another user's: root alone can make one");
    }
    assert!(put(Path::new("/proc/self/.."), "x").unwrap_err().contains("no name of a file"));
    assert!(put(Path::new("/nowhere/x"), "x").unwrap_err().contains("No such file"));
}

#[test]
fn a_directory_is_given_away_and_nothing_that_took_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let own = rustix::process::geteuid().as_raw();
    let uid = if own == 0 { 4321 } else { own };
    hand_over(&at("new"), uid, uid).unwrap();
    hand_over(&at("new"), uid, uid).unwrap();
    let made = fs::metadata(at("new")).unwrap();
    assert_eq!((made.uid(), made.mode() & 0o777 & !0o755), (uid, 0));
    fs::create_dir(at("precious")).unwrap();
    symlink(at("precious"), at("link")).unwrap();
    fs::write(at("file"), "mine").unwrap();
    for name in ["link", "file"] {
        hand_over(&at(name), uid, uid).unwrap_err();
        assert_eq!(fs::symlink_metadata(at(name)).unwrap().uid(), own, "{name}");
    }
    assert_eq!(fs::metadata(at("precious")).unwrap().uid(), own);
}
