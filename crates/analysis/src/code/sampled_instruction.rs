//! What of a sample tells its instruction and its data.

use symbolizer::SampledAddress;

/// An instruction as a sample has it, and where its data lies.
#[derive(Clone, Copy)]
pub(crate) struct SampledInstruction<'s> {
    /// The instruction pointer.
    pub(crate) at: SampledAddress,
    /// Whether the record says that it is that of the instruction which
    /// caused the event.
    pub(crate) is_exact: bool,
    /// The data address; 0: none.
    pub(crate) address: u64,
    /// Sampled registers by the kernel's number.
    pub(crate) register: &'s dyn Fn(u32) -> Option<u64>,
}

impl std::fmt::Debug for SampledInstruction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("SampledInstruction");
        shown.field("at", &self.at).field("address", &self.address).finish_non_exhaustive()
    }
}
