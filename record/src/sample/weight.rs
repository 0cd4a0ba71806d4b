//! PERF_SAMPLE_WEIGHT and what it counts.

/// PERF_SAMPLE_WEIGHT or _WEIGHT_STRUCT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// One word.
    Full(u64),
    /// Three fields of `union perf_sample_weight`.
    Struct {
        /// `var1_dw`: cache latency on Intel, core cycles.
        var1: u32,
        /// `var2_w`: instruction latency, core cycles.
        var2: u16,
        /// `var3_w`: retire latency, core cycles.
        var3: u16,
    },
}

impl Weight {
    /// The three fields of a WEIGHT_STRUCT word. The kernel lays the struct
    /// out in reverse on big-endian machines, so that as a number it is the
    /// same on all: `var1` in the low half.
    pub fn from_word(word: u64) -> Weight {
        let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
        Weight::Struct {
            var1: u32::from_le_bytes([a, b, c, d]),
            var2: u16::from_le_bytes([e, f]),
            var3: u16::from_le_bytes([g, h]),
        }
    }

    /// The word that a sample holds.
    pub fn to_word(self) -> u64 {
        match self {
            Weight::Full(word) => word,
            Weight::Struct { var1, var2, var3 } => {
                u64::from(var3) << 48 | u64::from(var2) << 32 | u64::from(var1)
            }
        }
    }
}
