//! PERF_SAMPLE_WEIGHT and what it counts.

/// PERF_SAMPLE_WEIGHT or _WEIGHT_STRUCT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Full(u64),
    /// Three fields of `union perf_sample_weight`.
    Struct {
        /// `var1_dw`; [`WeightClass`] says what it counts.
        var1: u32,
        /// `var2_w`.
        var2: u16,
        /// `var3_w`.
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

    /// What perf calls the weight: all of the word, or the first of its parts.
    pub fn first(self) -> u64 {
        match self {
            Weight::Full(word) => word,
            Weight::Struct { var1, .. } => u64::from(var1),
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

/// What kind of event a weight belongs to: the kernel gives the same field to
/// unlike things (trap 17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightClass {
    /// Intel load latency (`mem-loads`) and store latency where the CPU has
    /// it.
    Latency,
    /// Any other precise event of Intel.
    Precise,
    IbsOp,
    /// Software events, tracepoints, breakpoints, and events not known here.
    Other,
}

/// What one number of a weight counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightPart {
    /// A word for a column's head.
    pub name: &'static str,
    /// Unit of the number.
    pub unit: &'static str,
    /// What is measured, from when to when.
    pub text: &'static str,
    /// Whether 0 means "not measured", so that it must stay out of averages.
    pub zero_is_none: bool,
}

const CYCLES: &str = "core cycles";

const CACHE_LATENCY: WeightPart = WeightPart {
    name: "latency",
    unit: CYCLES,
    text: "from the dispatch of the access until its data could be used; only accesses above the \
           event's threshold are sampled",
    zero_is_none: false,
};
const INSTRUCTION_LATENCY: WeightPart = WeightPart {
    name: "instruction latency",
    unit: CYCLES,
    text: "from the dispatch of the instruction until its completion; 0 on CPUs before Alder Lake \
           and Sapphire Rapids, which do not measure it",
    zero_is_none: true,
};
const RETIRE_LATENCY: WeightPart = WeightPart {
    name: "retire latency",
    unit: CYCLES,
    text: "from the retirement of the instruction before until that of this one; 0 on CPUs that do \
           not measure it",
    zero_is_none: true,
};
const TRANSACTION: WeightPart = WeightPart {
    name: "transaction",
    unit: CYCLES,
    text: "spent in a memory transaction before it aborted; 0 outside of transactions",
    zero_is_none: true,
};
const MISS_LATENCY: WeightPart = WeightPart {
    name: "miss latency",
    unit: CYCLES,
    text: "from the miss of a load in the L1 data cache until its data came; 0 for hits and stores",
    zero_is_none: true,
};
const TAG_TO_RETIRE: WeightPart = WeightPart {
    name: "op latency",
    unit: CYCLES,
    text: "from the tagging of the op until its retirement; 0 unless a load missed the L1 data \
           cache",
    zero_is_none: true,
};

impl WeightClass {
    /// What a whole-word weight (PERF_SAMPLE_WEIGHT) counts; None when the
    /// kernel writes nothing meaningful.
    pub fn full(self) -> Option<WeightPart> {
        match self {
            WeightClass::Latency => Some(CACHE_LATENCY),
            WeightClass::Precise => Some(TRANSACTION),
            WeightClass::IbsOp => Some(MISS_LATENCY),
            WeightClass::Other => None,
        }
    }

    /// What `var1`, `var2` and `var3` of PERF_SAMPLE_WEIGHT_STRUCT count.
    pub fn parts(self) -> [Option<WeightPart>; 3] {
        let full = self.full();
        match self {
            WeightClass::Latency => [full, Some(INSTRUCTION_LATENCY), Some(RETIRE_LATENCY)],
            WeightClass::Precise => [full, None, Some(RETIRE_LATENCY)],
            WeightClass::IbsOp => [full, Some(TAG_TO_RETIRE), None],
            WeightClass::Other => [None; 3],
        }
    }
}

impl Weight {
    /// Each number with its meaning, those left out that say nothing: no
    /// meaning, or a 0 that means "not measured".
    pub fn measured(self, class: WeightClass) -> impl Iterator<Item = (WeightPart, u64)> {
        let (meanings, numbers) = match self {
            Weight::Full(word) => ([class.full(), None, None], [word, 0, 0]),
            Weight::Struct { var1, var2, var3 } => {
                (class.parts(), [var1.into(), var2.into(), var3.into()])
            }
        };
        let pairs = meanings.into_iter().zip(numbers);
        let known = pairs.filter_map(|(part, number)| part.map(|part| (part, number)));
        known.filter(|(part, number)| *number != 0 || !part.zero_is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::{Weight, WeightClass};

    fn names(weight: Weight, class: WeightClass) -> Vec<(&'static str, u64)> {
        weight.measured(class).map(|(part, number)| (part.name, number)).collect()
    }

    #[test]
    fn a_struct_word_has_var1_lowest() {
        let weight = Weight::from_word(0x7766_5544_3322_1100);
        assert_eq!(weight, Weight::Struct { var1: 0x3322_1100, var2: 0x5544, var3: 0x7766 });
        assert_eq!(weight.to_word(), 0x7766_5544_3322_1100);
        assert_eq!(Weight::Full(7).to_word(), 7);
    }

    #[test]
    fn zeroes_that_mean_nothing_stay_out() {
        let weight = Weight::from_word(0x0009_0000_0000_0000);
        let latency = names(weight, WeightClass::Latency);
        assert_eq!(latency, [("latency", 0), ("retire latency", 9)]);
        assert_eq!(names(Weight::Full(0), WeightClass::IbsOp), []);
        assert_eq!(names(Weight::Full(300), WeightClass::IbsOp), [("miss latency", 300)]);
        assert_eq!(names(Weight::from_word(1 << 32), WeightClass::IbsOp), [("op latency", 1)]);
        assert_eq!(names(Weight::Full(5), WeightClass::Other), []);
    }
}
