//! How many bytes a type has, and what stands behind its names.

use super::{CompositeKind, MOST_STEPS, NumberKind, TypeId, TypeKind, TypeTable};

/// Types that are looked at to find an alignment.
const MOST_LOOKS: usize = 4096;
/// What a scalar is aligned to at most.
const MOST_ALIGNED: u64 = 16;

impl TypeTable {
    /// Bytes of a type; None: not known, or as many as there is room for.
    pub fn size_of(&self, id: TypeId) -> Option<u64> {
        let mut times = 1_u64;
        let mut at = id;
        for _ in 0..MOST_STEPS {
            let entry = self.get(at);
            if let Some(size) = entry.size {
                return size.checked_mul(times);
            }
            at = match entry.kind {
                TypeKind::Array { of, count } => {
                    times = times.checked_mul(count?)?;
                    of
                }
                TypeKind::Alias { of } | TypeKind::Qualified { of, .. } => of,
                TypeKind::Enumeration { of, .. } => of?,
                TypeKind::Declared { definition, .. } => definition?,
                _ => return None,
            };
        }
        None
    }

    pub fn is_little_endian(&self) -> bool {
        self.is_little
    }

    /// What stands behind typedefs, qualifiers and declarations.
    pub fn resolved(&self, id: TypeId) -> TypeId {
        let mut at = id;
        for _ in 0..MOST_STEPS {
            at = match self.get(at).kind {
                TypeKind::Alias { of } | TypeKind::Qualified { of, .. } => of,
                TypeKind::Declared { definition: Some(definition), .. } => definition,
                _ => break,
            };
        }
        at
    }

    /// Bytes that a type is aligned to, as the file says or as its parts need;
    /// None: not known.
    pub fn align_of(&self, id: TypeId) -> Option<u64> {
        let mut left = MOST_LOOKS;
        self.aligned(id, MOST_STEPS, &mut left)
    }

    fn aligned(&self, id: TypeId, depth: usize, left: &mut usize) -> Option<u64> {
        *left = left.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        let entry = self.get(id);
        if entry.align.is_some() {
            return entry.align;
        }
        match &entry.kind {
            TypeKind::Number(_) | TypeKind::Pointer { .. } => {
                entry.size.filter(|size| size.is_power_of_two() && *size <= MOST_ALIGNED)
            }
            TypeKind::Enumeration { of: None, .. } => entry.size,
            TypeKind::Enumeration { of: Some(of), .. }
            | TypeKind::Array { of, .. }
            | TypeKind::Alias { of }
            | TypeKind::Qualified { of, .. } => self.aligned(*of, depth, left),
            TypeKind::Declared { definition, .. } => self.aligned((*definition)?, depth, left),
            TypeKind::Composite(composite) => {
                let mut most = 1;
                for member in self.members(composite) {
                    let member = self.member(member);
                    let align = match member.align {
                        Some(align) => align,
                        None => self.aligned(member.of, depth, left)?,
                    };
                    most = most.max(align);
                }
                Some(most)
            }
            TypeKind::Unread | TypeKind::Void | TypeKind::Function { .. } => None,
        }
    }

    /// `struct`, `class`, `union`, `enum`, or nothing, as a type is defined.
    pub fn keyword(&self, id: TypeId) -> &'static str {
        match &self.get(id).kind {
            TypeKind::Composite(composite) => composite.sort.keyword(),
            TypeKind::Declared { sort, .. } => sort.keyword(),
            TypeKind::Enumeration { .. } => CompositeKind::Enum.keyword(),
            TypeKind::Alias { .. } => "typedef",
            _ => "",
        }
    }
}

impl CompositeKind {
    pub fn keyword(self) -> &'static str {
        match self {
            CompositeKind::Struct => "struct",
            CompositeKind::Class => "class",
            CompositeKind::Union => "union",
            CompositeKind::Enum => "enum",
        }
    }
}

impl NumberKind {
    pub fn word(self) -> &'static str {
        match self {
            NumberKind::Signed => "signed",
            NumberKind::Unsigned => "unsigned",
            NumberKind::Float => "float",
            NumberKind::Character => "character",
            NumberKind::Truth => "truth",
            NumberKind::Other => "other",
        }
    }
}
