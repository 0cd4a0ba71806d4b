//! The last line of every sampling: what became of the records, and who
//! served.

use crate::ebs::sample::cut_short::CutShort;
use crate::terminal::grouped;
use recorder::catalogue::promises::SampleSource;
use recorder::session::ledger::Ledger;
use recorder::{Fallback, PlannedEvent};
use std::fmt::Write;

#[derive(Clone, Debug)]
pub struct SampleSummary<'a> {
    /// What was asked for, with its modes: `page_fault:k`.
    pub event: &'a str,
    pub planned: &'a [PlannedEvent],
    /// The same as the kernel took them.
    pub opened: &'a [PlannedEvent],
    pub given_up: &'a [Fallback],
    /// What was modelled, when nothing was measured.
    pub model: Option<&'a str>,
    /// Where periods were drawn from, if they were.
    pub seed: Option<u64>,
    /// In whose process the events are open.
    pub served: &'a str,
    pub in_kernel: Option<&'a str>,
    pub cut_short: Option<CutShort>,
}

impl SampleSummary<'_> {
    /// Who counts, each once.
    fn who(&self) -> String {
        let mut who: Vec<&str> = Vec::new();
        for event in self.opened.iter().filter(|event| !event.carrier) {
            let name = name(event.promises.source);
            if !who.contains(&name) {
                who.push(name);
            }
        }
        let who = who.join(" and ");
        match self.model {
            Some(model) => format!("{who} (emulated: {model})"),
            None => who,
        }
    }

    /// What the instruction pointers are where no EXACT_IP says it; None:
    /// each record has its own, or the events differ.
    fn ip_in_words(&self) -> Option<&'static str> {
        let mut of = self.opened.iter().filter(|event| !event.carrier);
        let first = of.next()?.promises.ip.meaning();
        first.in_words().filter(|_| of.all(|event| event.promises.ip.meaning() == first))
    }

    /// What is less than planned, each once.
    fn less(&self) -> Vec<String> {
        let levels = self.planned.iter().zip(self.opened).filter_map(|(planned, opened)| {
            let (wanted, got) = (planned.attr.precise_ip(), opened.attr.precise_ip());
            (got < wanted).then(|| format!("{} with precise_ip {got} of {wanted}", opened.name))
        });
        let without =
            self.given_up.iter().map(|fallback| format!("without {}", fallback.feature()));
        levels.chain(without).collect()
    }
}

fn name(source: SampleSource) -> &'static str {
    match source {
        SampleSource::KernelSoftware => "the kernel's software event",
        SampleSource::KernelTimer => "a timer of the kernel",
        SampleSource::Breakpoint => "a debug register",
        SampleSource::Tracepoint => "a tracepoint of the kernel",
        SampleSource::Pebs => "the CPU (PEBS)",
        SampleSource::Ibs => "the CPU (IBS)",
        SampleSource::Counter => "a counter of the CPU",
        SampleSource::Emulated => "the emulated PMU",
        SampleSource::Preloaded => "the preloaded library",
    }
}

/// The line, without its end.
pub fn last_line(ledger: &Ledger, sampled: &SampleSummary<'_>) -> String {
    // Writing to a string cannot fail.
    let mut line = format!("{ledger}");
    // An aggregate does not say it of each hit.
    if ledger.aggregates.is_none() {
        let _ = match sampled.ip_in_words().filter(|_| ledger.exact_ip == 0) {
            Some(words) => write!(line, ", {words}"),
            None => write!(line, ", {} with exact IP", ledger.exact_ip),
        };
    }
    let _ = write!(
        line,
        ", {:.3} seconds, {} by {}",
        ledger.wall.as_secs_f64(),
        sampled.event,
        sampled.who(),
    );
    if let Some(seed) = sampled.seed {
        let _ = write!(line, ", intervals drawn by --seed {seed}");
    }
    let less = sampled.less();
    if !less.is_empty() {
        let _ = write!(line, " ({})", less.join(", "));
    }
    if let Some(in_kernel) = sampled.in_kernel {
        let _ = write!(line, ", {in_kernel}");
    }
    let _ = write!(line, ", {}", sampled.served);
    if let Some(cut_short) = &sampled.cut_short {
        let _ = write!(line, "; {cut_short}");
    }
    if let Some(error) = &ledger.sink_error {
        let _ = write!(line, "; the output took no more: {error}");
    }
    line
}

/// The line below a summary, which says the rest.
pub fn short_last_line(ledger: &Ledger) -> String {
    let (samples, lost) = (grouped(&ledger.delivered.to_string()), ledger.lost.total());
    let mut line =
        format!("{samples} records, {lost} lost, {:.1} seconds", ledger.wall.as_secs_f64());
    if let Some(error) = &ledger.sink_error {
        let _ = write!(line, "; the output took no more: {error}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::{Attr, SampleFilter};
    use recorder::catalogue::promises::{
        AddressPromise, IpPromise, Promises, RegistersPromise, WeightPromise,
    };
    use recorder::session::ledger::Lost;
    use std::time::Duration;

    fn event(name: &str, source: SampleSource, precise: u8) -> PlannedEvent {
        let mut attr = Attr::default();
        attr.set_precise_ip(precise);
        PlannedEvent {
            name: name.into(),
            pmu: "cpu".into(),
            attr,
            cpus: None,
            leader: None,
            carrier: false,
            least_precise: 0,
            promises: Promises {
                source,
                ip: match source {
                    SampleSource::KernelSoftware => IpPromise::Causing,
                    _ => IpPromise::Exact,
                },
                address: AddressPromise::None,
                registers: RegistersPromise::None,
                weight: WeightPromise::None,
            },
            filter: SampleFilter::ALL,
        }
    }

    #[test]
    fn the_line_says_records_losses_precision_time_and_source() {
        let events = [event("page_fault", SampleSource::KernelSoftware, 0)];
        let sampled = SampleSummary {
            event: "page_fault:k",
            planned: &events,
            opened: &events,
            given_up: &[],
            model: None,
            seed: None,
            served: "in process (no daemon)",
            in_kernel: None,
            cut_short: None,
        };
        let mut ledger = Ledger {
            delivered: 5,
            lost: Lost { ring: 3, ..Lost::default() },
            tail_known: true,
            wall: Duration::from_millis(1500),
            ..Ledger::default()
        };
        assert_eq!(
            last_line(&ledger, &sampled),
            "5 records, 3 lost (ring 3), IP exact (the kernel tells the causing instruction), \
             1.500 seconds, page_fault:k by the kernel's software event, in process (no daemon)"
        );
        ledger.sink_error = Some("No space left on device".into());
        let line = last_line(&ledger, &sampled);
        assert!(line.ends_with("; the output took no more: No space left on device"), "{line}");
    }

    #[test]
    fn what_the_kernel_counted_is_said() {
        let events = [event("page_fault", SampleSource::KernelSoftware, 0)];
        let sampled = SampleSummary {
            event: "page_fault:u",
            planned: &events,
            opened: &events,
            given_up: &[],
            model: None,
            seed: None,
            served: "in process (no daemon)",
            in_kernel: Some("counted in the kernel"),
            cut_short: None,
        };
        let ledger =
            Ledger { delivered: 5, tail_known: true, aggregates: Some(1), ..Ledger::default() };
        assert_eq!(
            last_line(&ledger, &sampled),
            "5 counted in 1 aggregate, 0 lost, 0.000 seconds, page_fault:u by the kernel's \
             software event, counted in the kernel, in process (no daemon)"
        );
    }

    #[test]
    fn a_model_is_never_taken_for_hardware() {
        let events = [event("emulated/l1_cache_miss/", SampleSource::Emulated, 3)];
        let sampled = SampleSummary {
            event: "l1_cache_miss:u",
            planned: &events,
            opened: &events,
            given_up: &[],
            model: Some("32K/8 L1D"),
            seed: Some(77),
            served: "in process (no daemon)",
            in_kernel: None,
            cut_short: None,
        };
        let ledger = Ledger { delivered: 5, exact_ip: 5, tail_known: true, ..Ledger::default() };
        assert_eq!(
            last_line(&ledger, &sampled),
            "5 records, 0 lost, 5 with exact IP, 0.000 seconds, l1_cache_miss:u by the emulated \
             PMU (emulated: 32K/8 L1D), intervals drawn by --seed 77, in process (no daemon)"
        );
    }

    #[test]
    fn what_is_less_than_planned_is_said() {
        let names = ["cpu_core/loads/", "cpu_atom/loads/"];
        let with = |source: [SampleSource; 2], levels: [u8; 2]| {
            [0, 1].map(|i| event(names[i], source[i], levels[i]))
        };
        let planned = with([SampleSource::Pebs; 2], [3, 3]);
        let opened = with([SampleSource::Pebs, SampleSource::Counter], [3, 0]);
        let mut aux = event("mem-loads-aux", SampleSource::Tracepoint, 0);
        aux.carrier = true;
        let [planned, opened] =
            [planned, opened].map(|events| [&[aux.clone()], &events[..]].concat());
        let sampled = SampleSummary {
            event: "load_latency:u",
            planned: &planned,
            opened: &opened,
            given_up: &[Fallback::Lost, Fallback::BuildId],
            model: None,
            seed: None,
            served: "in process (no daemon)",
            in_kernel: None,
            cut_short: None,
        };
        let ledger = Ledger { tail_known: true, ..Ledger::default() };
        assert_eq!(
            last_line(&ledger, &sampled),
            "0 records, 0 lost, 0 with exact IP, 0.000 seconds, load_latency:u by the CPU \
             (PEBS) and a counter of the CPU (cpu_atom/loads/ with precise_ip 0 of 3, without \
             PERF_FORMAT_LOST, without build ids of mappings), in process (no daemon)"
        );
    }
}
