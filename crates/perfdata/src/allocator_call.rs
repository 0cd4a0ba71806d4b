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

macro_rules! allocator_functions {
    ($($call:ident: $($name:literal)*;)*) => {
        const FUNCTIONS: &[(&str, AllocatorCall)] = &[$($(($name, $call)),*),*];
    };
}

// As the symbolizer spells them: functions of C, C++ and Rust, of jemalloc, mimalloc and tcmalloc.
allocator_functions! {
    Allocate: "malloc" "__libc_malloc" "valloc" "__libc_valloc" "pvalloc" "__libc_pvalloc"
        "operator new(unsigned long)" "operator new[](unsigned long)"
        "operator new(unsigned long, std::nothrow_t const&)"
        "operator new[](unsigned long, std::nothrow_t const&)"
        "operator new(unsigned long, std::align_val_t)"
        "operator new[](unsigned long, std::align_val_t)"
        "operator new(unsigned long, std::align_val_t, std::nothrow_t const&)"
        "operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)" "__rust_alloc"
        "__rustc::__rust_alloc" "__rust_alloc_zeroed" "__rustc::__rust_alloc_zeroed" "je_malloc"
        "mallocx" "mi_malloc" "mi_malloc_small" "mi_zalloc" "mi_malloc_aligned" "mi_zalloc_aligned"
        "mi_new" "tc_malloc" "tc_new" "mi_zalloc_small" "mi_malloc_aligned_at"
        "mi_zalloc_aligned_at" "mi_valloc" "mi_pvalloc" "mi_new_nothrow" "mi_new_aligned"
        "mi_new_aligned_nothrow" "tc_valloc" "tc_pvalloc" "tc_malloc_skip_new_handler"
        "tc_newarray" "tc_new_nothrow" "tc_newarray_nothrow" "tc_new_aligned" "tc_newarray_aligned"
        "tc_new_aligned_nothrow" "tc_newarray_aligned_nothrow" "__libc_malloc_impl";
    AllocateItems: "calloc" "__libc_calloc" "je_calloc" "mi_calloc" "tc_calloc" "mi_mallocn"
        "mi_calloc_aligned" "mi_new_n";
    Reallocate: "realloc" "__libc_realloc" "je_realloc" "rallocx" "mi_realloc" "mi_realloc_aligned"
        "tc_realloc" "mi_reallocf" "mi_rezalloc" "mi_rezalloc_aligned";
    ReallocateItems: "reallocarray" "__libc_reallocarray" "mi_reallocn" "mi_reallocarray";
    AllocateSecond: "aligned_alloc" "memalign" "__libc_memalign" "je_aligned_alloc" "je_memalign"
        "mi_heap_malloc" "tc_memalign" "mi_aligned_alloc" "mi_memalign" "mi_heap_zalloc"
        "mi_heap_malloc_small" "mi_heap_malloc_aligned" "mi_heap_zalloc_aligned";
    AllocateInto: "posix_memalign" "__posix_memalign" "je_posix_memalign" "mi_posix_memalign"
        "tc_posix_memalign";
    Release: "free" "cfree" "__libc_free" "free_sized" "free_aligned_sized"
        "operator delete(void*)" "operator delete[](void*)" "operator delete(void*, unsigned long)"
        "operator delete[](void*, unsigned long)" "operator delete(void*, std::nothrow_t const&)"
        "operator delete[](void*, std::nothrow_t const&)"
        "operator delete(void*, std::align_val_t)" "operator delete[](void*, std::align_val_t)"
        "operator delete(void*, unsigned long, std::align_val_t)"
        "operator delete[](void*, unsigned long, std::align_val_t)" "__rust_dealloc"
        "__rustc::__rust_dealloc" "je_free" "dallocx" "sdallocx" "mi_free" "tc_free" "tc_delete"
        "mi_cfree" "mi_free_size" "mi_free_aligned" "mi_free_size_aligned" "tc_cfree"
        "tc_free_sized" "tc_deletearray" "tc_delete_sized" "tc_deletearray_sized"
        "tc_delete_nothrow" "tc_deletearray_nothrow" "tc_delete_aligned" "tc_deletearray_aligned"
        "tc_delete_sized_aligned" "tc_deletearray_sized_aligned";
    ReallocateFourth: "__rust_realloc" "__rustc::__rust_realloc";
}

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
