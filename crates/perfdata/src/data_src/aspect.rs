//! The word one question at a time.

use super::{DataSrc, display};

/// What one may ask of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataSrcAspect {
    /// What the instruction did.
    Operation,
    /// What served the access, whether it hit there, and how far away.
    Level,
    /// What other caches answered.
    Snoop,
    /// Translation of the data address.
    Tlb,
    /// Whether the access was locked.
    Lock,
    /// What the access had to wait for.
    Blocked,
}

impl DataSrc {
    /// The answer in words: "load", "L3 hit, another core", "hitm",
    /// "L2 hit", "locked", "data". None where the machine does not say.
    pub fn aspect(self, aspect: DataSrcAspect) -> Option<String> {
        match aspect {
            DataSrcAspect::Operation => display::operation(self),
            DataSrcAspect::Level => {
                let parts = [display::level(self), self.distance().map(|far| far.to_string())];
                let known: Vec<String> = parts.into_iter().flatten().collect();
                (!known.is_empty()).then(|| known.join(", "))
            }
            DataSrcAspect::Snoop => display::snoop(self),
            DataSrcAspect::Tlb => display::tlb(self),
            // 1 is "not available"; a word that says nothing has 0 there.
            DataSrcAspect::Lock => match self.field(24, 2) {
                0 if self.is_available() => Some("not locked".to_owned()),
                2 | 3 => Some("locked".to_owned()),
                _ => None,
            },
            DataSrcAspect::Blocked => display::blocked(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DataSrc, DataSrcAspect};

    #[test]
    fn each_question_has_its_own_answer() {
        let all = |word: u64| {
            let aspects = [
                DataSrcAspect::Operation,
                DataSrcAspect::Level,
                DataSrcAspect::Snoop,
                DataSrcAspect::Tlb,
                DataSrcAspect::Lock,
                DataSrcAspect::Blocked,
            ];
            let answers = aspects.map(|aspect| DataSrc(word).aspect(aspect));
            answers.map(|answer| answer.unwrap_or_else(|| "-".to_owned())).join(" | ")
        };
        // As Skylake-SP writes them (perf script: L3 or L3 hit, and so on).
        assert_eq!(all(0x106_5010_0842), "load | L3 hit | none | L2 miss | not locked | -");
        assert_eq!(all(0x102_6a10_0142), "load | L1 hit | none | L1/L2 hit | locked | -");
        // Hops and remoteness: L3 of another core, modified there.
        let hops = 2 | 1 << 6 | 3 << 33 | 1 << 37 | 1 << 43 | 1 << 23;
        assert_eq!(all(hops), "load | L3 hit, another core | hitm | - | not locked | -");
        assert_eq!(all(4 | 1 << 7 | 1 << 42), "store | miss | - | - | not locked | address");
        for nothing in [0, DataSrc::NOT_AVAILABLE.0, DataSrc::NOT_AVAILABLE_OLD.0] {
            assert_eq!(all(nothing), "- | - | - | - | - | -");
        }
    }
}
