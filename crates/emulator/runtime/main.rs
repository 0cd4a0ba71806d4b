//! The runtime that emulated programs carry: slow path of accesses, records,
//! indirect branches. Compiled by build.rs without std; its parts are the
//! library's own source files, which tests run in process too.

#![no_std]

/// The files that the library has too.
#[path = "../src"]
mod source {
    pub mod block;
    pub mod model;
    pub mod runtime {
        pub mod guest;
    }
}

#[allow(unsafe_code, reason = "symbols that compilers call, entry points")]
mod sys;

pub(crate) use source::{block, model, runtime};

/// No code leads here (a test looks for the jump to itself in the image).
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
