//! Memory to measure, of which is known what pages it has.

use crate::error::LatencyError;
use crate::order::random;
use crate::sys::{MemoryRegion, PageSize, bind};
use serde::Serialize;
use std::fs;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PageBacking {
    /// Whether pages of 2 MiB were asked for, rather than of 4 KiB.
    pub huge: bool,
    /// Bytes of it that are on pages of 2 MiB (AnonHugePages in
    /// /proc/self/smaps).
    pub huge_bytes: u64,
    pub bytes: u64,
}

impl PageBacking {
    /// Whether nearly all pages are as asked for.
    #[must_use]
    pub fn are_as_asked(&self) -> bool {
        let (huge, twentieth) = (self.huge_bytes, self.bytes / 20);
        if self.huge { huge >= self.bytes - twentieth } else { huge <= twentieth }
    }
}

/// A region each page of which was touched.
#[derive(Debug)]
pub(crate) struct MeasuredBuffer {
    pub(crate) region: MemoryRegion,
    pub(crate) pages: PageBacking,
}

impl MeasuredBuffer {
    /// So many bytes, rounded up, of that node if there is one.
    pub(crate) fn new(
        bytes: u64,
        huge: bool,
        node: Option<u32>,
    ) -> Result<MeasuredBuffer, LatencyError> {
        let pages = if huge { PageSize::Huge } else { PageSize::Small };
        let wanted = usize::try_from(bytes).unwrap_or(usize::MAX);
        let region = MemoryRegion::fresh(wanted, pages);
        let mut region = region.map_err(|source| LatencyError::Memory { bytes, source })?;
        if let Some(node) = node {
            bind(&mut region, node).map_err(|source| LatencyError::Node { node, source })?;
        }
        region.touch(&mut random());
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let huge_bytes = huge_bytes(&smaps, region.start() as u64);
        let pages = PageBacking { huge, huge_bytes, bytes: region.bytes() as u64 };
        Ok(MeasuredBuffer { region, pages })
    }
}

/// Bytes on huge pages of the mapping that an address is in; 0 where the
/// kernel does not say.
fn huge_bytes(smaps: &str, address: u64) -> u64 {
    let mut inside = false;
    for line in smaps.lines() {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        if let Some((begin, end)) =
            range.and_then(|(begin, end)| Some((hexadecimal(begin)?, hexadecimal(end)?)))
        {
            inside = (begin..end).contains(&address);
        } else if inside && let Some(kib) = line.strip_prefix("AnonHugePages:") {
            let kib: Option<u64> = kib.trim().trim_end_matches("kB").trim().parse().ok();
            return kib.unwrap_or(0).saturating_mul(1024);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_those_of_the_mapping() {
        let smaps = "1000-2000 rw-p 00000000 00:00 0 \nAnonHugePages:      2048 kB\n\
                     00200000-00800000 rw-p 00000000 00:00 0 \nRss: 6144 kB\n\
                     AnonHugePages:      4096 kB\n";
        assert_eq!(huge_bytes(smaps, 0x20_0000), 4 << 20);
        assert_eq!(huge_bytes(smaps, 0x1fff), 2 << 20);
        assert_eq!(huge_bytes(smaps, 0x80_0000), 0);
    }

    #[test]
    fn pages_are_as_asked_if_nearly_all_are() {
        let pages = |huge, huge_bytes| PageBacking { huge, huge_bytes, bytes: 100 };
        assert!(pages(true, 96).are_as_asked() && !pages(true, 90).are_as_asked());
        assert!(pages(false, 0).are_as_asked() && !pages(false, 50).are_as_asked());
    }

    #[test]
    fn small_pages_are_had() {
        let buffer = MeasuredBuffer::new(3 << 20, false, None).unwrap();
        assert_eq!((buffer.pages.bytes, buffer.pages.huge_bytes), (4 << 20, 0));
    }
}
