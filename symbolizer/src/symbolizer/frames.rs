//! Lines and inlined callers of one place.

use crate::answer::{Frames, MissingDebugInfo};
use crate::dwarf::lazy_debug_file::{LazyDebugFile, ObjectDebug};
use crate::elf::head::{hex, unpadded};
use crate::process::locate::locate;
use crate::process::objects::ObjectKind;
use crate::{DebugSections, MissingSections, ObjectId, Place, Reason, Resolution, Symbolizer};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Files whose debug info is kept open.
pub(crate) const MOST_OPEN: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct DebugFiles {
    files: FxHashMap<ObjectId, Result<ObjectDebug, MissingDebugInfo>>,
}

impl Symbolizer {
    /// Takes the debug info of an object, which comes back by
    /// [`Symbolizer::put_debug`]; or why there is none.
    pub(crate) fn take_debug(&mut self, object: ObjectId) -> Result<ObjectDebug, MissingDebugInfo> {
        let shown = self.object_name(object).to_owned();
        match *self.objects.kind(object) {
            ObjectKind::Kernel | ObjectKind::Module => {
                let module = (object != ObjectId::KERNEL).then_some(&*shown);
                self.kernel.take_debug(object, module, &self.options, &mut self.objects)
            }
            ObjectKind::File(file) => self.lines.files.remove(&object).unwrap_or_else(|| {
                let path: Arc<str> = shown.into();
                let mapped = self.objects.file(file);
                match locate(mapped, &self.options) {
                    Ok(found) => {
                        let file = LazyDebugFile::of(found, &mapped.path, &self.options).into();
                        Ok(ObjectDebug { file, path, moved: 0, size: u64::MAX })
                    }
                    Err(why) => {
                        Err(MissingDebugInfo::Damaged { file: path, why: why.to_string().into() })
                    }
                }
            }),
            _ => Err(MissingDebugInfo::Never { object: shown.into() }),
        }
    }

    /// The build id of an object, hex: as the recording tells it, or that of the
    /// file that is found. Nothing is remembered.
    pub fn build_id(&self, object: ObjectId) -> Option<String> {
        let of = |id: &[u8]| hex(unpadded(id));
        match self.objects.kind(object) {
            ObjectKind::File(file) => {
                let mapped = self.objects.file(*file);
                let recorded = mapped.identity.build_id.as_deref().map(of);
                recorded.or_else(|| {
                    locate(mapped, &self.options).ok()?.head.build_id.as_deref().map(of)
                })
            }
            ObjectKind::Vdso(vdso) => vdso.build_id.as_deref().map(of),
            _ => None,
        }
    }

    /// The debug info of the file that an object is, for who reads more of it
    /// than lines. Nothing is remembered.
    ///
    /// # Errors
    /// The file cannot be found, is another one than was mapped, or has none;
    /// the object is no file.
    pub fn debug_sections(&mut self, object: ObjectId) -> Result<DebugSections, MissingSections> {
        let ObjectKind::File(file) = *self.objects.kind(object) else {
            let object = self.object_name(object).into();
            return Err(MissingSections::Debug(MissingDebugInfo::Never { object }));
        };
        let mapped = self.objects.file(file);
        let found = locate(mapped, &self.options).map_err(MissingSections::File)?;
        DebugSections::of(found, &mapped.path, &self.options)
    }

    pub(crate) fn put_debug(
        &mut self,
        object: ObjectId,
        debug: Result<ObjectDebug, MissingDebugInfo>,
    ) {
        match self.objects.kind(object) {
            ObjectKind::Kernel | ObjectKind::Module => self.kernel.put_debug(object, debug),
            ObjectKind::File(_) => {
                if self.lines.files.len() >= MOST_OPEN {
                    self.lines.files.clear();
                }
                self.lines.files.insert(object, debug);
            }
            _ => {}
        }
    }

    /// Lines and inlined callers at a place that [`Symbolizer::place`] gave.
    /// Of many places ask [`Symbolizer::all_frames`].
    ///
    /// # Errors
    /// Why neither debug info nor the symbol table names the place.
    pub fn frames(&mut self, place: Place) -> Result<Frames, Reason> {
        let mut debug = self.take_debug(place.object);
        let found = match &mut debug {
            Ok(opened) => opened.frames(place.address),
            Err(why) => Err(why.clone()),
        };
        self.put_debug(place.object, debug);
        self.named(place, found)
    }

    /// What debug info says of a place, else what the symbol table does:
    /// names without debug info, and reasons for none, are those of
    /// [`Symbolizer::resolve`], word for word.
    pub(crate) fn named(
        &mut self,
        place: Place,
        found: Result<Frames, MissingDebugInfo>,
    ) -> Result<Frames, Reason> {
        // What the kernel does not list is not its code.
        let is_listed =
            matches!(self.objects.kind(place.object), ObjectKind::Kernel | ObjectKind::Module);
        let found = match found {
            Ok(frames) if !is_listed => return Ok(frames),
            found => found,
        };
        match self.resolve(place) {
            Resolution::Routine(routine) => {
                Ok(found.unwrap_or_else(|why| Frames::of_symbol(Some(&routine.name), why)))
            }
            Resolution::Unknown(reason) => Err(reason),
        }
    }
}
