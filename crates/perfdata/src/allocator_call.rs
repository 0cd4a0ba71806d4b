//! Functions that programs allocate memory by, and how each takes its arguments.

/// What a call of an allocator's function asks for, by where its arguments are
/// (System V ABI, x86-64: rdi, rsi, rdx, rcx).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum AllocatorCall {
    /// As many bytes as the first argument says.
    Allocate = 1,
    /// As many as the second says: the first is an alignment, or a heap.
    AllocateSecond = 2,
    /// As many items as the first says, of as many bytes as the second says.
    AllocateItems = 3,
    /// The block of the first argument is to have as many bytes as the second says.
    Reallocate = 4,
    /// The same, of as many items as the second says, of as many bytes as the third says.
    ReallocateItems = 5,
    /// As many bytes as the third says; the address is written where the first points, and
    /// what is returned is 0.
    AllocateInto = 6,
    /// The block of the first argument is given back.
    Release = 7,
    /// The block of the first argument is to have as many bytes as the fourth says.
    ReallocateFourth = 8,
}

use AllocatorCall::{
    Allocate, AllocateInto, AllocateItems, AllocateSecond, Reallocate, ReallocateFourth,
    ReallocateItems, Release,
};

/// Functions as the symbolizer spells them: of C, of C++, of Rust, then those of jemalloc,
/// mimalloc and tcmalloc by names of their own.
const FUNCTIONS: [(&str, AllocatorCall); 127] = [
    ("malloc", Allocate),
    ("__libc_malloc", Allocate),
    ("valloc", Allocate),
    ("__libc_valloc", Allocate),
    ("pvalloc", Allocate),
    ("__libc_pvalloc", Allocate),
    ("calloc", AllocateItems),
    ("__libc_calloc", AllocateItems),
    ("realloc", Reallocate),
    ("__libc_realloc", Reallocate),
    ("reallocarray", ReallocateItems),
    ("__libc_reallocarray", ReallocateItems),
    ("aligned_alloc", AllocateSecond),
    ("memalign", AllocateSecond),
    ("__libc_memalign", AllocateSecond),
    ("posix_memalign", AllocateInto),
    ("__posix_memalign", AllocateInto),
    ("free", Release),
    ("cfree", Release),
    ("__libc_free", Release),
    ("free_sized", Release),
    ("free_aligned_sized", Release),
    ("operator new(unsigned long)", Allocate),
    ("operator new[](unsigned long)", Allocate),
    ("operator new(unsigned long, std::nothrow_t const&)", Allocate),
    ("operator new[](unsigned long, std::nothrow_t const&)", Allocate),
    ("operator new(unsigned long, std::align_val_t)", Allocate),
    ("operator new[](unsigned long, std::align_val_t)", Allocate),
    ("operator new(unsigned long, std::align_val_t, std::nothrow_t const&)", Allocate),
    ("operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)", Allocate),
    ("operator delete(void*)", Release),
    ("operator delete[](void*)", Release),
    ("operator delete(void*, unsigned long)", Release),
    ("operator delete[](void*, unsigned long)", Release),
    ("operator delete(void*, std::nothrow_t const&)", Release),
    ("operator delete[](void*, std::nothrow_t const&)", Release),
    ("operator delete(void*, std::align_val_t)", Release),
    ("operator delete[](void*, std::align_val_t)", Release),
    ("operator delete(void*, unsigned long, std::align_val_t)", Release),
    ("operator delete[](void*, unsigned long, std::align_val_t)", Release),
    ("__rust_alloc", Allocate),
    ("__rustc::__rust_alloc", Allocate),
    ("__rust_alloc_zeroed", Allocate),
    ("__rustc::__rust_alloc_zeroed", Allocate),
    ("__rust_realloc", ReallocateFourth),
    ("__rustc::__rust_realloc", ReallocateFourth),
    ("__rust_dealloc", Release),
    ("__rustc::__rust_dealloc", Release),
    ("je_malloc", Allocate),
    ("je_calloc", AllocateItems),
    ("je_realloc", Reallocate),
    ("je_aligned_alloc", AllocateSecond),
    ("je_memalign", AllocateSecond),
    ("je_posix_memalign", AllocateInto),
    ("je_free", Release),
    ("mallocx", Allocate),
    ("rallocx", Reallocate),
    ("dallocx", Release),
    ("sdallocx", Release),
    ("mi_malloc", Allocate),
    ("mi_malloc_small", Allocate),
    ("mi_zalloc", Allocate),
    ("mi_malloc_aligned", Allocate),
    ("mi_zalloc_aligned", Allocate),
    ("mi_new", Allocate),
    ("mi_calloc", AllocateItems),
    ("mi_heap_malloc", AllocateSecond),
    ("mi_realloc", Reallocate),
    ("mi_realloc_aligned", Reallocate),
    ("mi_posix_memalign", AllocateInto),
    ("mi_free", Release),
    ("tc_malloc", Allocate),
    ("tc_calloc", AllocateItems),
    ("tc_realloc", Reallocate),
    ("tc_memalign", AllocateSecond),
    ("tc_posix_memalign", AllocateInto),
    ("tc_free", Release),
    ("tc_new", Allocate),
    ("tc_delete", Release),
    ("mi_zalloc_small", Allocate),
    ("mi_mallocn", AllocateItems),
    ("mi_calloc_aligned", AllocateItems),
    ("mi_malloc_aligned_at", Allocate),
    ("mi_zalloc_aligned_at", Allocate),
    ("mi_aligned_alloc", AllocateSecond),
    ("mi_memalign", AllocateSecond),
    ("mi_valloc", Allocate),
    ("mi_pvalloc", Allocate),
    ("mi_new_n", AllocateItems),
    ("mi_new_nothrow", Allocate),
    ("mi_new_aligned", Allocate),
    ("mi_new_aligned_nothrow", Allocate),
    ("mi_reallocn", ReallocateItems),
    ("mi_reallocarray", ReallocateItems),
    ("mi_reallocf", Reallocate),
    ("mi_rezalloc", Reallocate),
    ("mi_rezalloc_aligned", Reallocate),
    ("mi_heap_zalloc", AllocateSecond),
    ("mi_heap_malloc_small", AllocateSecond),
    ("mi_heap_malloc_aligned", AllocateSecond),
    ("mi_heap_zalloc_aligned", AllocateSecond),
    ("mi_cfree", Release),
    ("mi_free_size", Release),
    ("mi_free_aligned", Release),
    ("mi_free_size_aligned", Release),
    ("tc_cfree", Release),
    ("tc_free_sized", Release),
    ("tc_valloc", Allocate),
    ("tc_pvalloc", Allocate),
    ("tc_malloc_skip_new_handler", Allocate),
    ("tc_newarray", Allocate),
    ("tc_new_nothrow", Allocate),
    ("tc_newarray_nothrow", Allocate),
    ("tc_new_aligned", Allocate),
    ("tc_newarray_aligned", Allocate),
    ("tc_new_aligned_nothrow", Allocate),
    ("tc_newarray_aligned_nothrow", Allocate),
    ("tc_deletearray", Release),
    ("tc_delete_sized", Release),
    ("tc_deletearray_sized", Release),
    ("tc_delete_nothrow", Release),
    ("tc_deletearray_nothrow", Release),
    ("tc_delete_aligned", Release),
    ("tc_deletearray_aligned", Release),
    ("tc_delete_sized_aligned", Release),
    ("tc_deletearray_sized_aligned", Release),
    ("__libc_malloc_impl", Allocate),
];

impl AllocatorCall {
    /// All of them, in the order of their numbers.
    pub const ALL: [AllocatorCall; 8] = [
        Allocate,
        AllocateSecond,
        AllocateItems,
        Reallocate,
        ReallocateItems,
        AllocateInto,
        Release,
        ReallocateFourth,
    ];

    /// That of a number.
    pub fn of_number(number: u8) -> Option<AllocatorCall> {
        AllocatorCall::ALL.into_iter().find(|call| *call as u8 == number)
    }

    /// What a call of the routine of this name is, with or without a version behind it as in
    /// `free@GLIBC_2.2.5`; None: it is no allocator's.
    pub fn of_routine(name: &str) -> Option<AllocatorCall> {
        let name = match name.split_once('@') {
            // It leads to the function, and is none.
            Some((_, "plt")) => return None,
            Some((name, _)) => name,
            None => name,
        };
        // As programs of Rust have jemalloc.
        let name = name.strip_prefix("_rjem_").unwrap_or(name);
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, call)| *call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_known_once() {
        let names: BTreeSet<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), FUNCTIONS.len());
        assert_eq!(AllocatorCall::of_routine("malloc"), Some(Allocate));
        assert_eq!(AllocatorCall::of_routine("operator new(unsigned long, void*)"), None);
        assert_eq!(AllocatorCall::of_routine("malloc@plt"), None);
        assert_eq!(AllocatorCall::of_routine("cfree@GLIBC_2.2.5"), Some(Release));
        assert_eq!(AllocatorCall::of_routine("_rjem_mallocx"), Some(Allocate));
        for call in AllocatorCall::ALL {
            assert_eq!(AllocatorCall::of_number(call as u8), Some(call));
        }
    }
}
