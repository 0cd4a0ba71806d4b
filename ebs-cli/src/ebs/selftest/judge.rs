//! The verdict: what was observed against what is true. Pure.
//!
//! What is demanded is what the event's promises say, no less and no more: of
//! an exact event the instruction itself, of one with skid a place in the
//! loop; registers as of the moment that they are promised for.

mod amount;
mod measure;

pub(super) use measure::{Measure, Shares};

use super::cases::{Case, Cause, Served};
use super::observed::{Observation, Observed};
use super::truth::{Access, COOKIE, IP, R9, TrueSite, Truth};
use recorder::Promises;
use recorder::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};

/// Share of samples that must be right, per thousand, where the instruction
/// is promised.
const PRECISE: u32 = 990;
/// Where it is not: some are taken while the program starts and ends.
const NEAR: u32 = 900;
/// Of registers at an interrupt and of levels, of which a few may be of
/// another moment.
const MOST: u32 = 950;
/// Cycles that no access takes.
const TOO_LONG: u64 = 100_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Judgement {
    pub(super) shares: Shares,
    /// In sentences; empty: everything is as it should be.
    pub(super) wrong: Vec<String>,
    /// Why there was too little to judge by, and that not by a fault of the
    /// CPU's.
    pub(super) unjudged: Option<String>,
}

pub(super) fn judge(case: &Case, truth: &Truth, observed: &Observed) -> Judgement {
    let mut shares = Shares::default();
    for sample in &observed.samples {
        let Some(opened) = observed.events.get(sample.event) else { continue };
        let view = View { case, truth, promises: &opened.promises, sample };
        view.measure(opened.interval, &mut shares);
    }
    let mut wrong = amount::wrong(case, truth, observed, &shares);
    wrong.extend(shares.all().filter_map(|(name, share)| share.wrong(name)));
    Judgement { shares, wrong, unjudged: amount::unjudged(observed) }
}

#[derive(Clone, Copy)]
struct View<'a> {
    case: &'a Case,
    truth: &'a Truth,
    promises: &'a Promises,
    sample: &'a Observation,
}

impl<'a> View<'a> {
    fn measure(&self, interval: u64, shares: &mut Shares) {
        let Observation { ip, is_exact, period, .. } = *self.sample;
        let site = self.site();
        let right = self.is_right_place(site);
        shares.instruction.needed = match self.promises.ip {
            IpPromise::Skid | IpPromise::Interrupted | IpPromise::AsEachRecordSays => NEAR,
            _ => PRECISE,
        };
        shares.instruction.count(right, || self.misplaced(ip));
        if self.promises.ip == IpPromise::Exact {
            shares.exact_ip.needed = PRECISE;
            shares.exact_ip.count(is_exact, || format!("{ip:#x} without EXACT_IP"));
        }
        shares.period.needed = 1000;
        if let Some(period) = period {
            shares.period.count(period == interval, || {
                format!("a period of {period} where {interval} was asked for")
            });
        }
        // Of a wrong instruction nothing else is known; the share of
        // instructions has told of it.
        if right {
            self.measure_data(site, shares);
        }
    }

    fn measure_data(&self, site: Option<&'a TrueSite>, shares: &mut Shares) {
        let access = match self.case.cause {
            Cause::Kernel => self.truth.buffer.as_ref(),
            _ => site.and_then(|site| site.access.as_ref()),
        };
        if let Some(access) = access {
            self.measure_address(access, shares);
            self.measure_source(access, shares);
        }
        self.measure_registers(access, shares);
        self.measure_weight(shares);
    }

    /// The instruction that the record names, or that stands before the one
    /// that it names.
    fn site(&self) -> Option<&'a TrueSite> {
        let ip = self.sample.ip;
        let is_next = self.promises.ip == IpPromise::AfterCausing
            || self.promises.ip == IpPromise::ReportingPlace;
        let mut sites = self.truth.sites.iter();
        sites.find(|site| if is_next { site.next == ip } else { site.at == ip })
    }

    fn is_right_place(&self, site: Option<&TrueSite>) -> bool {
        match (self.case.cause, self.promises.ip) {
            (Cause::Kernel | Cause::Scheduler, _) => self.sample.of_kernel,
            (
                Cause::Site(_) | Cause::Any,
                IpPromise::Skid | IpPromise::Interrupted | IpPromise::AsEachRecordSays,
            ) => (self.truth.start..self.truth.end).contains(&self.sample.ip),
            (Cause::Any, _) => site.is_some(),
            (Cause::Site(name), _) => site.is_some_and(|site| site.name == name),
        }
    }

    fn misplaced(&self, ip: u64) -> String {
        let wanted = match self.case.cause {
            Cause::Kernel | Cause::Scheduler => return format!("{ip:#x}, which is user code"),
            Cause::Site(name) => self.truth.sites.iter().find(|site| site.name == name),
            Cause::Any => self.truth.sites.first(),
        };
        match wanted {
            Some(site) if ip >= site.at && ip < self.truth.end => {
                format!("{ip:#x}, {:#x} behind {} at {:#x}", ip - site.at, site.name, site.at)
            }
            Some(site) => {
                format!("{ip:#x}, outside of the loop with {} at {:#x}", site.name, site.at)
            }
            None => format!("{ip:#x}"),
        }
    }

    /// An address is right when it is one of those that the program accesses
    /// there, and the one in the register where that is to be believed.
    fn measure_address(&self, access: &Access, shares: &mut Shares) {
        if self.promises.address == AddressPromise::None {
            return;
        }
        shares.address.needed = PRECISE;
        let address = self.sample.address.unwrap_or(0);
        let by_register = self.pointer(access).filter(|pointer| access.holds(*pointer));
        let agrees = by_register.is_none_or(|pointer| pointer == address);
        shares.address.count(access.holds(address) && agrees, || match by_register {
            Some(pointer) if !agrees => {
                format!("{address:#x} where the register says {pointer:#x}")
            }
            _ => format!("{address:#x} is none of those that are accessed"),
        });
    }

    /// The address that the registers give; None: they are of another moment,
    /// or it is in none.
    fn pointer(&self, access: &Access) -> Option<u64> {
        let register = access.register.filter(|_| self.has_registers_of_instruction())?;
        let value = self.register(register)?;
        Some(value.wrapping_add(access.displacement))
    }

    fn has_registers_of_instruction(&self) -> bool {
        matches!(
            self.promises.registers,
            RegistersPromise::BeforeInstruction | RegistersPromise::AfterRetirement
        )
    }

    fn register(&self, number: u32) -> Option<u64> {
        *self.sample.registers.get(usize::try_from(number).ok()?)?
    }

    fn measure_registers(&self, access: Option<&Access>, shares: &mut Shares) {
        let in_loop = matches!(self.case.cause, Cause::Site(_) | Cause::Any);
        let share = &mut shares.registers;
        match self.promises.registers {
            RegistersPromise::None | RegistersPromise::AtReportingPlace => return,
            _ if !in_loop => return,
            RegistersPromise::AtInterrupt => share.needed = share.needed.max(MOST),
            _ => share.needed = PRECISE,
        }
        let cookie = self.register(R9);
        let pointer = access.and_then(|access| self.pointer(access));
        let is_pointer = match (access, pointer) {
            (Some(access), Some(pointer)) => access.holds(pointer),
            _ => true,
        };
        // Of the model's records all registers are of one moment.
        let is_whole = self.promises.source != SampleSource::Emulated
            || self.register(IP) == Some(self.sample.ip);
        share.count(cookie == Some(COOKIE) && is_pointer && is_whole, || {
            let said =
                |value: Option<u64>| value.map_or("nothing".to_owned(), |v| format!("{v:#x}"));
            format!(
                "r9 holds {} where {COOKIE:#x} is, the address by the registers is {}, their IP {}",
                said(cookie),
                said(pointer),
                said(self.register(IP)),
            )
        });
    }

    fn measure_weight(&self, shares: &mut Shares) {
        if self.promises.weight == WeightPromise::None {
            return;
        }
        let weight = self.sample.weight.unwrap_or(0);
        // A load that hits has none (trap 17), unless all must have missed.
        let may_hit = self.promises.weight == WeightPromise::MissLatency
            && !matches!(self.case.served, Served::Beyond(_));
        if may_hit && weight == 0 {
            return;
        }
        shares.latency.needed = MOST;
        let is_plausible = (1..TOO_LONG).contains(&weight);
        shares.latency.count(is_plausible, || format!("{weight} cycles"));
    }

    fn measure_source(&self, access: &Access, shares: &mut Shares) {
        let Some(word) = self.sample.data_src else { return };
        if self.case.served == Served::Anywhere {
            return;
        }
        if let Some(holds) = self.case.served.holds(word, access.is_store) {
            shares.served.needed = MOST;
            shares.served.count(holds, || format!("{:#x} in data_src", word.0));
        }
    }
}

#[cfg(test)]
mod tests;
