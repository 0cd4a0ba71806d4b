//! Call stacks of samples that are handed out one by one: each once, and each
//! of their frames once, with what was inlined there.

use crate::name::place_names::PlaceNames;
use rustc_hash::FxHashMap;
use symbolizer::{ObjectId, Place, Reason};

/// Stacks that are kept, some 40 bytes each.
const MOST_STACKS: usize = 1 << 20;
/// In place of a stack that there was no room for.
const NOT_KEPT: &str = "[stacks not kept]";

/// A name by its number; see [`SampleNames`](crate::SampleNames).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameNumber(pub u32);

/// A frame by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub u32);

/// A stack by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u32);

/// An instruction on a stack: sampled, or of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFrame {
    /// The routines there, innermost first: all but the last were inlined. At
    /// least one.
    pub routines: Vec<FrameRoutine>,
    /// What holds the instruction; None: the frame only says why the stack ends
    /// here, or why no place is known.
    pub object: Option<NameNumber>,
    /// Build id of that, hex; None: not known.
    pub build_id: Option<NameNumber>,
    /// Address in the object, as objdump shows it.
    pub address: Option<u64>,
}

/// One routine of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRoutine {
    /// Its name, or in brackets why it has none.
    pub name: NameNumber,
    /// Source file, as debug info has it.
    pub file: Option<NameNumber>,
    /// Line in that, from 1; 0: not known.
    pub line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FrameOf {
    Place(Place),
    /// A word in brackets in place of one, by the number of the name.
    Mark(u32),
}

/// A stack: its innermost frame, and the stack of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StackNode {
    caller: Option<StackId>,
    frame: FrameId,
}

#[derive(Debug, Default)]
pub(crate) struct SampledStacks {
    nodes: Vec<StackNode>,
    by_node: FxHashMap<StackNode, StackId>,
    by_frame: FxHashMap<FrameOf, FrameId>,
    of: Vec<FrameOf>,
    /// In words, as many as were learnt of.
    frames: Vec<NamedFrame>,
    build_ids: FxHashMap<ObjectId, Option<NameNumber>>,
}

impl SampledStacks {
    /// The stack of these frames, outermost first; None: there is no room for
    /// more, or no frame.
    pub(crate) fn stack(&mut self, frames: impl IntoIterator<Item = FrameOf>) -> Option<StackId> {
        let mut stack = None;
        for of in frames {
            let node = StackNode { caller: stack, frame: self.frame(of)? };
            stack = Some(match self.by_node.get(&node) {
                Some(known) => *known,
                None => self.add(node)?,
            });
        }
        stack
    }

    pub(crate) fn not_kept(&mut self, places: &mut PlaceNames) -> StackId {
        let mark = FrameOf::Mark(places.texts.number(NOT_KEPT));
        let known = self.by_frame.get(&mark).copied();
        let frame = known.unwrap_or_else(|| self.new_frame(mark));
        let node = StackNode { caller: None, frame };
        match self.by_node.get(&node) {
            Some(known) => *known,
            None => self.push(node),
        }
    }

    fn frame(&mut self, of: FrameOf) -> Option<FrameId> {
        match self.by_frame.get(&of) {
            Some(known) => Some(*known),
            None if self.of.len() >= MOST_STACKS => None,
            None => Some(self.new_frame(of)),
        }
    }

    fn new_frame(&mut self, of: FrameOf) -> FrameId {
        let frame = FrameId(index(self.of.len()));
        self.of.push(of);
        self.by_frame.insert(of, frame);
        frame
    }

    fn add(&mut self, node: StackNode) -> Option<StackId> {
        (self.nodes.len() < MOST_STACKS).then(|| self.push(node))
    }

    fn push(&mut self, node: StackNode) -> StackId {
        let stack = StackId(index(self.nodes.len()));
        self.nodes.push(node);
        self.by_node.insert(node, stack);
        stack
    }

    /// The frames of a stack, innermost first.
    pub(crate) fn frames(&self, stack: StackId) -> impl Iterator<Item = FrameId> + '_ {
        let node = move |stack: StackId| self.nodes.get(place(stack.0)).copied();
        std::iter::successors(node(stack), move |last| node(last.caller?)).map(|node| node.frame)
    }

    pub(crate) fn caller(&self, stack: StackId) -> Option<StackId> {
        self.nodes.get(place(stack.0))?.caller
    }

    pub(crate) fn named(&self, frame: FrameId) -> Option<&NamedFrame> {
        self.frames.get(place(frame.0))
    }

    /// Asks debug info, at once, for all frames that are not in words yet.
    pub(crate) fn learn(&mut self, places: &mut PlaceNames) {
        let new = self.of.get(self.frames.len()..).unwrap_or_default();
        let new_places = new.iter().filter_map(|of| match of {
            FrameOf::Place(place) => Some(*place),
            FrameOf::Mark(_) => None,
        });
        let new_places: Vec<Place> = new_places.collect();
        let mut answers = match new_places.is_empty() {
            true => Vec::new(),
            false => places.symbolizer.all_frames(&new_places),
        }
        .into_iter();
        for of in new {
            let named = match of {
                FrameOf::Place(place) => match answers.next() {
                    Some(answer) => {
                        let id = || build_id(place.object, places);
                        let build_id = *self.build_ids.entry(place.object).or_insert_with(id);
                        NamedFrame { build_id, ..named_frame(*place, answer, places) }
                    }
                    None => NamedFrame::default(),
                },
                FrameOf::Mark(name) => {
                    let only = FrameRoutine { name: NameNumber(*name), file: None, line: 0 };
                    NamedFrame { routines: vec![only], ..NamedFrame::default() }
                }
            };
            self.frames.push(named);
        }
    }
}

/// A place with what was inlined there, but for its build: the outermost routine is what the
/// symbol table calls it, as in all tables.
fn named_frame(
    place: Place,
    found: Result<symbolizer::Frames, Reason>,
    places: &mut PlaceNames,
) -> NamedFrame {
    let object = places.object(place.object);
    let outermost = NameNumber(places.routine_or_mark(place));
    let found = found.ok().map(|frames| frames.frames);
    let mut routines: Vec<FrameRoutine> = Vec::new();
    for frame in found.iter().flat_map(|frames| frames.iter()) {
        let name = frame.name.as_ref().filter(|_| frame.inlined);
        let source = frame.source.as_ref().filter(|source| source.line > 0);
        routines.push(FrameRoutine {
            name: name.map_or(outermost, |name| NameNumber(places.texts.number(name))),
            file: source.map(|source| NameNumber(places.texts.number(&source.file))),
            line: source.map_or(0, |source| source.line),
        });
    }
    if routines.is_empty() {
        routines.push(FrameRoutine { name: outermost, file: None, line: 0 });
    }
    NamedFrame {
        routines,
        object: Some(NameNumber(object)),
        build_id: None,
        address: Some(place.address),
    }
}

fn build_id(object: ObjectId, places: &mut PlaceNames) -> Option<NameNumber> {
    let id = places.symbolizer.build_id(object)?;
    Some(NameNumber(places.texts.number(&id)))
}

fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolizer::{Symbolizer, SymbolizerOptions};

    fn at(address: u64) -> FrameOf {
        FrameOf::Place(Place { object: ObjectId::UNMAPPED, address })
    }

    #[test]
    fn stacks_share_what_called_them_and_have_words_once_learnt() {
        let mut places = PlaceNames::new(Symbolizer::new(SymbolizerOptions::default()));
        let mut stacks = SampledStacks::default();
        let long = stacks.stack([at(1), at(2), at(3)]).unwrap();
        let short = stacks.stack([at(1), at(2)]).unwrap();
        assert_eq!(stacks.stack([at(1), at(2), at(3)]), Some(long));
        assert_eq!((stacks.caller(long), stacks.nodes.len()), (Some(short), 3));
        assert_eq!(stacks.stack([]), None);
        let frames: Vec<FrameId> = stacks.frames(long).collect();
        assert_eq!(frames, [FrameId(2), FrameId(1), FrameId(0)]);
        assert_eq!(stacks.named(frames[0]), None);
        stacks.learn(&mut places);
        let named = stacks.named(frames[0]).unwrap();
        assert_eq!((named.address, named.routines.len()), (Some(3), 1));
        assert_eq!(places.text(named.object.unwrap().0), "[not-mapped]");
        let mark = stacks.not_kept(&mut places);
        assert_eq!(stacks.not_kept(&mut places), mark);
        stacks.learn(&mut places);
        let frame = stacks.frames(mark).next().unwrap();
        let named = stacks.named(frame).unwrap();
        assert_eq!(places.text(named.routines[0].name.0), NOT_KEPT);
    }
}
