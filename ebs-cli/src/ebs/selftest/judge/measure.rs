//! Shares of samples that are right.

/// How many of how many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::ebs::selftest) struct Measure {
    pub(in crate::ebs::selftest) right: u64,
    /// Samples that were looked at; 0: this is not asked of the event.
    pub(in crate::ebs::selftest) of: u64,
    /// How many of a thousand must be right.
    pub(in crate::ebs::selftest) needed: u32,
    /// The first that was not, in words.
    pub(in crate::ebs::selftest) first_wrong: Option<String>,
}

impl Measure {
    /// Takes one sample; `what` describes it if it is wrong.
    pub(super) fn count(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        self.of += 1;
        match is_right {
            true => self.right += 1,
            false => {
                self.first_wrong.get_or_insert_with(what);
            }
        }
    }

    pub(super) fn is_met(&self) -> bool {
        u128::from(self.right) * 1000 >= u128::from(self.of) * u128::from(self.needed)
    }

    pub(super) fn wrong(&self, name: &str) -> Option<String> {
        if self.is_met() {
            return None;
        }
        let Measure { right, of, needed, first_wrong } = self;
        let least = f64::from(*needed) / 10.0;
        let first = first_wrong.as_deref().unwrap_or_default();
        Some(format!(
            "{name}: {right} of {of} samples are right, {least} % must be; the first wrong one: \
             {first}"
        ))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::ebs::selftest) struct Shares {
    /// EXACT_IP is set.
    pub(in crate::ebs::selftest) exact_ip: Measure,
    /// The IP is that of the instruction, or where the promise allows.
    pub(in crate::ebs::selftest) instruction: Measure,
    /// The data address is the instruction's.
    pub(in crate::ebs::selftest) address: Measure,
    /// The registers are those of the loop at that moment.
    pub(in crate::ebs::selftest) registers: Measure,
    /// The latency can be one.
    pub(in crate::ebs::selftest) latency: Measure,
    /// `data_src` says what it must.
    pub(in crate::ebs::selftest) served: Measure,
    /// The period is the one that was asked for.
    pub(in crate::ebs::selftest) period: Measure,
}

impl Shares {
    pub(in crate::ebs::selftest) fn all(&self) -> impl Iterator<Item = (&'static str, &Measure)> {
        [
            ("EXACT_IP", &self.exact_ip),
            ("instruction", &self.instruction),
            ("address", &self.address),
            ("registers", &self.registers),
            ("latency", &self.latency),
            ("data source", &self.served),
            ("period", &self.period),
        ]
        .into_iter()
    }
}
