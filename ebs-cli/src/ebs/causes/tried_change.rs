//! What `--try` means: changes of objects' layouts, by their names, that become
//! layouts of addresses once a run has shown where the objects are.

use analysis::causes::ObjectExtent;
use analysis::causes::{CauseReport, CauseRow};
use emulator::{LayoutChange, ObjectLayout};
use std::str::FromStr;

/// Bytes of a line, and what `apart` keeps apart unless it says so.
const LINE: u64 = 64;
const WORD: u64 = 8;

/// Changes that are tried together: `pad=64@grid,align=64@table`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedChanges {
    pub typed: String,
    changes: Vec<TriedChange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TriedChange {
    what: WantedLayout,
    /// Of which object; None: of the one that is missed most.
    object: Option<TriedObject>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TriedObject {
    /// As `ebs causes` names it.
    Named(String),
    /// START+SIZE.
    At { start: u64, size: u64 },
}

/// A change some numbers of which the misses tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there are as many as were typed")]
enum WantedLayout {
    /// It has them all.
    Whole(LayoutChange),
    /// Rows, as long as the steps of the misses, are longer by so many bytes.
    Pad(u64),
    /// Rows as long as the steps are coloured.
    Colour,
    /// A part of rows as long as the steps is elsewhere.
    Split { from: u64, to: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TryError {
    #[error(
        "{0:?} is no change; write pad=BYTES, rows=STRIDE+BYTES, align=BYTES, colour, split=FROM..TO, \
         order=STRIDE:FROM..TO/..., pages=2m or apart, with @OBJECT behind it, as in pad=64@grid"
    )]
    Change(String),
    #[error("--try {typed}: no miss is on an object {name:?}; misses are on {known}")]
    Object {
        typed: String,
        name: String,
        /// Those that there are.
        known: String,
    },
    #[error(
        "--try {typed}: misses on {name} have no even steps that would tell how long its rows are: \
         write rows=STRIDE+BYTES, colour=STRIDE or split=STRIDE:FROM..TO"
    )]
    Steps {
        typed: String,
        /// The object.
        name: String,
    },
    #[error("--try {typed}: {why}")]
    Layout {
        typed: String,
        /// What is wrong.
        why: String,
    },
    #[error("--try {typed}: the command has no miss that says on which object; write @START+SIZE")]
    Nothing { typed: String },
}

impl FromStr for TriedChanges {
    type Err = TryError;

    fn from_str(text: &str) -> Result<TriedChanges, TryError> {
        let changes = text.split(',').map(TriedChange::from_str).collect::<Result<_, _>>()?;
        Ok(TriedChanges { typed: text.to_owned(), changes })
    }
}

impl FromStr for TriedChange {
    type Err = TryError;

    fn from_str(text: &str) -> Result<TriedChange, TryError> {
        let (what, object) = match text.split_once('@') {
            Some((_, "")) => return Err(TryError::Change(text.to_owned())),
            Some((what, object)) => (what, Some(TriedObject::new(object))),
            None => (text, None),
        };
        let what = WantedLayout::new(what).ok_or_else(|| TryError::Change(text.to_owned()))?;
        Ok(TriedChange { what, object })
    }
}

impl TriedObject {
    fn new(text: &str) -> TriedObject {
        // Any change has such an object, if it is one.
        match format!("align=1@{text}").parse() {
            Ok(ObjectLayout { start, size, .. }) => TriedObject::At { start, size },
            Err(_) => TriedObject::Named(text.to_owned()),
        }
    }
}

impl WantedLayout {
    fn new(text: &str) -> Option<WantedLayout> {
        if let Ok(change) = text.parse() {
            return Some(WantedLayout::Whole(change));
        }
        // The rest is what such a change of rows of the largest size would be.
        let of_rows = |text: String| text.parse::<LayoutChange>().ok();
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        match (name.to_ascii_lowercase().as_str(), value) {
            ("colour", "") => Some(WantedLayout::Colour),
            ("apart", "") => Some(WantedLayout::Whole(LayoutChange::Apart(WORD))),
            ("pad", more) => match of_rows(format!("rows=1+{more}"))? {
                LayoutChange::Rows { more, .. } => Some(WantedLayout::Pad(more)),
                _ => None,
            },
            ("rows", more) => WantedLayout::new(&format!("pad={}", more.strip_prefix('+')?)),
            ("split", part) => match of_rows(format!("split=1:{part}"))? {
                LayoutChange::Split { from, to, .. } => Some(WantedLayout::Split { from, to }),
                _ => None,
            },
            _ => None,
        }
    }

    fn of_rows(self, stride: Option<u64>) -> Option<LayoutChange> {
        Some(match self {
            WantedLayout::Whole(change) => change,
            WantedLayout::Pad(more) => LayoutChange::Rows { stride: stride?, more },
            WantedLayout::Colour => LayoutChange::Colour { stride: stride? },
            WantedLayout::Split { from, to } => LayoutChange::Split { stride: stride?, from, to },
        })
    }
}

impl TriedChanges {
    /// The layouts that the model is to see, of objects where these causes of the
    /// program as it is have them.
    ///
    /// # Errors
    /// An object without a miss, rows whose length nothing tells, a layout that
    /// cannot be.
    pub(super) fn layouts(&self, causes: &CauseReport) -> Result<Vec<ObjectLayout>, TryError> {
        let layouts: Vec<ObjectLayout> = self
            .changes
            .iter()
            .map(|change| self.layout(change, causes))
            .collect::<Result<_, _>>()?;
        let typed = || self.typed.clone();
        if let Some([first, second]) = ObjectLayout::overlapping(&layouts) {
            let why = format!("{first} and {second} are about the same bytes: try them one by one");
            return Err(TryError::Layout { typed: typed(), why });
        }
        if layouts.len() > ObjectLayout::MAX_OBJECTS {
            let why = format!("up to {} objects can be changed at once", ObjectLayout::MAX_OBJECTS);
            return Err(TryError::Layout { typed: typed(), why });
        }
        Ok(layouts)
    }

    fn layout(&self, change: &TriedChange, causes: &CauseReport) -> Result<ObjectLayout, TryError> {
        let typed = || self.typed.clone();
        let rows = || causes.events.iter().flat_map(|event| &event.rows);
        let (extent, of) = match &change.object {
            Some(TriedObject::At { start, size }) => {
                let extent = ObjectExtent { start: *start, size: *size, is_variable: false };
                let touches = |row: &&CauseRow| {
                    row.extent.start < start.saturating_add(*size)
                        && *start < row.extent.start.saturating_add(row.extent.size)
                };
                (extent, rows().filter(touches).collect::<Vec<_>>())
            }
            Some(TriedObject::Named(name)) => {
                let of: Vec<&CauseRow> = rows().filter(|row| row.data == *name).collect();
                (whole(&of).ok_or_else(|| self.unknown(name, causes))?, of)
            }
            None => {
                let first = rows().next().ok_or_else(|| TryError::Nothing { typed: typed() })?;
                let of: Vec<&CauseRow> = rows().filter(|row| row.data == first.data).collect();
                (whole(&of).unwrap_or(first.extent), of)
            }
        };
        let layout = change.what.of_rows(of.iter().find_map(|row| step(row)));
        let name = || of.first().map_or_else(String::new, |row| row.data.clone());
        let change = layout.ok_or_else(|| TryError::Steps { typed: typed(), name: name() })?;
        let layout = ObjectLayout { start: extent.start, size: extent.size, change };
        // As it is read by who is to lay it out.
        let wrong = |why: emulator::ObjectLayoutError| TryError::Layout {
            typed: typed(),
            why: why.to_string(),
        };
        layout.to_string().parse().map_err(wrong)
    }

    fn unknown(&self, name: &str, causes: &CauseReport) -> TryError {
        let mut known: Vec<&str> = Vec::new();
        for row in causes.events.iter().flat_map(|event| &event.rows) {
            if !known.contains(&row.data.as_str()) && known.len() < 8 {
                known.push(&row.data);
            }
        }
        let (typed, name) = (self.typed.clone(), name.to_owned());
        TryError::Object { typed, name, known: known.join(", ") }
    }
}

/// Where an object is of which several instructions have a part.
fn whole(rows: &[&CauseRow]) -> Option<ObjectExtent> {
    let variable = rows.iter().map(|row| row.extent).find(|extent| extent.is_variable);
    let end = |extent: ObjectExtent| extent.start.saturating_add(extent.size);
    variable.or_else(|| {
        // Memory without a name is in several places: of these the one that is
        // missed most.
        let (mut start, mut last) = (rows.first()?.extent.start, end(rows.first()?.extent));
        let mut of: Vec<ObjectExtent> = rows.iter().map(|row| row.extent).collect();
        of.sort_by_key(|extent| std::cmp::Reverse(extent.size));
        for extent in of.into_iter().filter(|it| !it.is_variable) {
            if extent.start < last && start < end(extent) {
                (start, last) = (start.min(extent.start), last.max(end(extent)));
            }
        }
        Some(ObjectExtent { start, size: last - start, is_variable: false })
    })
}

/// Bytes of a row, by the misses of an instruction: their step, or what all steps
/// are a multiple of; more than a line.
fn step(row: &CauseRow) -> Option<u64> {
    let step = row.evidence.stride.map(i64::unsigned_abs);
    step.into_iter().chain([row.evidence.apart]).find(|step| *step > LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> TriedChanges {
        text.parse().unwrap()
    }

    #[test]
    fn changes_are_told_apart() {
        let what = |text: &str| read(text).changes[0].what;
        assert_eq!(what("pad=64"), WantedLayout::Pad(64));
        assert_eq!(what("rows=+64"), WantedLayout::Pad(64));
        let rows = LayoutChange::Rows { stride: 2048, more: 64 };
        assert_eq!(what("rows=2k+64@grid"), WantedLayout::Whole(rows));
        assert_eq!(what("colour"), WantedLayout::Colour);
        assert_eq!(what("colour=8k"), WantedLayout::Whole(LayoutChange::Colour { stride: 8192 }));
        assert_eq!(what("split=0..8"), WantedLayout::Split { from: 0, to: 8 });
        assert_eq!(what("apart@together"), WantedLayout::Whole(LayoutChange::Apart(8)));
        assert_eq!(what("pages=2M"), WantedLayout::Whole(LayoutChange::LargePages));
        for text in ["", "pad", "pad=0", "pad=64@", "rows=+", "grid", "split=8", "pad=64,,align=64"]
        {
            assert!(text.parse::<TriedChanges>().is_err(), "{text}");
        }
    }

    #[test]
    fn objects_are_names_or_addresses() {
        let both = read("pad=64@grid,align=64@0x4bb000+512k");
        let objects: Vec<_> = both.changes.iter().map(|change| change.object.clone()).collect();
        let at = TriedObject::At { start: 0x4b_b000, size: 512 << 10 };
        assert_eq!(objects, [Some(TriedObject::Named("grid".to_owned())), Some(at)]);
        assert_eq!(read("pad=64").changes[0].object, None);
        // C++ names have such signs.
        let named = read("align=64@table@@V1").changes[0].object.clone();
        assert_eq!(named, Some(TriedObject::Named("table@@V1".to_owned())));
    }
}
