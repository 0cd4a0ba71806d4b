//! /proc/PID/smaps: of which size the pages of a mapping are.

use std::fs::File;
use std::io;

use super::maps::MappedRegion;
use crate::sys::pagemap;

/// Bytes of what a large page holds at least; log2 of it.
pub(crate) const BLOCK: u64 = 1 << BLOCK_BITS;
const BLOCK_BITS: u64 = 21;

/// Addresses whose pages are of one size above 4 KiB: begin, end, log2 of
/// the size.
pub(crate) type HugePageRange = [u64; 3];

#[derive(Debug)]
struct Mapping {
    region: MappedRegion,
    /// Bytes of its pages (hugetlbfs: more than 4 KiB).
    page: u64,
    resident: u64,
    /// Bytes of it that large pages hold.
    huge: u64,
    /// A fault may bring a large page.
    eligible: bool,
}

/// Whether the kernel gives large pages unasked, when asked, or never
/// (transparent_hugepage/enabled).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransparentHugePages {
    Always,
    Madvise,
    Never,
}

pub(crate) fn transparent() -> TransparentHugePages {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let text = std::fs::read_to_string(path).unwrap_or_default();
    match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some(("always", _)) => TransparentHugePages::Always,
        Some(("madvise", _)) => TransparentHugePages::Madvise,
        _ => TransparentHugePages::Never,
    }
}

/// The large pages of a process, in order: those that are there, and those
/// that the first access to them will bring.
pub(crate) fn huge_page_ranges(pid: i32) -> io::Result<Vec<HugePageRange>> {
    let text = std::fs::read(format!("/proc/{pid}/smaps"))?;
    let pagemap = File::open(format!("/proc/{pid}/pagemap"))?;
    let mut found: Vec<HugePageRange> = Vec::new();
    for mapping in mappings(&text).iter().filter(|mapping| mapping.region.protection != 0) {
        for large in of_mapping(mapping, &pagemap) {
            match found.last_mut() {
                Some(last) if last[1] == large[0] && last[2] == large[2] => last[1] = large[1],
                _ => found.push(large),
            }
        }
    }
    Ok(found)
}

fn of_mapping(mapping: &Mapping, pagemap: &File) -> Vec<HugePageRange> {
    let MappedRegion { start, end, .. } = mapping.region;
    if mapping.page > 4096 {
        return vec![[start, end, u64::from(mapping.page.trailing_zeros())]];
    }
    // Page caches get large pages from khugepaged, not from faults.
    let foretold = mapping.eligible && mapping.region.inode == 0;
    let (start, end) = (start.next_multiple_of(BLOCK), end & !(BLOCK - 1));
    if start >= end || !foretold && mapping.huge == 0 {
        return Vec::new();
    }
    match pagemap::scan(pagemap, start, end) {
        Ok(runs) => {
            let huge = runs.iter().filter(|run| run.is_huge()).map(|run| (run.start, run.end));
            let small = runs.iter().filter(|run| !run.is_huge()).map(|run| (run.start, run.end));
            if foretold { without(start, end, small) } else { blocks(huge) }
        }
        // Before Linux 6.7 what most of the mapping has is taken for all.
        Err(_) if 2 * mapping.huge >= mapping.resident => vec![[start, end, BLOCK_BITS]],
        Err(_) => Vec::new(),
    }
}

/// The blocks of a range in which nothing of `small` lies.
fn without(start: u64, end: u64, small: impl Iterator<Item = (u64, u64)>) -> Vec<HugePageRange> {
    let mut found = Vec::new();
    let mut from = start;
    for (begin, after) in small.chain([(end, end)]) {
        let until = begin & !(BLOCK - 1);
        if until > from {
            found.push([from, until, BLOCK_BITS]);
        }
        from = from.max(after.next_multiple_of(BLOCK));
    }
    found
}

fn blocks(huge: impl Iterator<Item = (u64, u64)>) -> Vec<HugePageRange> {
    huge.map(|(start, end)| [start, end, BLOCK_BITS]).collect()
}

fn mappings(text: &[u8]) -> Vec<Mapping> {
    let mut found: Vec<Mapping> = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        if let Some(region) = MappedRegion::parse(line) {
            found.push(Mapping { region, page: 4096, resident: 0, huge: 0, eligible: false });
        } else if let Some(last) = found.last_mut() {
            field(last, line);
        }
    }
    found
}

fn field(mapping: &mut Mapping, line: &[u8]) {
    let Some((name, value)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once(':'))
    else {
        return;
    };
    let number = || value.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
    match name {
        "KernelPageSize" => mapping.page = number() << 10,
        "Rss" => mapping.resident = number() << 10,
        "AnonHugePages" | "ShmemPmdMapped" | "FilePmdMapped" => mapping.huge += number() << 10,
        "THPeligible" => mapping.eligible = number() != 0,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_belong_to_the_mapping_above() {
        let text = b"7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n\
            Rss:                2048 kB\nKernelPageSize:        4 kB\n\
            AnonHugePages:      2048 kB\nTHPeligible:           1\nVmFlags: rd wr mr mw me ac hg\n\
            7f0000400000-7f0000800000 rw-s 00000000 00:0f 12 /anon_hugepage (deleted)\n\
            KernelPageSize:     2048 kB\nAnonHugePages:         0 kB\nTHPeligible:           0\n";
        let found = mappings(text);
        let told: Vec<_> = found
            .iter()
            .map(|found| {
                (found.region.start, found.page, found.resident, found.huge, found.eligible)
            })
            .collect();
        let mib = 1 << 20;
        assert_eq!(
            told,
            [
                (0x7f00_0000_0000, 4096, 2 * mib, 2 * mib, true),
                (0x7f00_0040_0000, 2 * mib, 0, 0, false)
            ]
        );
    }

    #[test]
    fn a_block_with_a_small_page_is_small() {
        let block = |number: u64| number * BLOCK;
        let small = [(block(2) + 4096, block(2) + 8192), (block(4) - 4096, block(5) + 4096)];
        let found = without(block(1), block(9), small.into_iter());
        assert_eq!(found, [[block(1), block(2), 21], [block(6), block(9), 21]]);
        assert_eq!(without(block(1), block(3), [].into_iter()), [[block(1), block(3), 21]]);
        let whole = [(block(1), block(3))];
        assert_eq!(without(block(1), block(3), whole.into_iter()), Vec::<HugePageRange>::new());
    }

    #[test]
    fn own_memory_is_read() {
        huge_page_ranges(i32::try_from(std::process::id()).unwrap()).unwrap();
    }
}
