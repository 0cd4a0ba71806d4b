//! /proc/PID/maps: what lies where, and where there is room.

use std::io;
use std::ops::Range;

use super::limits;

pub(crate) const PAGE: u64 = 4096;

/// A mapping of a process, as a line of /proc/PID/maps has it (proc_pid_maps(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedRegion {
    pub start: u64,
    /// Behind the last.
    pub end: u64,
    /// PROT_* bits.
    pub protection: u32,
    /// MAP_SHARED, not MAP_PRIVATE.
    pub shared: bool,
    /// Bytes.
    pub offset: u64,
    pub device: (u32, u32),
    /// Its inode; 0: no file.
    pub inode: u64,
    /// Path, or a name in brackets, as the kernel escapes it (a line feed is `\012`); empty for
    /// anonymous memory.
    pub path: Vec<u8>,
}

/// PROT_READ, PROT_WRITE, PROT_EXEC.
pub(crate) const READ: u32 = 1;
pub(crate) const WRITE: u32 = 2;
pub(crate) const EXEC: u32 = 4;

impl MappedRegion {
    /// None: no such line.
    pub fn parse(line: &[u8]) -> Option<MappedRegion> {
        let mut rest = line;
        let mut word = || {
            let from = rest.iter().position(|byte| *byte != b' ')?;
            let tail = rest.get(from..)?;
            let to = tail.iter().position(|byte| *byte == b' ').unwrap_or(tail.len());
            let (word, tail) = tail.split_at_checked(to)?;
            rest = tail;
            std::str::from_utf8(word).ok()
        };
        let (start, end) = word()?.split_once('-')?;
        let bits = word()?.as_bytes().to_owned();
        let offset = u64::from_str_radix(word()?, 16).ok()?;
        let (major, minor) = word()?.split_once(':')?;
        let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
        let inode = word()?.parse().ok()?;
        let from = rest.iter().position(|byte| *byte != b' ').unwrap_or(rest.len());
        let bit = |at: usize, letter, value| if bits.get(at) == Some(&letter) { value } else { 0 };
        Some(MappedRegion {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            protection: bit(0, b'r', READ) | bit(1, b'w', WRITE) | bit(2, b'x', EXEC),
            shared: bits.get(3) == Some(&b's'),
            offset,
            device,
            inode,
            path: rest.get(from..)?.to_owned(),
        })
    }

    pub(crate) fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    pub fn is_executable(&self) -> bool {
        self.protection & EXEC != 0
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.protection & WRITE != 0
    }
}

/// The regions of a process, in order.
pub(crate) fn regions(pid: i32) -> io::Result<Vec<MappedRegion>> {
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(MappedRegion::parse).collect())
}

/// The same, and a range that is not free either.
pub(crate) fn regions_and(pid: i32, range: &Range<u64>) -> io::Result<Vec<MappedRegion>> {
    let mut regions = regions(pid)?;
    if !range.is_empty() {
        regions.push(MappedRegion {
            start: range.start,
            end: range.end,
            protection: 0,
            shared: false,
            offset: 0,
            device: (0, 0),
            inode: 0,
            path: Vec::new(),
        });
        regions.sort_by_key(|region| region.start);
    }
    Ok(regions)
}

/// The most that a stack is taken to grow to where nothing limits it.
const MAX_STACK: u64 = 1 << 30;

/// The regions of a process, its stack as large as it may become: it grows
/// without a call that would tell.
pub(crate) fn regions_with_stack(pid: i32) -> io::Result<Vec<MappedRegion>> {
    let mut regions = regions(pid)?;
    grow_stack(&mut regions, limits::stack(pid)?.unwrap_or(MAX_STACK));
    Ok(regions)
}

fn grow_stack(regions: &mut [MappedRegion], limit: u64) {
    /// The kernel leaves so much free below a stack (stack_guard_gap).
    const GUARD: u64 = 256 << 12;
    let Some(at) = regions.iter().position(|region| region.path == b"[stack]") else { return };
    let below = at.checked_sub(1).and_then(|at| regions.get(at)).map_or(0, |region| region.end);
    let Some(stack) = regions.get_mut(at) else { return };
    let lowest = stack.end.saturating_sub(limit.min(MAX_STACK)).max(below.saturating_add(GUARD));
    stack.start = stack.start.min(lowest.next_multiple_of(PAGE));
}

/// The lowest address that is given to a mapping: vm.mmap_min_addr is 64 KiB
/// mostly.
const LOWEST: u64 = 0x1_0000;
/// One beyond the highest of 47 bits, less a page.
const HIGHEST: u64 = 0x7fff_ffff_f000;
/// Left free between a mapping of ours and others: stacks grow into guard
/// gaps of 1 MiB.
const GAP: u64 = 0x20_0000;
/// Left free above a program that lies low: its heap (brk) grows there.
const HEAP: u64 = 0x4000_0000;
/// How far code may be from its translation: displacements of 32 bits, less
/// what an instruction reaches beyond its mapping.
const REACH: u64 = 0x7000_0000;

/// An address for `bytes` bytes, all of which is within reach of `near`;
/// below it for choice, where neither heap nor stack grow.
pub(crate) fn room_near(regions: &[MappedRegion], near: u64, bytes: u64) -> Option<u64> {
    // A large program that lies low leaves its heap less.
    [HEAP, HEAP / 4, HEAP / 16, GAP].iter().find_map(|heap| gap_near(regions, near, bytes, *heap))
}

fn gap_near(regions: &[MappedRegion], near: u64, bytes: u64, heap_room: u64) -> Option<u64> {
    let low = near.saturating_sub(REACH).max(LOWEST);
    let high = near.saturating_add(REACH).min(HIGHEST);
    let mut below = None;
    let mut above = None;
    let mut heap_end = 0;
    let mut from = LOWEST;
    let edges = regions.iter().map(|r| (r.start, r.end, r.path == b"[heap]"));
    for (start, end, heap) in edges.chain([(HIGHEST, HIGHEST, false)]) {
        let start = start.min(HIGHEST);
        // The gap [from, start), with its margins.
        let spare = if heap_end == from { heap_room } else { GAP };
        let (bottom, top) = (from.saturating_add(spare), start.saturating_sub(GAP));
        let highest = top.min(high).checked_sub(bytes).map(|at| at & !0xfff);
        if let Some(highest) = highest.filter(|at| *at >= bottom.max(low)) {
            if start <= near {
                below = Some(highest);
            } else if above.is_none() {
                above = Some(highest);
            }
        }
        // A program's heap starts behind it, also while there is none yet.
        if heap || (end < 0x8000_0000 && end > 0) {
            heap_end = end;
        }
        from = end.max(from);
    }
    below.or(above)
}

/// An address for `bytes` bytes anywhere: high, where mappings are made
/// anyway.
pub(crate) fn room(regions: &[MappedRegion], bytes: u64) -> Option<u64> {
    // What is near code is for its translation.
    [REACH, GAP].iter().find_map(|spare| highest(regions, bytes, *spare))
}

/// The highest address below the stack that leaves `spare` bytes up to what
/// is mapped above it.
fn highest(regions: &[MappedRegion], bytes: u64, spare: u64) -> Option<u64> {
    let stack = regions.iter().find(|region| region.path == b"[stack]");
    let top = stack.map_or(HIGHEST, |stack| stack.start);
    let mut found = None;
    let mut from = LOWEST;
    for region in regions.iter().filter(|region| region.start < top) {
        let highest = region.start.saturating_sub(spare + bytes) & !0xfff;
        // What a call names may go up to the last address.
        if highest >= from.saturating_add(GAP) && region.start > from {
            found = Some(highest);
        }
        from = region.end.max(from);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: u64, end: u64, path: &str) -> MappedRegion {
        MappedRegion {
            start,
            end,
            protection: READ,
            shared: false,
            offset: 0,
            device: (0, 0),
            inode: 0,
            path: path.into(),
        }
    }

    #[test]
    fn lines_are_read() {
        let line = b"7f00-7f10 r-xp 0001a000 fe:01 1234                       /a b/lib (deleted)";
        let region = MappedRegion::parse(line).unwrap();
        assert_eq!((region.start, region.end, region.offset), (0x7f00, 0x7f10, 0x1a000));
        assert_eq!((region.device, region.inode), ((0xfe, 1), 1234));
        assert!(region.is_executable() && !region.is_writable() && !region.shared);
        assert_eq!(region.path, b"/a b/lib (deleted)");
        let own = regions(i32::try_from(std::process::id()).unwrap()).unwrap();
        assert!(own.iter().any(|region| region.path == b"[stack]"));
    }

    #[test]
    fn anonymous_and_shared_and_special_ones_are_read() {
        let anonymous =
            MappedRegion::parse(b"c000000000-c000400000 rw-p 00000000 00:00 0 ").unwrap();
        assert_eq!((&anonymous.path[..], anonymous.is_executable()), (&b""[..], false));
        assert!(
            MappedRegion::parse(b"10-20 rw-s 00000000 00:01 7 /dev/zero (deleted)").unwrap().shared
        );
        let vsyscall = MappedRegion::parse(
            b"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]",
        )
        .unwrap();
        assert_eq!((&vsyscall.path[..], vsyscall.protection), (&b"[vsyscall]"[..], 4));
    }

    #[test]
    fn other_lines_are_none() {
        for line in ["", "x", "10-20", "10-20 r", "10-zz r-xp 0 0:0 0", "10-20 r-xp 0 00 0 x"] {
            assert_eq!(MappedRegion::parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn room_is_found_below_a_pie() {
        let map = [
            at(0x5555_5555_4000, 0x5555_5556_0000, "/bin/x"),
            at(0x5555_5556_0000, 0x5555_5558_0000, "[heap]"),
            at(0x7fff_f7d0_0000, 0x7fff_f7ff_f000, "/lib"),
            at(0x7fff_ffdd_e000, 0x7fff_ffff_f000, "[stack]"),
        ];
        let found = room_near(&map, 0x5555_5555_4000, 0x400_0000).unwrap();
        assert!(found + 0x400_0000 < 0x5555_5555_4000 && 0x5555_5555_4000 - found < REACH);
        let found = room_near(&map, 0x7fff_f7d0_0000, 0x400_0000).unwrap();
        assert!(found + 0x400_0000 < 0x7fff_f7d0_0000);
        assert!(room(&map, 0x1000_0000).unwrap() < 0x7fff_f7d0_0000);
    }

    #[test]
    fn beside_all_of_memory_there_is_no_room() {
        let map = [
            at(0, !0xfff, ""),
            at(0x5555_5555_4000, 0x5555_5556_0000, "/bin/x"),
            at(0x7fff_ffdd_e000, 0x7fff_ffff_f000, "[stack]"),
        ];
        assert_eq!(room(&map, 0x1000_0000), None);
        assert_eq!(room_near(&map, 0x5555_5555_4000, 0x400_0000), None);
    }

    #[test]
    fn a_stack_is_told_as_it_may_grow() {
        let grown = |below: u64, limit| {
            let mut map =
                [at(0x1000, below, "/lib"), at(0x7fff_f000_0000, 0x7fff_f002_0000, "[stack]")];
            grow_stack(&mut map, limit);
            map[1].start
        };
        assert_eq!(grown(0x2000, 8 << 20), 0x7fff_ef82_0000, "8 MiB from its end");
        assert_eq!(grown(0x7fff_ef90_0000, 8 << 20), 0x7fff_efa0_0000, "1 MiB is left free");
        assert_eq!(grown(0x7fff_effc_0000, 8 << 20), 0x7fff_f000_0000, "there is no room");
        assert_eq!(grown(0x2000, u64::MAX), 0x7fff_b002_0000);
        assert_eq!(grown(0x2000, 4096), 0x7fff_f000_0000, "it is larger already");
    }

    /// Without randomization the loader lies just below the stack.
    #[test]
    fn large_memory_leaves_room_for_translations() {
        let mut map = vec![
            at(0x5555_5555_4000, 0x5555_5556_0000, "/bin/x"),
            at(0x7fff_f7fc_2000, 0x7fff_f7ff_f000, "/lib/ld"),
            at(0x7fff_ffdd_e000, 0x7fff_ffff_f000, "[stack]"),
        ];
        let bytes = 0x1_0000_0000;
        let found = room(&map, bytes).unwrap();
        map.insert(1, at(found, found + bytes, "ours"));
        room_near(&map, 0x7fff_f7fe_4b70, 0x800_0000).unwrap();
    }

    #[test]
    fn a_large_program_that_lies_low_has_room() {
        let map = [
            at(0x40_0000, 0x40_2000, "/bin/static"),
            at(0x1000_0000, 0x5000_0000, ""),
            at(0x7fff_ffdd_e000, 0x7fff_ffff_f000, "[stack]"),
        ];
        let found = room_near(&map, 0x40_1000, 0x800_0000).unwrap();
        assert!(found >= 0x5000_0000 && found + 0x800_0000 <= 0x40_1000 + REACH);
    }

    #[test]
    fn a_low_program_keeps_room_for_its_heap() {
        let map = [
            at(0x40_0000, 0x60_0000, "/bin/static"),
            at(0x7fff_ffdd_e000, 0x7fff_ffff_f000, "[stack]"),
        ];
        let found = room_near(&map, 0x40_0000, 0x400_0000).unwrap();
        assert!(found >= 0x60_0000 + HEAP && found + 0x400_0000 <= 0x40_0000 + REACH);
    }
}
