//! Which samples are meant, when that takes their instructions.

use crate::collect::event::Event;
use crate::collect::held::HeldSample;
use crate::name::lookup::Lookup;
use crate::sieve::{Operands, SampledInstruction as Judged, Sieve, SieveVerdict};

/// Judges a sample whose side records are in: by its instruction, unless its
/// fields left it in doubt and the instruction does not decide.
#[inline(never)]
pub(super) fn judge(
    sieve: &mut Sieve,
    event: &Event,
    (held, words): (&HeldSample, &[u64]),
    lookup: &mut Lookup,
) -> SieveVerdict {
    let kept = event.fields.registers();
    let register = |number: u32| {
        let index = kept.iter().position(|bit| *bit == number)?;
        words.get(index).copied()
    };
    let judged = Judged {
        misc: held.misc,
        pid: held.pid(),
        ip: held.ip,
        time: held.time,
        operands: Operands { address: held.addr, register: &register },
    };
    let index = usize::try_from(held.event).unwrap_or(usize::MAX);
    match (sieve.by_class(&mut lookup.symbolizer, index, &judged), held.doubt) {
        (SieveVerdict::Kept, Some(doubt)) => SieveVerdict::Undecided(doubt),
        (sifted, _) => sifted,
    }
}
