//! hardmeter's notes: `key=value` pairs joined with `;`, in EVENT_UPDATE
//! records of type UNIT, which perf reads and leaves alone.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_back_in_order() {
        let note = "source=kernel-software;lost.ring=0;why=a=b;";
        let expected = [("source", "kernel-software"), ("lost.ring", "0"), ("why", "a=b")];
        assert!(is_note(note));
        assert_eq!(pairs(note).collect::<Vec<_>>(), expected);
        assert_eq!(value(note, "lost.ring"), Some("0"));
        assert_eq!(value(note, "lost"), None);
    }

    #[test]
    fn a_unit_is_no_note() {
        assert!(!is_note("Joules"));
    }
}
