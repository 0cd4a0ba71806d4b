//! What a confined thread is let do. Filters are a thread's own: each test
//! confines one that it makes.

use std::fs::{self, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, socket};

use super::filter::{FCNTLS, apply};
use super::*;

/// Of include/uapi/asm-generic/fcntl.h.
const F_SETSIG: i32 = 10;
const F_SETOWN_EX: i32 = 15;

/// What `does` gives on a thread that is confined as a worker is, but for
/// its ids.
fn confined<T: Send + 'static>(does: impl FnOnce() -> T + Send + 'static) -> T {
    confined_to(FileAccess::Read, does)
}

fn confined_to<T: Send + 'static>(
    files: FileAccess,
    does: impl FnOnce() -> T + Send + 'static,
) -> T {
    let thread = std::thread::spawn(move || {
        set_no_new_privs(true).unwrap();
        apply(files).unwrap();
        does()
    });
    thread.join().unwrap()
}

#[test]
fn a_worker_reads_and_makes_threads_and_events() {
    let text = confined(|| {
        std::thread::spawn(|| fs::read_to_string("/proc/self/stat")).join().unwrap().unwrap()
    });
    assert!(text.contains(')'));
    confined(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::sleep(std::time::Duration::from_millis(1)).await });
    });
}

#[test]
fn what_a_worker_is_not_for_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    fs::write(&path, "").unwrap();
    let errors = confined(move || {
        let mut options = OpenOptions::new();
        let opened = [
            options.write(true).open(&path).unwrap_err(),
            OpenOptions::new().append(true).open(&path).unwrap_err(),
            OpenOptions::new().read(true).write(true).open(&path).unwrap_err(),
            fs::File::create(path.with_extension("new")).unwrap_err(),
        ];
        let made = [
            fs::remove_file(&path).unwrap_err(),
            fs::create_dir(path.with_extension("d")).unwrap_err(),
            Command::new("true").spawn().unwrap_err(),
            socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap_err().into(),
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::CONT)
                .unwrap_err()
                .into(),
        ];
        let own = rustix::process::getrlimit(Resource::Nofile);
        rustix::process::setrlimit(Resource::Nofile, own).unwrap();
        let parent = rustix::process::getppid();
        let (wake_receiver, _sender) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        wake_receiver.try_clone().unwrap();
        let of_others: [io::Error; 3] = [
            // Its user's, too.
            rustix::process::prlimit(parent, Resource::Nofile, own).unwrap_err().into(),
            rustix::pipe::fcntl_setpipe_size(&wake_receiver, 4096).unwrap_err().into(),
            rustix::fs::fcntl_lock(&wake_receiver, rustix::fs::FlockOperation::Unlock)
                .unwrap_err()
                .into(),
        ];
        assert!(!FCNTLS.iter().any(|one| {
            let others = [libc::F_SETOWN, F_SETSIG, F_SETOWN_EX, libc::F_SETLEASE, libc::F_NOTIFY];
            others.contains(&one.value.cast_signed())
        }));
        let made = made.into_iter().chain(of_others);
        fs::read(&path).unwrap();
        opened.into_iter().chain(made).collect::<Vec<_>>()
    });
    for error in errors {
        assert_eq!(error.raw_os_error(), Some(Errno::PERM.raw_os_error()), "{error:?}");
    }
}

#[test]
fn who_keeps_segments_writes_files_that_are_no_links() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    confined_to(FileAccess::Record, move || {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = OpenOptions::new();
        options.write(true).create(true);
        let error = options.open(path.join("x")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::PERM.raw_os_error()), "may be a link");
        let mut file = options.custom_flags(libc::O_NOFOLLOW).open(path.join("x")).unwrap();
        file.write_all(b"segment").unwrap();
        file.set_len(3).unwrap();
        file.sync_data().unwrap();
        let here = fs::File::open(&path).unwrap();
        rustix::fs::renameat(&here, "x", &here, "y").unwrap();
        rustix::fs::mkdirat(&here, "d", rustix::fs::Mode::RWXU).unwrap();
        rustix::fs::unlinkat(&here, "y", rustix::fs::AtFlags::empty()).unwrap();
        Command::new("true").spawn().unwrap_err();
    });
}

/// The trespassers of the next test, each the last thing that its process
/// does.
#[test]
#[ignore = "a part of a_trespasser_is_killed"]
fn trespasser() {
    confined(|| match std::env::var("TRESPASS").unwrap().as_str() {
        "network" => drop(socket(AddressFamily::INET, SocketType::STREAM, None)),
        "ids" => drop(rustix::thread::set_thread_uid(rustix::process::getuid())),
        "root" => drop(rustix::process::chroot("/")),
        "program" => drop(recorder::in_kernel::KernelProgram::load(
            &recorder::in_kernel::InKernel::aggregate(),
            recorder::in_kernel::HitSource::Overflow(recorder::in_kernel::SampleContents::default()),
            &[perfdata::Cpu(0)],
        )),
        other => panic!("{other}"),
    });
}

#[test]
fn a_trespasser_is_killed() {
    for what in ["network", "ids", "root", "program"] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "process::confine::tests::trespasser"]);
        let output = command.env("TRESPASS", what).output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGSYS), "{what}: {output:?}");
    }
}
