//! What is told of an event or a metric.

use crate::ebs::stat::PerUnit;
use recorder::counting::{CountingPlan, TotalCounts};
use recorder::metrics::{Estimate, Figure};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct StatTable<'j> {
    /// Events, then metrics, of each pass.
    pub(super) rows: Vec<StatRow>,
    /// On average, where there were several runs.
    pub(super) seconds: f64,
    pub(super) runs: usize,
    /// The end of a span, from the start; None: it is of the whole run.
    pub(super) at: Option<Duration>,
    pub(super) per: &'j [PerUnit],
    pub(super) model: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct StatRow {
    /// Who counted: `software`, `cpu`, `emulated`.
    pub(super) pmu: String,
    /// The metric's group; None: an event.
    pub(super) group: Option<&'static str>,
    pub(super) name: String,
    /// As `-t` takes it; None: a metric.
    pub(super) spec: Option<String>,
    pub(super) unit: &'static str,
    pub(super) figure: Figure,
    /// What it is, or why it is not there.
    pub(super) told: String,
    /// Share of the time on a counter.
    pub(super) share: Option<f64>,
    /// Standard deviation over the runs.
    pub(super) deviation: Option<f64>,
    pub(super) agrees: Option<bool>,
}

impl StatRow {
    /// Whether its value is so many of something, of which each unit of the
    /// user's has a part: a ratio is not.
    pub(super) fn is_count(&self) -> bool {
        self.group.is_none()
    }

    pub(super) fn per(&self, unit: &PerUnit) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a quotient")]
        let number = unit.number as f64;
        self.figure.ok().filter(|_| self.is_count()).map(|figure| figure.value / number)
    }
}

pub(super) fn why(row: &StatRow) -> Option<String> {
    let why = row.figure.err()?.to_string();
    Some(match row.is_count() && !row.told.is_empty() {
        true => format!("{why}: {}", row.told),
        false => why,
    })
}

pub(super) fn rows(plan: &CountingPlan, counts: &TotalCounts) -> Vec<StatRow> {
    let mut rows = Vec::new();
    for (group, counted) in plan.groups.iter().zip(&counts.groups) {
        for (event, count) in group.events.iter().zip(counted) {
            let is_clock = matches!(event.name.as_str(), "task_clock" | "cpu_clock");
            rows.push(StatRow {
                pmu: group.pmu.clone(),
                group: None,
                name: event.name.clone(),
                spec: Some(event.spec.to_string()),
                unit: if is_clock { "ns" } else { "" },
                figure: count.figure,
                told: count.refused.clone().unwrap_or_default(),
                share: count.share(),
                deviation: None,
                agrees: count.agrees,
            });
        }
    }
    for figure in &plan.figures {
        let metric = figure.metric.0;
        rows.push(StatRow {
            pmu: figure.pmu.clone(),
            group: Some(metric.group.name()),
            name: metric.name.to_owned(),
            spec: None,
            unit: metric.unit,
            figure: figure.value(counts),
            told: metric.meaning.to_owned(),
            share: None,
            deviation: None,
            agrees: None,
        });
    }
    rows
}

/// The mean of runs, and their deviation. What one run did not count has no
/// mean.
pub(super) fn over_runs(runs: &[Vec<StatRow>]) -> Vec<StatRow> {
    let Some(first) = runs.first() else { return Vec::new() };
    let mean = |(at, row): (usize, &StatRow)| {
        let of_runs: Vec<&StatRow> = runs.iter().filter_map(|run| run.get(at)).collect();
        if of_runs.len() < 2 {
            return row.clone();
        }
        let figures = of_runs.iter().map(|row| row.figure).collect::<Result<Vec<Estimate>, _>>();
        let figures = match figures {
            Ok(figures) => figures,
            Err(missing) => return StatRow { figure: Err(missing), ..row.clone() },
        };
        #[expect(clippy::cast_precision_loss, reason = "few runs")]
        let number = figures.len() as f64;
        let average = |of: fn(&Estimate) -> f64| figures.iter().map(of).sum::<f64>() / number;
        let value = average(|figure| figure.value);
        let squares: f64 = figures.iter().map(|figure| (figure.value - value).powi(2)).sum();
        StatRow {
            figure: Ok(Estimate {
                value,
                low: average(|figure| figure.low),
                high: average(|figure| figure.high),
            }),
            deviation: Some((squares / (number - 1.0)).sqrt()),
            share: of_runs
                .iter()
                .map(|row| row.share)
                .collect::<Option<Vec<f64>>>()
                .map(|shares| shares.iter().sum::<f64>() / number),
            agrees: of_runs
                .iter()
                .map(|row| row.agrees)
                .collect::<Option<Vec<bool>>>()
                .map(|all| all.into_iter().all(|agrees| agrees)),
            ..row.clone()
        }
    };
    first.iter().enumerate().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recorder::metrics::NotCounted;

    fn row(figure: Figure) -> StatRow {
        StatRow {
            pmu: "cpu".into(),
            group: None,
            name: "x".into(),
            spec: None,
            unit: "",
            figure,
            told: String::new(),
            share: Some(1.0),
            deviation: None,
            agrees: None,
        }
    }

    #[test]
    fn runs_have_a_mean_and_a_deviation() {
        let runs = [1.0, 2.0, 3.0].map(|value| vec![row(Ok(Estimate::exact(value)))]);
        let all = over_runs(&runs);
        assert_eq!(all[0].figure, Ok(Estimate::exact(2.0)));
        assert_eq!(all[0].deviation, Some(1.0));
        let one = over_runs(&runs[..1]);
        assert_eq!((one[0].figure, one[0].deviation), (Ok(Estimate::exact(1.0)), None));
        let missing = [runs[0].clone(), vec![row(Err(NotCounted::Never))]];
        assert_eq!(over_runs(&missing)[0].figure, Err(NotCounted::Never));
        assert!(over_runs(&[]).is_empty());
    }

    #[test]
    fn ratios_are_nobodys_share() {
        let unit = PerUnit { name: "request".into(), number: 4 };
        let count = row(Ok(Estimate::exact(10.0)));
        assert_eq!(count.per(&unit), Some(2.5));
        assert_eq!(StatRow { group: Some("cache"), ..count }.per(&unit), None);
    }
}
