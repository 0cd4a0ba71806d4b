//! A cursor over bytes in either byte order, and the words lent from it.

use crate::units::{Cpu, Pid, Tid, Time};

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

/// Up to the first NUL; what is no UTF-8 shows as U+FFFD.
pub(crate) fn text_before_nul(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
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
}

/// A value that has one form in records.
pub(crate) trait FixedField: Sized {
    fn decode(c: &mut Cursor<'_>) -> Result<Self, Short>;
    fn encode(&self, w: &mut ByteWriter<'_>);
}

macro_rules! numbers {
    ($($number:ident)*) => {
        impl Cursor<'_> {
            $(
                /// The next number.
                #[inline]
                pub fn $number(&mut self) -> Result<$number, Short> {
                    let array = self.array()?;
                    Ok(match self.order {
                        ByteOrder::Little => $number::from_le_bytes(array),
                        ByteOrder::Big => $number::from_be_bytes(array),
                    })
                }
            )*
        }

        impl ByteWriter<'_> {
            $(
                pub fn $number(&mut self, value: $number) {
                    match self.order {
                        ByteOrder::Little => self.raw(&value.to_le_bytes()),
                        ByteOrder::Big => self.raw(&value.to_be_bytes()),
                    }
                }
            )*
        }

        $(impl FixedField for $number {
            fn decode(c: &mut Cursor<'_>) -> Result<$number, Short> {
                c.$number()
            }

            fn encode(&self, w: &mut ByteWriter<'_>) {
                w.$number(*self);
            }
        })*
    };
}

numbers! { u8 u16 u32 i32 u64 }

/// Here, as `units` is compiled without this file, too (`crates/heap-preload/embedded`).
macro_rules! quantities {
    ($($name:ident)*) => {
        $(impl FixedField for $name {
            fn decode(c: &mut Cursor<'_>) -> Result<$name, Short> {
                FixedField::decode(c).map($name)
            }

            fn encode(&self, w: &mut ByteWriter<'_>) {
                self.0.encode(w);
            }
        })*
    };
}

quantities! { Time Pid Tid Cpu }

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

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
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
