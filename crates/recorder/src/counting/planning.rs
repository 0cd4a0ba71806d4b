//! A request and the facts become groups and figures. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use perfdata::{Attr, SampleFilter};

use super::{
    CountedEvent, CountingGroup, CountingRefusal, CountingRequest, MetricChoice, TotalCounts,
    uncore,
};
use crate::catalogue::Microarchitecture;
use crate::machine::facts::Facts;
use crate::metrics::{CoreMetric, Estimate, Figure, Metric, MetricCore, NotCounted, on_core};
use crate::plan::{self, cores, rights};
use crate::{EventSpec, Refusal, Request, source};

const SOFTWARE: &str = "software";
/// Counters of a core that any event can have, where both threads of it run.
const INTEL_COUNTERS: usize = 4;
const AMD_COUNTERS: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CountingPlan {
    /// Groups, each with at least one event.
    pub groups: Vec<CountingGroup>,
    /// Metrics, in the table's order, those of each kind of core together.
    pub figures: Vec<PlannedFigure>,
    pub unavailable: Vec<UnavailableCount>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFigure {
    pub metric: MetricRow,
    pub pmu: String,
    pub group: usize,
    pub parts: BTreeMap<&'static str, Vec<usize>>,
}

/// A row of the table of metrics, which are equal where they are one.
#[derive(Clone, Copy, Debug)]
pub struct MetricRow(pub &'static Metric);

impl PartialEq for MetricRow {
    fn eq(&self, other: &MetricRow) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for MetricRow {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailableCount {
    pub name: String,
    pub why: String,
}

impl PlannedFigure {
    pub fn value(&self, counts: &TotalCounts) -> Figure {
        let nanoseconds = Estimate::exact(counts.wall.as_secs_f64() * 1e9);
        self.metric.0.formula.value(&|name| {
            let Some(parts) = self.parts.get(name) else { return Ok(nanoseconds) };
            let of = |event: &usize| {
                let events = counts.groups.get(self.group).and_then(|group| group.get(*event));
                events.map_or(Err(NotCounted::Never), |event| event.figure)
            };
            let sum = parts.iter().map(of).reduce(|one, next| Ok(one? + next?));
            sum.unwrap_or(Err(NotCounted::Never))
        })
    }
}

/// Turns a request into a plan for whoever is to count on the machine of some
/// facts: its PMU, or where `is_emulated` the emulated one.
///
/// # Errors
/// An event by name that is not to be had; nothing at all to count.
pub fn plan(
    request: &CountingRequest,
    is_emulated: bool,
    facts: &Facts,
) -> Result<CountingPlan, CountingRefusal> {
    let mut planner = CountingPlanner { request, facts, plan: CountingPlan::default() };
    if is_emulated {
        planner.emulated()?;
    } else {
        planner.metrics(MetricCore::Kernel, SOFTWARE, usize::MAX);
        let kinds = cores(facts);
        for core in &kinds {
            let (pmu, uarch) = (core.pmu, core.uarch);
            let of = MetricCore::Pmu { pmu, uarch };
            planner.metrics(of, &pmu.name, counters(uarch, facts));
        }
        for event in &request.events {
            planner.event(event)?;
        }
    }
    planner.note_unavailable(is_emulated);
    let plan = planner.plan;
    match plan.groups.is_empty() {
        true => {
            let first = plan
                .unavailable
                .first()
                .map(|unavailable| format!("{}: {}", unavailable.name, unavailable.why));
            let why = first.unwrap_or_else(|| "no metric (-m) and no event (-t) was named".into());
            Err(CountingRefusal::Nothing { why })
        }
        false => Ok(plan),
    }
}

fn counters(uarch: Option<Microarchitecture>, facts: &Facts) -> usize {
    let all = match uarch.is_some_and(Microarchitecture::is_amd) {
        true => AMD_COUNTERS,
        false => INTEL_COUNTERS,
    };
    all - usize::from(facts.kernel.nmi_watchdog == Some(true))
}

struct MetricEvents {
    events: Vec<CountedEvent>,
    parts: BTreeMap<&'static str, Vec<usize>>,
}

struct CountingPlanner<'a> {
    request: &'a CountingRequest,
    facts: &'a Facts,
    plan: CountingPlan,
}

impl CountingPlanner<'_> {
    fn is_asked(&self, metric: &Metric) -> bool {
        self.request.metrics.iter().any(|choice| choice.is_of(metric))
    }

    fn metrics(&mut self, core: MetricCore<'_>, pmu: &str, counters: usize) {
        let first = self.plan.groups.len();
        for found in on_core(core) {
            if !self.is_asked(found.metric) {
                continue;
            }
            match self.events_of(&found, core) {
                Ok(MetricEvents { events, parts }) => {
                    let group = self.place(&events, pmu, first, counters);
                    let places = self.plan.groups[group].add(&events);
                    let placed = |at: usize| places.get(at).copied().unwrap_or_default();
                    let parts = parts
                        .into_iter()
                        .map(|(name, at)| (name, at.into_iter().map(placed).collect()));
                    let (metric, pmu) = (MetricRow(found.metric), pmu.to_owned());
                    self.plan.figures.push(PlannedFigure {
                        metric,
                        pmu,
                        group,
                        parts: parts.collect(),
                    });
                }
                Err(refused) => self.plan.unavailable.push(UnavailableCount {
                    name: found.metric.name.to_owned(),
                    why: refused.to_string(),
                }),
            }
        }
    }

    fn events_of(
        &self,
        found: &CoreMetric,
        core: MetricCore<'_>,
    ) -> Result<MetricEvents, CountingRefusal> {
        let mut group = CountingGroup { pmu: String::new(), events: Vec::new() };
        let topdown =
            found.events.keys().any(|name| name.starts_with("topdown_") && !name.contains('.'));
        if let MetricCore::Pmu { pmu, .. } = core
            && topdown
        {
            // The kernel wants it for their leader (intel_pmu_hw_config(), arch/x86/events/intel/core.c).
            let slots = EventSpec::from(format!("{}/slots/", pmu.name));
            group.add(&self.counted(&slots, Some("slots"))?);
        }
        let mut parts = BTreeMap::new();
        for (name, events) in &found.events {
            let mut places = Vec::new();
            for event in events {
                let counted = match core {
                    MetricCore::Emulated => vec![emulated_event(&event.spec, &event.name)],
                    _ => self.counted(&event.spec, Some(&event.name))?,
                };
                places.extend(group.add(&counted));
            }
            parts.insert(*name, places);
        }
        Ok(MetricEvents { events: group.events, parts })
    }

    fn place(
        &mut self,
        events: &[CountedEvent],
        pmu: &str,
        first: usize,
        counters: usize,
    ) -> usize {
        let has_fixed = !cores(self.facts)
            .iter()
            .any(|core| core.pmu.name == pmu && core.uarch.is_some_and(Microarchitecture::is_amd));
        let same_cpus = |group: &CountingGroup| {
            group.events.first().map(|event| &event.cpus) == events.first().map(|event| &event.cpus)
                && group.events.first().map(|event| event.attr.kind)
                    == events.first().map(|event| event.attr.kind)
        };
        let is_topdown =
            |events: &[CountedEvent]| events.first().is_some_and(|event| event.name == "slots");
        let fits = |group: &CountingGroup| {
            same_cpus(group)
                && is_topdown(&group.events) == is_topdown(events)
                && group.counters_with(events, has_fixed) <= counters
        };
        let found = (first..self.plan.groups.len()).find(|at| fits(&self.plan.groups[*at]));
        found.unwrap_or_else(|| {
            self.plan.groups.push(CountingGroup { pmu: pmu.to_owned(), events: Vec::new() });
            self.plan.groups.len() - 1
        })
    }

    /// An event that the user named: in groups of its own.
    fn event(&mut self, spec: &EventSpec) -> Result<(), CountingRefusal> {
        for event in self.counted(spec, None)? {
            let pmu = match &event.planned {
                Some((plan, index)) => plan.events.get(*index).map(|planned| planned.pmu.clone()),
                None => None,
            };
            let pmu = pmu.unwrap_or_else(|| SOFTWARE.to_owned());
            self.plan.groups.push(CountingGroup { pmu, events: vec![event] });
        }
        Ok(())
    }

    /// What counts an event: one on each kind of core, or two that are one
    /// type together.
    fn counted(
        &self,
        spec: &EventSpec,
        name: Option<&str>,
    ) -> Result<Vec<CountedEvent>, CountingRefusal> {
        let mut request = Request::new(spec.clone(), self.request.modes, self.request.target);
        request.allow_skid = true;
        let drafted = plan::draft(&request, self.facts);
        let plan = match drafted {
            Err(unsampled @ Refusal::Unsampled { .. }) if !spec.text().starts_with("cpu") => {
                let clock = Request { event: "task_clock".into(), ..request.clone() };
                let clock = plan::draft(&clock, self.facts)?;
                let name = name.unwrap_or(spec.text());
                return Ok(vec![uncore::event(&request, name, &clock, self.facts, unsampled)?]);
            }
            drafted => drafted.map_err(|refusal| source::refused(&request, refusal, self.facts))?,
        };
        rights::check(&request, &plan, self.facts)?;
        let plan = Arc::new(plan);
        let sampled = plan.events.iter().enumerate().filter(|(_, event)| !event.carrier);
        sampled
            .map(|(index, event)| {
                if event.pmu.starts_with("ibs_") || event.filter != SampleFilter::ALL {
                    let how = match event.filter == SampleFilter::ALL {
                        true => event.pmu.clone(),
                        false => event.filter.to_string(),
                    };
                    return Err(CountingRefusal::OfSamples { event: spec.to_string(), how });
                }
                Ok(CountedEvent {
                    name: name.unwrap_or(&event.name).to_owned(),
                    spec: spec.clone(),
                    attr: bare(&event.attr),
                    cpus: event.cpus.clone(),
                    planned: Some((Arc::clone(&plan), index)),
                })
            })
            .collect()
    }

    /// Everything is one group of the program's one run.
    fn emulated(&mut self) -> Result<(), CountingRefusal> {
        self.metrics(MetricCore::Emulated, "emulated", usize::MAX);
        for spec in &self.request.events {
            let event = emulated_event(spec, spec.text());
            match self.plan.groups.first_mut() {
                Some(group) => {
                    group.add(&[event]);
                }
                None => {
                    let pmu = "emulated".to_owned();
                    self.plan.groups.push(CountingGroup { pmu, events: vec![event] });
                }
            }
        }
        let events = self.plan.groups.first().map_or(0, |group| group.events.len());
        let most = emulator::EmulationSettings::MAX_EVENTS;
        match events > most {
            true => Err(CountingRefusal::TooMany { events, most }),
            false => Ok(()),
        }
    }

    fn note_unavailable(&mut self, is_emulated: bool) {
        let why = match (is_emulated, cores(self.facts).is_empty()) {
            (true, _) => "the emulated PMU has not what it counts",
            (false, true) => {
                "this machine has no hardware PMU; --source emulated counts what a model of caches can"
            }
            (false, false) => "this CPU has not what it counts",
        };
        for choice in &self.request.metrics {
            let is_had = |row: MetricRow| choice.is_of(row.0);
            let named = match choice {
                MetricChoice::Group(group) => group.name(),
                MetricChoice::Named(name) => name,
            };
            let is_told = self.plan.unavailable.iter().any(|unavailable| {
                let mut rows = crate::metrics::metrics().iter();
                rows.any(|row| row.name == unavailable.name && choice.is_of(row))
            });
            if !is_told && !self.plan.figures.iter().any(|figure| is_had(figure.metric)) {
                let (name, why) = (named.to_owned(), why.to_owned());
                self.plan.unavailable.push(UnavailableCount { name, why });
            }
        }
    }
}

/// Without what samples are for: two attrs of one event are alike then.
fn bare(attr: &Attr) -> Attr {
    let mut attr = attr.clone();
    attr.set_precise_ip(0);
    attr.sample_period = 0;
    attr
}

fn emulated_event(spec: &EventSpec, name: &str) -> CountedEvent {
    let (name, spec) = (name.to_owned(), spec.clone());
    CountedEvent { name, spec, attr: Attr::default(), cpus: None, planned: None }
}

impl CountingPlan {
    /// A plan for each group: what `--passes` runs one after the other.
    pub fn passes(&self) -> Vec<CountingPlan> {
        let pass = |group: usize| {
            let figures = self.figures.iter().filter(|figure| figure.group == group);
            CountingPlan {
                groups: vec![self.groups[group].clone()],
                figures: figures.map(|of| PlannedFigure { group: 0, ..of.clone() }).collect(),
                unavailable: if group == 0 { self.unavailable.clone() } else { Vec::new() },
            }
        };
        (0..self.groups.len()).map(pass).collect()
    }
}
