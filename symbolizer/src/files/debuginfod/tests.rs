#![allow(clippy::print_stderr, reason = "a test that skips says why")]

use super::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const ID: [u8; 20] = [0xab; 20];
/// For a server's next byte. A good one on a busy machine must not take it all.
const PATIENCE: Duration = Duration::from_secs(5);

/// An ELF file of nothing but its build id.
fn elf_of(id: &[u8]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let note = 12 + 4 + id.len() as u64;
    // e_type ET_EXEC, e_machine EM_X86_64, e_version; e_entry, e_phoff,
    // e_shoff; e_flags, e_ehsize, e_phentsize; e_phnum.
    let header = [1 << 32 | 62 << 16 | 2, 0, 64, 0, 56 << 48 | 64 << 32, 1];
    // PT_NOTE, read; offset, addresses, sizes, alignment.
    let program = [4 << 32 | 4, 120, 0, 0, note, note, 4];
    for word in header.iter().chain(&program) {
        file.extend(u64::to_le_bytes(*word));
    }
    for word in [4, u32::try_from(id.len()).unwrap(), 3] {
        file.extend(u32::to_le_bytes(word));
    }
    file.extend(b"GNU\0");
    file.extend(id);
    file
}

/// What a server does with a connection, given the path that was asked for.
type Answer = fn(&str, &mut TcpStream);

/// A server on loopback, and how often it was asked.
fn server(answer: Answer) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let count = Arc::clone(&count);
            thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let Some(Ok(request)) = lines.next() else { return };
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                count.fetch_add(1, Ordering::Relaxed);
                answer(request.split(' ').nth(1).unwrap(), &mut stream);
            });
        }
    });
    (url, asked)
}

fn send(stream: &mut TcpStream, head: &str, body: &[u8]) {
    // The client may have seen enough.
    let _gone =
        stream.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes());
    let _gone = stream.write_all(body);
}

fn serve(path: &str, stream: &mut TcpStream) {
    let file = elf_of(&ID);
    let expected = format!("/buildid/{}/debuginfo", hex(&ID));
    match path == expected {
        true => send(stream, &format!("200 OK\r\nContent-Length: {}", file.len()), &file),
        false => send(stream, "404 Not Found\r\nContent-Length: 0", b""),
    }
}

struct Scene {
    cache: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        Scene { cache: tempfile::tempdir().unwrap() }
    }

    fn asking(&self, urls: &[&str]) -> Debuginfod {
        Debuginfod::new(DebuginfodSettings {
            urls: urls.iter().map(|url| (*url).to_owned()).collect(),
            cache: self.cache.path().join("cache"),
            timeout: Some(PATIENCE),
            most_time: None,
            most_bytes: None,
        })
    }

    fn cached(&self) -> PathBuf {
        self.cache.path().join("cache").join(hex(&ID)).join("debuginfo")
    }

    /// No file came, this was said, and nothing is left behind.
    #[track_caller]
    fn refused(&self, debuginfod: &Debuginfod, why: &str) {
        assert!(debuginfod.find(&ID, Artifact::DebugInfo).is_none());
        let said = debuginfod.said(&ID, Artifact::DebugInfo).unwrap();
        assert!(said.contains(why), "{said}");
        let left = std::fs::read_dir(self.cached().parent().unwrap()).unwrap().count();
        assert_eq!(left, 0, "{said}");
    }
}

fn bytes(file: Option<File>) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_file_is_fetched_once_and_then_lies_in_the_cache() {
    let scene = Scene::new();
    let (url, asked) = server(serve);
    for with in [url.clone(), format!("{url}/"), format!("{url}/buildid")] {
        let debuginfod = scene.asking(&[&with]);
        assert_eq!(bytes(debuginfod.find(&ID, Artifact::DebugInfo)), elf_of(&ID));
        assert_eq!(bytes(debuginfod.find(&ID, Artifact::DebugInfo)), elf_of(&ID));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let mode = scene.cached().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o400);
}

#[test]
fn that_no_server_has_a_file_is_remembered_as_others_do() {
    let scene = Scene::new();
    let (url, asked) = server(serve);
    let other = [0x11; 20];
    for _ in 0..2 {
        let debuginfod = scene.asking(&[&url]);
        assert!(debuginfod.find(&other, Artifact::DebugInfo).is_none());
        assert!(debuginfod.find(&other, Artifact::DebugInfo).is_none());
        let said = debuginfod.said(&other, Artifact::DebugInfo).unwrap();
        assert!(said.starts_with("no server ha"), "{said}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let cache = scene.cache.path().join("cache");
    let miss = cache.join(hex(&other)).join("debuginfo");
    let found = miss.metadata().unwrap();
    assert_eq!((found.len(), found.permissions().mode() & 0o777), (0, 0o400));
    // The control file says for how long.
    std::fs::write(cache.join("cache_miss_s"), "0\n").unwrap();
    assert!(scene.asking(&[&url]).find(&other, Artifact::DebugInfo).is_none());
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[test]
fn what_servers_do_wrong_is_said_and_leaves_nothing() {
    let wrong: [(Answer, &str); 10] = [
        (|_, stream| send(stream, "200 OK\r\nContent-Length: 4", b"what"), "no ELF file"),
        (
            |_, stream| {
                let head = "200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4";
                send(stream, head, b"\x1f\x8b\x08\0");
            },
            "\"gzip\"-coded bytes unasked",
        ),
        (
            |_, stream| {
                let file = elf_of(&ID);
                let head = format!("200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}", file.len());
                send(stream, &head, &file);
            },
            "",
        ),
        (|_, stream| send(stream, "406 No\r\nContent-Length: 0", b""), "DEBUGINFOD_MAXSIZE"),
        (|_, stream| send(stream, "500 Oops\r\nContent-Length: 0", b""), "status 500"),
        (|_, stream| send(stream, "200 OK\r\nContent-Length: 9000", b"short"), ""),
        (
            |_, stream| {
                let file = elf_of(&[0xcd; 20]);
                send(stream, &format!("200 OK\r\nContent-Length: {}", file.len()), &file);
            },
            "another build id",
        ),
        (
            |_, stream| {
                let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
                while stream.write_all(b"x").is_ok() {
                    thread::sleep(Duration::from_millis(100));
                }
            },
            "bytes came in 5 s",
        ),
        (
            |_, _| thread::sleep(Duration::from_secs(60)),
            "nothing came for 5 s (DEBUGINFOD_TIMEOUT)",
        ),
        (
            |_, stream| send(stream, "302 Found\r\nLocation: /again\r\nContent-Length: 0", b""),
            "redirect",
        ),
    ];
    let try_one = |answer, why: &str| {
        let scene = Scene::new();
        let (url, _) = server(answer);
        scene.refused(&scene.asking(&[&url]), why);
        // The next server is asked all the same.
        let (good, _) = server(serve);
        let debuginfod = scene.asking(&[&url, &good]);
        assert_eq!(bytes(debuginfod.find(&ID, Artifact::DebugInfo)), elf_of(&ID), "{why}");
    };
    thread::scope(|threads| {
        for (answer, why) in wrong {
            threads.spawn(move || try_one(answer, why));
        }
    });
}

#[test]
fn a_redirected_request_arrives() {
    let scene = Scene::new();
    let (url, _) = server(|path, stream| match path.strip_prefix("/there") {
        Some(path) => serve(path, stream),
        None => {
            let head = format!("302 Found\r\nLocation: /there{path}\r\nContent-Length: 0");
            send(stream, &head, b"");
        }
    });
    let debuginfod = scene.asking(&[&url]);
    assert_eq!(bytes(debuginfod.find(&ID, Artifact::DebugInfo)), elf_of(&ID));
}

#[test]
fn no_more_is_taken_than_was_allowed() {
    let scene = Scene::new();
    let bounded = |url: &str| {
        let mut settings = scene.asking(&[url]).settings;
        settings.most_bytes = Some(100);
        Debuginfod::new(settings)
    };
    let (claims, _) = server(|_, stream| {
        send(stream, "200 OK\r\nContent-Length: 18446744073709551615", b"");
    });
    scene.refused(&bounded(&claims), "more than DEBUGINFOD_MAXSIZE allows (100)");
    let (pours, _) = server(|_, stream| {
        let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while stream.write_all(&[0; 4096]).is_ok() {}
    });
    scene.refused(&bounded(&pours), "more than DEBUGINFOD_MAXSIZE allows (100)");
}

#[test]
fn a_file_that_takes_too_long_is_given_up() {
    let scene = Scene::new();
    let (url, _) = server(|_, stream| {
        let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n");
        while stream.write_all(&[0; 4096]).is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    let mut settings = scene.asking(&[&url]).settings;
    settings.most_time = Some(Duration::from_secs(1));
    scene.refused(&Debuginfod::new(settings), "not here after 1 s (DEBUGINFOD_MAXTIME)");
}

#[test]
fn a_server_that_does_not_answer_is_asked_once() {
    let scene = Scene::new();
    // Nobody listens there any more.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let debuginfod = scene.asking(&[&url]);
    scene.refused(&debuginfod, &url);
    assert!(debuginfod.find(&[1; 20], Artifact::DebugInfo).is_none());
    assert_eq!(debuginfod.said(&[1; 20], Artifact::DebugInfo).unwrap(), "no server answers");
    assert!(debuginfod.find(&[1; 3], Artifact::DebugInfo).is_none(), "no build id");
    assert_eq!(debuginfod.said(&[1; 3], Artifact::DebugInfo), None);
}

/// What a server that means harm may send, besides what broken ones do.
#[test]
fn a_hostile_server_gets_no_further_than_its_answer() {
    let wrong: [(Answer, &str); 6] = [
        (|_, stream| redirect(stream, "file:///etc/passwd"), "too many redirects"),
        (|_, stream| redirect(stream, "unix:///run/x.sock"), "too many redirects"),
        (|_, stream| redirect(stream, "http://127.0.0.1:1/nobody"), "Connection refused"),
        (
            |_, stream| {
                let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nX-Long: ");
                while stream.write_all(&[b'a'; 4096]).is_ok() {}
            },
            "response header is too big",
        ),
        (
            |_, stream| while stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_ok() {},
            "response header is too big",
        ),
        (
            |_, stream| {
                let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\n");
                while stream.write_all(b"X: y\r\n").is_ok() {
                    thread::sleep(Duration::from_millis(50));
                }
            },
            "nothing came for 5 s",
        ),
    ];
    for (answer, why) in wrong {
        let scene = Scene::new();
        let (url, _) = server(answer);
        scene.refused(&scene.asking(&[&url]), why);
    }
}

fn redirect(stream: &mut TcpStream, to: &str) {
    send(stream, &format!("302 Found\r\nLocation: {to}\r\nContent-Length: 0"), b"");
}

/// Of two processes that ask at once, each by its own servers.
#[test]
fn a_miss_does_not_take_away_what_another_process_fetched() {
    let scene = Scene::new();
    let place = Place::new(&scene.cache.path().join("cache"), &hex(&ID), "debuginfo");
    place.put_miss();
    assert!(matches!(place.look(), Cached::Miss));
    let mut fetched = place.temporary().unwrap();
    fetched.write_all(&elf_of(&ID)).unwrap();
    place.put(fetched).unwrap();
    place.put_miss();
    assert!(matches!(place.look(), Cached::File(_)));
    let left = std::fs::read_dir(scene.cached().parent().unwrap()).unwrap().count();
    assert_eq!(left, 1);
}

#[test]
fn a_miss_that_is_found_again_holds_anew() {
    let scene = Scene::new();
    let place = Place::new(&scene.cache.path().join("cache"), &hex(&ID), "debuginfo");
    place.put_miss();
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(7200);
    let times = std::fs::FileTimes::new().set_modified(long_ago);
    std::fs::set_permissions(scene.cached(), std::fs::Permissions::from_mode(0o600)).unwrap();
    File::options().write(true).open(scene.cached()).unwrap().set_times(times).unwrap();
    assert!(matches!(place.look(), Cached::Nothing));
    place.put_miss();
    assert!(matches!(place.look(), Cached::Miss));
}

/// Nothing is written where others decide what becomes of it.
#[test]
fn a_cache_that_others_can_change_is_not_written_to() {
    let (url, asked) = server(serve);
    let refused = |scene: &Scene, why: &str| {
        let debuginfod = scene.asking(&[&url]);
        assert!(debuginfod.find(&ID, Artifact::DebugInfo).is_none());
        let said = debuginfod.said(&ID, Artifact::DebugInfo).unwrap();
        assert!(said.contains(why) && said.contains("DEBUGINFOD_CACHE_PATH"), "{said}");
    };
    let scene = Scene::new();
    let cache = scene.cache.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o777)).unwrap();
    refused(&scene, "may be written to by others (mode 777)");

    let scene = Scene::new();
    let elsewhere = scene.cache.path().join("elsewhere");
    std::fs::create_dir_all(scene.cached().parent().unwrap().parent().unwrap()).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, scene.cached().parent().unwrap()).unwrap();
    refused(&scene, "is a link");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);

    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped caches of other users: root alone can make one");
        return;
    }
    let scene = Scene::new();
    let cache = scene.cache.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    std::os::unix::fs::chown(&cache, Some(65_534), None).unwrap();
    refused(&scene, "belongs to uid 65534");
    // Nor is what another user put there believed.
    let scene = Scene::new();
    std::fs::create_dir_all(scene.cached().parent().unwrap()).unwrap();
    std::fs::write(scene.cached(), elf_of(&ID)).unwrap();
    std::os::unix::fs::chown(scene.cached(), Some(65_534), None).unwrap();
    let before = asked.load(Ordering::Relaxed);
    assert!(scene.asking(&[&url]).find(&ID, Artifact::DebugInfo).is_some());
    assert_eq!(asked.load(Ordering::Relaxed), before + 1);
}

#[test]
fn a_damaged_file_in_the_cache_is_fetched_again() {
    let scene = Scene::new();
    let (url, _) = server(serve);
    std::fs::create_dir_all(scene.cached().parent().unwrap()).unwrap();
    std::fs::write(scene.cached(), elf_of(&[0xcd; 20])).unwrap();
    let found = scene.asking(&[&url]).find(&ID, Artifact::DebugInfo);
    assert_eq!(bytes(found), elf_of(&ID));
}
