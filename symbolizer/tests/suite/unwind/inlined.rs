//! Calls that were inlined at a frame's address, against those that gdb makes
//! frames of.

use super::PID;
use perfdata::{CpuMode, Time};
use std::collections::BTreeSet;
use std::fmt;
use symbolizer::{FrameDetail, FramePoint, StackFrame, Symbolizer};

/// A routine at a frame, as gdb knows it from debug info.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GdbCall {
    name: String,
    line: u32,
}

/// How many frames are alike, and why others are not.
#[derive(Debug, Default)]
pub(super) struct CallTally {
    alike: usize,
    inlined: usize,
    /// gdb shows an inlined call where a stop is at its first instruction only
    /// once it was stepped into.
    not_entered: usize,
    /// The same but for the line of the innermost: gdb takes rows of the line
    /// table that begin a statement, also where one that does not is nearer.
    other_line: usize,
    /// Code that one of both has no debug info of.
    untold: usize,
    pub(super) differences: Vec<String>,
    seen: BTreeSet<String>,
}

impl GdbCall {
    /// Of `LINE NAME`.
    pub(super) fn of(text: &str) -> GdbCall {
        let (line, name) = text.split_once(' ').unwrap();
        GdbCall { name: last_part(name), line: line.parse().unwrap() }
    }
}

/// The last part of a path without its generic arguments and parameters, which
/// debug info and linkage names spell in ways of their own.
fn last_part(name: &str) -> String {
    let (mut depth, mut bare) = (0_u32, String::new());
    for letter in name.replace("->", "").chars() {
        match letter {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            letter if depth == 0 => bare.push(letter),
            _ => {}
        }
    }
    let bare = bare.trim_end_matches(" const").trim_end_matches("::");
    let last = bare.rsplit("::").next().unwrap_or_default().trim();
    // Debug info numbers them, linkage names do not.
    if last.contains("{closure") { "{closure}".to_owned() } else { last.to_owned() }
}

impl CallTally {
    pub(super) fn compare(
        &mut self,
        symbolizer: &mut Symbolizer,
        program: &str,
        frame: StackFrame,
        gdb: &[GdbCall],
    ) {
        let place = symbolizer.place(CpuMode::User, PID, frame.code(), Time(1));
        let told = symbolizer.frames(place).ok().filter(|it| it.depth == FrameDetail::Debug);
        let Some(told) = told.filter(|_| !gdb.is_empty()) else {
            self.untold += 1;
            return;
        };
        let ours: Vec<GdbCall> = told
            .frames
            .iter()
            .map(|frame| GdbCall {
                name: last_part(frame.name.as_deref().unwrap_or_default()),
                line: frame.source.as_ref().map_or(0, |source| source.line),
            })
            .collect();
        let names = |calls: &[GdbCall]| calls.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        if ours == gdb {
            self.alike += 1;
            self.inlined += ours.len() - 1;
        } else if frame.point == FramePoint::Instruction && names(&ours).ends_with(&names(gdb)) {
            self.not_entered += 1;
        } else if names(&ours) == names(gdb) && ours[1..] == gdb[1..] {
            self.other_line += 1;
        } else if self.seen.insert(format!("{ours:?} {gdb:?}")) {
            self.differences.push(format!(
                "{program}, {:?} at {:x}: inlined are {ours:?}, gdb has {gdb:?}",
                frame.point, frame.address
            ));
        }
    }

    /// Whether what may differ does so seldom, and most was compared.
    pub(super) fn are_mostly_alike(&self) -> bool {
        self.alike > self.untold && (self.not_entered + self.other_line) * 20 <= self.alike
    }
}

impl fmt::Display for CallTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} have gdb's routines and lines, {} calls inlined into them; at the first \
             instruction of inlined calls {} stand, gdb tells another line of {}, of {} there is no debug info",
            self.alike, self.inlined, self.not_entered, self.other_line, self.untold
        )
    }
}
