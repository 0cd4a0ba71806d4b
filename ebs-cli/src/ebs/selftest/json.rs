//! The rows as JSON, to be sent with a report: docs/selftest.md describes it.
//! No names of hosts, users, files or processes are in it.

use super::Tested;
use super::judge::{Measure, Shares};
use super::observed::{Account, Opened};
use super::row::{By, Judged, Outcome, Row, Verdict};
use recorder::Facts;
use serde::Serialize;

/// Raised when a field changes its meaning or goes away.
const SCHEMA: &str = "hardmeter-selftest/1";

#[derive(Debug, Serialize)]
pub(super) struct Document {
    schema: &'static str,
    ebs: &'static str,
    machine: Machine,
    seconds: f64,
    interrupted: bool,
    passed: usize,
    failed: usize,
    not_sampled: usize,
    rows: Vec<JsonRow>,
}

#[derive(Debug, Serialize)]
struct Machine {
    cpu: Option<String>,
    vendor: Option<String>,
    family: Option<u32>,
    model: Option<u32>,
    stepping: Option<u32>,
    cpus: Option<usize>,
    runs_under: String,
    kernel: Option<String>,
    architecture: Option<String>,
    pmus: Vec<String>,
}

#[derive(Debug, Serialize)]
struct JsonRow {
    #[serde(rename = "type")]
    kind: &'static str,
    event: String,
    program: Option<String>,
    user: bool,
    kernel: bool,
    verdict: &'static str,
    reasons: Vec<String>,
    counted_by: Option<&'static str>,
    sampled: Option<JsonSampled>,
}

/// What was measured, of a row that was sampled to its end.
#[derive(Debug, Serialize)]
struct JsonSampled {
    opened: Vec<JsonEvent>,
    served: String,
    samples: u64,
    shares: JsonShares,
    account: JsonAccount,
    native_seconds: f64,
    sampled_seconds: f64,
}

#[derive(Debug, Serialize)]
struct JsonEvent {
    pmu: String,
    config: String,
    config1: String,
    precise_ip: u8,
    interval: u64,
    filtered: bool,
    promises: String,
}

#[derive(Debug, Serialize)]
struct JsonShares {
    exact_ip: Option<JsonMeasure>,
    instruction: Option<JsonMeasure>,
    address: Option<JsonMeasure>,
    registers: Option<JsonMeasure>,
    latency: Option<JsonMeasure>,
    data_source: Option<JsonMeasure>,
    period: Option<JsonMeasure>,
}

#[derive(Debug, Serialize)]
struct JsonMeasure {
    right: u64,
    of: u64,
    needed: f64,
}

#[derive(Debug, Serialize)]
struct JsonAccount {
    events: u64,
    made: Option<u64>,
    delivered: u64,
    lost: u64,
    throttled: u64,
    shared_counter: bool,
    words: String,
}

impl Document {
    pub(super) fn new(tested: &Tested, facts: &Facts) -> Document {
        let count = |verdict| tested.rows.iter().filter(|row| row.verdict() == verdict).count();
        Document {
            schema: SCHEMA,
            ebs: env!("CARGO_PKG_VERSION"),
            machine: Machine::new(facts),
            seconds: tested.took.as_secs_f64(),
            interrupted: tested.is_interrupted,
            passed: count(Verdict::Pass),
            failed: count(Verdict::Fail),
            not_sampled: count(Verdict::WhyNot),
            rows: tested.rows.iter().map(JsonRow::new).collect(),
        }
    }
}

impl Machine {
    fn new(facts: &Facts) -> Machine {
        let (cpus, kernel) = (&facts.cpus, &facts.kernel);
        Machine {
            cpu: cpus.name.clone(),
            vendor: cpus.vendor.clone(),
            family: cpus.family,
            model: cpus.model,
            stepping: cpus.stepping,
            cpus: cpus.online.as_ref().map(Vec::len),
            runs_under: facts.hypervisor.to_string(),
            kernel: kernel.release.clone(),
            architecture: kernel.machine.clone(),
            pmus: facts.pmus.iter().flatten().map(|pmu| pmu.name.clone()).collect(),
        }
    }
}

impl JsonRow {
    fn new(row: &Row) -> JsonRow {
        let modes = row.on.map(|(_, modes)| modes).unwrap_or_default();
        JsonRow {
            kind: row.entry.name,
            event: super::cases::event(row.entry).to_string(),
            program: row.on.map(|(program, _)| program.to_string()),
            user: modes.user,
            kernel: modes.kernel,
            verdict: row.verdict().word(),
            reasons: row.reasons().to_vec(),
            counted_by: row.by().map(By::word),
            sampled: match &row.outcome {
                Outcome::Judged(judged) => Some(JsonSampled::new(judged)),
                Outcome::Broken(_) | Outcome::WhyNot(_) => None,
            },
        }
    }
}

impl JsonSampled {
    fn new(judged: &Judged) -> JsonSampled {
        let Judged { opened, served, samples, account, judgement, took } = judged;
        JsonSampled {
            opened: opened.iter().map(JsonEvent::new).collect(),
            served: served.clone(),
            samples: *samples,
            shares: JsonShares::new(&judgement.shares),
            account: JsonAccount::new(account),
            native_seconds: took[0].as_secs_f64(),
            sampled_seconds: took[1].as_secs_f64(),
        }
    }
}

impl JsonEvent {
    fn new(opened: &Opened) -> JsonEvent {
        let Opened { pmu, config, config1, precise_ip, interval, is_filtered, promises } = opened;
        JsonEvent {
            pmu: pmu.clone(),
            config: format!("{config:#x}"),
            config1: format!("{config1:#x}"),
            precise_ip: *precise_ip,
            interval: *interval,
            filtered: *is_filtered,
            promises: promises.to_string(),
        }
    }
}

impl JsonShares {
    fn new(shares: &Shares) -> JsonShares {
        let of = |measure: &Measure| {
            let Measure { right, of, needed, .. } = *measure;
            (of > 0).then(|| JsonMeasure { right, of, needed: f64::from(needed) / 1000.0 })
        };
        JsonShares {
            exact_ip: of(&shares.exact_ip),
            instruction: of(&shares.instruction),
            address: of(&shares.address),
            registers: of(&shares.registers),
            latency: of(&shares.latency),
            data_source: of(&shares.served),
            period: of(&shares.period),
        }
    }
}

impl JsonAccount {
    fn new(account: &Account) -> JsonAccount {
        let Account { events, made, delivered, lost, throttled, shared, words } = account;
        JsonAccount {
            events: *events,
            made: *made,
            delivered: *delivered,
            lost: *lost,
            throttled: *throttled,
            shared_counter: *shared,
            words: words.clone(),
        }
    }
}
