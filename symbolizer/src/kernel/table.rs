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
    origin: VariableSource,
    starts: Vec<u64>,
    rest: Vec<Rest>,
    /// Runs of routines of one module, sorted.
    runs: Vec<Run>,
}

/// Where variables are to be had, once they are asked for.
enum VariableSource {
    Text,
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
            VariableSource::Recorded(packed) => SymbolList::recorded(packed.unpack()?)?,
            VariableSource::Text => SymbolList::parse(self.list.bytes.clone())?,
            VariableSource::KernelImage(entries) => SymbolList {
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
        Ok(Some(KernelSymbols::of(list, self.offset, &[], choose_variable, SymbolReach::Next)))
    }

    pub(crate) fn with_modules(
        list: SymbolList,
        offset: u64,
        extents: &[ModuleExtent],
    ) -> KernelSymbols {
        KernelSymbols::of(list, offset, extents, choose, SymbolReach::Routine)
    }

    /// As [`KernelSymbols::with_modules`], of a list that was `packed`.
    pub(crate) fn recorded(
        list: SymbolList,
        packed: &Arc<PackedKernelList>,
        extents: &[ModuleExtent],
    ) -> KernelSymbols {
        let origin = VariableSource::Recorded(Arc::clone(packed));
        KernelSymbols { origin, ..KernelSymbols::with_modules(list, 0, extents) }
    }

    /// The same of an image, whose names are no text of a list.
    pub(crate) fn of_image(list: SymbolList, extents: &[ModuleExtent]) -> KernelSymbols {
        let origin = VariableSource::KernelImage(list.entries.clone());
        KernelSymbols { origin, ..KernelSymbols::with_modules(list, 0, extents) }
    }

    fn of(
        mut list: SymbolList,
        offset: u64,
        extents: &[ModuleExtent],
        choose: Choose,
        reach: SymbolReach,
    ) -> KernelSymbols {
        let entries = std::mem::take(&mut list.entries);
        let sorted = sort(entries);
        let mut ends = vec![None; list.modules.len()];
        for (index, name) in list.modules.iter().enumerate() {
            let extent = extents.iter().find(|extent| extent.name == **name);
            ends[index] = extent.map(|extent| extent.base..extent.base.saturating_add(extent.size));
        }
        let reaches: Vec<SymbolReach> =
            list.modules.iter().map(|name| SymbolReach::of(name).unwrap_or(reach)).collect();
        let mut table = KernelSymbols {
            list,
            offset,
            origin: VariableSource::Text,
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
enum SymbolReach {
    /// However far.
    Next,
    /// As far as a routine may be long.
    Routine,
    /// In the same stretch of memory that BPF programs share.
    Pack,
    /// In the same page: trampolines of ftrace, slots of kprobes.
    Page,
}

impl SymbolReach {
    /// What the kernel lists as modules and is none.
    fn of(module: &[u8]) -> Option<SymbolReach> {
        match module {
            b"bpf" => Some(SymbolReach::Pack),
            _ => module.starts_with(b"__builtin__").then_some(SymbolReach::Page),
        }
    }

    fn covers(self, from: u64, to: u64) -> bool {
        match self {
            SymbolReach::Next => true,
            SymbolReach::Routine => to - from <= LONGEST_ROUTINE,
            SymbolReach::Pack => from / PACK == to / PACK,
            SymbolReach::Page => from / PAGE == to / PAGE,
        }
    }
}

/// Up to the next symbol, where that tells anything; else the end of the
/// page, since text memory is given out in pages.
fn end_of(
    chosen: &ListedSymbol,
    next: Option<(u64, u16)>,
    extent: Option<&Range<u64>>,
    reach: SymbolReach,
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
mod tests {
    //! Against a resolver that scans the list line by line.

    #![allow(clippy::print_stderr, reason = "a test that skips says why")]

    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    struct Line {
        address: u64,
        kind: char,
        name: &'static str,
        module: Option<&'static str>,
    }

    const NAMES: [&str; 12] = [
        "alpha",
        "beta",
        "__gamma",
        "delta.cold",
        "_etext",
        "_einittext",
        "__sched_text_end",
        "__sched_text_start",
        "_text",
        "_stext",
        "x",
        "__pfx_alpha",
    ];

    fn text(lines: &[Line]) -> Vec<u8> {
        let mut text = String::new();
        for Line { address, kind, name, module } in lines {
            text.push_str(&format!("{address:016x} {kind} {name}"));
            if let Some(module) = module {
                text.push_str(&format!("\t[{module}]"));
            }
            text.push('\n');
        }
        text.into_bytes()
    }

    /// Name and start of the routine at `address`, by the rules in words.
    fn scan(lines: &[Line], address: u64) -> Option<(&'static str, u64)> {
        let is_end =
            |line: &&Line| ["_etext", "_einittext", "__sched_text_end"].contains(&line.name);
        let is_mark = |line: &&Line| {
            is_end(line) || ["_text", "_stext", "__sched_text_start"].contains(&line.name)
        };
        let code = |line: &&Line| "tTwW".contains(line.kind);
        // The nearest lower address at which anything is listed.
        let start =
            lines.iter().map(|line| line.address).filter(|&start| start <= address).max()?;
        let here: Vec<&Line> =
            lines.iter().filter(|line| line.address == start && code(line)).collect();
        let chosen = here
            .iter()
            .rfind(|line| !is_mark(line))
            .or_else(|| here.last().filter(|_| !here.iter().any(is_end)))?;
        // Only a following symbol of the same module lets it reach beyond its page.
        let next = lines.iter().filter(|line| line.address > start).min_by_key(|line| line.address);
        let reaches = next
            .is_some_and(|next| next.module == chosen.module && next.address - start <= 256 << 10);
        (reaches || address / 4096 == start / 4096).then_some((chosen.name, start))
    }

    fn line() -> impl Strategy<Value = Line> {
        let address = prop_oneof![
            0_u64..64,
            0x1000_u64..0x1040,
            4090_u64..4100,
            any::<u64>(),
            u64::MAX - 40..=u64::MAX,
        ];
        let kind = prop_oneof![3 => Just('t'), 3 => Just('T'), 1 => Just('W'), 2 => Just('d'), 1 => Just('A')];
        let module = prop_oneof![4 => Just(None), 1 => Just(Some("one")), 1 => Just(Some("two"))];
        (address, kind, prop::sample::select(&NAMES[..]), module)
            .prop_map(|(address, kind, name, module)| Line { address, kind, name, module })
    }

    proptest! {
        #[test]
        fn equals_the_scan(
            mut lines in prop::collection::vec(line(), 1..40),
            asked in prop::collection::vec(any::<u64>(), 0..8),
            offset in prop_oneof![Just(0_u64), any::<u64>()],
            sorted: bool,
        ) {
            prop_assume!(lines.iter().any(|line| line.address != 0));
            if sorted {
                lines.sort_by_key(|line| line.address);
            }
            // At one address the order of the list decides; which module's symbol
            // comes first among equals must be the same for both.
            let mut seen = std::collections::HashMap::new();
            lines.retain(|line| *seen.entry(line.address).or_insert(line.module) == line.module);
            let table = KernelSymbols::new(SymbolList::parse(text(&lines)).unwrap(), offset);
            let near = lines.iter().flat_map(|line| {
                [-1_i64, 0, 1, 7, 4095, 4096].map(|step| line.address.wrapping_add_signed(step))
            });
            for address in near.chain(asked).chain([0, u64::MAX]) {
                let found = table.find(address.wrapping_add(offset));
                let found = found.map(|routine| {
                    (std::str::from_utf8(routine.name).unwrap(), routine.start.wrapping_sub(offset))
                });
                let expected = scan(&lines, address);
                // The very last address cannot be below an end.
                if address != u64::MAX {
                    prop_assert_eq!(found, expected, "{:#x}", address);
                }
            }
        }
    }

    #[test]
    fn modules_end_where_proc_modules_says() {
        let lines =
            b"ffffffff81000000 T _text\nffffffff81000000 T start\nffffffff81000100 T _etext\n\
        ffffffffc0000000 t one_a\t[one]\nffffffffc0000040 t one_b\t[one]\n\
        ffffffffc0002000 t two_a\t[two]\nffffffffc0800000 t bpf_prog_1\t[bpf]\n";
        let list = || SymbolList::parse(lines.to_vec()).unwrap();
        let extents =
            [ModuleExtent { name: b"one".to_vec(), base: 0xffff_ffff_c000_0000, size: 0x1080 }];
        let name = |table: &KernelSymbols, address| {
            table.find(address).map(|routine| {
                (
                    String::from_utf8_lossy(routine.name).into_owned(),
                    routine.module.map(<[u8]>::to_vec),
                )
            })
        };
        let one = |name: &str| Some((name.to_owned(), Some(b"one".to_vec())));
        let known = KernelSymbols::with_modules(list(), 0, &extents);
        assert_eq!(name(&known, 0xffff_ffff_c000_107f), one("one_b"));
        assert_eq!(name(&known, 0xffff_ffff_c000_1080), None);
        let unknown = KernelSymbols::new(list(), 0);
        assert_eq!(name(&unknown, 0xffff_ffff_c000_0fff), one("one_b"));
        assert_eq!(name(&unknown, 0xffff_ffff_c000_1000), None);
        assert_eq!(name(&unknown, 0xffff_ffff_8100_0100), None);
        assert_eq!(
            name(&unknown, 0xffff_ffff_c080_0fff),
            Some(("bpf_prog_1".to_owned(), Some(b"bpf".to_vec())))
        );
        let extents: Vec<_> = unknown.extents().collect();
        assert_eq!(extents.len(), 4);
        assert_eq!(unknown.owner(0xffff_ffff_c000_0041).0, Some(0));
        assert_eq!(unknown.owner(0xffff_ffff_8100_0041).0, None);
    }

    #[test]
    fn nothing_holds_the_last_address() {
        let lines = b"fffffffffffffff0 T almost\nffffffffffffffff T last\n";
        let table = KernelSymbols::new(SymbolList::parse(lines.to_vec()).unwrap(), 0);
        assert_eq!((table.len(), table.find(u64::MAX)), (1, None));
        assert_eq!(table.routine(0).end, u64::MAX);
    }

    /// The running kernel's own list, every symbol of it.
    #[test]
    fn this_machines_kallsyms() {
        let Ok(bytes) = std::fs::read("/proc/kallsyms") else {
            eprintln!("skipped: no /proc/kallsyms");
            return;
        };
        let list = match SymbolList::parse(bytes) {
            Err(error) => {
                eprintln!("skipped: {error}");
                return;
            }
            Ok(list) => list,
        };
        let mut sorted: Vec<(u64, bool, String)> = list
            .entries
            .iter()
            .map(|entry| {
                let name = String::from_utf8_lossy(list.name(entry)).into_owned();
                (entry.address, entry.is_text(), name)
            })
            .collect();
        sorted.sort_by_key(|entry| entry.0);
        let table = KernelSymbols::new(list, 0);
        for group in sorted.chunk_by(|a, b| a.0 == b.0) {
            let (address, names) =
                (group[0].0, group.iter().filter(|entry| entry.1).map(|entry| entry.2.as_bytes()));
            let names: Vec<_> = names.collect();
            match table.find(address) {
                Some(routine) if routine.start == address => assert!(names.contains(&routine.name)),
                // Only data, or only an end mark, begins here.
                found => {
                    assert!(found.is_none(), "{address:#x}");
                    assert!(names.iter().all(|name| is_end_mark(name)), "{address:#x} {names:?}");
                }
            }
        }
    }

    #[test]
    fn variables_end_where_anything_begins() {
        let list =
            b"1000 T _text\n1100 t work\n2000 D init_task\n2040 d other\n2040 D alias\n2080 T late\n\
                 2090 b zeroed\n3000 B _end\n5000 d own\t[module]\n"
                .to_vec();
        let variables = |offset| {
            let table = KernelSymbols::new(SymbolList::parse(list.clone()).unwrap(), offset);
            table.variables().unwrap().unwrap()
        };
        let name = |table: &KernelSymbols, address| {
            table.find(address).map(|found| {
                (String::from_utf8_lossy(found.name).into_owned(), address - found.start)
            })
        };
        let here = variables(0);
        for (address, expected) in [
            (0x1100, None),
            (0x1fff, None),
            (0x2000, Some(("init_task", 0))),
            (0x203f, Some(("init_task", 0x3f))),
            (0x2041, Some(("alias", 1))),
            (0x2080, None),
            (0x2fff, Some(("zeroed", 0xf6f))),
            (0x5008, Some(("own", 8))),
            (0x6000, None),
        ] {
            let found = name(&here, address);
            let found = found.as_ref().map(|(name, offset)| (name.as_str(), *offset));
            assert_eq!(found, expected, "{address:#x}");
        }
        assert_eq!(here.module(0x5008), Some(&b"module"[..]));
        // Modules do not move with the kernel.
        let moved = variables(0x10_0000);
        assert_eq!(name(&moved, 0x10_2001), Some(("init_task".to_owned(), 1)));
        assert_eq!(name(&moved, 0x10_5008), None);
        assert_eq!(name(&moved, 0x5008), None);
    }

    /// As System.map has them on x86-64 before Linux 6.15: what the kernel asks
    /// for at run time lies between them and its image.
    #[test]
    fn variables_of_each_cpu_do_not_reach_up_to_the_image() {
        let list = b"0000000000000000 D __per_cpu_start\n0000000000034000 D __per_cpu_end\n\
                 ffffffff81000000 T _text\nffffffff82a14940 D init_task\n\
                 ffffffff82a18000 B _end\n";
        for offset in [0, 0x1e00_0000] {
            let table = KernelSymbols::new(SymbolList::parse(list.to_vec()).unwrap(), offset);
            let variables = table.variables().unwrap().unwrap();
            let name = |address| variables.find(address).map(|found| found.name);
            assert_eq!(name(0xffff_8880_1234_5678), None);
            assert_eq!(name(0xffff_c900_0000_1000), None);
            assert_eq!(name(0xffff_ffff_82a1_4950 + offset), Some(&b"init_task"[..]));
        }
    }

    #[test]
    fn a_list_of_marks_alone_names_no_variables() {
        let list = b"1000 T _text\n2000 D __start_rodata\n3000 B __init_begin\n".to_vec();
        let table = KernelSymbols::new(SymbolList::parse(list).unwrap(), 0);
        assert!(table.variables().unwrap().is_none());
    }

    /// Between sections lie gaps of a megabyte; trampolines have a page, BPF
    /// programs a pack in which they lie side by side.
    #[test]
    fn what_lies_far_from_the_next_symbol_is_not_stretched_up_to_it() {
        let lines = b"ffffffff81000000 T _text\nffffffff81000000 T start\n\
        ffffffff81100000 T __entry_text_start\nffffffff81100000 T __entry_text_end\n\
        ffffffff8110410b T srso_alias_return_thunk\nffffffff81200000 t run\n\
        ffffffff81230000 t long\nffffffff81260000 T _etext\n\
        ffffffffc0200040 t bpf_prog_1\t[bpf]\nffffffffc0206000 t bpf_prog_2\t[bpf]\n\
        ffffffffc0400000 t bpf_prog_3\t[bpf]\n\
        ffffffffc0500000 t ftrace_trampoline\t[__builtin__ftrace]\n\
        ffffffffc0502000 t ftrace_trampoline\t[__builtin__ftrace]\n";
        let table = KernelSymbols::new(SymbolList::parse(lines.to_vec()).unwrap(), 0);
        let name = |address| table.find(address).map(|found| found.name);
        let named: [(u64, Option<&[u8]>); 14] = [
            (0xffff_ffff_8110_0000, None),
            (0xffff_ffff_8100_0fff, Some(b"start")),
            (0xffff_ffff_8100_1000, None),
            (0xffff_ffff_8110_4fff, Some(b"srso_alias_return_thunk")),
            (0xffff_ffff_8110_5000, None),
            (0xffff_ffff_8122_ffff, Some(b"run")),
            (0xffff_ffff_8125_ffff, Some(b"long")),
            (0xffff_ffff_c020_5fff, Some(b"bpf_prog_1")),
            (0xffff_ffff_c020_6fff, Some(b"bpf_prog_2")),
            (0xffff_ffff_c020_7000, None),
            (0xffff_ffff_c040_0fff, Some(b"bpf_prog_3")),
            (0xffff_ffff_c040_1000, None),
            (0xffff_ffff_c050_0fff, Some(b"ftrace_trampoline")),
            (0xffff_ffff_c050_1000, None),
        ];
        for (address, wanted) in named {
            assert_eq!(name(address), wanted, "{address:#x}");
        }
    }
}
