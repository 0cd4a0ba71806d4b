//! What modifiers and tables make of a named event's precision.

use perfdata::{Arch, EventType, SampleType};

use super::Asked;
use crate::Refusal;
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use crate::catalogue::{Microarchitecture, NamedEvent};
use crate::machine::facts::Pmu;
use crate::plan::opening::{Opening, Precision};
use crate::plan::{hardware, ibs, precision};
use crate::request::event_spec::{Modifiers, Precise};

/// Of the makers' intervals for rare events some are so short that kernels
/// refuse them (trap 6).
const SHORTEST_USUAL: u64 = 128;

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
        let table = known.map(|known| known.default_interval.max(SHORTEST_USUAL));
        opening.interval = self.request.interval.or(own).or(table).unwrap_or(INTERVAL);
        if opening.interval > i64::MAX.cast_unsigned() {
            return Err(Refusal::IntervalTooLarge { interval: opening.interval });
        }
        opening.registers = perfdata::registers::general(self.facts.kernel.arch());
        opening.excludes.hypervisor &= !modifiers.hypervisor;
        let is_x86 = self.facts.kernel.arch() == Arch::X86_64;
        let most = pmu.most_precise();
        let table = known.map_or(0, |known| known.most_precise);
        let (wanted, least) = match modifiers.precise {
            // Other architectures' kernels take precise_ip and ignore it (trap 4).
            Some(Precise::Level(_)) if !is_x86 && !self.request.allow_skid => {
                let (event, pmu) = (opening.event.clone(), pmu.name.clone());
                return Err(Refusal::NoPrecision { event, pmu });
            }
            Some(_) if !is_x86 => (0, 0),
            Some(Precise::Level(level)) => (level, if self.request.allow_skid { 0 } else { level }),
            // AMD's caps/max_precise is 0 with IBS too.
            Some(Precise::Highest) if self.is_amd(opening) => {
                (if self.may_forward(opening) { 2 } else { 0 }, 0)
            }
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
        precision::fit_interval(opening, self.notes)?;
        if wanted == 0 {
            if modifiers.precise.is_some() {
                self.notes.push(format!("{}: nothing precise here, IPs have skid", opening.event));
            }
            return Ok(());
        }
        opening.promises.source = SampleSource::Pebs;
        opening.promises.registers = RegistersPromise::AfterRetirement;
        opening.promises.ip = match table {
            0 => IpPromise::AsEachRecordSays,
            _ if wanted < precision::LEAST_EXACT => IpPromise::AfterCausing,
            _ => IpPromise::Exact,
        };
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

    /// Whether this user gets the event from IBS, which has both modes.
    fn may_forward(&self, opening: &Opening) -> bool {
        is_forwarded(opening)
            && self.facts.pmu(hardware::IBS).is_some()
            && !self.facts.access.kernel_denied()
    }

    /// AMD's kernel hands precise cycles and micro-operations on to IBS, and
    /// refuses all else (forward_event_to_ibs(), trap 7).
    fn forward(&mut self, opening: &mut Opening, wanted: u8) -> Result<(), Refusal> {
        let event = || opening.event.clone();
        if !is_forwarded(opening) {
            return Err(Refusal::NotForwarded { event: event() });
        }
        if wanted > 2 {
            return Err(Refusal::TooPrecise { event: event(), asked: wanted, most: 2 });
        }
        if self.facts.pmu(hardware::IBS).is_none() {
            return Err(Refusal::NoDevice { event: event(), pmu: hardware::IBS.to_owned() });
        }
        opening.promises.source = SampleSource::Ibs;
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

/// Cycles and micro-operations, with no bit more: core_pmu_ibs_config().
fn is_forwarded(opening: &Opening) -> bool {
    match opening.kind {
        EventType::HARDWARE => opening.words[0] == 0,
        EventType::HW_CACHE => false,
        _ => matches!(opening.words[0], 0x76 | 0xc1),
    }
}
