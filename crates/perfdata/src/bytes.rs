//! A cursor over bytes in either byte order, and the words lent from it.

/// Byte order of a recording; the file header's magic tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

/// The bytes ended before the value did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("needs {wanted} bytes at offset {offset}, {left} are left")]
pub struct Short {
    /// Where the value starts, bytes from the start of the cursor's input.
    pub offset: usize,
    /// Bytes that the value takes.
    pub wanted: usize,
    /// Bytes that are there.
    pub left: usize,
}

/// Reads values one after the other; never past the end.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    order: ByteOrder,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Cursor { bytes, at: 0, order }
    }

    /// The byte order values are read in.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Bytes read so far.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Short> {
        let left = self.left();
        if count > left {
            return Err(Short { offset: self.at, wanted: count, left });
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    /// Everything not read yet.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// Whether what is not read yet begins with `front`.
    pub fn rest_starts_with(&self, front: &[u8]) -> bool {
        self.bytes[self.at..].starts_with(front)
    }

    /// `count` 64-bit words, lent.
    #[inline]
    pub fn words(&mut self, count: u64) -> Result<RecordWords<'a>, Short> {
        let wanted = usize::try_from(count).ok().and_then(|n| n.checked_mul(8));
        let wanted = wanted.unwrap_or(usize::MAX);
        Ok(RecordWords { bytes: self.take(wanted)?, order: self.order })
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Short> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Short> {
        let array = self.array()?;
        Ok(match self.order {
            ByteOrder::Little => u16::from_le_bytes(array),
            ByteOrder::Big => u16::from_be_bytes(array),
        })
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Short> {
        let array = self.array()?;
        Ok(match self.order {
            ByteOrder::Little => u32::from_le_bytes(array),
            ByteOrder::Big => u32::from_be_bytes(array),
        })
    }

    /// Four bytes, signed.
    #[inline]
    pub fn i32(&mut self) -> Result<i32, Short> {
        Ok(self.u32()?.cast_signed())
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Short> {
        let array = self.array()?;
        Ok(match self.order {
            ByteOrder::Little => u64::from_le_bytes(array),
            ByteOrder::Big => u64::from_be_bytes(array),
        })
    }
}

/// 64-bit words lent from a record, in the record's byte order.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordWords<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> RecordWords<'a> {
    /// Words over `bytes`; a rest shorter than a word is not seen.
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        RecordWords { bytes, order }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / 8
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Word number `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        let start = index.checked_mul(8)?;
        let word = self.bytes.get(start..start.checked_add(8)?)?;
        let word: [u8; 8] = word.try_into().ok()?;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(word),
            ByteOrder::Big => u64::from_be_bytes(word),
        })
    }

    /// All of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + Clone + use<'a> {
        let words = *self;
        (0..words.len()).map(move |index| words.get(index).unwrap_or(0))
    }

    /// The byte order they are in.
    pub fn order(&self) -> ByteOrder {
        self.order
    }
}

/// Words are equal when their values are, whatever the byte order.
impl PartialEq for RecordWords<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
impl Eq for RecordWords<'_> {}

/// Appends values in a byte order.
#[derive(Debug)]
pub struct ByteWriter<'b> {
    bytes: &'b mut Vec<u8>,
    order: ByteOrder,
}

impl<'b> ByteWriter<'b> {
    /// Appends to `bytes`.
    pub fn new(bytes: &'b mut Vec<u8>, order: ByteOrder) -> Self {
        ByteWriter { bytes, order }
    }

    /// The byte order values are written in.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Bytes in the buffer, those before this writer included.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the buffer holds nothing.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Raw bytes.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) {
        match self.order {
            ByteOrder::Little => self.raw(&value.to_le_bytes()),
            ByteOrder::Big => self.raw(&value.to_be_bytes()),
        }
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        match self.order {
            ByteOrder::Little => self.raw(&value.to_le_bytes()),
            ByteOrder::Big => self.raw(&value.to_be_bytes()),
        }
    }

    /// Four bytes, signed.
    pub fn i32(&mut self, value: i32) {
        self.u32(value.cast_unsigned());
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) {
        match self.order {
            ByteOrder::Little => self.raw(&value.to_le_bytes()),
            ByteOrder::Big => self.raw(&value.to_be_bytes()),
        }
    }

    /// Words, turned into this writer's byte order.
    pub fn words(&mut self, words: RecordWords<'_>) {
        if words.order == self.order {
            self.raw(&words.bytes[..words.len() * 8]);
        } else {
            words.iter().for_each(|word| self.u64(word));
        }
    }

    /// Zeroes up to a multiple of `alignment` bytes from `start`.
    pub fn pad(&mut self, start: usize, alignment: usize) {
        let written = self.bytes.len().saturating_sub(start);
        let padded = written.next_multiple_of(alignment.max(1));
        self.bytes.resize(self.bytes.len() + padded - written, 0);
    }
}
