//! What served a row's accesses, and how long they took.

use serde::Serialize;
use std::collections::BTreeMap;

/// Latencies of accesses, in the event's cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latencies {
    /// Samples that have one.
    pub samples: u64,
    /// Sum of the latencies.
    pub cycles: u64,
    /// Part of all cycles that the event's latencies add up to, 0 to 1; where
    /// shares are of periods, each times the period of its sample.
    pub share: f64,
    /// Sum of the latencies by their number.
    pub mean: f64,
    /// What half of the samples do not exceed (nearest rank). From 2048 on
    /// rounded down by less than 0.1 per cent, as `p95`.
    pub median: u64,
    /// What 95 per cent of the samples do not exceed.
    pub p95: u64,
}

/// What is known of the accesses of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessReport {
    /// None when no sample has a latency.
    pub latency: Option<Latencies>,
    /// Part of the row's samples (or of the sum of their periods, where
    /// shares are of periods) that each level served, 0 to 1. Empty when the
    /// event has no data source.
    pub levels: BTreeMap<String, f64>,
}
