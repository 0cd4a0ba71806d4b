//! All unwind tables of one object.

use super::frame_rule::FrameRule;
use super::frame_table::{EhSections, FrameTable};
use crate::ChainEnd;
use crate::dwarf::bytes::FileBytes;
use crate::dwarf::layout::Layout;
use crate::dwarf::sections::SectionSource;
use crate::files::located_file::LocatedFile;
use crate::files::separate::{DebugNeed, locate_debug};
use crate::{Reason, SymbolizerOptions};
use gimli::{RunTimeEndian, UnwindContext};

#[derive(Debug)]
pub(crate) struct UnwindTables {
    eh: Option<FrameTable>,
    /// `.debug_frame` of the object itself, or of its debug file.
    debug: DebugTable,
}

/// A table that most objects have no need of.
#[derive(Debug)]
enum DebugTable {
    /// Nobody asked what `.eh_frame` does not have.
    Unopened(Box<Unopened>),
    Opened(Option<Box<FrameTable>>),
}

#[derive(Debug)]
struct Unopened {
    image: FileBytes,
    located: LocatedFile,
    /// The object's path, as recorded.
    path: Box<[u8]>,
    options: SymbolizerOptions,
}

impl UnwindTables {
    /// Those of a mapped file. What it lacks is looked for in its debug file
    /// when that is needed.
    pub(crate) fn of(
        located: LocatedFile,
        path: &[u8],
        options: &SymbolizerOptions,
    ) -> Result<UnwindTables, Reason> {
        let unreadable = |why: String| Reason::FileUnreadable {
            file: String::from_utf8_lossy(path).into_owned(),
            why,
        };
        let LocatedFile { file, head, root } = located;
        let file = file.into_inner();
        let again = file.try_clone().map_err(|error| unreadable(error.to_string()))?;
        let image = FileBytes::of(again).map_err(|error| unreadable(error.to_string()))?;
        let eh = eh_table(&image).map_err(unreadable)?;
        let located = LocatedFile { file: object::ReadCache::new(file), head, root };
        let unopened = Unopened { image, located, path: path.into(), options: options.clone() };
        Ok(UnwindTables { eh, debug: DebugTable::Unopened(unopened.into()) })
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<UnwindTables, String> {
        let image = FileBytes::Memory(bytes.into());
        let (eh, debug) = (eh_table(&image)?, debug_table(&image)?);
        Ok(UnwindTables { eh, debug: DebugTable::Opened(debug.map(Box::new)) })
    }

    /// The rule at a link-time address. None: no entry has it.
    pub(crate) fn rule(
        &mut self,
        address: u64,
        context: &mut UnwindContext<usize>,
    ) -> Result<Option<FrameRule>, ChainEnd> {
        if let Some(eh) = &self.eh
            && let Some(rule) = eh.rule(address, context)?
        {
            return Ok(Some(rule));
        }
        match self.debug_frame() {
            Some(debug) => debug.rule(address, context),
            None => Ok(None),
        }
    }

    fn debug_frame(&mut self) -> Option<&FrameTable> {
        if let DebugTable::Unopened(unopened) = &mut self.debug {
            self.debug = DebugTable::Opened(unopened.open().map(Box::new));
        }
        match &self.debug {
            DebugTable::Opened(table) => table.as_deref(),
            DebugTable::Unopened(_) => None,
        }
    }

    /// Bytes of memory that they take.
    pub(crate) fn size(&self) -> usize {
        let debug = match &self.debug {
            DebugTable::Opened(Some(table)) => table.size(),
            _ => 0,
        };
        self.eh.as_ref().map_or(0, FrameTable::size).saturating_add(debug)
    }
}

impl Unopened {
    /// A table that cannot be read is none: the code may have been built
    /// without.
    fn open(&self) -> Option<FrameTable> {
        if let Some(own) = debug_table(&self.image).ok().flatten() {
            return Some(own);
        }
        let Unopened { located, path, options, .. } = self;
        let separate = locate_debug(located, path, options, DebugNeed::Symbols)?;
        // One that lies elsewhere (prelink) has other addresses.
        let is_there = separate.head.lowest() == located.head.lowest();
        let image = FileBytes::of(separate.file.into_inner()).ok().filter(|_| is_there)?;
        debug_table(&image).ok().flatten()
    }
}

fn eh_table(image: &FileBytes) -> Result<Option<FrameTable>, String> {
    let layout = Layout::of(image).map_err(|error| error.to_string())?;
    if layout.endian != RunTimeEndian::Little || layout.relocatable {
        return Ok(None);
    }
    let mut source = SectionSource::new(image, &layout)?;
    let address = |name: &[u8]| layout.section(name).map_or(0, |section| section.address);
    let table = source.named(b".eh_frame")?;
    if table.is_empty() {
        return Ok(None);
    }
    let header = source.named(b".eh_frame_hdr")?;
    let header = (!header.is_empty()).then(|| (header, address(b".eh_frame_hdr")));
    let (text, got) = (address(b".text"), address(b".got"));
    let address = address(b".eh_frame");
    Ok(Some(FrameTable::of_eh(EhSections { table, address, header, text, got })))
}

fn debug_table(image: &FileBytes) -> Result<Option<FrameTable>, String> {
    let layout = Layout::of(image).map_err(|error| error.to_string())?;
    if layout.endian != RunTimeEndian::Little || layout.relocatable {
        return Ok(None);
    }
    let table = SectionSource::new(image, &layout)?.named(b".debug_frame")?;
    Ok((!table.is_empty()).then(|| FrameTable::of_debug(table)))
}
