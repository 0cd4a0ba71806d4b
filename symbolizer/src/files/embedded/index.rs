//! What each carried file was to the recording.

use crate::elf::head::{hex, unpadded};
use serde::{Deserialize, Serialize};

pub(super) const INDEX: &str = "hardmeter-files.json";
/// The form of the index that is written, and the only one read.
pub(super) const VERSION: u32 = 1;

/// The index, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EmbeddedIndex {
    pub(super) version: u32,
    pub(super) files: Vec<EmbeddedFile>,
}

/// One file in one part that it played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EmbeddedFile {
    /// The member that has its bytes; several parts may share one.
    pub(super) member: String,
    #[serde(flatten)]
    pub(super) part: EmbeddedPart,
}

/// What a file was to the recording.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub(crate) enum EmbeddedPart {
    /// Processes mapped it.
    Mapped {
        path: String,
        /// What stood for `/` there when the file was found; what belongs to it
        /// lies below.
        root: String,
        #[serde(flatten)]
        version: EmbeddedVersion,
    },
    /// It lay there when names were looked for: debug info.
    Beside {
        /// With what stood for `/`.
        path: String,
    },
    /// What a process's compiler told of the code that it made.
    Map { pid: i32, path: String },
    /// The same with times, a jitdump file.
    Dump { pid: i32, path: String },
    /// The vdso of the recorded machine.
    Vdso { build_id: Option<String>, length: u64 },
}

/// Which of the files of a path it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct EmbeddedVersion {
    /// In hexadecimal digits.
    pub(crate) build_id: Option<String>,
    pub(crate) inode: Option<EmbeddedInode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct EmbeddedInode {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    pub(crate) inode: u64,
}

impl EmbeddedVersion {
    pub(crate) fn new(build_id: Option<&[u8]>, inode: Option<EmbeddedInode>) -> EmbeddedVersion {
        EmbeddedVersion { build_id: build_id.map(|id| hex(unpadded(id))), inode }
    }

    /// Whether both may be the same file: by the build id where both have one,
    /// else by the number.
    pub(super) fn agrees(&self, other: &EmbeddedVersion) -> bool {
        match (&self.build_id, &other.build_id) {
            (Some(one), Some(other)) => one == other,
            _ => match (self.inode, other.inode) {
                (Some(one), Some(other)) => one == other,
                _ => false,
            },
        }
    }

    /// Nothing is known that could tell it from another.
    pub(super) fn is_unknown(&self) -> bool {
        self.build_id.is_none() && self.inode.is_none()
    }
}
