//! Finding what a standing session is to sample.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use recorder::Cgroup;
use recorder::machine::process_identity::start_time;

use super::role::TargetDescription;
use crate::target::{FoundProcess, FoundTarget};

/// Bytes of a pid file that are read: a number and white space.
const MAX_PID_FILE_BYTES: u64 = 32;

/// Looks for it; the error says why it is not there, or cannot be seen.
pub(super) fn find(sought: &TargetDescription, root: &Path) -> io::Result<FoundTarget> {
    match sought {
        TargetDescription::System => Ok(FoundTarget::System),
        TargetDescription::Unit(unit) => {
            Cgroup::of_unit(root, unit).map(|it| FoundTarget::Cgroup(Arc::new(it)))
        }
        TargetDescription::Cgroup(path) => {
            Cgroup::open(root, path).map(|it| FoundTarget::Cgroup(Arc::new(it)))
        }
        TargetDescription::PidFile(path) => {
            let wrong = |text: String| io::Error::other(format!("{}: {text}", path.display()));
            let text = number_in(path).map_err(|error| wrong(error.to_string()))?;
            let pid = text.trim().parse().map_err(|_| wrong(format!("{text:?} is no number")))?;
            let process = FoundProcess::running(pid);
            let process = process.map_err(|error| wrong(format!("process {pid}: {error}")))?;
            Ok(FoundTarget::Process(process))
        }
        TargetDescription::Comm(name) => oldest(name, &root.join("proc")),
    }
}

/// What a pid file says. It is its service's, which may make anything of it:
/// a FIFO that nobody writes to, or a file without an end.
fn number_in(path: &Path) -> io::Result<String> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("no plain file"));
    }
    let mut text = String::new();
    file.take(MAX_PID_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

fn oldest(name: &str, proc: &Path) -> io::Result<FoundTarget> {
    let missing = || {
        let text = format!("no process is called {name:?}");
        io::Error::new(io::ErrorKind::NotFound, text)
    };
    let is_called = |pid: i32| {
        let comm = fs::read(proc.join(pid.to_string()).join("comm"));
        comm.is_ok_and(|comm| comm.strip_suffix(b"\n").unwrap_or(&comm) == name.as_bytes())
    };
    let entries = fs::read_dir(proc)?.map_while(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let called = pids.filter(|pid| is_called(*pid));
    let first = called.filter_map(|pid| Some((start_time(proc, pid)?, pid))).min();
    let (_, pid) = first.ok_or_else(missing)?;
    let process = FoundProcess::running(pid)?;
    // Held now: the number cannot become another's any more.
    if !is_called(pid) {
        return Err(missing());
    }
    Ok(FoundTarget::Process(process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pid_file_names_a_process_that_runs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.pid");
        let find = || find(&TargetDescription::PidFile(path.clone()), Path::new("/"));
        assert!(find().unwrap_err().to_string().contains("x.pid: No such file"));
        for (text, says) in [("", "no number"), ("12x\n", "no number"), ("0", "process 0")] {
            fs::write(&path, text).unwrap();
            let error = find().unwrap_err().to_string();
            assert!(error.contains(says), "{text:?}: {error}");
        }
        fs::write(&path, format!("{}\n", std::process::id())).unwrap();
        let FoundTarget::Process(process) = find().unwrap() else { panic!() };
        assert_eq!(u32::try_from(process.pid().0).unwrap(), std::process::id());
    }

    #[test]
    fn a_pid_file_that_is_none_holds_up_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.pid");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let sought = TargetDescription::PidFile(path.clone());
        std::thread::spawn(move || tell.send(find(&sought, Path::new("/")).unwrap_err()));
        let error = told.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        assert!(error.to_string().contains("no plain file"), "{error}");
        fs::remove_file(&path).unwrap();
        // No file in memory, and none of it in the log.
        fs::write(&path, "9".repeat(1 << 20)).unwrap();
        let error =
            find(&TargetDescription::PidFile(path), Path::new("/")).unwrap_err().to_string();
        assert!(error.contains("no number") && error.len() < 500, "{} bytes", error.len());
    }

    #[test]
    fn of_several_processes_of_a_name_the_oldest_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("hm-oldest");
        fs::copy("/bin/sleep", &program).unwrap();
        let run = || {
            let child = std::process::Command::new(&program).arg("60").spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(30));
            child
        };
        let mut children = [run(), run()];
        let sought = TargetDescription::Comm("hm-oldest".into());
        let first = find(&sought, Path::new("/"));
        children[0].kill().unwrap();
        children[0].wait().unwrap();
        let second = find(&sought, Path::new("/"));
        children[1].kill().unwrap();
        children[1].wait().unwrap();
        for (found, child) in [(first, &children[0]), (second, &children[1])] {
            let Ok(FoundTarget::Process(process)) = found else { panic!("{found:?}") };
            assert_eq!(u32::try_from(process.pid().0).unwrap(), child.id());
        }
        let error = find(&sought, Path::new("/")).unwrap_err();
        assert!(error.to_string().contains("no process is called \"hm-oldest\""), "{error}");
    }
}
