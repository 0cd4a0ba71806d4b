//! Offset in the file -> link-time address.

/// A PT_LOAD program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) offset: u64,
    pub(crate) address: u64,
    /// Bytes in the file (p_filesz, never p_memsz: what lies beyond comes
    /// from no file).
    pub(crate) size: u64,
    /// Bytes in memory (p_memsz): what the file does not hold is zero.
    pub(crate) memory: u64,
    pub(crate) executable: bool,
}

/// A translation, and the file offsets for which its delta holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffsetTranslation {
    /// Added to an offset, modulo 2^64.
    pub(crate) delta: u64,
    pub(crate) first: u64,
    /// Last offset, inclusive.
    pub(crate) last: u64,
}

/// All PT_LOAD program headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segments {
    pub(crate) segments: Vec<Segment>,
    /// What the kernel rounds mappings to.
    pub(crate) page: u64,
}

impl Segments {
    /// The offset in the file of what was linked for `address`, and how many
    /// bytes of the segment follow from there, at least one.
    pub(crate) fn offset_of(&self, address: u64) -> Option<(u64, u64)> {
        let holds = |segment: &&Segment| {
            address.checked_sub(segment.address).is_some_and(|into| into < segment.size)
        };
        let mut holding = self.segments.iter().filter(holds);
        let first = holding.clone().find(|segment| segment.executable);
        let segment = first.or_else(|| holding.next())?;
        let into = address - segment.address;
        Some((segment.offset.checked_add(into)?, segment.size - into))
    }

    /// The segment that a mapping of data shows at `offset`: by exact extent,
    /// which no two share, else the last one whose zeroes fill the rest of its
    /// page: one before it ends where it starts.
    pub(crate) fn of_data(&self, offset: u64) -> Option<&Segment> {
        let into = |segment: &Segment| offset.checked_sub(segment.offset);
        let in_file = |segment: &&Segment| into(segment).is_some_and(|into| into < segment.size);
        let is_zeroes = |segment: &&Segment| {
            let into = into(segment);
            !segment.executable && into.is_some_and(|into| into < segment.memory)
        };
        let mut exact = self.segments.iter().filter(in_file);
        let data = exact.clone().find(|segment| !segment.executable);
        data.or_else(|| exact.next())
            .or_else(|| self.segments.iter().filter(is_zeroes).max_by_key(|segment| segment.offset))
    }

    /// The address that code at `offset` was linked for.
    ///
    /// Linkers other than GNU's let two segments share a page of the file,
    /// with different distances between offset and address. Code runs in an
    /// executable segment, so those come first: by their exact extent, then
    /// by the pages that their mapping shows.
    pub(crate) fn translate(&self, offset: u64) -> Option<OffsetTranslation> {
        let exact =
            |segment: &Segment| (segment.offset, segment.offset.saturating_add(segment.size));
        let paged = |segment: &Segment| {
            let (first, end) = exact(segment);
            let mask = self.page.max(1) - 1;
            (first & !mask, end.checked_add(mask).map_or(u64::MAX, |end| end & !mask))
        };
        let find = |executable: bool, extent: &dyn Fn(&Segment) -> (u64, u64)| {
            self.segments.iter().filter(|segment| segment.executable == executable).find(
                |segment| {
                    let (first, end) = extent(segment);
                    (first..end).contains(&offset)
                },
            )
        };
        let exact_hit = |executable| {
            find(executable, &exact).map(|segment| {
                let (first, end) = exact(segment);
                (segment, first, end - 1)
            })
        };
        let paged_hit =
            |executable| find(executable, &paged).map(|segment| (segment, offset, offset));
        let (segment, first, last) = exact_hit(true)
            .or_else(|| paged_hit(true))
            .or_else(|| exact_hit(false).map(|(segment, ..)| (segment, offset, offset)))
            .or_else(|| paged_hit(false))?;
        Some(OffsetTranslation { delta: segment.address.wrapping_sub(segment.offset), first, last })
    }
}
