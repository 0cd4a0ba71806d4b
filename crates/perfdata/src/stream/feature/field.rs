//! The form of each type that features are made of.

use crate::bytes::{ByteWriter, Cursor, FixedField, Short, text_before_nul};

/// Strings are padded so that their length is a multiple of this, and so are
/// perf's own.
pub(super) const STRING_ALIGNMENT: usize = 64;

/// A type with one form in features.
pub(super) trait FeatureField: Sized {
    fn decode(c: &mut Cursor<'_>) -> Result<Self, Short>;
    fn encode(&self, w: &mut ByteWriter<'_>);
    /// Bytes of memory beyond its own, about.
    fn memory(&self) -> usize;
}

/// What stands in lists behind their count.
pub(super) trait ListItem: FeatureField {}

/// Structs whose fields stand one after the other.
macro_rules! feature_structs {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $type:ty,)* }
    )*) => {$(
        $(#[$meta])*
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl FeatureField for $name {
            fn decode(c: &mut Cursor<'_>) -> Result<$name, Short> {
                Ok($name { $($field: FeatureField::decode(c)?,)* })
            }

            fn encode(&self, w: &mut ByteWriter<'_>) {
                $(FeatureField::encode(&self.$field, w);)*
            }

            fn memory(&self) -> usize {
                [$(self.$field.memory()),*].iter().sum()
            }
        }
    )*};
}

pub(super) use feature_structs;

impl<T: FixedField> FeatureField for T {
    fn decode(c: &mut Cursor<'_>) -> Result<T, Short> {
        FixedField::decode(c)
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        FixedField::encode(self, w);
    }

    fn memory(&self) -> usize {
        0
    }
}

/// Length, then that many bytes, NULs at their end.
impl FeatureField for String {
    fn decode(c: &mut Cursor<'_>) -> Result<String, Short> {
        let length = c.u32()?;
        Ok(text_before_nul(c.take(usize::try_from(length).unwrap_or(usize::MAX))?))
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        let text = self.split('\0').next().unwrap_or_default();
        put_count(w, (text.len() + 1).next_multiple_of(STRING_ALIGNMENT));
        let start = w.len();
        w.raw(text.as_bytes());
        w.u8(0);
        w.pad(start, STRING_ALIGNMENT);
    }

    fn memory(&self) -> usize {
        self.len()
    }
}

impl<A: FeatureField, B: FeatureField> FeatureField for (A, B) {
    fn decode(c: &mut Cursor<'_>) -> Result<(A, B), Short> {
        Ok((A::decode(c)?, B::decode(c)?))
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        self.0.encode(w);
        self.1.encode(w);
    }

    fn memory(&self) -> usize {
        self.0.memory() + self.1.memory()
    }
}

impl ListItem for String {}
impl ListItem for (u32, String) {}
impl ListItem for (String, String) {}

impl<T: ListItem> FeatureField for Vec<T> {
    fn decode(c: &mut Cursor<'_>) -> Result<Vec<T>, Short> {
        let count = c.u32()?.into();
        list(c, count, T::decode)
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        put_count(w, self.len());
        self.iter().for_each(|item| item.encode(w));
    }

    fn memory(&self) -> usize {
        list_memory(self, T::memory)
    }
}

/// What PMUs can do, each with its name behind.
impl FeatureField for Vec<(String, Vec<(String, String)>)> {
    fn decode(c: &mut Cursor<'_>) -> Result<Self, Short> {
        let count = c.u32()?.into();
        list(c, count, |c| <(Vec<_>, String)>::decode(c).map(|(caps, name)| (name, caps)))
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        put_count(w, self.len());
        for (name, caps) in self {
            caps.encode(w);
            name.encode(w);
        }
    }

    fn memory(&self) -> usize {
        list_memory(self, FeatureField::memory)
    }
}

/// Nodes of memory: a count of 64 bits, and for each its number, its blocks,
/// how many bits follow, and these.
impl FeatureField for Vec<(u64, u64, Vec<u64>)> {
    fn decode(c: &mut Cursor<'_>) -> Result<Self, Short> {
        let count = c.u64()?;
        list(c, count, |c| {
            let (node, blocks, bits) = (c.u64()?, c.u64()?, c.u64()?);
            Ok((node, blocks, c.words(bits.div_ceil(64))?.iter().collect()))
        })
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        w.u64(self.len() as u64);
        for (node, blocks, bits) in self {
            [*node, *blocks, 64 * bits.len() as u64]
                .iter()
                .chain(bits)
                .for_each(|&word| w.u64(word));
        }
    }

    fn memory(&self) -> usize {
        list_memory(self, |(.., bits)| size_of_val(bits.as_slice()))
    }
}

fn list<T>(
    c: &mut Cursor<'_>,
    count: u64,
    item: impl Fn(&mut Cursor<'_>) -> Result<T, Short>,
) -> Result<Vec<T>, Short> {
    // Not collect(): it would reserve what a hostile count says.
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(item(c)?);
    }
    Ok(items)
}

/// A list may have room for as many items more.
fn list_memory<T>(items: &[T], memory: impl Fn(&T) -> usize) -> usize {
    items.iter().map(|item| 2 * size_of::<T>() + memory(item)).sum()
}

/// Counts beyond 32 bits do not fit a record and are refused with it.
pub(super) fn put_count(w: &mut ByteWriter<'_>, count: usize) {
    w.u32(u32::try_from(count).unwrap_or(u32::MAX));
}
