//! Records as `ebs -o FILE` writes them: docs/text-records.md.

use std::collections::BTreeMap;

/// The level of privilege that a record's misc bits tell, and its exactness.
const LEVEL: u64 = 7;
/// Of the kernel's records.
pub const KERNEL: u64 = 1;
/// Of a program's.
pub const USER: u64 = 2;
const EXACT_IP: u64 = 0x4000;

/// One record: its columns by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRecord {
    columns: BTreeMap<String, u64>,
}

impl TextRecord {
    /// All of a file.
    ///
    /// # Panics
    /// A line has not what the last header says.
    #[must_use]
    #[track_caller]
    pub fn all(text: &str) -> Vec<TextRecord> {
        let mut names = Vec::new();
        let mut records = Vec::new();
        for line in text.lines() {
            if let Some(header) = line.strip_prefix('#') {
                names = header.split(' ').map(str::to_owned).collect();
                continue;
            }
            let values: Vec<_> = line.split(' ').collect();
            assert_eq!(names.len(), values.len(), "columns of {line:?}");
            let columns = names.iter().zip(values).filter(|(_, value)| !value.starts_with('-'));
            let columns = columns.map(|(name, value)| (name.clone(), number(name, value)));
            records.push(TextRecord { columns: columns.collect() });
        }
        records
    }

    /// A column that the record has.
    ///
    /// # Panics
    /// It has none of that name.
    #[must_use]
    #[track_caller]
    pub fn get(&self, name: &str) -> u64 {
        self.find(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.columns.keys()))
    }

    /// A column, where the record has it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<u64> {
        self.columns.get(name).copied()
    }

    /// Where the CPU was.
    #[must_use]
    pub fn ip(&self) -> u64 {
        self.get("linear_ip")
    }

    /// [`KERNEL`] or [`USER`].
    #[must_use]
    pub fn level(&self) -> u64 {
        self.get("misc") & LEVEL
    }

    /// Whether the CPU calls the address exact.
    #[must_use]
    pub fn exact(&self) -> bool {
        self.get("misc") & EXACT_IP != 0
    }
}

fn number(column: &str, value: &str) -> u64 {
    let decimal = ["weight", "tid", "cpu", "time", "pid", "period", "page_size"];
    let base = if decimal.iter().any(|word| column.contains(word)) { 10 } else { 16 };
    u64::from_str_radix(value, base).unwrap_or_else(|error| panic!("{column} {value}: {error}"))
}
