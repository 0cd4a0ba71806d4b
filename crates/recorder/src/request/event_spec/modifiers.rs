//! `:u`, `:k`, `:pp`: which levels count, and how precise an event is.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precise {
    /// `p` to `ppp`: `precise_ip` 1 to 3 and not less.
    Level(u8),
    /// `P`: the most precise that the CPU can do.
    Highest,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// `u`: user mode.
    pub user: bool,
    /// `k`: kernel mode.
    pub kernel: bool,
    /// `h`: the hypervisor.
    pub hypervisor: bool,
    /// One of those three was given; otherwise `-u` and `-k` decide.
    pub any_level: bool,
    /// `p` or `P`; None leaves it to the event.
    pub precise: Option<Precise>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModifierError {
    #[error("{0:?} is no modifier; there are u, k, h (levels) and p, pp, ppp, P (precision)")]
    Unknown(char),
    /// More than three.
    #[error("precise levels end at ppp; say :ppp, or :P for the most precise there is")]
    TooPrecise,
    #[error("p and P exclude each other; say P for the most precise there is")]
    TwoPrecisions,
    #[error("modifier {letter}: {why}; leave it out")]
    Refused { letter: char, why: &'static str },
}

impl Modifiers {
    /// Whether `text` is made of perf's modifier letters only.
    pub(super) fn are(text: &str) -> bool {
        text.bytes().all(|byte| b"ukhpPGHSDIWeb".contains(&byte))
    }

    /// Reads letters; none is no modifiers.
    pub(super) fn parse(letters: &str) -> Result<Modifiers, ModifierError> {
        let mut modifiers = Modifiers::default();
        let (mut steps, mut highest) = (0, false);
        for letter in letters.chars() {
            let refused = |why| Err(ModifierError::Refused { letter, why });
            match letter {
                'u' => modifiers.user = true,
                'k' => modifiers.kernel = true,
                'h' => modifiers.hypervisor = true,
                'p' => steps += 1,
                'P' => highest = true,
                'G' => return refused("guests are not sampled from the host"),
                'H' => return refused("the host alone is sampled anyway where the CPU allows it"),
                'S' => return refused("counts of a group are not read with each sample"),
                'D' => return refused("events are not pinned; an event that had to share says so"),
                'I' => return refused("idle time is not set apart"),
                'W' => return refused("events are not split from their group"),
                'e' => return refused("no event may have a PMU for itself"),
                'b' => return refused("events are not counted by BPF programs"),
                other => return Err(ModifierError::Unknown(other)),
            }
        }
        modifiers.any_level = modifiers.user || modifiers.kernel || modifiers.hypervisor;
        modifiers.precise = match (steps, highest) {
            (0, false) => None,
            (0, true) => Some(Precise::Highest),
            (_, true) => return Err(ModifierError::TwoPrecisions),
            (1..=3, false) => Some(Precise::Level(steps)),
            (_, false) => return Err(ModifierError::TooPrecise),
        };
        Ok(modifiers)
    }
}

impl fmt::Display for Modifiers {
    /// The letters without a colon; none when nothing was given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (given, letter) in [(self.user, "u"), (self.kernel, "k"), (self.hypervisor, "h")] {
            f.write_str(if given { letter } else { "" })?;
        }
        match self.precise {
            Some(Precise::Highest) => f.write_str("P"),
            Some(Precise::Level(steps)) => f.write_str(&"p".repeat(steps.into())),
            None => Ok(()),
        }
    }
}
