//! An error with its causes, in one line.

use perfdata::printable::printable;
use std::io;

/// The error, then each cause behind a colon. Some errors quote their cause
/// already: what the words before end with is not said again. What names may
/// have of control characters and the like is escaped. Where too many files are
/// open it says what helps.
pub fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    if let Some(advice) = more_files(&text) {
        text.push_str(advice);
    }
    printable(&text).into_owned()
}

/// What helps where a file could not be opened for want of room; None: that is
/// said, or it was another error. By the words: some errors quote their cause
/// and keep it from the chain.
fn more_files(text: &str) -> Option<&'static str> {
    let is_of = |errno: i32| text.contains(&io::Error::from_raw_os_error(errno).to_string());
    if is_of(libc::EMFILE) && !text.contains("ulimit -n") {
        return Some("; raise `ulimit -n`");
    }
    let is_full = is_of(libc::ENFILE) && !text.contains("fs.file-max");
    is_full.then_some("; raise the system's limit (sysctl fs.file-max)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read a: {source}")]
    struct Quotes {
        source: io::Error,
    }

    #[test]
    fn a_cause_is_said_once() {
        let source = || io::Error::from_raw_os_error(libc::ELOOP);
        let error = anyhow::Error::new(Quotes { source: source() }).context("planning");
        let wanted = format!("planning: cannot read a: {}", source());
        assert_eq!(told(&error), wanted);
        let error = anyhow::Error::new(source()).context("cannot read a");
        assert_eq!(told(&error), format!("cannot read a: {}", source()));
    }

    #[test]
    fn too_many_open_files_have_an_advice() {
        let quoted = |errno, before: &str| {
            let error = io::Error::from_raw_os_error(errno);
            told(&anyhow::anyhow!("{before}: {error}"))
        };
        let told_of = quoted(libc::EMFILE, "cannot look");
        assert!(told_of.ends_with("(os error 24); raise `ulimit -n`"), "{told_of}");
        let full = quoted(libc::ENFILE, "cannot look");
        assert!(full.ends_with("(os error 23); raise the system's limit (sysctl fs.file-max)"));
        let said = quoted(libc::EMFILE, "a pipe; raise `ulimit -n`");
        assert_eq!(said.matches("ulimit").count(), 1, "{said}");
        assert!(!quoted(libc::ENOENT, "cannot look").contains("raise"));
    }

    #[test]
    fn an_error_is_one_line_whatever_was_typed() {
        let error = anyhow::anyhow!("no event \"a\nb\x1b[31m\"");
        assert_eq!(told(&error), "no event \"a\\nb\\u{1b}[31m\"");
    }
}
