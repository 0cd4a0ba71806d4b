//! The code of a routine as lines.

use super::instructions::{Syntax, Writer, sweep, target};
use super::operand_type::RoutineTypes;
use super::{InstructionLine, ListingItem};
use crate::name::lookup::Lookup;
use crate::name::place_names::PlaceNames;
use iced_x86::Instruction;
use perfdata::ByteOrder;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use symbolizer::{CodeBytes, CodeError, FrameDetail, ObjectId, Place, Resolution};

/// Reasons against source lines that are told.
const REASONS: usize = 3;
/// Bytes of an instruction of machines that are not decoded here.
const WORD: u64 = 4;

#[derive(Debug)]
pub(super) enum Code {
    Instructions(Vec<Instruction>, Vec<u8>),
    /// Of another machine: in words.
    Words(u64, Vec<u8>),
    /// Not to be had: the addresses that have samples.
    Addresses(Vec<u64>),
}

impl Code {
    /// From bytes that begin at `start`, and a sentence about what is missing.
    pub(super) fn new(
        text: Result<CodeBytes, CodeError>,
        extent: Range<u64>,
        sampled: impl Iterator<Item = u64>,
    ) -> (Code, Option<String>) {
        let Range { start, end } = extent;
        match text {
            Ok(CodeBytes { bytes, bits: Some(bits) }) => {
                let wanted = end.saturating_sub(start);
                let had = bytes.len() as u64;
                let note = (had < wanted).then(|| {
                    format!("only {had} bytes of {wanted} are there: the code ends before the routine does")
                });
                (Code::Instructions(sweep(&bytes, bits, start), bytes), note)
            }
            Ok(CodeBytes { bytes, bits: None }) => (
                Code::Words(start, bytes),
                Some("only x86 code is decoded: others are shown in words of 4 bytes".to_owned()),
            ),
            Err(error) => {
                let note = format!("no instructions: {error}");
                (
                    Code::Addresses(sampled.collect::<BTreeSet<u64>>().into_iter().collect()),
                    Some(note),
                )
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Code::Instructions(all, _) => all.len(),
            Code::Words(_, bytes) => bytes.len().div_ceil(usize::try_from(WORD).unwrap_or(4)),
            Code::Addresses(all) => all.len(),
        }
    }

    /// First address of an instruction, and the first beyond.
    fn extent(&self, index: usize) -> (u64, u64) {
        match self {
            Code::Instructions(all, _) => {
                all.get(index).map_or((0, 0), |it| (it.ip(), it.ip() + it.len() as u64))
            }
            Code::Words(start, _) => {
                let at = start.wrapping_add(index as u64 * WORD);
                (at, at.wrapping_add(WORD))
            }
            Code::Addresses(all) => all.get(index).map_or((0, 0), |at| (*at, *at + 1)),
        }
    }

    /// The line that an address is of, and whether it begins there.
    pub(super) fn holding(&self, address: u64) -> Option<(usize, bool)> {
        match self {
            Code::Instructions(all, _) => super::instructions::holding(all, address),
            Code::Words(start, bytes) => {
                let into = address.checked_sub(*start).filter(|it| *it < bytes.len() as u64)?;
                Some((usize::try_from(into / WORD).ok()?, into % WORD == 0))
            }
            Code::Addresses(all) => all.binary_search(&address).ok().map(|index| (index, true)),
        }
    }

    pub(super) fn instruction(&self, index: usize) -> Option<&Instruction> {
        match self {
            Code::Instructions(all, _) => all.get(index),
            Code::Words(..) | Code::Addresses(_) => None,
        }
    }

    fn bytes(&self, index: usize) -> Vec<u8> {
        let of = |bytes: &[u8], start: u64| {
            let (from, to) = self.extent(index);
            let from = usize::try_from(from.wrapping_sub(start)).unwrap_or(usize::MAX);
            let to = usize::try_from(to.wrapping_sub(start)).unwrap_or(usize::MAX).min(bytes.len());
            bytes.get(from..to).unwrap_or_default().to_vec()
        };
        match self {
            Code::Instructions(all, bytes) => of(bytes, all.first().map_or(0, Instruction::ip)),
            Code::Words(start, bytes) => of(bytes, *start),
            Code::Addresses(_) => Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Listing {
    pub(super) object: ObjectId,
    pub(super) order: ByteOrder,
    pub(super) syntax: Syntax,
}

impl Listing {
    pub(super) fn items(
        &self,
        code: &Code,
        shown: &[Range<usize>],
        types: &RoutineTypes,
        lookup: &mut Lookup,
    ) -> (Vec<ListingItem>, Vec<String>) {
        let Listing { object, order, syntax } = *self;
        let mut writer = Writer::new(syntax);
        let mut items = Vec::new();
        let mut reasons = BTreeSet::new();
        let mut next = 0;
        let address = |index| code.extent(index).0;
        let places =
            shown.iter().cloned().flatten().map(|index| Place { object, address: address(index) });
        let mut all_frames =
            lookup.places.symbolizer.all_frames(&places.collect::<Vec<_>>()).into_iter();
        for stretch in shown {
            gap(code, next..stretch.start, &mut items);
            for index in stretch.clone() {
                let address = address(index);
                let frames = match all_frames.next() {
                    Some(Ok(frames)) => {
                        let reason = match &frames.depth {
                            FrameDetail::Debug => None,
                            FrameDetail::Lines(why) => {
                                Some(format!("inlined calls are not known: {why}"))
                            }
                            FrameDetail::Symbols(why) => Some(format!("no source lines: {why}")),
                        };
                        if reasons.len() < REASONS {
                            reasons.extend(reason);
                        }
                        frames.frames
                    }
                    Some(Err(_)) | None => Arc::from([]),
                };
                let bytes = code.bytes(index);
                let instruction = code.instruction(index);
                let text = match code {
                    Code::Words(..) => Some(word(&bytes, order)),
                    _ => instruction.map(|it| writer.text(it)),
                };
                let target = instruction.and_then(target);
                let target =
                    target.and_then(|address| named(Place { object, address }, &mut lookup.places));
                let data =
                    instruction.and_then(|it| types.of(it, Place { object, address }, lookup));
                items.push(ListingItem::Line(InstructionLine {
                    address,
                    bytes,
                    text,
                    target,
                    data,
                    frames,
                }));
            }
            next = stretch.end;
        }
        gap(code, next..code.len(), &mut items);
        (items, reasons.into_iter().collect())
    }
}

fn gap(code: &Code, left_out: Range<usize>, items: &mut Vec<ListingItem>) {
    if left_out.is_empty() || matches!(code, Code::Addresses(_)) {
        return;
    }
    let (start, end) = (code.extent(left_out.start).0, code.extent(left_out.end - 1).1);
    items.push(ListingItem::Gap { start, end, instructions: left_out.len() });
}

/// Bytes as the machine reads them.
fn word(bytes: &[u8], order: ByteOrder) -> String {
    let digits = |bytes: &mut dyn Iterator<Item = &u8>| {
        bytes.fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    };
    let digits = match order {
        ByteOrder::Little => digits(&mut bytes.iter().rev()),
        ByteOrder::Big => digits(&mut bytes.iter()),
    };
    format!(".word  0x{digits}")
}

fn named(place: Place, places: &mut PlaceNames) -> Option<String> {
    let routine = match places.symbolizer.resolve(place) {
        Resolution::Routine(routine) => Some((routine.name.into_owned(), routine.offset)),
        Resolution::Unknown(_) => None,
    };
    let found = routine.or_else(|| match places.symbolizer.resolve_data(place) {
        Resolution::Routine(variable) => Some((variable.name.into_owned(), variable.offset)),
        Resolution::Unknown(_) => None,
    });
    found.map(|(name, offset)| match offset {
        0 => name,
        offset => format!("{name}+{offset:#x}"),
    })
}
