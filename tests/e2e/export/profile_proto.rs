//! As much of pprof's `profile.proto` as tells sums.

use std::{collections::BTreeMap, fs::File, io::Read, path::Path};

use flate2::read::GzDecoder;

use super::Sums;

/// A profile's strings, and what its values add up to.
pub(super) struct Profile {
    pub(super) strings: Vec<String>,
    /// By the name of their type.
    values: BTreeMap<String, u64>,
}

/// A field: a number, or bytes.
enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (own, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(own)
            }
            other => panic!("a field of kind {other}"),
        };
        found.push((tag >> 3, field));
    }
    found
}

fn numbers(mut bytes: &[u8]) -> Vec<u64> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        found.push(varint(&mut bytes));
    }
    found
}

impl Profile {
    pub(super) fn read(path: &Path) -> Profile {
        let mut bytes = Vec::new();
        GzDecoder::new(File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
        let (mut strings, mut types, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        let mut locations = Vec::new();
        let mut used = Vec::new();
        for (number, field) in fields(&bytes) {
            let Field::Bytes(own) = field else { continue };
            match number {
                1 => match fields(own)[0] {
                    (1, Field::Number(name)) => types.push(usize::try_from(name).unwrap()),
                    _ => panic!("a type without a name"),
                },
                2 => {
                    for (number, field) in fields(own) {
                        match (number, field) {
                            (1, Field::Bytes(all)) => used.extend(numbers(all)),
                            (2, Field::Bytes(all)) => {
                                let values = numbers(all);
                                sums.resize(values.len(), 0);
                                sums.iter_mut().zip(values).for_each(|(sum, own)| *sum += own);
                            }
                            _ => {}
                        }
                    }
                }
                4 => match fields(own)[0] {
                    (1, Field::Number(id)) => locations.push(id),
                    _ => panic!("a location without a number"),
                },
                6 => strings.push(String::from_utf8(own.to_vec()).unwrap()),
                _ => {}
            }
        }
        assert_eq!(strings[0], "");
        assert!(used.iter().all(|id| locations.contains(id)), "a location is not there");
        let names = types.into_iter().map(|name| strings[name].clone());
        let values = names.zip(sums).collect();
        Profile { strings, values }
    }

    /// Samples and events of each of these events.
    pub(super) fn sums(&self, of: &Sums) -> Sums {
        let value = |event: &str, what: &str| {
            let of_one = (of.len() == 1).then(|| self.values.get(what)).flatten();
            let of_many = self.values.get(&format!("{event}:{what}"));
            of_one.or(of_many).copied().unwrap_or_default()
        };
        let sums = |event: &String| ["samples", "events"].map(|what| value(event, what));
        of.keys().map(|event| (event.clone(), sums(event))).collect()
    }
}
