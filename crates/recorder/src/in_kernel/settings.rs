//! What a program is made for: `struct settings` of crates/recorder/kernel/layout.h.

use super::{InKernel, SampleConditions, SampleContents};

/// Words of `struct settings`.
const WORDS: usize = 43;

/// A pid namespace, as fstat(2) of /proc/self/ns/pid tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PidNamespace {
    /// In the kernel's own encoding (`new_encode_dev()`).
    pub(super) device: u64,
    /// 0: the initial one.
    pub(super) inode: u64,
}

/// The bytes of the constants, before the program is verified: what is not
/// asked for is not even compiled. By `seed` sites are spread over the slots.
pub(super) fn bytes(
    in_kernel: &InKernel,
    contents: SampleContents,
    namespace: PidNamespace,
    seed: u64,
) -> Vec<u8> {
    let keep = &in_kernel.keep;
    let tables = in_kernel.tables();
    let mut words = Vec::with_capacity(WORDS);
    words.extend([
        tables.map_or(0, |tables| tables.sites.into()),
        tables.is_some_and(|tables| tables.by_process).into(),
        tables.is_some_and(|tables| tables.strides).into(),
        tables.is_some_and(|tables| tables.callers).into(),
        contents.address.into(),
        contents.weight.into(),
        contents.data_src.into(),
        keep.user_only.into(),
        keep.one_in,
        namespace.device,
        namespace.inode,
    ]);
    list(&mut words, keep.pids.iter().map(|pid| pid.0));
    list(&mut words, keep.tids.iter().map(|tid| tid.0));
    words.push(keep.cgroup.unwrap_or(0));
    words.push(keep.comm.is_some().into());
    words.extend(comm(keep.comm.as_deref().unwrap_or("")));
    for range in [keep.ip, keep.address] {
        let (first, last) = range.unwrap_or((0, u64::MAX));
        words.extend([range.is_some().into(), first, last]);
    }
    let (mask, value) = keep.data_src.unwrap_or((0, 0));
    words.extend([keep.least_weight, mask, value, seed]);
    debug_assert_eq!(words.len(), WORDS);
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

/// How many there are, then room for the most that there may be.
fn list(words: &mut Vec<u64>, ids: impl ExactSizeIterator<Item = i32>) {
    words.push(ids.len() as u64);
    let padding = std::iter::repeat(0);
    words.extend(
        ids.map(|id| u64::from(id.cast_unsigned())).chain(padding).take(SampleConditions::MAX_IDS),
    );
}

/// A thread's name as the kernel keeps it: 16 bytes, NULs behind.
fn comm(name: &str) -> [u64; 2] {
    let mut bytes = [0u8; 16];
    for (to, from) in bytes[..SampleConditions::MAX_COMM].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    let [a, b] = bytes.as_chunks::<8>().0 else { return [0; 2] };
    [u64::from_ne_bytes(*a), u64::from_ne_bytes(*b)]
}
