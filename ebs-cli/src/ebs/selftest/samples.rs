//! From the stream of a session to what is judged.

use super::observed::{Account, Observation, Observed, Opened, REGISTERS};
use super::recording::Recorded;
use analysis::{Sieve, SieveVerdict};
use anyhow::{Context, Result, ensure};
use perfdata::sample::Weight;
use perfdata::stream::{SampleRecord, StreamDecoder, StreamRecord, StreamStep};
use perfdata::{CpuMode, Misc, Sample};
use recorder::PlannedEvent;
use recorder::session::ledger::Ledger;
use symbolizer::{Symbolizer, SymbolizerOptions};

/// Reads a recording, and sieves it as reports do.
///
/// # Errors
/// A stream that this program cannot read, though it wrote it.
pub(super) fn observed(recorded: &Recorded) -> Result<Observed> {
    let stream = Stream::read(&recorded.captured.bytes)?;
    let mut sieve = Sieve::new(None);
    sieve.learn(&stream.decoder)?;
    let mut symbolizer = stream.symbolizer;
    let opened: Vec<&PlannedEvent> =
        recorded.opened.iter().filter(|event| !event.carrier).collect();
    let mut observed = Observed {
        in_stream: stream.samples.len() as u64,
        events: opened.iter().map(|event| of(event)).collect(),
        account: account(&recorded.ledger),
        ..Observed::default()
    };
    for (at, record) in stream.samples {
        if !recorded.captured.of_loop.contains(&at) {
            continue;
        }
        let description = record.description(&stream.decoder).context("an event without a name")?;
        let named = |planned: &&PlannedEvent| Some(&planned.name) == description.name.as_ref();
        let opened = opened.iter().position(named).context("an event that nobody opened")?;
        let sample = description.layout.decode(record.misc, record.payload).context("a sample")?;
        match sieve.judge(&mut symbolizer, &stream.decoder, record.event, &sample) {
            SieveVerdict::Kept => observed.samples.push(observation(opened, &sample)),
            SieveVerdict::Other => {}
            SieveVerdict::Undecided(_) => observed.undecided += 1,
        }
    }
    Ok(observed)
}

/// A stream, its samples not decoded yet.
struct Stream<'s> {
    decoder: StreamDecoder,
    symbolizer: Symbolizer,
    /// With where each begins.
    samples: Vec<(usize, SampleRecord<'s>)>,
}

impl<'s> Stream<'s> {
    fn read(bytes: &'s [u8]) -> Result<Stream<'s>> {
        let (mut decoder, mut at) = (StreamDecoder::new(), 0);
        let mut symbolizer = Symbolizer::new(SymbolizerOptions::default());
        let mut samples = Vec::new();
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let StreamStep::Record { consumed, record } = decoder.step(rest)? else { break };
            match record {
                StreamRecord::Sample(sample) => samples.push((at, sample)),
                StreamRecord::Unreadable { error, .. } => return Err(error.into()),
                record => symbolizer.observe(&decoder, &record),
            }
            at += consumed;
        }
        decoder.finish(bytes.len() - at)?;
        ensure!(!decoder.events().is_empty(), "the stream describes no event");
        Ok(Stream { decoder, symbolizer, samples })
    }
}

fn of(event: &PlannedEvent) -> Opened {
    Opened {
        pmu: event.pmu.clone(),
        config: event.attr.config,
        config1: event.attr.config1,
        precise_ip: event.attr.precise_ip(),
        interval: event.attr.sample_period,
        is_filtered: !event.filter.is_all(),
        promises: event.promises,
    }
}

fn account(ledger: &Ledger) -> Account {
    let has_counter = |share: Option<f64>| share.is_none_or(|share| share > 0.98);
    Account {
        events: ledger.events,
        made: ledger.kernel,
        delivered: ledger.delivered,
        lost: ledger.lost.total(),
        throttled: ledger.throttled,
        shared: ledger.by_event.iter().any(|event| !has_counter(event.on_counter)),
        words: ledger.to_string(),
    }
}

fn observation(event: usize, sample: &Sample<'_>) -> Observation {
    let mut registers = [None; REGISTERS];
    if let Some(sampled) = sample.regs_intr {
        for (number, register) in (0..).zip(registers.iter_mut()) {
            *register = sampled.get(number);
        }
    }
    Observation {
        event,
        ip: sample.ip.unwrap_or_default(),
        is_exact: sample.misc.contains(Misc::EXACT_IP),
        of_kernel: sample.misc.cpu_mode() == CpuMode::Kernel,
        address: sample.addr,
        registers,
        weight: sample.weight.map(Weight::first),
        data_src: sample.data_src,
        period: sample.period,
    }
}
