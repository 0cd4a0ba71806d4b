//! What must hold on a machine whose PMU is real to its kernel. Runs inside a
//! box only, as its first process's child; `tests/pmu-box/run` prints the table.
//!
//! `box-assertions [TEXT,...]`: those whose names hold one of these. A line
//! each: `PASS NAME`, `FAIL NAME why` or `SKIP NAME why`.
#![allow(clippy::unwrap_used, reason = "an assertion fails by panicking")]

mod account;
mod callers;
mod cloud;
mod daemon;
mod emulated;
mod facts;
mod ibs;
mod kept_calls;
mod log;
mod modes;
mod phases;
mod precise;
mod realism;
mod recipes;
mod records;
mod selftest;
mod shortage;
mod stat;
mod targets;
mod throttling;
mod turns;
mod two_cpus;
mod types;
mod walk;

use std::{
    env, mem,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::Mutex,
    time::Instant,
};

use facts::Facts;
use log::tell;

/// Why an assertion has no meaning in this box.
pub(crate) type Skip = Result<(), &'static str>;

/// Something that must hold in every box, or says why it does not apply.
struct Assertion {
    name: &'static str,
    check: fn(&Facts) -> Skip,
}

/// What is asserted wherever records are precise.
const ASSERTIONS: &[Assertion] = &[
    Assertion { name: "every_type_opens_or_says_why_not", check: types::open_or_refused },
    Assertion {
        name: "instr_retired_opens_as_it_was_planned",
        check: types::instructions_as_planned,
    },
    Assertion { name: "counts_are_perf_stats_and_the_truth", check: account::counts },
    Assertion { name: "each_record_is_where_the_truth_says", check: records::truth },
    Assertion { name: "ip_is_exact_on_all", check: precise::exact },
    Assertion { name: "each_group_of_stat_is_perf_stats", check: stat::groups },
    Assertion { name: "recipes_of_the_documents_count", check: recipes::run },
    Assertion { name: "a_count_and_samples_of_one_run_agree", check: stat::beside_samples },
    Assertion { name: "user_kernel_and_both", check: modes::modes },
    Assertion { name: "counted_in_the_kernel_as_sampled", check: account::in_kernel },
    Assertion { name: "attached_to_a_process", check: targets::attached },
    Assertion { name: "children_are_followed", check: targets::children },
    Assertion { name: "losses_of_a_full_ring_are_told", check: shortage::full_ring },
    Assertion { name: "records_that_collide_are_told", check: realism::collisions },
];

/// And what besides since Skylake: before, records have no time and are an
/// interrupt each, and before Haswell no address or instruction of their own.
const SINCE_SKYLAKE: &[Assertion] = &[
    Assertion { name: "records_are_those_of_perf_record", check: records::perf },
    Assertion { name: "perf_script_reads_the_same", check: records::script },
    Assertion { name: "kernel_chains_are_perfs", check: callers::of_the_kernel },
    Assertion { name: "records_for_the_models_log", check: log::records },
    Assertion { name: "the_whole_system", check: targets::system },
    Assertion { name: "shared_counters_are_told", check: shortage::shared_counters },
    Assertion { name: "emulated_and_real_misses_are_the_same", check: emulated::beside },
    Assertion { name: "by_the_daemon_as_root", check: daemon::as_root },
    Assertion { name: "by_the_daemon_as_a_user", check: daemon::as_user },
    Assertion { name: "by_the_daemon_standing", check: daemon::standing },
    Assertion { name: "throttling_is_told_with_its_cost", check: throttling::told },
    Assertion { name: "a_program_that_picks_sees_every_record", check: throttling::picked },
    Assertion { name: "selftest_passes", check: selftest::passes },
    Assertion { name: "selftest_fails_where_the_pmu_is_broken", check: selftest::fails },
    Assertion { name: "an_interval_of_1_tells_what_it_misses", check: realism::every_event },
    Assertion { name: "late_interrupts_move_no_exact_record", check: realism::skid },
    Assertion { name: "a_shadow_is_told_by_the_account", check: realism::shadow },
    Assertion { name: "arming_is_told_by_the_account", check: realism::arming },
    Assertion { name: "a_buffer_that_overflows_is_told", check: realism::buffer_overflow },
    Assertion { name: "records_kept_back_are_told", check: realism::hidden_loss },
    Assertion { name: "aborted_transactions_change_no_record", check: realism::aborts },
    Assertion { name: "hitm_is_what_the_other_cpu_modified", check: two_cpus::hitm },
    Assertion { name: "a_cpu_goes_away_and_comes_back", check: two_cpus::hotplug },
    Assertion { name: "short_intervals_of_ibs_give_bounds", check: ibs::bounded },
    Assertion { name: "lbr_chains_are_perfs_and_the_programs", check: kept_calls::chains },
];

/// What is asserted where there is no DS, and with it nothing exact.
const OF_CLOUD: &[Assertion] = &[
    Assertion { name: "precise_types_are_refused", check: cloud::refused },
    Assertion { name: "allowed_skid_is_told", check: cloud::allowed },
    Assertion { name: "selftest_passes", check: selftest::passes_without_precision },
];

/// What is asserted where time is long enough for the kernel's turns.
const OF_TURNS: &[Assertion] =
    &[Assertion { name: "bounds_of_turns_hold_the_truth", check: turns::held }];

/// The lists of a box.
fn assertions(facts: &Facts) -> [&'static [Assertion]; 2] {
    match facts.cpu.as_str() {
        "cloud" => [OF_CLOUD, &[]],
        "skylake-turns" | "zen-turns" => [OF_TURNS, &[]],
        _ if facts.is_before_skylake() => [ASSERTIONS, &[]],
        _ => [ASSERTIONS, SINCE_SKYLAKE],
    }
}

/// Where and why the last assertion failed.
static WHY: Mutex<String> = Mutex::new(String::new());

fn main() -> ExitCode {
    let wanted = env::args().nth(1).unwrap_or_default();
    let facts = Facts::read();
    // Hundreds of interrupts a tick are more than the kernel takes.
    let _every_record = facts.is_before_skylake().then(throttling::Unthrottled::new);
    panic::set_hook(Box::new(|panic| *WHY.lock().unwrap() = panic.to_string()));
    let (mut failed, mut ran) = (0, 0);
    let is_wanted = |one: &&Assertion| wanted.split(',').any(|text| one.name.contains(text));
    for Assertion { name, check } in assertions(&facts).into_iter().flatten().filter(is_wanted) {
        let start = Instant::now();
        ran += 1;
        let held = panic::catch_unwind(AssertUnwindSafe(|| check(&facts)));
        let figures = take_figures();
        match held {
            Ok(Ok(())) => {
                tell(&format!("PASS {name} {:.2} s{figures}", start.elapsed().as_secs_f64()));
            }
            Ok(Err(why)) => tell(&format!("SKIP {name} {why}")),
            Err(_) => {
                failed += 1;
                let why = WHY.lock().unwrap().replace('\n', "\n    ");
                tell(&format!("FAIL {name} {why}{figures}"));
            }
        }
    }
    tell(&format!("box: {ran} assertions, {failed} failed"));
    // A text that no name holds asserts nothing.
    if failed == 0 && ran > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the assertion that runs found, beside that it held: told on its line,
/// so that runs can be compared.
static FIGURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A figure of the assertion that runs.
pub(crate) fn keep_figure(figure: String) {
    FIGURES.lock().unwrap().push(figure);
}

/// Those of the assertion that has ended.
fn take_figures() -> String {
    let figures = mem::take(&mut *FIGURES.lock().unwrap());
    figures.iter().map(|figure| format!("; {figure}")).collect()
}
