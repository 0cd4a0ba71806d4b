//! The table, formulas over intervals, and pmu-tools' opinion.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::catalogue::Microarchitecture;
use crate::catalogue::table::{self, columns, hex, rows};
use crate::machine::facts::Pmu;

/// What tests/metrics-oracle printed.
const PMU_TOOLS: &str = include_str!("pmu_tools.tsv");

fn pmu_of(core: Microarchitecture) -> Pmu {
    Pmu { name: core.pmu().expect("has one").to_owned(), ..Pmu::default() }
}

fn metrics_of(name: &'static str) -> Vec<CoreMetric> {
    let uarch = Microarchitecture(name);
    on_core(MetricCore::Pmu { pmu: &pmu_of(uarch), uarch: Some(uarch) })
}

#[test]
fn every_row_is_a_metric() {
    let is_row = |line: &&str| !line.starts_with('#');
    assert_eq!(table::METRICS.lines().filter(is_row).count(), metrics().len());
    let lines = table::QUANTITIES.lines().filter(is_row);
    for line in lines {
        let [_, cores, _, codes, ..] = columns::<6>(line).unwrap_or_else(|| panic!("{line}"));
        for core in cores.split(',') {
            assert!(Microarchitecture::all().iter().any(|one| one.0 == core), "{core}: {line}");
        }
        assert!(codes.split(',').all(|code| hex(code).is_some_and(|code| code > 0)), "{line}");
    }
}

/// A row that no core has would be a slip of the pen.
#[test]
fn every_row_is_had_by_some_core() {
    let mut had: Vec<&str> = Vec::new();
    let cores = Microarchitecture::all();
    let pmus: Vec<Pmu> = cores.iter().map(|core| pmu_of(*core)).collect();
    let kinds =
        cores.iter().zip(&pmus).map(|(core, pmu)| MetricCore::Pmu { pmu, uarch: Some(*core) });
    for core in kinds.chain([MetricCore::Kernel, MetricCore::Emulated]) {
        had.extend(on_core(core).iter().map(|one| one.metric.text));
    }
    for metric in metrics().iter().filter(|metric| !metric.text.contains("topdown_")) {
        assert!(had.contains(&metric.text), "{}: {}", metric.name, metric.text);
    }
}

#[test]
fn a_metric_is_the_cores_own_events() {
    let of = |core: &'static str, name: &str| -> Vec<String> {
        let all = metrics_of(core);
        let found = all.iter().find(|one| one.metric.name == name);
        let events = found.unwrap_or_else(|| panic!("{core} has {name}")).events.values().flatten();
        events.map(|event| format!("{}={}", event.name, event.spec)).collect()
    };
    assert_eq!(
        of("skylake", "l1d_load_miss_ratio"),
        [
            "mem_load_retired.l1_miss=cpu/config=0x8d1/",
            "mem_inst_retired.all_loads=cpu/config=0x81d0/"
        ]
    );
    assert_eq!(
        of("zen2", "l3_miss_ratio"),
        ["l3_misses=amd_l3/config=0x104/", "l3_accesses=amd_l3/config=0xff04/"]
    );
    assert_eq!(of("alderlake_gracemont", "mispredict_ratio").len(), 2);
    let groups: Vec<_> = metrics_of("skylake").iter().map(|one| one.metric.group).collect();
    for group in &MetricGroup::ALL[1..] {
        assert!(groups.contains(group), "{group}");
    }
}

#[test]
fn formulas_are_those_of_pmu_tools() {
    let mut counts: BTreeMap<(&str, u64, u64), f64> = BTreeMap::new();
    for [what, core, config, config1, count] in rows(PMU_TOOLS) {
        if what == "count" {
            let code = |word| hex(word).expect("is a number");
            counts.insert((core, code(config), code(config1)), count.parse().expect("is a number"));
        }
    }
    let (mut same, mut other) = (0, Vec::new());
    let mut of_cores: BTreeMap<&str, Vec<CoreMetric>> = BTreeMap::new();
    for [what, core, ours, theirs, value] in rows(PMU_TOOLS) {
        if what != "metric" {
            continue;
        }
        let value: f64 = value.parse().expect("is a number");
        let all = of_cores.entry(core).or_insert_with(|| metrics_of(core));
        let named = |one: &&CoreMetric| format!("{}.{}", one.metric.group, one.metric.name) == ours;
        let Some(found) = all.iter().find(named) else {
            other.push(format!("{core} has no {ours} ({theirs})"));
            continue;
        };
        let count = |event: &MetricEvent| {
            let words =
                event.spec.text().split(['/', ',']).filter_map(|term| term.split_once("=0x"));
            let word =
                |name: &str| words.clone().find(|(term, _)| *term == name).and_then(|it| hex(it.1));
            let code = (core, word("config")?, word("config1").unwrap_or(0));
            counts.get(&code).map(|count| Estimate::exact(*count))
        };
        let of = |name: &str| {
            let parts =
                found.events[name].iter().map(|event| count(event).ok_or(NotCounted::Never));
            parts.reduce(|one, next| Ok(one? + next?)).unwrap_or(Err(NotCounted::Never))
        };
        match found.metric.formula.value(&of) {
            Ok(mine) if (mine.value - value).abs() <= 1e-9 * value.abs() => same += 1,
            mine => other.push(format!("{core} {ours} ({theirs}): {mine:?}, not {value}")),
        }
    }
    assert!(same >= 100, "{same} of the metrics agree: {other:#?}");
    assert_eq!(other, Vec::<String>::new());
}

#[test]
fn what_is_no_formula_is_told_where() {
    for (text, at) in
        [("", 0), ("a +", 3), ("(a", 2), ("a b", 2), ("1..2", 0), ("a * -b", 4), ("ä", 0)]
    {
        let error = Formula::parse(text).expect_err(text);
        assert_eq!((error.at, error.formula.as_str()), (at, text), "{error}");
    }
    let deep = "(".repeat(1_000_000);
    assert!(Formula::parse(&deep).is_err());
    let names = Formula::parse("a.b / (c_1 + a.b)").expect("is one");
    assert_eq!(names.names(), ["a.b", "c_1"]);
}

#[test]
fn a_missing_part_makes_the_whole_no_number() {
    let formula = Formula::parse("100 * a / (a + b)").expect("is one");
    let with =
        |b: Figure| formula.value(&|name| if name == "a" { Ok(Estimate::exact(1.0)) } else { b });
    assert_eq!(with(Err(NotCounted::Never)), Err(NotCounted::Never));
    assert_eq!(with(Ok(Estimate::exact(-1.0))), Err(NotCounted::Undefined));
    assert_eq!(with(Ok(Estimate::exact(3.0))), Ok(Estimate::exact(25.0)));
}

fn formulas() -> impl Strategy<Value = Formula> {
    let leaf = prop_oneof![
        (1..9u32).prop_map(|number| Formula::Number(f64::from(number))),
        prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(|name| Formula::Name(name.into())),
    ];
    leaf.prop_recursive(5, 24, 2, |part| {
        let operation = prop::sample::select(vec!['+', '-', '*', '/']);
        (operation, part.clone(), part).prop_map(|(operation, left, right)| Formula::Both {
            operation,
            left: Box::new(left),
            right: Box::new(right),
        })
    })
}

#[derive(Clone, Debug)]
struct Counted {
    estimate: Estimate,
    truth: f64,
}

fn counted() -> impl Strategy<Value = Counted> {
    (0.0..1e6f64, 0.0..1e5f64, 0.0..=1.0f64, 0.0..=1.0f64).prop_map(|(low, wide, value, truth)| {
        let at = |share: f64| low + wide * share;
        let estimate = Estimate { value: at(value), low, high: low + wide };
        Counted { estimate, truth: at(truth).min(low + wide) }
    })
}

proptest! {
    #[test]
    fn the_truth_stays_inside(formula in formulas(), parts in prop::array::uniform4(counted())) {
        let part = |name: &str| &parts[usize::from(name.as_bytes()[0] - b'a')];
        let estimated = formula.value(&|name| Ok(part(name).estimate));
        let truth = formula.value(&|name| Ok(Estimate::exact(part(name).truth)));
        if let (Ok(estimated), Ok(truth)) = (estimated, truth) {
            let slack = 1e-6 * truth.value.abs().max(1.0);
            let is_inside = (estimated.low - slack..=estimated.high + slack).contains(&truth.value);
            prop_assert!(is_inside || truth.value.is_nan(), "{estimated:?} {truth:?}");
        }
    }

    #[test]
    fn not_counted_goes_through(formula in formulas(), missing in 0..4usize) {
        let of = |name: &str| match usize::from(name.as_bytes()[0] - b'a') == missing {
            true => Err(NotCounted::Never),
            false => Ok(Estimate::exact(3.0)),
        };
        let has = formula.names().iter().any(|name| of(name).is_err());
        if has {
            prop_assert!(formula.value(&of).is_err());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-c0-9 .()+*/-]{0,40}") {
        if let Ok(formula) = Formula::parse(&text) {
            let value = formula.value(&|_| Ok(Estimate::exact(1.0)));
            prop_assert!(value.is_ok() || value == Err(NotCounted::Undefined));
        }
    }
}
