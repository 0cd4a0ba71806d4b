//! The plan's events as they are opened.

use perfdata::attr::SamplingRate;
use perfdata::{Attr, AttrFlags, EventType, SampleType};

use crate::catalogue::promises::SampleSource;
use crate::heap;
use crate::in_kernel::InKernel;
use crate::{Fallback, Plan, PlannedEvent, Target};

/// Records to wake at that no ring comes to: an int of the kernel's. Rings
/// wake at the watermark of the event that owns them.
const NEVER: u32 = i32::MAX.cast_unsigned();

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAttrs {
    /// In the order of the plan; once open, with the attr that the kernel
    /// took and what that is worth.
    pub(crate) events: Vec<PlannedEvent>,
    pub(crate) side: Attr,
    /// A program in the kernel counts the samples.
    pub(crate) counted: bool,
    /// A program in the kernel sees each of them first.
    pub(crate) seen_first: bool,
}

impl SessionAttrs {
    /// The plan's attrs with what target and company call for: disabled until
    /// started, inherited by what a task starts, enabled by a command's exec;
    /// told apart by IDENTIFIER where one ring takes the samples of several
    /// (trap 24).
    pub fn of(plan: &Plan) -> SessionAttrs {
        let counted = plan.in_kernel.as_ref().is_some_and(InKernel::counts);
        let seen_first = plan.in_kernel.is_some();
        let (events, side) = (plan.events.clone(), plan.side.clone());
        let mut attrs = SessionAttrs { events, side, counted, seen_first };
        let several = attrs.sampled().count() > 1;
        for attr in attrs.all_mut() {
            attr.flags.insert(AttrFlags::DISABLED);
            attr.flags.set(AttrFlags::INHERIT, !plan.target.is_of_cpus());
            attr.flags.set(AttrFlags::ENABLE_ON_EXEC, plan.target == Target::Command);
            if several {
                attr.sample_type.insert(SampleType::IDENTIFIER);
            }
        }
        for carrier in attrs.events.iter_mut().filter(|event| event.carrier) {
            carrier.attr.sample_period = 0;
        }
        attrs
    }

    /// What a thread starts has no part in its samples; its mappings are told.
    pub(super) fn limit_to_one_thread(&mut self) {
        for event in &mut self.events {
            event.attr.flags.remove(AttrFlags::INHERIT);
        }
    }

    /// Has what is sampled wait beyond a command's exec; sideband records do not,
    /// or the program's own mappings would be missing.
    pub(super) fn wait_beyond_exec(&mut self) {
        for event in &mut self.events {
            event.attr.flags.remove(AttrFlags::ENABLE_ON_EXEC);
        }
    }

    /// What the kernel is asked for of an event: where a program is to see
    /// every sample, an interrupt for each. Of the records of one drained PEBS
    /// buffer only the last comes by the program, the others go to the ring
    /// past it (__intel_pmu_pebs_event(), arch/x86/events/intel/ds.c); the
    /// kernel lets the buffer fill only for events without a number of records
    /// to wake at (intel_pmu_hw_config()). Where a program counts, less
    /// than the stream describes, as the kernel fills in each field of a
    /// sample before the program runs (bpf_overflow_handler(),
    /// kernel/events/core.c).
    pub(super) fn opened(&self, event: &PlannedEvent) -> Attr {
        if let Some(dummy) = heap::opened(event) {
            return dummy;
        }
        let mut attr = event.attr.clone();
        if self.seen_first && !event.carrier && event.promises.source == SampleSource::Pebs {
            attr.flags.remove(AttrFlags::WATERMARK);
            attr.wakeup = NEVER;
        }
        if !self.counted || event.carrier {
            return attr;
        }
        match attr.kind {
            // The program counts hits itself, as it runs at all of them.
            EventType::TRACEPOINT => attr.sample_period = 0,
            EventType::SOFTWARE | EventType::BREAKPOINT => {
                attr.sample_type &= SampleType::IDENTIFIER | SampleType::ADDR | SampleType::PERIOD;
                attr.sample_regs_intr = 0;
            }
            // Registers, addresses and latencies are the PMU's to fill in.
            _ => {}
        }
        attr
    }

    /// Events that give samples, with their index in the plan.
    pub(crate) fn sampled(&self) -> impl Iterator<Item = (usize, &PlannedEvent)> {
        self.events.iter().enumerate().filter(|(_, event)| !event.carrier)
    }

    /// The sample period of an event; 0: it varies, or gives no samples.
    fn period(&self, index: usize) -> u64 {
        match self.events.get(index).map(|event| event.attr.sampling()) {
            Some(SamplingRate::Period(period)) => period,
            Some(SamplingRate::Frequency(_)) | None => 0,
        }
    }

    pub(crate) fn periods(&self) -> Vec<u64> {
        (0..self.events.len()).map(|index| self.period(index)).collect()
    }

    pub(crate) fn give_up(&mut self, fallback: Fallback) {
        self.all_mut().for_each(|attr| fallback.apply(attr));
    }

    pub fn events(&self) -> impl Iterator<Item = &PlannedEvent> {
        self.events.iter()
    }

    pub fn side(&self) -> &Attr {
        &self.side
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Attr> {
        self.events.iter().map(|event| &event.attr).chain([&self.side])
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Attr> {
        self.events.iter_mut().map(|event| &mut event.attr).chain([&mut self.side])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Large PEBS passes by the program.
    #[test]
    fn what_a_program_is_to_see_interrupts_at_each_record() {
        let mut event = crate::session::opener::hardware("loads", 2);
        event.attr.flags.insert(AttrFlags::WATERMARK);
        event.attr.wakeup = 4096;
        let side = event.attr.clone();
        let (counted, seen_first) = (false, true);
        let mut attrs = SessionAttrs { events: vec![event], side, counted, seen_first };
        let opened = |attrs: &SessionAttrs| {
            let attr = attrs.opened(&attrs.events[0]);
            (attr.flags.contains(AttrFlags::WATERMARK), attr.wakeup)
        };
        assert_eq!(opened(&attrs), (false, 0x7fff_ffff), "not negative as an int");
        attrs.seen_first = false;
        assert_eq!(opened(&attrs), (true, 4096), "large PEBS");
        attrs.seen_first = true;
        attrs.events[0].promises.source = SampleSource::Ibs;
        assert_eq!(opened(&attrs), (true, 4096), "no other source has such a buffer");
    }
}
