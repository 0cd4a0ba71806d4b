//! libhardmeter.so: hardmeter.h says what its functions do.
//!
//! | file | what is in it |
//! |---|---|
//! | `settings` | what a program asks for |
//! | `handle` | a sampler, and the texts that it lent |
//! | `sample` | a sample and an account as C has them |
//! | `sys` | the functions: pointers in, pointers out |

mod handle;
mod sample;
mod settings;
#[allow(unsafe_code, reason = "pointers of C programs; each block says why it holds")]
mod sys;
