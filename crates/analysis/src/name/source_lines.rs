//! Source lines of places.

use crate::name::allocation_site::own_source;
use crate::name::build_keys::{BuildKeys, NO_LINE};
use crate::name::key_value::KeyValue;
use crate::name::place_names::PlaceNames;
use rustc_hash::FxHashMap;
use symbolizer::{FrameDetail, Frames, Place, Reason};

#[derive(Debug, Default)]
pub(crate) struct SourceLines {
    known: FxHashMap<Place, PlaceLines>,
    pub(crate) build_keys: BuildKeys,
}

/// What debug info says of a place, or why it says nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlaceLines {
    /// File and line of the innermost routine.
    pub(crate) source: KeyValue,
    /// File and line of the innermost routine that is no library's of its language.
    pub(crate) own_source: KeyValue,
    /// `outer <- inner`: what has code of its own, and what was inlined.
    pub(crate) inlined: KeyValue,
    /// The line as its distance from the first of the innermost routine.
    pub(crate) in_routine: KeyValue,
}

/// `file:line` of the innermost routine.
fn source(frames: &Frames) -> Option<String> {
    let source = frames.frames.first()?.source.as_ref().filter(|source| source.line > 0)?;
    Some(format!("{}:{}", source.file, source.line))
}

/// ` <- middle <- inner`; None where nothing was inlined.
fn chain(frames: &Frames) -> Option<String> {
    let inlined = frames.frames.iter().filter(|frame| frame.inlined).rev();
    let names = inlined.map(|frame| frame.name.as_deref().unwrap_or("[no name]"));
    let chain = names.fold(String::new(), |text, name| format!("{text} <- {name}"));
    (!chain.is_empty()).then_some(chain)
}

impl SourceLines {
    /// Source line and inlined calls of a place that was learnt of.
    pub(crate) fn of(&self, place: Place) -> Option<PlaceLines> {
        self.known.get(&place).copied()
    }

    /// Asks debug info for all of these places at once.
    pub(crate) fn learn(&mut self, mut all: Vec<Place>, places: &mut PlaceNames) {
        all.retain(|place| !self.known.contains_key(place));
        all.sort_unstable_by_key(|place| (place.object.0, place.address));
        all.dedup();
        let frames = places.symbolizer.all_frames(&all);
        for (place, frames) in all.into_iter().zip(frames) {
            let lines = self.lines_of(place, frames, places);
            self.known.insert(place, lines);
        }
    }

    fn lines_of(
        &mut self,
        place: Place,
        frames: Result<Frames, Reason>,
        places: &mut PlaceNames,
    ) -> PlaceLines {
        let routine = places.routine(place);
        let in_routine = self.build_keys.routine_line(place, &frames, places);
        match frames {
            Ok(frames) => {
                let source = match (source(&frames), &frames.depth) {
                    (Some(text), _) => places.texts.key_value(&text),
                    (None, FrameDetail::Symbols(why)) => {
                        places.lack(&why.to_string(), why.tag(), why.subject())
                    }
                    (None, _) => places.lack(NO_LINE, "[no-line]", None),
                };
                let outer = routine.as_name().ok().map(|number| places.name(number));
                let inlined = match (outer, chain(&frames)) {
                    (Some(outer), Some(chain)) => {
                        places.texts.key_value(&format!("{outer}{chain}"))
                    }
                    _ => routine,
                };
                let own_source =
                    own_source(&frames).map_or(source, |text| places.texts.key_value(&text));
                PlaceLines { source, own_source, inlined, in_routine }
            }
            Err(reason) => {
                let source = places.lack_of(&reason);
                PlaceLines { source, own_source: source, inlined: routine, in_routine }
            }
        }
    }
}
