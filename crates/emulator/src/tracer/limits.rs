//! Limits of a task (proc_pid_limits(5)).

use std::io;

use rustix::process::Rlimit;

/// What /proc/TID/limits says under this name.
pub(crate) fn limit(tid: i32, name: &str) -> io::Result<Rlimit> {
    let text = std::fs::read_to_string(format!("/proc/{tid}/limits"))?;
    Ok(of_text(&text, name).ok_or(io::ErrorKind::InvalidData)?)
}

fn of_text(text: &str, name: &str) -> Option<Rlimit> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = line.split_whitespace();
    let mut limit = || match words.next()? {
        "unlimited" => Some(None),
        number => Some(Some(number.parse().ok()?)),
    };
    Some(Rlimit { current: limit()?, maximum: limit()? })
}

/// Bytes that it may map in all; None: no limit.
pub(crate) fn address_space(tid: i32) -> io::Result<Option<u64>> {
    Ok(limit(tid, "Max address space")?.current)
}

/// The most bytes of a thread's process's stack; None: as many as there are.
pub(crate) fn stack(tid: i32) -> io::Result<Option<u64>> {
    Ok(limit(tid, "Max stack size")?.current)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_by_their_names() {
        let text = "Limit  Soft  Hard  Units\nMax open files            3  524288  files \n";
        let limits = of_text(text, "Max open files").unwrap();
        assert_eq!((limits.current, limits.maximum), (Some(3), Some(524_288)));
        let limits = of_text("Max open files  1024  unlimited  files", "Max open files").unwrap();
        assert_eq!((limits.current, limits.maximum), (Some(1024), None));
        assert!(of_text("Max processes 1 2", "Max open files").is_none());
    }
}
