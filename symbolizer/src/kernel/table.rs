//! Kernel address -> routine: ranges with explicit ends.

use super::list::{ListError, ListedSymbol, SymbolList};
use perfdata::kernel_list::PackedKernelList;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Text memory is given out in whole pages: what a last symbol can at least
/// reach to when nothing says where it ends.
const PAGE: u64 = 4096;

/// No routine is longer; the longest of common kernels have a tenth of it. A
/// gap between sections may be, and its last symbol before is short.
const LONGEST_ROUTINE: u64 = 256 << 10;
/// What the kernel puts BPF programs into side by side (`BPF_PROG_PACK_SIZE`;
/// holes are filled with traps).
const PACK: u64 = 2 << 20;

/// Where a module lies, from /proc/modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleExtent {
    pub(crate) name: Vec<u8>,
    pub(crate) base: u64,
    pub(crate) size: u64,
}

/// A variable that is listed where variables are.
const EVERY_KERNEL_HAS: &str = "init_task";

/// The kernel's routines, sorted and disjoint.
///
/// A routine ends at the next symbol of any type, at an end mark such as
/// `_etext`, at the end of its module, or, for a last symbol and where the
/// next is farther than a routine is long, at the end of its page. An address beyond has no name. Of several names at one address
/// the last listed one wins, as in perf, but section marks
/// (`__irqentry_text_end`) give way to routines.
pub struct KernelSymbols {
    list: SymbolList,
    /// Added to a listed address to get the run-time address, modulo 2^64.
    offset: u64,
    origin: Origin,
    starts: Vec<u64>,
    rest: Vec<Rest>,
    /// Runs of routines of one module, sorted.
    runs: Vec<Run>,
}

/// Where variables are to be had, once they are asked for.
enum Origin {
    /// In the text of the list.
    Text,
    /// In what a recording keeps.
    Recorded(Arc<PackedKernelList>),
    /// They are kept: entries of an image.
    KernelImage(Vec<ListedSymbol>),
}

struct Rest {
    end: u64,
    name: u32,
    name_length: u32,
    module: u16,
}

struct Run {
    first: u64,
    end: u64,
    module: u16,
}

/// A routine of the kernel, of a module, or of a BPF program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelRoutine<'a> {
    /// Number in address order, below [`KernelSymbols::len`].
    pub index: usize,
    /// Name as listed.
    pub name: &'a [u8],
    /// Module without brackets; `bpf` for BPF programs; none for the kernel
    /// proper.
    pub module: Option<&'a [u8]>,
    /// First run-time address.
    pub start: u64,
    /// First run-time address beyond.
    pub end: u64,
}

impl KernelSymbols {
    /// Builds the table of a list whose kernel runs `offset` bytes above
    /// where the list says (modulo 2^64).
    pub fn new(list: SymbolList, offset: u64) -> KernelSymbols {
        KernelSymbols::with_modules(list, offset, &[])
    }

    /// The variables of the same list, in place of its routines. None when it
    /// lists hardly any (kernels without `CONFIG_KALLSYMS_ALL`): the few marks
    /// there are would name all that follows them.
    ///
    /// # Errors
    /// None that the list did not have when it was read first.
    pub(crate) fn variables(&self) -> Result<Option<KernelSymbols>, ListError> {
        let mut list = match &self.origin {
            Origin::Recorded(packed) => SymbolList::recorded(packed.unpack()?)?,
            Origin::Text => SymbolList::parse(self.list.bytes.clone())?,
            Origin::KernelImage(entries) => SymbolList {
                bytes: self.list.bytes.clone(),
                entries: entries.clone(),
                modules: self.list.modules.clone(),
            },
        };
        let Some(known) = list.address_of(EVERY_KERNEL_HAS) else { return Ok(None) };
        let is_moved = self.offset != 0;
        list.entries.retain(|entry| {
            // A System.map has offsets of each CPU's variables, from 0 on: the
            // last would reach up to the kernel's image.
            entry.address >> 63 == known >> 63
                && (!is_moved || entry.module == ListedSymbol::NO_MODULE)
        });
        Ok(Some(KernelSymbols::of(list, self.offset, &[], choose_variable, Reach::Next)))
    }

    pub(crate) fn with_modules(
        list: SymbolList,
        offset: u64,
        extents: &[ModuleExtent],
    ) -> KernelSymbols {
        KernelSymbols::of(list, offset, extents, choose, Reach::Routine)
    }

    /// As [`KernelSymbols::with_modules`], of a list that was `packed`.
    pub(crate) fn recorded(
        list: SymbolList,
        packed: &Arc<PackedKernelList>,
        extents: &[ModuleExtent],
    ) -> KernelSymbols {
        let origin = Origin::Recorded(Arc::clone(packed));
        KernelSymbols { origin, ..KernelSymbols::with_modules(list, 0, extents) }
    }

    /// The same of an image, whose names are no text of a list.
    pub(crate) fn of_image(list: SymbolList, extents: &[ModuleExtent]) -> KernelSymbols {
        let origin = Origin::KernelImage(list.entries.clone());
        KernelSymbols { origin, ..KernelSymbols::with_modules(list, 0, extents) }
    }

    fn of(
        mut list: SymbolList,
        offset: u64,
        extents: &[ModuleExtent],
        choose: Choose,
        reach: Reach,
    ) -> KernelSymbols {
        let entries = std::mem::take(&mut list.entries);
        let sorted = sort(entries);
        let mut ends = vec![None; list.modules.len()];
        for (index, name) in list.modules.iter().enumerate() {
            let extent = extents.iter().find(|extent| extent.name == **name);
            ends[index] = extent.map(|extent| extent.base..extent.base.saturating_add(extent.size));
        }
        let reaches: Vec<Reach> =
            list.modules.iter().map(|name| Reach::of(name).unwrap_or(reach)).collect();
        let mut table = KernelSymbols {
            list,
            offset,
            origin: Origin::Text,
            starts: Vec::new(),
            rest: Vec::new(),
            runs: Vec::new(),
        };
        table.starts.reserve(sorted.len());
        table.rest.reserve(sorted.len());
        let mut groups = sorted.chunk_by(|a, b| a.address == b.address).peekable();
        while let Some(group) = groups.next() {
            let Some(chosen) = choose(&table.list, group) else { continue };
            let next = groups.peek().map(|group| (group[0].address, group[0].module));
            let extent = ends.get(usize::from(chosen.module)).and_then(Option::as_ref);
            let reach = reaches.get(usize::from(chosen.module)).copied().unwrap_or(reach);
            let end = end_of(chosen, next, extent, reach);
            // Nothing is below the end of what starts at the last address.
            if chosen.address < end {
                table.push(chosen, end);
            }
        }
        table.list.entries = Vec::new();
        table
    }

    fn push(&mut self, chosen: &ListedSymbol, end: u64) {
        let ListedSymbol { address, name, name_length, module, .. } = *chosen;
        match self.runs.last_mut() {
            Some(run) if run.module == module => run.end = end,
            _ => self.runs.push(Run { first: address, end, module }),
        }
        self.starts.push(address);
        self.rest.push(Rest { end, name, name_length, module });
    }

    /// The routine that holds a run-time address.
    pub fn find(&self, address: u64) -> Option<KernelRoutine<'_>> {
        let listed = address.wrapping_sub(self.offset);
        let index = self.starts.partition_point(|&start| start <= listed).checked_sub(1)?;
        (listed < self.rest[index].end).then(|| self.routine(index))
    }

    /// The `index`-th routine in address order. Panics beyond
    /// [`KernelSymbols::len`].
    pub fn routine(&self, index: usize) -> KernelRoutine<'_> {
        let rest = &self.rest[index];
        let name = rest.name as usize;
        KernelRoutine {
            index,
            name: &self.list.bytes[name..name + rest.name_length as usize],
            module: self.list.modules.get(usize::from(rest.module)).map(|name| &**name),
            start: self.starts[index].wrapping_add(self.offset),
            end: rest.end.wrapping_add(self.offset),
        }
    }

    /// Routines in the table.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether no symbol of the list names code.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Whether a run-time address lies between the first and the last
    /// routine.
    pub fn spans(&self, address: u64) -> bool {
        let listed = address.wrapping_sub(self.offset);
        match (self.starts.first(), self.rest.last()) {
            (Some(&first), Some(last)) => first <= listed && listed < last.end,
            _ => false,
        }
    }

    /// The module (none: the kernel proper) that a run-time address belongs
    /// to, and the first and last address for which that holds.
    pub(crate) fn owner(&self, address: u64) -> (Option<u16>, u64, u64) {
        let listed = address.wrapping_sub(self.offset);
        let after = self.runs.partition_point(|run| run.first <= listed);
        let back = |listed: u64| listed.wrapping_add(self.offset);
        let floor = match after.checked_sub(1).map(|index| &self.runs[index]) {
            Some(run) if listed < run.end => {
                let module = (run.module != ListedSymbol::NO_MODULE).then_some(run.module);
                return (module, back(run.first), back(run.end - 1));
            }
            Some(run) => run.end,
            None => 0,
        };
        let ceiling = self.runs.get(after).map_or(u64::MAX, |run| run.first - 1);
        match (back(floor), back(ceiling)) {
            (first, last) if first <= last => (None, first, last),
            _ => (None, address, address),
        }
    }

    /// Name of the module that a run-time address belongs to, without
    /// brackets; `bpf` for BPF programs, None for the kernel proper.
    pub(crate) fn module(&self, address: u64) -> Option<&[u8]> {
        let (module, ..) = self.owner(address);
        self.modules().get(usize::from(module?)).map(|name| &**name)
    }

    /// Module names by number, without brackets.
    pub(crate) fn modules(&self) -> &[Box<[u8]>] {
        &self.list.modules
    }

    /// Run-time extents of the runs of routines of one module (or of the
    /// kernel proper), in listed order.
    pub fn extents(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let offset = self.offset;
        self.runs
            .iter()
            .map(move |run| run.first.wrapping_add(offset)..run.end.wrapping_add(offset))
    }
}

impl fmt::Debug for KernelSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelSymbols")
            .field("routines", &self.len())
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

/// By address, listed order kept among equals. The kernel proper comes
/// sorted; modules do not.
fn sort(mut entries: Vec<ListedSymbol>) -> Vec<ListedSymbol> {
    if !entries.is_sorted_by_key(|entry| entry.address) {
        entries.sort_by_key(|entry| entry.address);
    }
    entries
}

/// The entry that names what starts at the address of a group, if it is what
/// is looked for.
type Choose = for<'a> fn(&SymbolList, &'a [ListedSymbol]) -> Option<&'a ListedSymbol>;

fn choose_variable<'a>(_: &SymbolList, group: &'a [ListedSymbol]) -> Option<&'a ListedSymbol> {
    group.iter().rev().find(|entry| entry.is_data())
}

/// The name among those at one address; none when no code starts there, or
/// only a section ends.
fn choose<'a>(list: &SymbolList, group: &'a [ListedSymbol]) -> Option<&'a ListedSymbol> {
    // Most are alone: the rules below, without the loops.
    if let [only] = group {
        return (only.is_text() && !is_end_mark(list.name(only))).then_some(only);
    }
    let text = || group.iter().rev().filter(|entry| entry.is_text());
    text()
        .find(|entry| !is_mark(list.name(entry)))
        .or_else(|| text().next().filter(|_| !text().any(|entry| is_end_mark(list.name(entry)))))
}

/// How far the next symbol may be and still say where one ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// However far.
    Next,
    /// As far as a routine may be long.
    Routine,
    /// In the same stretch of memory that BPF programs share.
    Pack,
    /// In the same page: trampolines of ftrace, slots of kprobes.
    Page,
}

impl Reach {
    /// What the kernel lists as modules and is none.
    fn of(module: &[u8]) -> Option<Reach> {
        match module {
            b"bpf" => Some(Reach::Pack),
            _ => module.starts_with(b"__builtin__").then_some(Reach::Page),
        }
    }

    fn covers(self, from: u64, to: u64) -> bool {
        match self {
            Reach::Next => true,
            Reach::Routine => to - from <= LONGEST_ROUTINE,
            Reach::Pack => from / PACK == to / PACK,
            Reach::Page => from / PAGE == to / PAGE,
        }
    }
}

/// Up to the next symbol, where that tells anything; else the end of the
/// page, since text memory is given out in pages.
fn end_of(
    chosen: &ListedSymbol,
    next: Option<(u64, u16)>,
    extent: Option<&Range<u64>>,
    reach: Reach,
) -> u64 {
    let page_end = (chosen.address | (PAGE - 1)).saturating_add(1);
    let of_module = extent.filter(|extent| extent.contains(&chosen.address));
    let end = match (of_module, next) {
        (Some(extent), Some((address, _))) => extent.end.min(address),
        (Some(extent), None) => extent.end,
        (None, Some((address, module))) if module == chosen.module => address,
        (None, next) => next.map_or(page_end, |(address, _)| address.min(page_end)),
    };
    if reach.covers(chosen.address, end) { end } else { end.min(page_end) }
}

/// Symbols that the linker script puts at the start or end of a section.
fn is_mark(name: &[u8]) -> bool {
    is_end_mark(name)
        || matches!(name, b"_text" | b"_stext" | b"_sinittext" | b"__pi__text")
        || (name.starts_with(b"__") && name.ends_with(b"_text_start"))
}

fn is_end_mark(name: &[u8]) -> bool {
    name.first() == Some(&b'_')
        && (matches!(name, b"_etext" | b"_einittext")
            || (name.starts_with(b"__") && name.ends_with(b"_text_end")))
}

#[cfg(test)]
mod tests;
