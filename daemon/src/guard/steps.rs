//! What is done, one thing after the other, while the daemon takes more of
//! the machine than it may.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardStep {
    /// All sessions sample half as often.
    Slow,
    Refuse,
    StopNewest,
    /// Sessions may begin again.
    Relax,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Escalation {
    taken: u8,
}

impl Escalation {
    pub(crate) fn next_step(&mut self, too_much: bool) -> Option<GuardStep> {
        let before = self.taken;
        if !too_much {
            self.taken = 0;
            return (before > 1).then_some(GuardStep::Relax);
        }
        self.taken = before.saturating_add(1);
        Some(match before {
            0 => GuardStep::Slow,
            1 => GuardStep::Refuse,
            _ => GuardStep::StopNewest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_while_of_too_much_takes_one_step_further() {
        let mut escalation = Escalation::default();
        let taken: Vec<_> = (0..4).filter_map(|_| escalation.next_step(true)).collect();
        assert_eq!(
            taken,
            [GuardStep::Slow, GuardStep::Refuse, GuardStep::StopNewest, GuardStep::StopNewest]
        );
        assert_eq!(
            (escalation.next_step(false), escalation.next_step(false)),
            (Some(GuardStep::Relax), None)
        );
        assert_eq!(escalation.next_step(true), Some(GuardStep::Slow), "from the beginning");
        assert_eq!(escalation.next_step(false), None, "nothing was refused");
    }
}
