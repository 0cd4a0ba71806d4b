/// So many samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleCount {
    /// All of them.
    pub all: u64,
    /// Of these, with EXACT_IP.
    pub exact_ip: u64,
}
