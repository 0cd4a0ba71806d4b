//! Call chains of a report, each once.

use serde::Serialize;
use std::collections::BTreeMap;

/// The frames and chains that rows and trees name by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReportChains {
    /// Frames by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameName>,
    /// Chains by number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ReportChain>,
}

/// A frame of call chains.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FrameName {
    /// Its routine, or in brackets why it has no name or why the chain ends.
    pub routine: String,
    /// Its object; None: it is why a chain ends.
    pub object: Option<String>,
}

/// A chain: its innermost frame, and the chain from its caller on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReportChain {
    /// Number of the frame.
    pub frame: usize,
    /// Number of a chain that comes before this one; None: nothing is known to have called it.
    pub caller: Option<usize>,
}

impl ReportChains {
    /// The routine of a frame.
    pub fn routine(&self, frame: usize) -> &str {
        self.frames.get(frame).map_or("[unknown]", |frame| &frame.routine)
    }

    /// A chain from the outermost routine on, as flame graphs have it:
    /// `main;parse;memcpy`.
    pub fn folded(&self, chain: usize) -> String {
        let of = |number: usize| self.chains.get(number);
        let callers = std::iter::successors(of(chain), |it| of(it.caller?));
        let mut names: Vec<String> =
            callers.map(|it| self.routine(it.frame).replace(';', ":")).collect();
        names.reverse();
        names.join(";")
    }
}

#[derive(Debug, Default)]
pub(crate) struct FrameNumbers {
    numbers: BTreeMap<FrameName, usize>,
    frames: Vec<FrameName>,
}

impl FrameNumbers {
    pub(crate) fn number(&mut self, frame: FrameName) -> usize {
        if let Some(known) = self.numbers.get(&frame) {
            return *known;
        }
        let number = self.frames.len();
        self.frames.push(frame.clone());
        self.numbers.insert(frame, number);
        number
    }

    pub(crate) fn into_frames(self) -> Vec<FrameName> {
        self.frames
    }
}
