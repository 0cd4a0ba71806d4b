//! How the callers of what is sampled are recorded: what follows
//! `--call-graph`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the frames of user code are had. Those of the kernel come from the
/// kernel itself, whichever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallGraph {
    FramePointers,
    /// Registers and the top of the stack are copied, to be unwound
    /// afterwards by the program's unwind tables.
    Stack(StackBytes),
    /// The CPU's record of calls that have not returned (LBR): Intel's, since
    /// Haswell.
    BranchStack,
}

/// Bytes of the stack that are copied with each sample: a multiple of 8, from
/// 8 to [`StackBytes::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct StackBytes(u32);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallGraphError {
    #[error("call graph {0:?} is none of fp, dwarf, dwarf,BYTES and lbr")]
    Word(String),
    #[error(
        "a copy of {0:?} bytes of the stack is not possible: say dwarf,BYTES with 8 to {most}",
        most = StackBytes::MAX
    )]
    Bytes(String),
}

impl StackBytes {
    /// As perf copies unless told otherwise.
    pub const DEFAULT: StackBytes = StackBytes(8192);
    /// A record has 16 bits for its size. The kernel cuts the copy down to what is left of
    /// them, but does not think of the fields behind it (perf_prepare_sample(),
    /// kernel/events/core.c): this leaves 8 KiB for those, and for a chain of a thousand frames.
    pub const MAX: u32 = 56 << 10;

    /// So many bytes, rounded up to a multiple of 8.
    ///
    /// # Errors
    /// 0, and more than a record has room for.
    pub fn new(bytes: u32) -> Result<StackBytes, CallGraphError> {
        let rounded = bytes.checked_next_multiple_of(8).filter(|bytes| *bytes <= StackBytes::MAX);
        match rounded {
            Some(rounded @ 1..) => Ok(StackBytes(rounded)),
            _ => Err(CallGraphError::Bytes(bytes.to_string())),
        }
    }

    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for StackBytes {
    type Error = CallGraphError;

    fn try_from(bytes: u32) -> Result<StackBytes, CallGraphError> {
        StackBytes::new(bytes)
    }
}

impl From<StackBytes> for u32 {
    fn from(bytes: StackBytes) -> u32 {
        bytes.0
    }
}

impl FromStr for CallGraph {
    type Err = CallGraphError;

    fn from_str(text: &str) -> Result<CallGraph, CallGraphError> {
        match text.split_once(',') {
            None if text == "fp" => Ok(CallGraph::FramePointers),
            None if text == "dwarf" => Ok(CallGraph::Stack(StackBytes::DEFAULT)),
            None if text == "lbr" => Ok(CallGraph::BranchStack),
            Some(("dwarf", bytes)) => {
                let parsed = bytes.parse().map_err(|_| CallGraphError::Bytes(bytes.to_owned()))?;
                Ok(CallGraph::Stack(StackBytes::new(parsed)?))
            }
            _ => Err(CallGraphError::Word(text.to_owned())),
        }
    }
}

impl fmt::Display for CallGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallGraph::FramePointers => f.write_str("fp"),
            CallGraph::Stack(bytes) => write!(f, "dwarf,{}", bytes.get()),
            CallGraph::BranchStack => f.write_str("lbr"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_have_callers_are_read_as_they_are_written() {
        for (text, written) in [
            ("fp", "fp"),
            ("lbr", "lbr"),
            ("dwarf", "dwarf,8192"),
            ("dwarf,8", "dwarf,8"),
            ("dwarf,57337", "dwarf,57344"),
            ("dwarf,4093", "dwarf,4096"),
        ] {
            let read: CallGraph = text.parse().unwrap();
            assert_eq!(read.to_string(), written);
            assert_eq!(written.parse(), Ok(read));
            let json = serde_json::to_string(&read).unwrap();
            assert_eq!(serde_json::from_str::<CallGraph>(&json).unwrap(), read, "{json}");
        }
    }

    #[test]
    fn other_words_and_sizes_are_quoted() {
        for text in ["", "dwarfs", "fp,8", "lbr,", "FP"] {
            let error = text.parse::<CallGraph>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
        for bytes in ["", "0", "57345", "65528", "4294967295", "4294967296", "-8", "8k"] {
            let error = format!("dwarf,{bytes}").parse::<CallGraph>().unwrap_err().to_string();
            assert!(error.contains(&format!("{bytes:?}")), "{error}");
        }
        assert!(serde_json::from_str::<CallGraph>(r#"{"stack":65536}"#).is_err());
    }
}
