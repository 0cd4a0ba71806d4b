//! Which names of mappings say nothing about who was recorded.

use super::tokens::{Kind, Tokens};

/// What the kernel calls memory without a file.
const WITHOUT_FILE: [&[u8]; 6] =
    [b"//anon", b"/anon_hugepage", b"/dev/zero", b"//enomem", b"//toolong", b"//noexec"];
/// Memory that a program gave a name to (PR_SET_VMA_ANON_NAME).
const NAMED: [&[u8]; 2] = [b"[anon:", b"[anon_shmem:"];
const MODULES: [&[u8]; 2] = [b"/lib/modules/", b"/usr/lib/modules/"];

/// A name to be put in a path's place; None where it may stay: memory without
/// a file, the kernel and its modules. With the number of a file.
pub(super) fn replaced(path: &[u8], tokens: &mut Tokens) -> Option<(u64, Vec<u8>)> {
    if NAMED.iter().any(|start| path.starts_with(start)) {
        return Some((0, tokens.token(Kind::Memory, path)));
    }
    let there = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let stays = path.is_empty()
        || path.starts_with(b"[")
        || path.starts_with(b"anon_inode:")
        || WITHOUT_FILE.contains(&there)
        || (MODULES.iter().any(|folder| path.starts_with(folder)) && is_module(path));
    (!stays).then(|| (tokens.number(Kind::File, path), tokens.token(Kind::File, path)))
}

fn is_module(path: &[u8]) -> bool {
    // Maybe packed: ext4.ko.xz
    path.windows(3).any(|part| part == b".ko")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_and_its_modules_keep_their_names() {
        let mut tokens = Tokens::default();
        for path in [
            &b"[kernel.kallsyms]_text"[..],
            b"[heap]",
            b"[vdso]",
            b"[ext4]",
            b"//anon",
            b"/dev/zero (deleted)",
            b"anon_inode:[perf_event]",
            b"/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz",
            b"",
        ] {
            assert_eq!(replaced(path, &mut tokens), None);
        }
        for path in [&b"/home/jo/secret"[..], b"/lib/modules/6.1.0/notes", b"/memfd:jo", b"x"] {
            assert!(replaced(path, &mut tokens).is_some());
        }
        assert_eq!(replaced(b"x", &mut tokens), Some((4, b"/object-4".to_vec())));
        let named = replaced(b"[anon:jo's secrets]", &mut tokens);
        assert_eq!(named, Some((0, b"[anon:1]".to_vec())));
    }
}
