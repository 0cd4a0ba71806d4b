//! All parts, one after the other.

use crate::affinity::{allowed_cpus, most_idle_cpu, pin_to_cpu};
use crate::buffer::MeasuredBuffer;
use crate::error::LatencyError;
use crate::machine::{DescribedCache, available_memory, described_caches, memory_nodes};
use crate::meter::{DisturbedRuns, MeasuringEffort, Meter};
use crate::part::LatencyPart;
use crate::part::chains::{self, ChainStudy};
use crate::part::cores::{self, CoreStudy};
use crate::part::curves::{self, LevelStudy};
use crate::part::forwarding::{self, ForwardingStudy};
use crate::part::load::{self, LoadStudy};
use crate::part::nodes::{self, NodeStudy};
use crate::part::strides::{self, StrideStudy};
use crate::part::tlbs::{self, TlbStudy};
use crate::sizes::largest;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyRequest {
    pub parts: Vec<LatencyPart>,
    pub effort: MeasuringEffort,
    /// The largest size, if memory allows, bytes; None: by the last level.
    pub largest: Option<u64>,
    /// Where to measure; None: on the CPU that is idle most.
    pub cpu: Option<u32>,
    /// CPUs of the core to core matrix; empty: those that this process may
    /// use, or some of them.
    pub matrix: Vec<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LatencyStudy {
    pub cpu: u32,
    /// Nanoseconds of a core cycle: of an add that waits for another one.
    pub cycle: f64,
    pub described: Vec<DescribedCache>,
    /// The largest size that was visited, bytes.
    pub largest: u64,
    /// Whether it was stopped before its end: parts and points are missing.
    pub is_interrupted: bool,
    pub notes: Vec<String>,
    pub disturbed: DisturbedRuns,
    pub levels: Option<LevelStudy>,
    pub tlbs: Option<TlbStudy>,
    pub strides: Option<StrideStudy>,
    pub chains: Option<ChainStudy>,
    pub forwarding: Option<ForwardingStudy>,
    pub cores: Option<CoreStudy>,
    /// Node to node; None of a machine with one node.
    pub nodes: Option<NodeStudy>,
    pub load: Option<LoadStudy>,
}

/// Measures on a thread of its own, as threads are kept on CPUs. `stop` ends
/// it between two runs; `progress` hears what is measured.
///
/// # Errors
/// No memory, no CPU, no thread.
pub fn measure(
    request: &StudyRequest,
    stop: &AtomicBool,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<LatencyStudy, LatencyError> {
    thread::scope(|scope| {
        let measuring = thread::Builder::new()
            .spawn_scoped(scope, || measure_on_this_thread(request, stop, progress))
            .map_err(LatencyError::Thread)?;
        let panicked = |panic| std::panic::resume_unwind(panic);
        measuring.join().unwrap_or_else(panicked)
    })
}

fn measure_on_this_thread(
    request: &StudyRequest,
    stop: &AtomicBool,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<LatencyStudy, LatencyError> {
    let root = Path::new("/");
    let allowed = allowed_cpus();
    for cpu in request.cpu.iter().chain(&request.matrix) {
        if !allowed.contains(cpu) {
            return Err(LatencyError::NotAllowed(*cpu));
        }
    }
    let cpu = request.cpu.or_else(|| most_idle_cpu(&allowed)).unwrap_or(0);
    pin_to_cpu(cpu)?;
    let described = described_caches(root, cpu);
    let last = described.last().map(|cache| cache.bytes);
    let available = available_memory(root);
    let largest = match request.largest {
        Some(asked) => largest(Some(asked / 8), available, asked),
        None => largest(last, available, request.effort.largest),
    };
    let mut study = LatencyStudy { cpu, described, largest, ..LatencyStudy::default() };
    study.notes.extend(size_limit_note(last, largest));
    if request.largest.is_some_and(|asked| asked > largest) {
        let note = format!("a quarter of the memory that is left is {} MiB", largest >> 20);
        study.notes.push(note);
    }
    let mut meter = Meter::new(request.effort, cpu, stop);
    for part in &request.parts {
        if meter.is_stopped() {
            break;
        }
        progress(part.name());
        let told = |text: &str| progress(&format!("{}: {text}", part.name()));
        match part {
            LatencyPart::Levels => {
                study.levels = Some(curves::study(&mut meter, largest, &told)?);
            }
            LatencyPart::Tlbs => study.tlbs = Some(tlbs::study(&mut meter, largest, &told)?),
            LatencyPart::Strides => {
                let mut buffer = MeasuredBuffer::new(largest, true, None)?;
                study.strides = Some(strides::study(&mut meter, &mut buffer, largest));
            }
            LatencyPart::Chains => {
                let mut buffer = MeasuredBuffer::new(largest, true, None)?;
                study.chains = Some(chains::study(&mut meter, &mut buffer, largest));
            }
            LatencyPart::Forwarding => study.forwarding = Some(forwarding::study(&mut meter)),
            LatencyPart::Cores => {
                let (cpus, note) = matrix(request, &allowed);
                study.notes.extend(note);
                let disturbed = &mut study.disturbed;
                study.cores = Some(cores::study(request.effort, &cpus, stop, disturbed)?);
            }
            LatencyPart::Nodes => {
                let nodes = memory_nodes(root);
                if nodes.len() < 2 {
                    let note = "one node of memory: there is no matrix of nodes";
                    study.notes.push(note.to_owned());
                    continue;
                }
                let (found, disturbed) =
                    nodes::study(request.effort, &nodes, largest, &allowed, stop)?;
                study.disturbed.add(disturbed);
                study.nodes = Some(found);
                pin_to_cpu(cpu)?;
            }
            LatencyPart::Load => {
                let others: Vec<u32> = allowed.iter().copied().filter(|it| *it != cpu).collect();
                let fit = usize::try_from(available / 4 / load::READER_BYTES).unwrap_or(usize::MAX);
                let others = others.get(..others.len().min(fit)).unwrap_or_default();
                if others.is_empty() {
                    let note = "one CPU: nobody else can load the memory";
                    study.notes.push(note.to_owned());
                }
                let mut buffer = MeasuredBuffer::new(largest, true, None)?;
                study.load = Some(load::study(&mut meter, &mut buffer, largest, others)?);
            }
        }
    }
    study.is_interrupted = meter.is_stopped();
    study.cycle = meter.cycle();
    study.disturbed.add(meter.disturbed);
    study.notes.extend(without_huge_pages(&study));
    Ok(study)
}

/// The CPUs of the core to core matrix, and what is to be said of them.
fn matrix(request: &StudyRequest, allowed: &[u32]) -> (Vec<u32>, Option<String>) {
    if !request.matrix.is_empty() {
        return (request.matrix.clone(), None);
    }
    let cpus = cores::spread_cpus(allowed);
    let note = match (cpus.len(), allowed.len()) {
        (1, _) => Some("one CPU: there is no matrix of cores".to_owned()),
        (some, all) if some < all => {
            Some(format!("core to core: {some} of {all} CPUs; name others to see them"))
        }
        _ => None,
    };
    (cpus, note)
}

/// Why the largest size is less than several times the last level.
fn size_limit_note(last: Option<u64>, largest: u64) -> Option<String> {
    const MIB: u64 = 1 << 20;
    let last = last.filter(|last| last.saturating_mul(4) > largest)?;
    Some(format!(
        "the machine says that its last level has {} MiB, which a guest's CPUID may say wrongly; \
         sizes up to {} MiB were measured, so memory's time may be the last level's in part",
        last / MIB,
        largest / MIB
    ))
}

/// Whether huge pages were asked for in vain.
fn without_huge_pages(study: &LatencyStudy) -> Option<String> {
    let of_curves = study.levels.iter().flat_map(|levels| &levels.curves).map(|curve| curve.pages);
    let of_tlbs = study.tlbs.iter().map(|tlbs| tlbs.huge_pages);
    let of_strides = study.strides.iter().map(|strides| strides.pages);
    let of_chains = study.chains.iter().map(|chains| chains.pages);
    let of_load = study.load.iter().map(|load| load.pages);
    let mut all = of_curves.chain(of_tlbs).chain(of_strides).chain(of_chains).chain(of_load);
    let pages = all.find(|pages| pages.huge && !pages.are_as_asked())?;
    Some(format!(
        "pages of 2 MiB were asked for, and {} of {} MiB are on such: the TLBs have a part in what \
         is said of them; see /sys/kernel/mm/transparent_hugepage/enabled, or free some memory",
        pages.huge_bytes >> 20,
        pages.bytes >> 20
    ))
}
