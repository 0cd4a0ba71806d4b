//! Loads of what was stored just before.

use super::counted_loop::counted_loop;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarding {
    /// Eight bytes, and the same eight.
    Same,
    /// Eight bytes, of which the upper four are loaded.
    Part,
    /// Four bytes twice, and both at once: no single store has them.
    Joined,
    /// Eight bytes over the end of a line, and the same eight.
    Across,
}

/// Two lines that nobody else has.
#[repr(align(128))]
struct LinePair([u64; 16]);

/// So many stores, each of what was loaded before and loaded again. The load
/// has its address in another register than the store: cores that rename
/// memory know two operands for one by how they are written.
pub(crate) fn forward(forwarding: Forwarding, pairs: u64) {
    let pairs = pairs.max(1);
    let mut lines = LinePair([0; 16]);
    let store = lines.0.as_mut_ptr();
    let offset = if forwarding == Forwarding::Across { 60 } else { 0 };
    let store = store.wrapping_byte_add(offset);
    let load = std::hint::black_box(store);
    match forwarding {
        Forwarding::Same | Forwarding::Across => {
            // SAFETY: eight bytes from `store` are within `lines`, which
            // lives until the end of this function.
            unsafe {
                counted_loop!(
                    pairs,
                    x86_64: ["mov [{store}], {word}", "mov {word}, [{load}]"],
                    aarch64: ["str {word}, [{store}]", "ldr {word}, [{load}]"],
                    store = in(reg) store,
                    load = in(reg) load,
                    word = inout(reg) 0_u64 => _,
                    options(nostack),
                );
            }
        }
        Forwarding::Part => {
            // SAFETY: eight bytes from `store` are within `lines`, which
            // lives until the end of this function.
            unsafe {
                counted_loop!(
                    pairs,
                    x86_64: ["mov [{store}], {word}", "mov {word:e}, dword ptr [{load} + 4]"],
                    aarch64: ["str {word}, [{store}]", "ldr {word:w}, [{load}, #4]"],
                    store = in(reg) store,
                    load = in(reg) load,
                    word = inout(reg) 0_u64 => _,
                    options(nostack),
                );
            }
        }
        Forwarding::Joined => {
            // SAFETY: eight bytes from `store` are within `lines`, which
            // lives until the end of this function.
            unsafe {
                counted_loop!(
                    pairs,
                    x86_64: ["mov dword ptr [{store}], {word:e}", "mov dword ptr [{store} + 4], {word:e}", "mov {word}, [{load}]"],
                    aarch64: ["str {word:w}, [{store}]", "str {word:w}, [{store}, #4]", "ldr {word}, [{load}]"],
                    store = in(reg) store,
                    load = in(reg) load,
                    word = inout(reg) 0_u64 => _,
                    options(nostack),
                );
            }
        }
    }
}
