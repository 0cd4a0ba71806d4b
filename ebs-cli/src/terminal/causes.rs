//! An error with its causes, in one line.

use record::printable::printable;

/// The error, then each cause behind a colon. Some errors quote their cause
/// already: what the words before end with is not said again. What names may
/// have of control characters and the like is escaped.
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
    printable(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

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
    fn an_error_is_one_line_whatever_was_typed() {
        let error = anyhow::anyhow!("no event \"a\nb\x1b[31m\"");
        assert_eq!(told(&error), "no event \"a\\nb\\u{1b}[31m\"");
    }
}
