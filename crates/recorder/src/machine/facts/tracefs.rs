//! Tracepoints: where tracefs is mounted, and one tracepoint's id.

use std::io;
use std::path::PathBuf;

use super::tree::{FactsError, Tree, is_absent};
use crate::machine::Tracepoint;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tracefs {
    /// /proc/mounts cannot be read.
    #[default]
    Unknown,
    Absent,
    /// Mounted at this directory (within the root).
    At(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TracepointState {
    Id(u64),
    Missing {
        /// Every name that it has, or none when that list is closed too.
        names: Vec<String>,
    },
    Forbidden(PathBuf),
    NoTracefs,
}

impl Tracefs {
    pub(super) fn read(tree: &Tree<'_>) -> Result<Tracefs, FactsError> {
        // /proc/mounts is a link to self/mounts, which a copied tree may lack.
        let mounts = match tree.text("proc/self/mounts")? {
            Some(text) => text,
            None => match tree.text("proc/mounts")? {
                Some(text) => text,
                None => return Ok(Tracefs::Unknown),
            },
        };
        let mut debugfs = None;
        for line in mounts.lines() {
            let mut words = line.split_ascii_whitespace().skip(1);
            let (Some(place), Some(kind)) = (words.next(), words.next()) else { continue };
            match kind {
                "tracefs" => return Ok(Tracefs::At(PathBuf::from(unescape(place)))),
                "debugfs" => debugfs = Some(PathBuf::from(unescape(place)).join("tracing")),
                _ => {}
            }
        }
        // A kernel before 4.1, or one that mounts tracing on first use.
        match debugfs {
            Some(place) if tree.path(&place).join("events").exists() => Ok(Tracefs::At(place)),
            _ => Ok(Tracefs::Absent),
        }
    }

    /// `SUBSYSTEM:NAME` of every tracepoint; None where they cannot be read.
    pub(super) fn names(&self, tree: &Tree<'_>) -> Result<Option<Vec<String>>, FactsError> {
        let Tracefs::At(place) = self else { return Ok(None) };
        let path = place.join("available_events");
        match std::fs::read_to_string(tree.path(&path)) {
            Ok(list) => Ok(Some(list.lines().map(str::to_owned).collect())),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied || is_absent(&error) => {
                Ok(None)
            }
            Err(source) => Err(FactsError::Read { path: tree.path(&path), source }),
        }
    }

    pub(super) fn look_up(
        &self,
        tree: &Tree<'_>,
        point: &Tracepoint,
    ) -> Result<TracepointState, FactsError> {
        let Tracefs::At(place) = self else { return Ok(TracepointState::NoTracefs) };
        let events = place.join("events");
        let id = events.join(&point.subsystem).join(&point.name).join("id");
        match std::fs::read_to_string(tree.path(&id)) {
            Ok(_) => Ok(tree.number(&id)?.map_or_else(
                || TracepointState::Missing { names: Vec::new() },
                TracepointState::Id,
            )),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(TracepointState::Forbidden(place.clone()))
            }
            Err(error) if is_absent(&error) => {
                let list = tree.text(place.join("available_events"))?.unwrap_or_default();
                Ok(TracepointState::Missing { names: list.lines().map(str::to_owned).collect() })
            }
            Err(source) => Err(FactsError::Read { path: tree.path(&id), source }),
        }
    }
}

/// Spaces and kin stand as `\040` in /proc/mounts. [getmntent(3)]
fn unescape(place: &str) -> String {
    let mut out = Vec::with_capacity(place.len());
    let bytes = place.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(byte) if bytes[at] == b'\\' => {
                out.push(byte);
                at += 4;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
