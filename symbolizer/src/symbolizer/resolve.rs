//! The routine at a place, by symbols.

use super::KERNEL_PID;
use crate::elf::{self, ranges::Ranges};
use crate::kernel::table::KernelSymbols;
use crate::process::mapped_symbols::MappedSymbols;
use crate::process::objects::{self, ObjectKind, Objects};
use crate::{ObjectId, Place, Reason, Resolution, Routine, Symbolizer};
use std::borrow::Cow;

impl Symbolizer {
    /// The routine at a place that [`Symbolizer::place`] gave, or why there
    /// is no name. Ask once per distinct place: names are not remembered.
    pub fn resolve(&mut self, place: Place) -> Resolution<'_> {
        let Place { object, address } = place;
        match self.objects.kind(object).clone() {
            ObjectKind::Fixed => Resolution::Unknown(objects::fixed_reason(object)),
            ObjectKind::Kernel | ObjectKind::Module => self.resolve_kernel(object, address),
            ObjectKind::KernelRoutine { start, length, .. }
            | ObjectKind::Generated { start, length, .. } => match address.checked_sub(start) {
                Some(offset) if offset < length => Resolution::Routine(Routine {
                    name: Cow::Borrowed(self.objects.name(object)),
                    start,
                    end: start.saturating_add(length),
                    offset,
                }),
                _ => {
                    let object = self.object_name(object).to_owned();
                    Resolution::Unknown(Reason::BetweenSymbols { object })
                }
            },
            ObjectKind::Anonymous(pid) => self.resolve_generated(pid, place),
            ObjectKind::File(file) if self.is_generated(file) => {
                let pid = self.objects.file(file).seen.last().map_or(KERNEL_PID, |seen| seen.0);
                self.resolve_generated(pid, place)
            }
            ObjectKind::File(file) => {
                self.opened(file);
                if matches!(self.symbols[file], MappedSymbols::Opened(_)) {
                    self.open = self.open.saturating_sub(1);
                    self.symbols[file].read(self.objects.file(file), &self.options);
                }
                let binary = &self.symbols[file];
                match binary.ranges() {
                    Ok(ranges) => {
                        let name = self.objects.name(object);
                        match (in_ranges(ranges, address, name), binary.stripped()) {
                            (Resolution::Unknown(_), Some(id)) => {
                                let (file, id) = (name.to_owned(), id.to_owned());
                                Resolution::Unknown(Reason::Stripped { file, id })
                            }
                            (resolution, _) => resolution,
                        }
                    }
                    Err(reason) => Resolution::Unknown(reason),
                }
            }
            ObjectKind::Vdso(ref vdso) => match self.own_vdso(vdso) {
                Ok(own) => in_ranges(own.ranges(), address, "[vdso]"),
                Err(reason) => Resolution::Unknown(reason),
            },
        }
    }

    fn resolve_kernel(&mut self, object: ObjectId, address: u64) -> Resolution<'_> {
        match self.kernel.symbols(&self.options, &mut self.objects) {
            Ok(symbols) => in_kernel(symbols, &self.objects, Place { object, address }),
            Err(reason) => Resolution::Unknown(reason),
        }
    }
}

/// The symbol of the kernel or of a module that holds a place.
pub(super) fn in_kernel<'a>(
    symbols: &'a KernelSymbols,
    objects: &'a Objects,
    Place { object, address }: Place,
) -> Resolution<'a> {
    // The recording may know of a module that lay where another lies now.
    let own = |module: Option<&[u8]>| {
        *objects.kind(object) != ObjectKind::Module
            || module.map(objects::module_object).as_deref() == Some(objects.name(object))
    };
    match symbols.find(address) {
        Some(routine) if !own(routine.module) => {
            let object = objects.name(object).to_owned();
            Resolution::Unknown(Reason::BetweenSymbols { object })
        }
        Some(routine) => Resolution::Routine(Routine {
            name: String::from_utf8_lossy(routine.name),
            start: routine.start,
            end: routine.end,
            offset: address.wrapping_sub(routine.start),
        }),
        None => {
            let object = objects.name(object).to_owned();
            Resolution::Unknown(match symbols.spans(address) {
                true => Reason::BetweenSymbols { object },
                false => Reason::BeyondSymbols { object },
            })
        }
    }
}

pub(super) fn in_ranges<'a>(ranges: &'a Ranges, address: u64, object: &str) -> Resolution<'a> {
    if let Some(hit) = ranges.find(address) {
        return Resolution::Routine(elf::routine(hit, address));
    }
    let object = object.to_owned();
    Resolution::Unknown(match ranges.spans(address) {
        true => Reason::BetweenSymbols { object },
        false => Reason::BeyondSymbols { object },
    })
}
