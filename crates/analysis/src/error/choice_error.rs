//! Why a routine cannot be shown.

/// Why no routine can be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// None has samples.
    #[error(
        "no sample lies in {wanted}, of {counted} counted{}{}",
        if near.is_empty() {
            "; `ebs report --by routine,object` lists the routines that have some".to_owned()
        } else {
            format!("; some lie in {}", near.join(", "))
        },
        match why {
            None => String::new(),
            Some(Commonest { why, samples }) if samples == nameless => {
                format!("; {nameless} have no routine name: {why}")
            }
            Some(Commonest { why, samples }) => {
                format!("; {nameless} have no routine name, {samples} of them: {why}")
            }
        }
    )]
    Nothing {
        /// As typed.
        wanted: String,
        /// Samples that passed the filters.
        counted: u64,
        /// Routines with samples that are called alike, nearest first.
        near: Vec<String>,
        /// Samples without a routine name.
        nameless: u64,
        /// The commonest reason why.
        why: Option<Commonest>,
    },
    /// Several have.
    #[error("{wanted} may be {total} routines; name one of them:\n{}", candidates.join("\n"))]
    Several {
        /// As typed.
        wanted: String,
        /// How many.
        total: usize,
        /// Samples, and what to type for each; most samples first.
        candidates: Vec<String>,
    },
}

/// The commonest reason why samples have no routine name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commonest {
    /// In a sentence.
    pub why: String,
    /// So many samples have none for it.
    pub samples: u64,
}
