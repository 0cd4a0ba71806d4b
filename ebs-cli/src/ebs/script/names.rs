//! Names of the addresses in records, each looked up once.

use super::line::{Named, clean};
use analysis::{Previous, SampledAddress, without_parameters};
use perfdata::{CpuMode, Sample};
use rustc_hash::FxHashMap;
use symbolizer::{Frames, ObjectId, Place, Resolution, Symbolizer};

/// Places whose names, or lines, are remembered; of more, the last.
const MOST_PLACES: usize = 1 << 20;

/// The instructions that a symbolizer named. Data addresses are too many to
/// remember.
#[derive(Debug)]
pub(super) struct Names {
    code: FxHashMap<Place, Named>,
    nowhere: Named,
    previous: Previous,
    lines: FxHashMap<Place, Option<Box<[u8]>>>,
}

impl Names {
    pub(super) fn new() -> Names {
        Names {
            code: FxHashMap::default(),
            nowhere: Named::new(None, None),
            previous: Previous::default(),
            lines: FxHashMap::default(),
        }
    }

    pub(super) fn code(&mut self, symbolizer: &mut Symbolizer, at: SampledAddress) -> &Named {
        let place = at.place(symbolizer);
        if self.code.len() >= MOST_PLACES && !self.code.contains_key(&place) {
            self.code.clear();
        }
        self.code.entry(place).or_insert_with(|| name(symbolizer, place))
    }

    /// What is at an end of a branch, whose it is by its address: branches
    /// lead into the kernel and out of it. An end that was not recorded is
    /// nobody's.
    pub(super) fn branch(&mut self, symbolizer: &mut Symbolizer, end: SampledAddress) -> &Named {
        match end.address {
            0 => &self.nowhere,
            _ => {
                let end = end.by_address(symbolizer);
                self.code(symbolizer, end)
            }
        }
    }

    /// Asks debug info for all of these places at once.
    pub(super) fn learn_lines(
        &mut self,
        symbolizer: &mut Symbolizer,
        places: impl Iterator<Item = Place>,
    ) {
        let places: Vec<Place> = places.collect();
        // Those of these places must all be there afterwards.
        if self.lines.len() >= MOST_PLACES {
            self.lines.clear();
        }
        let known = |it: &Place| self.lines.contains_key(it);
        let places: Vec<Place> = places.into_iter().filter(|it| !known(it)).collect();
        let all = symbolizer.all_frames(&places);
        for (place, frames) in places.into_iter().zip(all) {
            self.lines.entry(place).or_insert_with(|| line(&frames.ok()?));
        }
    }

    /// The source line of a place that was learnt of, as perf prints it: the
    /// file without its directory. None where perf prints nothing.
    pub(super) fn line(&self, place: Place) -> Option<&[u8]> {
        self.lines.get(&place)?.as_deref()
    }

    /// What the instruction before a sample's accessed.
    pub(super) fn before(
        &mut self,
        symbolizer: &mut Symbolizer,
        sample: &Sample<'_>,
    ) -> Option<u64> {
        let (_, registers) = (sample.ip?, sample.regs_intr.as_ref()?);
        let register = |number| registers.get(number);
        self.previous.address(symbolizer, SampledAddress::of(sample), register)
    }
}

/// A return address as perf shows it: of user space, how far into its
/// file it lies; and the frame as of when that file was mapped.
pub(super) fn in_file(symbolizer: &mut Symbolizer, frame: SampledAddress) -> (u64, SampledAddress) {
    let SampledAddress { mode, pid, address, time } = frame;
    let in_file = match mode {
        CpuMode::User => symbolizer.offset_in_file(pid, address, time),
        _ => None,
    };
    in_file.map_or((address, frame), |(offset, time)| (offset, SampledAddress { time, ..frame }))
}

/// What is at a data address: whose it is by the address, whatever mode
/// the record was taken in.
pub(super) fn data(symbolizer: &mut Symbolizer, at: SampledAddress) -> Named {
    let place = at.by_address(symbolizer).place(symbolizer);
    name(symbolizer, place)
}

fn line(frames: &Frames) -> Option<Box<[u8]>> {
    let source = frames.frames.first()?.source.as_ref().filter(|it| it.line > 0)?;
    let file = source.file.rsplit('/').next().unwrap_or(&source.file);
    let mut text = Vec::new();
    clean(format!("{file}:{}", source.line).as_bytes(), &mut text);
    Some(text.into())
}

/// Spelled as perf spells it.
fn name(symbolizer: &mut Symbolizer, place: Place) -> Named {
    let symbol = match symbolizer.resolve(place) {
        Resolution::Routine(routine) => {
            Some((without_parameters(&routine.name).into_owned(), routine.offset))
        }
        Resolution::Unknown(_) => None,
    };
    let object = match place.object {
        ObjectId::KERNEL => Some("[kernel.kallsyms]"),
        ObjectId::UNMAPPED | ObjectId::UNKNOWN_PROCESS => None,
        object => Some(symbolizer.object_name(object)),
    };
    Named::new(symbol.as_ref().map(|(name, offset)| (name.as_str(), *offset)), object)
}
