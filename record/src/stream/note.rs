//! hardmeter's notes: `key=value` pairs joined with `;`, in EVENT_UPDATE
//! records of type UNIT, which perf reads and leaves alone.

/// Why a pair cannot stand in a note.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} cannot stand in a note: {problem}")]
pub struct NoteError {
    /// The key or value.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// Whether a UNIT text is a note and no unit.
pub fn is_note(text: &str) -> bool {
    text.contains('=')
}

/// The pairs of a note, in order; a part without `=` is a key with an empty
/// value.
pub fn pairs(note: &str) -> impl Iterator<Item = (&str, &str)> {
    note.split(';')
        .filter(|part| !part.is_empty())
        .map(|part| part.split_once('=').unwrap_or((part, "")))
}

/// The value of the first pair with this key.
pub fn value<'n>(note: &'n str, key: &str) -> Option<&'n str> {
    pairs(note).find(|(found, _)| *found == key).map(|(_, value)| value)
}

/// Writes pairs as a note.
///
/// # Errors
/// A key or value with `;`, a NUL or a line break in it, a key with `=`, an
/// empty key.
pub fn from_pairs<'p>(
    pairs: impl IntoIterator<Item = (&'p str, &'p str)>,
) -> Result<String, NoteError> {
    let mut note = String::new();
    for (key, value) in pairs {
        check(key, key.contains('='), "a key holds no `=`")?;
        check(key, key.is_empty(), "a key is not empty")?;
        for text in [key, value] {
            check(text, text.contains([';', '\0', '\n']), "`;`, NUL and line breaks end a pair")?;
        }
        if !note.is_empty() {
            note.push(';');
        }
        note.extend([key, "=", value]);
    }
    Ok(note)
}

fn check(text: &str, bad: bool, problem: &'static str) -> Result<(), NoteError> {
    if bad { Err(NoteError { text: text.to_owned(), problem }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_back_in_order() {
        let pairs_in = [("source", "kernel-software"), ("lost.ring", "0"), ("why", "a=b")];
        let note = from_pairs(pairs_in).unwrap();
        assert_eq!(note, "source=kernel-software;lost.ring=0;why=a=b");
        assert!(is_note(&note));
        assert_eq!(pairs(&note).collect::<Vec<_>>(), pairs_in);
        assert_eq!(value(&note, "lost.ring"), Some("0"));
        assert_eq!(value(&note, "lost"), None);
    }

    #[test]
    fn what_would_break_a_note_is_refused() {
        for (key, value) in [("a;b", "1"), ("a=b", "1"), ("", "1"), ("a", "1;2"), ("a", "1\n")] {
            assert!(from_pairs([(key, value)]).is_err(), "{key:?} {value:?}");
        }
    }

    #[test]
    fn a_unit_is_no_note() {
        assert!(!is_note("Joules"));
    }
}
