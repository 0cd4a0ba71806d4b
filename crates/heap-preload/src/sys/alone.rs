//! What the standard library would have other libraries of this machine loaded for: the unwinder of
//! libgcc_s and glibc's loader. A program of another C library has neither, and would not start.
//!
//! All of it is for panics, which nothing here is to have: one ends the program at once.

use std::arch::global_asm;

/// Defines functions that this library alone sees, and that end the program.
macro_rules! aborts {
    ($($name:literal),+ $(,)?) => {
        global_asm!(
            ".pushsection .text.hardmeter_heap_alone,\"ax\",@progbits",
            $(
                concat!(".globl ", $name),
                concat!(".hidden ", $name),
                concat!(".type ", $name, ",@function"),
                concat!($name, ":"),
            )+
            "ud2",
            ".popsection",
        );
    };
}

aborts!(
    "_Unwind_DeleteException",
    "_Unwind_FindEnclosingFunction",
    "_Unwind_GetCFA",
    "_Unwind_GetDataRelBase",
    "_Unwind_GetIP",
    "_Unwind_GetIPInfo",
    "_Unwind_GetLanguageSpecificData",
    "_Unwind_GetRegionStart",
    "_Unwind_GetTextRelBase",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_SetGR",
    "_Unwind_SetIP",
    "_Unwind_Backtrace",
    "__tls_get_addr",
);
