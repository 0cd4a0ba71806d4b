//! Which variables are where while a routine is at an address.

use std::ops::Range;
use types::LocalVariable;

/// The variables of a routine by stretches of its code, over each of which
/// they are the same.
#[derive(Debug)]
pub(crate) struct LiveVariables<'v> {
    all: &'v [LocalVariable],
    /// Where a stretch begins, and which of all are live from there on.
    stretches: Vec<LiveStretch>,
}

#[derive(Debug)]
struct LiveStretch {
    start: u64,
    live: Vec<usize>,
}

/// What stretches may list together.
const MOST_LISTED: usize = 1 << 24;

impl<'v> LiveVariables<'v> {
    /// Of the variables of a routine; those outside of `code` are left out.
    pub(crate) fn new(all: &'v [LocalVariable], code: &Range<u64>) -> LiveVariables<'v> {
        let meets = |it: &LocalVariable| {
            let Range { start, end } = it.addresses;
            start < end && start < code.end && code.start < end
        };
        let mut events = Vec::new();
        for (number, variable) in all.iter().enumerate().filter(|(_, it)| meets(it)) {
            events.push((variable.addresses.start, true, number));
            events.push((variable.addresses.end, false, number));
        }
        // Ends before starts: both ends of a stretch are half open.
        events.sort_unstable();
        let mut stretches: Vec<LiveStretch> = Vec::new();
        let mut live: Vec<usize> = Vec::new();
        let mut left = MOST_LISTED;
        for same in events.chunk_by(|a, b| a.0 == b.0) {
            for &(_, begins, number) in same {
                match begins {
                    true => live.push(number),
                    false => live.retain(|it| *it != number),
                }
            }
            let Some(less) = left.checked_sub(live.len()) else { break };
            left = less;
            live.sort_unstable();
            stretches.push(LiveStretch { start: same[0].0, live: live.clone() });
        }
        LiveVariables { all, stretches }
    }

    /// Those that are live before the instruction at an address.
    pub(crate) fn at(&self, address: u64) -> impl Iterator<Item = &'v LocalVariable> + '_ {
        let after = self.stretches.partition_point(|stretch| stretch.start <= address);
        let stretch = after.checked_sub(1).and_then(|at| self.stretches.get(at));
        let live = stretch.map(|stretch| &stretch.live[..]).unwrap_or_default();
        live.iter().filter_map(|number| self.all.get(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{PlaceBase, PlaceUse, TypeId, VariablePlace};

    fn variable(addresses: Range<u64>, register: u16) -> LocalVariable {
        let base = PlaceBase::Register(register);
        let place = VariablePlace { base, offset: 0, is: PlaceUse::Value };
        LocalVariable { name: None, of: TypeId::VOID, addresses, place, first: 0, bytes: None }
    }

    /// The same as looking at each of them.
    #[test]
    fn stretches_are_as_a_plain_search() {
        let all = [
            variable(10..20, 0),
            variable(15..30, 1),
            variable(20..25, 2),
            variable(5..5, 3),
            variable(100..200, 4),
            variable(0..40, 5),
        ];
        let live = LiveVariables::new(&all, &(0..60));
        for address in 0..60 {
            let found: Vec<&LocalVariable> = live.at(address).collect();
            let expected: Vec<&LocalVariable> =
                all.iter().filter(|it| it.addresses.contains(&address)).collect();
            assert_eq!(found, expected, "{address}");
        }
    }
}
