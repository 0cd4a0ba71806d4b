//! Bytes of many records, kept until each was taken once.

/// Bytes of one block: any record fits in it.
const BLOCK: usize = 1 << 18;

#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    block: u32,
    start: u32,
    length: u32,
}

/// Blocks that fill one after the other and are used again when all that
/// was put into them is taken: records mostly go in the order they came.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    current: usize,
    free: Vec<usize>,
}

#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    /// Records not taken yet.
    records: u32,
}

impl Blocks {
    /// Keeps the bytes of a record, of which the first 65,535 count.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) -> Span {
        let bytes = &bytes[..bytes.len().min(usize::from(u16::MAX))];
        let fits =
            self.blocks.get(self.current).is_some_and(|it| it.bytes.len() + bytes.len() <= BLOCK);
        if !fits {
            self.open();
        }
        let block = &mut self.blocks[self.current];
        let start = block.bytes.len();
        block.bytes.extend_from_slice(bytes);
        block.records += 1;
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Span { block: small(self.current), start: small(start), length: small(bytes.len()) }
    }

    /// The bytes of a record, once.
    #[inline]
    pub(super) fn take(&mut self, span: Span) -> &[u8] {
        let index = usize::try_from(span.block).unwrap_or(usize::MAX);
        let block = &mut self.blocks[index];
        block.records -= 1;
        if block.records == 0 && index != self.current {
            self.free.push(index);
        }
        let start = usize::try_from(span.start).unwrap_or(usize::MAX);
        let length = usize::try_from(span.length).unwrap_or(usize::MAX);
        &self.blocks[index].bytes[start..start + length]
    }

    /// Bytes of memory in use.
    #[inline]
    pub(super) fn size(&self) -> usize {
        (self.blocks.len() - self.free.len()) * BLOCK
    }

    /// Makes an empty block the one that fills.
    #[cold]
    fn open(&mut self) {
        if self.blocks.get(self.current).is_some_and(|it| it.records == 0) {
            self.free.push(self.current);
        }
        self.current = self.free.pop().unwrap_or_else(|| {
            self.blocks.push(Block { bytes: Vec::with_capacity(BLOCK), records: 0 });
            self.blocks.len() - 1
        });
        self.blocks[self.current].bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_blocks_are_used_again() {
        let mut blocks = Blocks::default();
        let mut waiting = std::collections::VecDeque::new();
        for number in 0..100_000u32 {
            let bytes = number.to_le_bytes().repeat(usize::try_from(number % 30).unwrap());
            waiting.push_back((blocks.put(&bytes), bytes));
            if waiting.len() > 10_000 {
                let (span, bytes) = waiting.pop_front().unwrap();
                assert_eq!(blocks.take(span), bytes);
            }
        }
        for (span, bytes) in waiting {
            assert_eq!(blocks.take(span), bytes);
        }
        assert!(blocks.blocks.len() <= 5, "{} blocks for 600 KB at once", blocks.blocks.len());
    }

    #[test]
    fn the_largest_record_fits_and_more_is_cut() {
        let mut blocks = Blocks::default();
        let large = vec![7; 70_000];
        let spans: Vec<Span> = (0..9).map(|_| blocks.put(&large)).collect();
        for span in spans {
            assert_eq!(blocks.take(span), &large[..65_535]);
        }
        assert!(blocks.put(&[]).length == 0);
    }
}
