//! Whether a program can be emulated, by the first bytes of its file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes that the kernel looks at (BINPRM_BUF_SIZE).
const HEAD: u64 = 256;
const EM_X86_64: u16 = 62;
/// Interpreters of interpreters that the kernel follows
/// (exec_binprm(), fs/exec.c).
const MAX_DEPTH: usize = 5;

/// What is wrong with the program that a file leads to, through `#!` lines;
/// None: nothing, or the file cannot be read, which is for execve(2) to say.
pub(super) fn unsupported_reason(file: &Path) -> Option<String> {
    let mut path = file.to_owned();
    for _ in 0..MAX_DEPTH {
        let mut head = Vec::new();
        File::open(&path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
        match look(&head) {
            ExecutableKind::Supported => return None,
            ExecutableKind::Unsupported(what) => {
                return Some(format!("{} is {what}", path.display()));
            }
            ExecutableKind::Script(interpreter) => path = interpreter,
        }
    }
    None
}

#[derive(Debug, PartialEq, Eq)]
enum ExecutableKind {
    /// A program to emulate, or nothing that is known here.
    Supported,
    Unsupported(String),
    /// Its interpreter.
    Script(PathBuf),
}

fn look(head: &[u8]) -> ExecutableKind {
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let mut words = line.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
        return match words.next() {
            Some(word) => ExecutableKind::Script(OsStr::from_bytes(word).into()),
            None => ExecutableKind::Supported,
        };
    }
    if !head.starts_with(b"\x7fELF") {
        return ExecutableKind::Supported;
    }
    let class = head.get(4).copied().unwrap_or_default();
    let machine = match head.get(18..20) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => 0,
    };
    match (class, machine) {
        (2, EM_X86_64) => ExecutableKind::Supported,
        (1, 3) => ExecutableKind::Unsupported("a 32-bit program".to_owned()),
        (1, EM_X86_64) => ExecutableKind::Unsupported("an x32 program".to_owned()),
        _ => ExecutableKind::Unsupported(format!(
            "a program for another machine (ELF machine {machine})"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(class: u8, machine: u16) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..4].copy_from_slice(b"\x7fELF");
        head[4] = class;
        head[18..20].copy_from_slice(&machine.to_le_bytes());
        head
    }

    #[test]
    fn only_64_bit_x86_is_fit() {
        assert_eq!(look(&elf(2, 62)), ExecutableKind::Supported);
        let said = |class, machine| match look(&elf(class, machine)) {
            ExecutableKind::Unsupported(what) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(said(1, 3), "a 32-bit program");
        assert_eq!(said(1, 62), "an x32 program");
        assert_eq!(said(2, 183), "a program for another machine (ELF machine 183)");
        assert!(matches!(look(b"\x7fELF"), ExecutableKind::Unsupported(_)), "cut short");
        assert_eq!(look(b""), ExecutableKind::Supported);
    }

    #[test]
    fn scripts_lead_to_their_interpreter() {
        assert_eq!(look(b"#! /bin/sh -e\nrest"), ExecutableKind::Script("/bin/sh".into()));
        assert_eq!(look(b"#!/usr/bin/env python3"), ExecutableKind::Script("/usr/bin/env".into()));
        assert_eq!(look(b"#!\n"), ExecutableKind::Supported);
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let old = file("old", &elf(1, 3));
        let script = file("script", format!("#!{}\n", old.display()).as_bytes());
        assert_eq!(
            unsupported_reason(&script),
            Some(format!("{} is a 32-bit program", old.display()))
        );
        let endless = directory.path().join("endless");
        file("endless", format!("#!{}\n", endless.display()).as_bytes());
        assert_eq!(unsupported_reason(&endless), None, "for execve(2) to refuse");
        assert_eq!(unsupported_reason(&directory.path().join("none")), None);
    }
}
