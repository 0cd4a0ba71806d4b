//! Disks that fail, are full, or are taken away.

use super::*;

#[test]
fn a_failing_disk_costs_what_it_does_not_take_and_that_is_told() {
    for call in [Call::Write, Call::Sync] {
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
            let (told, stream) = scene.told(None);
            let (numbers, _) = decoded(&stream);
            assert_eq!(told.lost, lost, "{call:?} {errno}: LOST records tell it");
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
    SideRecord::Lost { id, lost }.encode(Misc(0), &trailer, NATIVE_ORDER, &mut out).unwrap();
    out
}

#[test]
fn losses_that_a_failing_disk_does_not_take_are_told_though_nothing_more_comes() {
    let mut scene = Scene::new();
    scene.append(100, 10);
    scene.spool.append(&Chunk::new(&lost(100, 3)), &scene.sampling);
    assert_eq!(scene.told(None).0.lost, 3);
    *scene.fails.lock().unwrap() = Some((Call::Write, libc::ENOSPC));
    scene.append(100, 10);
    scene.spool.append(&Chunk::new(&lost(100, 7)), &scene.sampling);
    *scene.fails.lock().unwrap() = None;
    // The disk is left alone for a while.
    for _ in 0..5 {
        scene.pass(1);
        scene.spool.tell_gap(&scene.sampling);
    }
    let (told, stream) = scene.told(None);
    assert_eq!((decoded(&stream).0.len(), told.lost), (10, 3 + 10 + 7));
    scene.pass(1);
    scene.spool.tell_gap(&scene.sampling);
    assert_eq!(scene.told(None).0.lost, 20, "once");
}

/// A small file system of one test.
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
        let (told, stream) = scene.told(None);
        assert_eq!(told.lost, before);
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
    let (told, stream) = scene.told(None);
    assert_eq!((told.lost, decoded(&stream).0.len()), (10, 20));
}

#[test]
fn a_directory_that_is_removed_is_made_again() {
    let mut scene = Scene::new();
    scene.append(100, 10);
    std::fs::remove_dir_all(scene.path.join("web")).unwrap();
    scene.pass(1);
    scene.append(100, 10);
    scene.pass(1);
    let (_, stream) = scene.told(None);
    assert_eq!(decoded(&stream).0, (10..20).collect::<Vec<_>>());
    assert_eq!(scene.names(), ["0000000001.open"]);
}
