//! The account at the end of a stream.

use std::{collections::BTreeMap, fs, path::Path};

/// The ledger's note: `key=value` joined with `;`, the last note of a stream.
#[derive(Clone, Debug)]
pub struct Account {
    values: BTreeMap<String, String>,
}

impl Account {
    /// Finds the note in a stream. It is looked for as text, so that no
    /// decoder of ours stands between the test and the file.
    #[track_caller]
    pub fn of_stream(path: &Path) -> Account {
        let last = Account::each_of_stream(path).pop();
        last.unwrap_or_else(|| panic!("{}: no ledger at its end", path.display()))
    }

    /// Those of all events of a stream, in their order.
    #[track_caller]
    pub fn each_of_stream(path: &Path) -> Vec<Account> {
        let bytes = fs::read(path).unwrap();
        let key = b"events=";
        let begins = bytes.windows(key.len()).enumerate().filter(|(_, window)| window == key);
        let of = |(at, _): (usize, _)| {
            let end = bytes[at..].iter().position(|&byte| byte == 0).unwrap_or(bytes.len() - at);
            Account::of_note(&String::from_utf8_lossy(&bytes[at..at + end]))
        };
        begins.map(of).collect()
    }

    #[track_caller]
    fn of_note(note: &str) -> Account {
        let pair = |text: &str| {
            let (key, value) = text.split_once('=').unwrap_or_else(|| panic!("{note}: {text}"));
            (key.to_owned(), value.to_owned())
        };
        Account { values: note.split(';').map(pair).collect() }
    }

    #[track_caller]
    pub fn count(&self, key: &str) -> u64 {
        let value = self.values.get(key).unwrap_or_else(|| panic!("no {key} in {self:?}"));
        value.parse().unwrap_or_else(|error| panic!("{key}={value}: {error}"))
    }

    /// A count that is there where it is not 0.
    #[track_caller]
    pub fn find(&self, key: &str) -> Option<u64> {
        self.values.contains_key(key).then(|| self.count(key))
    }

    /// Samples lost, all causes together.
    pub fn lost(&self) -> u64 {
        let causes = self.values.keys().filter(|key| key.starts_with("lost."));
        causes.filter(|key| *key != "lost.side").map(|key| self.count(key)).sum()
    }
}
