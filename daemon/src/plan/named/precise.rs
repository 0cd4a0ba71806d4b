//! What modifiers and tables make of a named event's precision.

use record::{EventType, SampleType};

use super::Asked;
use crate::Refusal;
use crate::catalogue::{Microarchitecture, NamedEvent};
use crate::event_spec::{Modifiers, Precise};
use crate::facts::Pmu;
use crate::plan::opening::{Opening, Precision};
use crate::plan::{hardware, ibs};
use crate::promises::{AddressPromise, IpPromise, RegistersPromise, Source, WeightPromise};

/// Events between samples where nothing says better: the original's.
pub(super) const INTERVAL: u64 = 10_000;

impl Asked<'_> {
    /// Interval, registers and precision.
    pub(super) fn finish(
        &mut self,
        opening: &mut Opening,
        known: Option<&NamedEvent>,
        modifiers: &Modifiers,
        pmu: &Pmu,
    ) -> Result<(), Refusal> {
        let own = Some(opening.interval).filter(|&interval| interval > 0);
        let table = known.map(|known| known.default_interval);
        opening.interval = self.request.interval.or(own).or(table).unwrap_or(INTERVAL);
        opening.registers = record::registers::general(self.facts.kernel.arch());
        let most = max_precise(pmu);
        let table = known.map_or(0, |known| known.most_precise);
        let (wanted, least) = match modifiers.precise {
            Some(Precise::Level(level)) => (level, if self.request.allow_skid { 0 } else { level }),
            Some(Precise::Highest) => {
                let known = if table > 0 { table } else { 3 };
                (most.map_or(known, |most| most.min(known)), 0)
            }
            None => (table.min(most.unwrap_or(3)), u8::from(!self.request.allow_skid)),
        };
        opening.precision = Precision { wanted, least: least.min(wanted) };
        if wanted > 0 && self.is_amd(opening) {
            return self.forward(opening, wanted);
        }
        if table > 0 && wanted > table {
            return Err(Refusal::TooPrecise {
                event: opening.event.clone(),
                asked: wanted,
                most: table,
            });
        }
        if wanted == 0 {
            return Ok(());
        }
        opening.promises.source = Source::Pebs;
        opening.promises.registers = RegistersPromise::AfterRetirement;
        opening.promises.ip =
            if table > 0 { IpPromise::Exact } else { IpPromise::AsEachRecordSays };
        if known.is_some_and(|known| known.data_address) {
            opening.promises.address = AddressPromise::Data;
            opening.fields |= SampleType::DATA_SRC;
        }
        if is_load_latency(opening) {
            opening.promises.address = AddressPromise::Data;
            opening.promises.weight = WeightPromise::LoadLatency;
            opening.fields |= SampleType::DATA_SRC | SampleType::WEIGHT_STRUCT;
        }
        Ok(())
    }

    fn is_amd(&self, opening: &Opening) -> bool {
        let vendor = self.facts.cpus.vendor.as_deref();
        opening.uarch.map_or(vendor == Some("AuthenticAMD"), Microarchitecture::is_amd)
    }

    /// AMD's kernel hands precise cycles and micro-operations on to IBS, and
    /// refuses all else (forward_event_to_ibs(), trap 7).
    fn forward(&mut self, opening: &mut Opening, wanted: u8) -> Result<(), Refusal> {
        let event = || opening.event.clone();
        let (kind, code) = (opening.kind, opening.words[0] & u64::from(u32::MAX));
        let forwarded = match kind {
            EventType::HARDWARE => code == 0,
            EventType::HW_CACHE => false,
            _ => matches!(code, 0x76 | 0xc1),
        };
        if !forwarded {
            return Err(Refusal::NotForwarded { event: event() });
        }
        if wanted > 2 {
            return Err(Refusal::TooPrecise { event: event(), asked: wanted, most: 2 });
        }
        if !self.facts.pmus.iter().flatten().any(|pmu| pmu.name == hardware::IBS) {
            return Err(Refusal::NoDevice { event: event(), pmu: hardware::IBS.to_owned() });
        }
        opening.promises.source = Source::Ibs;
        opening.promises.ip = IpPromise::Exact;
        // IBS's own filter of modes has no bit in the event handed on.
        ibs::keep_modes(opening, self.request.modes, self.notes)?;
        ibs::round_interval(opening, self.notes);
        Ok(())
    }
}

fn is_load_latency(opening: &Opening) -> bool {
    // Nehalem, Sandy Bridge on, E-cores (trap 10).
    matches!((opening.words[0] & 0xffff, opening.words[1]), (0x100b | 0x1cd | 0x5d0, 1..))
}

/// `caps/max_precise`; None: unknown.
fn max_precise(pmu: &Pmu) -> Option<u8> {
    let caps = &pmu.description.as_ref()?.caps;
    caps.get("max_precise")?.trim().parse().ok()
}
