//! Which instructions a class event counts, decided outside: the classes'
//! rules live where instructions are decoded for reports.

use std::fmt;
use std::sync::Arc;

use iced_x86::Instruction;

/// A rule over decoded instructions, asked once when an instruction is
/// translated.
#[derive(Clone)]
pub struct Classifier(Arc<dyn Fn(&Instruction) -> bool + Send + Sync>);

impl Classifier {
    /// Counts the instructions for which `counts` is true.
    pub fn new(counts: impl Fn(&Instruction) -> bool + Send + Sync + 'static) -> Classifier {
        Classifier(Arc::new(counts))
    }

    /// Whether the instruction is of the class.
    pub fn counts(&self, instruction: &Instruction) -> bool {
        (self.0)(instruction)
    }
}

impl fmt::Debug for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Classifier")
    }
}
