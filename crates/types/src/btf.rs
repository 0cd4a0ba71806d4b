//! Types from BTF, the kernel's own form (Documentation/bpf/btf.rst).

mod bytes;
mod members;
#[cfg(test)]
mod tests;

use crate::table::builder::TableBuilder;
use crate::table::{
    CompositeKind, NumberKind, PointerKind, Qualifier, TypeEntry, TypeId, TypeKind, TypeLanguage,
    TypeTable,
};
use bytes::BtfBytes;

/// What a blob begins with, in the order of its machine.
pub(crate) const MAGIC: u16 = 0xeb9f;
/// Bytes of a blob that are read.
pub(crate) const MOST_BYTES: u64 = 1 << 30;
/// The kernel's own is of 64-bit machines, and says nothing of addresses.
const ADDRESS: u64 = 8;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    #[error("it does not begin as BTF does (0xeb9f)")]
    Magic,
    #[error("its header is damaged: {0} lies beyond its {1} bytes")]
    Header(&'static str, usize),
    #[error(
        "its names and types continue those of another (split BTF, as of kernel modules), which \
         cannot be read here: give the module itself if it has debug info, or /sys/kernel/btf/vmlinux"
    )]
    Split,
}

pub(crate) fn read(blob: &[u8]) -> Result<TypeTable, BtfError> {
    let bytes = BtfBytes::of(blob)?;
    let mut builder = TableBuilder::new(bytes.strings.len(), bytes.is_little);
    let unit = builder.unit("BTF".to_owned(), TypeLanguage::C);
    let mut reader =
        BtfReader { builder, bytes, unit, count: bytes.count(), narrow: Vec::new(), at: 0 };
    if bytes.is_continued() {
        return Err(BtfError::Split);
    }
    if let Err(why) = reader.types() {
        let at = reader.at;
        reader.builder.note(format!("BTF at {at:#x} of its types: {why}"));
    }
    reader.widen();
    Ok(reader.builder.finish())
}

#[derive(Clone, Copy, Debug)]
struct BtfHead {
    name: u32,
    kind: u32,
    /// What follows, so many times.
    count: u32,
    /// Members have sizes in bits; constants have signs; what is declared is
    /// a union.
    flag: bool,
    size: u32,
}

/// Reads types one behind the other: they are numbered from 1.
struct BtfReader<'b> {
    builder: TableBuilder,
    bytes: BtfBytes<'b>,
    unit: u32,
    count: u32,
    /// Numbers of fewer bits than their bytes have, as bit fields once were
    /// told.
    narrow: Vec<members::NarrowNumber>,
    at: usize,
}

impl BtfReader<'_> {
    fn types(&mut self) -> Result<(), String> {
        let ids: Vec<TypeId> = (0..self.count).map(|_| self.builder.reserve()).collect();
        // What refers to nothing.
        let missing = self.builder.reserve();
        for id in ids {
            let head = self.head().ok_or("it ends within a type")?;
            let kind = self.kind(id, head, missing)?;
            let size = match (&kind, head.kind) {
                (TypeKind::Pointer { .. }, _) => Some(ADDRESS),
                (
                    TypeKind::Number(_) | TypeKind::Composite(_) | TypeKind::Enumeration { .. },
                    1..=19,
                ) => Some(u64::from(head.size)),
                _ => None,
            };
            let name = self.builder.name(self.bytes.text(head.name));
            let unit = self.unit;
            self.builder.set(id, TypeEntry { kind, name, size, align: None, scope: None, unit });
        }
        Ok(())
    }

    fn word(&mut self) -> Option<u32> {
        let word = self.bytes.word(self.at)?;
        self.at += 4;
        Some(word)
    }

    fn head(&mut self) -> Option<BtfHead> {
        let (name, info, size) = (self.word()?, self.word()?, self.word()?);
        let (kind, count) = (info >> 24 & 0x1f, info & 0xffff);
        Some(BtfHead { name, kind, count, flag: info >> 31 == 1, size })
    }

    /// The type of a number, or the one that refers to nothing.
    fn id(&self, number: u32, missing: TypeId) -> TypeId {
        if number <= self.count { TypeId(number) } else { missing }
    }

    fn kind(&mut self, id: TypeId, head: BtfHead, missing: TypeId) -> Result<TypeKind, String> {
        let of = self.id(head.size, missing);
        let cut = "it ends within a type";
        Ok(match head.kind {
            1 => {
                let said = self.word().ok_or(cut)?;
                self.narrow.extend(members::NarrowNumber::of(id, said, head.size));
                TypeKind::Number(match said >> 24 & 0xf {
                    1 => NumberKind::Signed,
                    2 | 3 => NumberKind::Character,
                    4 => NumberKind::Truth,
                    _ => NumberKind::Unsigned,
                })
            }
            2 => TypeKind::Pointer { to: of, sort: PointerKind::Pointer },
            3 => {
                let of = self.word().ok_or(cut)?;
                self.word().ok_or(cut)?;
                let count = self.word().ok_or(cut)?;
                TypeKind::Array { of: self.id(of, missing), count: Some(count.into()) }
            }
            4 | 5 => TypeKind::Composite(self.composite(head, missing).ok_or(cut)?),
            6 | 19 => {
                let values = self.constants(head).ok_or(cut)?;
                TypeKind::Enumeration { of: None, values }
            }
            7 => {
                let sort = if head.flag { CompositeKind::Union } else { CompositeKind::Struct };
                TypeKind::Declared { sort, definition: None }
            }
            8 => TypeKind::Alias { of },
            9 => TypeKind::Qualified { of, by: Qualifier::Volatile },
            10 => TypeKind::Qualified { of, by: Qualifier::Const },
            11 => TypeKind::Qualified { of, by: Qualifier::Restrict },
            12 | 18 => TypeKind::Qualified { of, by: Qualifier::Other },
            13 => self.function(head, missing).ok_or(cut)?,
            14 | 17 => {
                self.word().ok_or(cut)?;
                TypeKind::Unread
            }
            15 => {
                self.at += 12 * usize::try_from(head.count).unwrap_or(0);
                TypeKind::Unread
            }
            16 => TypeKind::Number(NumberKind::Float),
            kind => return Err(format!("a type of kind {kind}; those up to 19 are known")),
        })
    }

    fn function(&mut self, head: BtfHead, missing: TypeId) -> Option<TypeKind> {
        let (mut parameters, mut is_open) = (Vec::new(), false);
        for number in 1..=head.count {
            let (name, of) = (self.word()?, self.word()?);
            match (name, of) {
                (0, 0) if number == head.count => is_open = true,
                _ => parameters.push(self.id(of, missing)),
            }
        }
        let parameters = self.builder.parameters(parameters);
        Some(TypeKind::Function { returns: self.id(head.size, missing), parameters, is_open })
    }
}
