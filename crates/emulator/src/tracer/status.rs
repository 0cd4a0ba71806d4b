//! /proc/PID/status and the start of its executable: what a process is.

use std::fs::{self, File};
use std::io::{self, Read};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskStatus {
    pub(crate) process: i32,
    /// Who traces it; 0: nobody.
    pub(crate) tracer: i32,
    /// 0 none, 1 strict, 2 filter.
    pub(crate) seccomp: u32,
    /// Bit N-1: signal N has a handler.
    pub(crate) caught: u64,
    /// Bit N-1: the task blocks signal N.
    pub(crate) blocked: u64,
    /// It has ended, and its process or its parent does not know yet.
    pub(crate) ended: bool,
    pub(crate) shadow_stack: bool,
}

pub(crate) fn status(tid: i32) -> io::Result<TaskStatus> {
    // A name is any bytes, cut where it may be in the middle of a character.
    Ok(parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{tid}/status"))?)))
}

fn parse(text: &str) -> TaskStatus {
    let mut status = TaskStatus::default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        let mask = || u64::from_str_radix(value, 16).unwrap_or(0);
        match name {
            "Tgid" => status.process = value.parse().unwrap_or(0),
            "TracerPid" => status.tracer = value.parse().unwrap_or(0),
            "Seccomp" => status.seccomp = value.parse().unwrap_or(0),
            "SigCgt" => status.caught = mask(),
            "SigBlk" => status.blocked = mask(),
            "State" => status.ended = value.starts_with(['Z', 'X']),
            "x86_Thread_features" => status.shadow_stack = value.contains("shstk"),
            _ => {}
        }
    }
    status
}

impl TaskStatus {
    pub(crate) fn catches(&self, signal: i32) -> bool {
        has(self.caught, signal)
    }

    pub(crate) fn blocks(&self, signal: i32) -> bool {
        has(self.blocked, signal)
    }
}

fn has(mask: u64, signal: i32) -> bool {
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

/// Why the program that a process runs cannot be translated; None: it can.
pub(crate) fn foreign(pid: i32) -> io::Result<Option<String>> {
    let mut start = Vec::with_capacity(20);
    File::open(format!("/proc/{pid}/exe"))?.take(20).read_to_end(&mut start)?;
    Ok(foreign_header(&start))
}

/// The same of an executable's first 20 bytes.
fn foreign_header(start: &[u8]) -> Option<String> {
    const X86_64: u16 = 62;
    let Some((class, machine)) = start.get(4).zip(start.get(18..20)) else {
        return Some("nameless".into());
    };
    if start.get(..4) != Some(b"\x7fELF") {
        return Some("non-ELF".into());
    }
    let machine = u16::from_le_bytes([machine[0], machine[1]]);
    match (class, machine) {
        (2, X86_64) => None,
        (1, X86_64) => Some("32-bit (x32)".into()),
        (1, 3) => Some("32-bit".into()),
        (_, 183) => Some("64-bit ARM".into()),
        (_, 243) => Some("RISC-V".into()),
        (_, number) => Some(format!("foreign (ELF machine {number})")),
    }
}

pub(crate) fn threads(pid: i32) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
        if let Some(tid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) {
            found.push(tid);
        }
    }
    Ok(found)
}

/// The name of a task, as COMM records have it.
pub(crate) fn name(tid: i32) -> Vec<u8> {
    let mut name = fs::read(format!("/proc/{tid}/comm")).unwrap_or_default();
    if name.last() == Some(&b'\n') {
        name.pop();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found() {
        let text = "Name:\tx\nState:\tZ (zombie)\nTgid:\t7\nTracerPid:\t9\nSeccomp:\t2\n\
                    SigBlk:\t0000000000000001\nSigCgt:\t0000000000004002\n";
        let status = parse(text);
        assert!(status.ended && status.blocks(1) && !status.blocks(2));
        assert_eq!((status.process, status.tracer, status.seccomp), (7, 9, 2));
        assert!(status.catches(2) && status.catches(15) && !status.catches(1));
        assert!(!status.catches(0) && !status.catches(99));
    }

    #[test]
    fn other_programs_are_told() {
        let mut header = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0";
        assert_eq!(foreign_header(&header), None);
        header[4] = 1;
        assert_eq!(foreign_header(&header), Some("32-bit (x32)".into()));
        header[18] = 3;
        assert_eq!(foreign_header(&header), Some("32-bit".into()));
        assert!(foreign_header(b"#!/bin/sh\n..........").is_some());
        assert_eq!(foreign(i32::try_from(std::process::id()).unwrap()).unwrap(), None);
    }
}
