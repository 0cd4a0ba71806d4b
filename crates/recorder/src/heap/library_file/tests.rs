//! What other users, and accidents, may have left where the library is unpacked.

use std::fs::{self, Metadata};
use std::os::unix::fs::{chown, lchown, symlink};

use super::*;

const LIBRARY: &[u8] = b"\x7fELF, and what is behind it";
const ANOTHER: u32 = 65533;

/// A home that others may look into, and a folder for temporary files.
struct Home {
    folder: TempDir,
    places: UnpackPlaces,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        allow(folder.path(), 0o755);
        fs::create_dir(folder.path().join("tmp")).unwrap();
        let (cache, temporary) = (folder.path().join("cache"), folder.path().join("tmp"));
        let places = UnpackPlaces {
            cache: Some(cache),
            temporary: vec![temporary],
            user: geteuid().as_raw(),
            for_all: false,
        };
        Home { folder, places }
    }

    /// One with our folder and the library in it: where both are.
    fn with_library() -> (Home, PathBuf, PathBuf) {
        let home = Home::new();
        let path = home.unpacked();
        (home, path.parent().unwrap().to_path_buf(), path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// In the cache.
    fn unpacked(&self) -> PathBuf {
        let file = self.places.unpack(LIBRARY).unwrap();
        assert!(file._folder.is_none(), "{file:?}");
        assert_eq!(file.path.parent(), Some(&*self.path("cache/hardmeter")));
        assert_is_whole(&file.path);
        file.path
    }

    /// The cache will not do: what is unpacked goes with the file.
    fn unpacked_for_now(&self) {
        let file = self.places.unpack(LIBRARY).unwrap();
        let folder = file.path.parent().unwrap().to_path_buf();
        assert_eq!(folder.parent(), Some(&*self.path("tmp")), "{file:?}");
        assert_eq!(known(&folder).mode() & 0o777, self.places.mode());
        assert_is_whole(&file.path);
        drop(file);
        assert!(!folder.exists());
    }

    /// Why the cache will not do.
    fn refused(&self) -> String {
        let places =
            UnpackPlaces { temporary: Vec::new(), cache: self.places.cache.clone(), ..self.places };
        places.unpack(LIBRARY).unwrap_err()
    }
}

fn known(path: &Path) -> Metadata {
    path.symlink_metadata().unwrap()
}

fn allow(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn assert_is_whole(path: &Path) {
    let file = known(path);
    assert!(file.is_file() && file.uid() == geteuid().as_raw());
    assert_eq!(file.mode() & 0o777, 0o444);
    assert_eq!(fs::read(path).unwrap(), LIBRARY);
}

/// All that is in a folder: nothing half written stays.
fn names(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn it_is_unpacked_once() {
    let (home, folder, path) = Home::with_library();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_eq!(name, "libhardmeter_heap-b65f927a89223d47.so");
    let before = known(&path).ino();
    assert_eq!(home.unpacked(), path);
    assert_eq!(known(&path).ino(), before);
    for made in [&folder, &home.path("cache")] {
        assert_eq!(known(made).mode() & 0o777, 0o700, "{made:?}");
    }
    // A folder that others only looked into is closed.
    allow(&folder, 0o755);
    home.unpacked();
    assert_eq!(known(&folder).mode() & 0o777, 0o700);
    assert_eq!(names(&folder), [path]);
}

#[test]
fn what_is_not_the_library_is_replaced() {
    let (home, folder, path) = Home::with_library();
    let other = home.path("other");
    fs::write(&other, "another's").unwrap();
    let spoilers: [(&str, &dyn Fn()); 8] = [
        ("truncated", &|| fs::write(&path, &LIBRARY[..9]).unwrap()),
        ("longer", &|| fs::write(&path, [LIBRARY, b"!"].concat()).unwrap()),
        ("huge", &|| File::create(&path).unwrap().set_len(1 << 40).unwrap()),
        ("other bytes", &|| fs::write(&path, LIBRARY.to_ascii_uppercase()).unwrap()),
        ("empty", &|| drop(File::create(&path).unwrap())),
        ("a link", &|| symlink(&other, &path).unwrap()),
        ("a link to nothing", &|| symlink("nowhere", &path).unwrap()),
        ("a pipe", &|| {
            use rustix::fs::{CWD, FileType, Mode, mknodat};
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR, 0).unwrap();
        }),
    ];
    for (what, spoil) in spoilers {
        fs::remove_file(&path).unwrap();
        spoil();
        if known(&path).is_file() {
            allow(&path, 0o444);
        }
        assert_eq!(home.unpacked(), path, "{what}");
    }
    assert_eq!(fs::read(&other).unwrap(), b"another's");
    // The right bytes, which others may change, or which cannot be read by the command.
    for mode in [0o666, 0o464, 0o446, 0o400] {
        allow(&path, mode);
        home.unpacked();
    }
    // The right bytes behind a link.
    fs::rename(&path, home.path("copy")).unwrap();
    symlink(home.path("copy"), &path).unwrap();
    home.unpacked();
    if geteuid().is_root() {
        chown(&path, Some(ANOTHER), None).unwrap();
        home.unpacked();
    }
    assert_eq!(names(&folder), std::slice::from_ref(&path));
    // A folder is not: it may hold what somebody wants to keep.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    home.unpacked_for_now();
    assert_eq!(names(&folder), [path]);
}

#[test]
fn a_folder_that_others_may_change_is_not_used() {
    let (home, folder, path) = Home::with_library();
    for mode in [0o777, 0o770, 0o707, 0o1777] {
        allow(&folder, mode);
        assert!(home.refused().contains("hardmeter is a link, another user's, or"));
        home.unpacked_for_now();
        assert_eq!(known(&folder).mode() & 0o7777, mode, "it is not ours to mend");
    }
    allow(&folder, 0o700);
    fs::rename(&folder, home.path("away")).unwrap();
    symlink(home.path("away"), &folder).unwrap();
    home.unpacked_for_now();
    fs::remove_file(&folder).unwrap();
    fs::write(&folder, "").unwrap();
    home.unpacked_for_now();
    if geteuid().is_root() {
        fs::remove_file(&folder).unwrap();
        fs::rename(home.path("away"), &folder).unwrap();
        chown(&folder, Some(ANOTHER), None).unwrap();
        home.unpacked_for_now();
        assert_eq!(names(&folder), [path]);
    }
}

/// Another user that can rename a folder on the way can replace it after the check.
#[test]
fn a_way_that_others_may_change_is_not_taken() {
    let (mut home, ..) = Home::with_library();
    let cache = home.path("cache");
    for mode in [0o777, 0o770, 0o702] {
        allow(&cache, mode);
        assert!(home.refused().contains("cache: may be written by others"), "{}", home.refused());
        home.unpacked_for_now();
    }
    // As /tmp.
    allow(&cache, 0o1777);
    home.unpacked();
    allow(&cache, 0o700);
    let way = home.path("");
    allow(&way, 0o777);
    let refused = format!("{} may be written by others", way.display());
    assert!(
        home.refused().contains(refused.trim_end_matches('/'))
            || home.refused().contains("may be written")
    );
    allow(&way, 0o755);
    // A link of ours leads where it leads.
    home.places.cache = Some(home.path("link"));
    symlink(&cache, home.path("link")).unwrap();
    home.unpacked();
    if geteuid().is_root() {
        lchown(home.path("link"), Some(ANOTHER), None).unwrap();
        assert!(home.refused().contains("is a link of another user"));
        home.places.cache = Some(cache.clone());
        chown(&cache, Some(ANOTHER), None).unwrap();
        assert!(home.refused().contains("is of user 65533"));
        home.unpacked_for_now();
    }
}

#[test]
fn without_a_cache_it_is_gone_at_the_end() {
    let mut home = Home::new();
    let file = home.path("tmp/file");
    fs::write(&file, "").unwrap();
    // No HOME; one that is not there; one where nothing can be made, for root either; a file.
    for cache in [None, Some("/nowhere/.cache".into()), Some("/proc/.cache".into()), Some(file)] {
        home.places.cache = cache;
        home.unpacked_for_now();
    }
    home.places.temporary = vec![home.path("nowhere")];
    let refused = home.places.unpack(LIBRARY).unwrap_err();
    assert!(refused.contains("tmp/file: is no folder; "), "{refused}");
    assert!(refused.contains("nowhere: No such file"), "{refused}");
}

#[test]
fn what_the_loader_cannot_be_given_is_not_used() {
    let mut home = Home::new();
    for name in ["a b", "a:b", "$LIB", "a\nb"] {
        fs::create_dir(home.path(name)).unwrap();
        home.places.cache = Some(home.path(name));
        assert!(home.refused().ends_with("has a space, a colon or a $ in its name"));
        home.unpacked_for_now();
    }
}

/// Root's command may become another user.
#[test]
fn roots_is_for_all() {
    let mut home = Home::new();
    home.places.for_all = true;
    let path = home.unpacked();
    for folder in [home.path("cache"), home.path("cache/hardmeter")] {
        assert_eq!(known(&folder).mode() & 0o777, 0o755);
    }
    // From before it was root's.
    allow(&home.path("cache/hardmeter"), 0o700);
    assert_eq!(home.unpacked(), path);
    assert_eq!(known(&home.path("cache/hardmeter")).mode() & 0o777, 0o755);
    allow(&home.path("cache"), 0o700);
    assert!(home.refused().contains("is closed to the users that root may run the command as"));
    home.unpacked_for_now();
}

#[test]
fn many_may_unpack_it_at_once() {
    for _ in 0..20 {
        let home = Home::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| home.unpacked());
            }
        });
        assert_eq!(names(&home.path("cache/hardmeter")).len(), 1);
    }
}
