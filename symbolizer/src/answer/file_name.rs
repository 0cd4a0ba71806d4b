//! What of an object's name is its file's.

/// The last part of an object's path: `libc.so.6` of `/lib/libc.so.6`. The
/// whole of `/ (deleted)`, as the kernel calls a file whose directory it cannot
/// name, which has no other.
pub fn file_name(object: &str) -> &str {
    let last = object.rsplit('/').next().unwrap_or(object);
    if last.is_empty() || last.starts_with(' ') { object } else { last }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn no_object_is_called_nothing() {
        for (object, name) in [
            ("/lib/libc.so.6", "libc.so.6"),
            ("/memfd:jit (deleted)", "memfd:jit (deleted)"),
            ("[kernel]", "[kernel]"),
            ("/ (deleted)", "/ (deleted)"),
            ("/", "/"),
            ("", ""),
        ] {
            assert_eq!(file_name(object), name);
        }
    }
}
