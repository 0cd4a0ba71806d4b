//! Names in directories that others may write to, as root and another user see them.

use super::*;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use tempfile::TempDir;

const OTHER: u32 = 4242;

/// A directory of that mode, and a precious file outside of it.
fn scene(mode: u32) -> (TempDir, PathBuf, PathBuf) {
    let scene = tempfile::tempdir().unwrap();
    let (folder, precious) = (scene.path().join("folder"), scene.path().join("precious"));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
    fs::write(&precious, "precious").unwrap();
    fs::set_permissions(&precious, Permissions::from_mode(0o600)).unwrap();
    (scene, folder, precious)
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = Replacement::new(NamedOutput::find(path)?, 0o666)?;
    new.file().write_all(text.as_bytes())?;
    new.keep()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Whether the tests run as root; says so when not.
#[expect(clippy::print_stderr, reason = "why nothing was checked")]
fn is_root(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped {test}: needs root, to make files of another user");
    }
    is_root
}

#[test]
fn own_links_lead_to_what_is_written() {
    for folder_mode in [0o1777, 0o755] {
        let (_scene, folder, precious) = scene(folder_mode);
        let link = folder.join("link");
        symlink("../precious", folder.join("inner")).unwrap();
        symlink("inner", &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(
            (fs::read_to_string(&precious).unwrap().as_str(), mode(&precious)),
            ("new", 0o600)
        );
        assert!(link.is_symlink() && folder.join("inner").is_symlink());
        // A link to a file that does not exist: that is made.
        symlink("made", folder.join("dangling")).unwrap();
        replace(&folder.join("dangling"), "more").unwrap();
        assert_eq!(fs::read_to_string(folder.join("made")).unwrap(), "more");
        create(&folder.join("dangling")).unwrap().write_all(b"in place").unwrap();
        assert_eq!(fs::read_to_string(folder.join("made")).unwrap(), "in place");
        let left: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert_eq!(left.len(), 4, "{left:?}");
    }
}

#[test]
fn another_users_link_or_pipe_in_a_sticky_directory_leads_nowhere() {
    if !is_root("another_users_link_or_pipe_in_a_sticky_directory_leads_nowhere") {
        return;
    }
    let (_scene, folder, precious) = scene(0o1777);
    let names = ["to_file", "to_nothing", "fifo", "file"];
    symlink(&precious, folder.join("to_file")).unwrap();
    symlink(precious.with_extension("new"), folder.join("to_nothing")).unwrap();
    let fifo = folder.join("fifo");
    rustix::fs::mkfifoat(CWD, &fifo, Mode::from_raw_mode(0o666)).unwrap();
    let reader = File::options().read(true).write(true).open(&fifo).unwrap();
    fs::write(folder.join("file"), "theirs").unwrap();
    for name in names {
        lchown(folder.join(name), Some(OTHER), None).unwrap();
    }
    symlink("to_file", folder.join("own")).unwrap();
    for name in names.into_iter().chain(["own"]) {
        let refused = create(&folder.join(name)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{name}");
        assert!(refused.to_string().starts_with("user 4242 owns this"), "{name}: {refused}");
    }
    for name in ["to_file", "to_nothing", "fifo", "own"] {
        assert!(replace(&folder.join(name), "new").is_err(), "{name}");
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(!precious.with_extension("new").exists());
    // Root may put another file in the place of theirs, which is root's then.
    fs::set_permissions(folder.join("file"), Permissions::from_mode(0o666)).unwrap();
    replace(&folder.join("file"), "new").unwrap();
    let file = fs::metadata(folder.join("file")).unwrap();
    assert_eq!((file.uid(), file.mode() & 0o022), (0, 0), "others may write to it");
    drop(reader);
    // Where no one else may make links they lead on, whoever owns them.
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    replace(&folder.join("to_file"), "new").unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "new");
}

#[test]
fn a_replaced_file_keeps_owner_and_permissions() {
    let (_scene, folder, _) = scene(0o755);
    let path = folder.join("file");
    for kept in [0o600, 0o640, 0o664, 0o444, 0o755] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(kept)).unwrap();
        replace(&path, "new").unwrap();
        assert_eq!(mode(&path), kept);
        fs::remove_file(&path).unwrap();
    }
    let new = Replacement::new(NamedOutput::find(&path).unwrap(), 0o640).unwrap();
    assert_eq!(new.file().metadata().unwrap().mode() & 0o037, 0, "wider than it may be");
    drop(new);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "what was not kept is left there");
    if is_root("a_replaced_file_keeps_owner_and_permissions") {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o4660)).unwrap();
        chown(&path, Some(OTHER), Some(OTHER)).unwrap();
        replace(&path, "new").unwrap();
        let file = fs::metadata(&path).unwrap();
        assert_eq!((file.uid(), file.gid(), file.mode() & 0o7777), (OTHER, OTHER, 0o660));
    }
}

/// Who puts a file where a private recording goes does not get to read it.
#[test]
fn a_planted_file_widens_no_permissions() {
    if !is_root("a_planted_file_widens_no_permissions") {
        return;
    }
    for folder_mode in [0o1777, 0o755] {
        let (_scene, folder, _) = scene(folder_mode);
        let planted = folder.join("planted");
        fs::write(&planted, "").unwrap();
        fs::set_permissions(&planted, Permissions::from_mode(0o666)).unwrap();
        chown(&planted, Some(OTHER), None).unwrap();
        let new = Replacement::new(NamedOutput::find(&planted).unwrap(), 0o600).unwrap();
        new.keep().unwrap();
        assert_eq!(mode(&planted), 0o600, "in a folder of mode {folder_mode:o}");
    }
}

/// What takes a name after it was looked at is not written to.
#[test]
fn a_name_that_changes_meanwhile_is_not_followed() {
    let (scene, folder, precious) = scene(0o755);
    let path = folder.join("out");
    let output = NamedOutput::find(&path).unwrap();
    symlink(&precious, &path).unwrap();
    output.open_anew(&mut || false).unwrap_err();
    let new = Replacement::new(output, 0o666).unwrap();
    // The directory has another name, and another one has its.
    let moved = scene.path().join("moved");
    fs::rename(&folder, &moved).unwrap();
    symlink(scene.path(), &folder).unwrap();
    new.keep().unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    assert!(moved.join("out").is_file() && !scene.path().join("out").exists());
}

#[test]
fn what_is_no_file_is_told() {
    let (_scene, folder, _) = scene(0o755);
    let kind = |path: &Path| NamedOutput::find(path).unwrap_err().kind();
    assert_eq!(kind(&folder), io::ErrorKind::IsADirectory);
    assert_eq!(kind(&folder.join(".")), io::ErrorKind::IsADirectory);
    assert_eq!(kind(&folder.join("missing/out")), io::ErrorKind::NotFound);
    assert_eq!(kind(&folder.join("missing/")), io::ErrorKind::NotFound);
    symlink("loop", folder.join("loop")).unwrap();
    let round = NamedOutput::find(&folder.join("loop")).unwrap_err();
    assert_eq!(round.raw_os_error(), Some(libc::ELOOP));
    assert!(!NamedOutput::find(Path::new("/dev/null")).unwrap().is_replaceable());
    assert!(!NamedOutput::find(Path::new("/proc/self/fd/0")).unwrap().is_replaceable());
}

#[test]
fn a_fifo_is_waited_for_until_there_is_no_use() {
    let (_scene, folder, _) = scene(0o755);
    let fifo = folder.join("fifo");
    rustix::fs::mkfifoat(CWD, &fifo, Mode::from_raw_mode(0o600)).unwrap();
    let output = NamedOutput::find(&fifo).unwrap();
    let mut asked = 0;
    let mut ended = || {
        asked += 1;
        asked == 3
    };
    let error = output.open_anew(&mut ended).unwrap_err();
    assert_eq!((error.kind(), asked), (io::ErrorKind::Interrupted, 3));
    // A reader that comes late.
    let mut reader = None;
    let mut file = output
        .open_anew(&mut || {
            reader = File::options().read(true).write(true).open(&fifo).ok();
            false
        })
        .unwrap();
    file.write_all(b"read").unwrap();
    assert!(reader.is_some());
}

#[test]
fn folders_are_made_below_the_one_that_was_named_alone() {
    let (scene, folder, _) = scene(0o1777);
    let top = open_folder(CWD, &folder).unwrap();
    let made = create_folder(&top, Path::new("a/b")).unwrap();
    let name = |folder, name| FolderName { folder, name: Path::new(name) };
    fs::write(folder.join("x"), "x").unwrap();
    assert!(name(&top, "x").rename_to_new(name(&made, "y")).unwrap());
    fs::write(folder.join("x"), "x").unwrap();
    assert!(!name(&top, "x").rename_to_new(name(&made, "y")).unwrap(), "it replaces a file");
    assert_eq!(fs::read_dir(folder.join("a/b")).unwrap().count(), 1);
    symlink("a", folder.join("own")).unwrap();
    create_folder(&top, Path::new("own/c")).unwrap();
    assert!(folder.join("a/c").is_dir());
    if is_root("folders_are_made_below_the_one_that_was_named_alone") {
        symlink(scene.path(), folder.join("theirs")).unwrap();
        lchown(folder.join("theirs"), Some(OTHER), None).unwrap();
        create_folder(&top, Path::new("theirs/c")).unwrap_err();
        assert!(!scene.path().join("c").exists());
    }
}

#[test]
fn a_private_folder_is_closed_to_others_whatever_the_umask() {
    // Of this process alone: the runner starts one for each test.
    let umask = rustix::process::umask(Mode::empty());
    let folder = private_folder("hardmeter-");
    rustix::process::umask(umask);
    let folder = folder.unwrap();
    assert_eq!(mode(folder.path()), 0o700);
}

/// The kernel keeps its rule for the last name of a path, and a folder is none.
#[test]
fn another_users_link_on_the_way_leads_nowhere() {
    let (scene, folder, _) = scene(0o1777);
    let outside = scene.path().join("outside");
    fs::create_dir_all(outside.join("below")).unwrap();
    symlink(&outside, folder.join("link")).unwrap();
    for path in ["link", "link/", "link/below", "link/../folder/link/./below"] {
        open_folder(CWD, &folder.join(path)).expect(path);
        create_folder(CWD, &folder.join(path).join("new")).expect(path);
    }
    create(&folder.join("link/file")).unwrap();
    assert!(outside.join("file").exists() && outside.join("below/new").is_dir());
    symlink("round", folder.join("round")).unwrap();
    let round = open_folder(CWD, &folder.join("round/x")).unwrap_err();
    assert_eq!(round.raw_os_error(), Some(libc::ELOOP));
    for file in ["link/file", "link/file/x"] {
        let refused = open_folder(CWD, &folder.join(file)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotADirectory, "{file}");
    }
    assert_eq!(
        open_folder(CWD, &folder.join("link/missing/x")).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    if is_root("another_users_link_on_the_way_leads_nowhere") {
        lchown(folder.join("link"), Some(OTHER), None).unwrap();
        symlink("link", folder.join("own")).unwrap();
        for path in ["link", "link/", "link/below", "own/below/x"] {
            for refused in [
                open_folder(CWD, &folder.join(path)).unwrap_err(),
                create_folder(CWD, &folder.join(path).join("planted")).unwrap_err(),
                create(&folder.join(path).join("planted")).unwrap_err(),
            ] {
                assert!(refused.to_string().starts_with("user 4242 owns this link"), "{path}");
            }
        }
        assert!(!outside.join("planted").exists() && !outside.join("below/planted").exists());
    }
}
