//! Reports as an interval gives them, for tests.

use analysis::Weighting;
use analysis::report::{
    AccessReport, Cell, EventReport, Latencies, Losses, Machine, MissingValue, PeriodUnit,
    Question, Report, RoutineOffset, Row, SamplingMode, SiteCell, Totals,
};
use perfdata::IpMeaning;
use std::collections::BTreeMap;

pub(crate) fn row(routine: &str, tid: i64, count: u64) -> Row {
    let site = SiteCell {
        address: 0x1000 + u64::try_from(routine.len()).unwrap(),
        object: "/usr/bin/server".into(),
        routine: Ok(RoutineOffset { name: routine.into(), offset: 0x10 }),
    };
    let cells = vec![
        Cell::Text("server".into()),
        Cell::Number(tid),
        Cell::Site(site),
        Cell::Text(format!("caller_of_{routine}").into()),
        Cell::Text("/usr/bin/server".into()),
        Cell::Text(if tid == 1 { "L2 hit".into() } else { "RAM hit".into() }),
        Cell::Missing(MissingValue::Field("ADDR")),
        Cell::Text(format!("/src/{routine}.c:7").into()),
    ];
    let cycles = count * if tid == 1 { 14 } else { 200 };
    let latency = Latencies { samples: count, cycles, share: 0.0, mean: 0.0, median: 0, p95: 0 };
    Row {
        count,
        period: count * 1000,
        share: 0.0,
        share_error: 0.0,
        squares: 0.0,
        exact_ip: count,
        own: None,
        keys: crate::sampled_keys(true).into(),
        cells,
        served: Some(AccessReport { latency: Some(latency), levels: BTreeMap::new() }),
        facts: None,
    }
}

pub(crate) fn report(rows: Vec<Row>, lost: u64) -> Report {
    let counted = rows.iter().map(|row| row.count).sum();
    let period = rows.iter().map(|row| row.period).sum();
    let totals = Totals { samples: counted, counted, period, ..Totals::default() };
    let event = EventReport {
        name: "l1_cache_miss:u".into(),
        sampling: SamplingMode::Period(1000),
        unit: PeriodUnit::Events,
        weighting: Weighting::Count,
        promises: BTreeMap::new(),
        ip: IpMeaning::Varies,
        ledger: None,
        in_kernel: None,
        totals,
        filter: None,
        members: Vec::new(),
        not_kept: None,
        rows_total: rows.len(),
        rows,
        tree: None,
        latency_of: None,
        latency: None,
        accesses: Vec::new(),
        levels: Vec::new(),
        registers: Vec::new(),
    };
    Report {
        hardmeter_report: Report::VERSION,
        machine: Machine::default(),
        query: Question::default(),
        events: vec![event],
        chains: analysis::report::ReportChains::default(),
        losses: Losses { lost, ..Losses::default() },
        notes: Vec::new(),
    }
}
