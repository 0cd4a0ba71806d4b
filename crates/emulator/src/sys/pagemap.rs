//! Which pages of another process are there, and how they are mapped
//! (PAGEMAP_SCAN of /proc/PID/pagemap, Linux 6.7).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A run of pages of the same kind: struct page_region.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageRegion {
    pub(crate) start: u64,
    /// Behind the last.
    pub(crate) end: u64,
    categories: u64,
}

impl PageRegion {
    /// Mapped by one entry of a higher level: of 2 MiB at least.
    pub(crate) fn is_huge(&self) -> bool {
        self.categories & HUGE != 0
    }
}

const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
const HUGE: u64 = 1 << 6;
/// _IOWR('f', 16, struct pm_scan_arg)
const PAGEMAP_SCAN: libc::Ioctl = 0xc060_6610;

/// struct pm_scan_arg
#[repr(C)]
#[derive(Debug, Default)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// The pages of a range that are there, in order. `pagemap` is a process's.
pub(crate) fn scan(pagemap: &File, start: u64, end: u64) -> io::Result<Vec<PageRegion>> {
    let mut found = Vec::new();
    let mut from = start;
    while from < end {
        let mut runs = [PageRegion::default(); 256];
        let mut scan = ScanArgument {
            size: size_of::<ScanArgument>() as u64,
            start: from,
            end,
            vec: runs.as_mut_ptr().addr() as u64,
            vec_len: runs.len() as u64,
            category_anyof_mask: PRESENT | SWAPPED,
            return_mask: PRESENT | SWAPPED | HUGE,
            ..ScanArgument::default()
        };
        // SAFETY: reads and writes a `ScanArgument`, and writes at most `vec_len`
        // runs to `vec`.
        let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        found.extend(runs.iter().take(count));
        if scan.walk_end <= from {
            break;
        }
        from = scan.walk_end;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_are_there() {
        let pages = memmap2::MmapMut::map_anon(64 * 4096).unwrap();
        let mut pages = std::hint::black_box(pages);
        pages[4096 * 3] = 1;
        let start = pages.as_ptr().addr() as u64;
        let file = File::open("/proc/self/pagemap").unwrap();
        match scan(&file, start, start + 64 * 4096) {
            Ok(runs) => {
                let holds = |run: &PageRegion| (run.start..run.end).contains(&(start + 4096 * 3));
                assert!(runs.iter().any(holds), "{runs:?}");
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOTTY) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
