//! `ebs stat`: counts, and what is derived from them.
//!
//! `row` is what is told of an event or a metric, a file a form of it.

mod arguments;
mod columns;
mod job;
mod row;
mod text;

pub use arguments::StatArguments;
pub use job::{PerUnit, StatForm, StatJob, StatUsageError};

use crate::ebs::exit_status::{FAILURE, SUCCESS};
use crate::ebs::sample::{end_command, outlive};
use crate::outputs::{self, PatientWriter};
use crate::terminal::say;
use crate::terminal::signals::{self, AskedEnd, Catcher};
use anyhow::{Context, Result, bail};
use recorder::catalogue::identify;
use recorder::counting::{
    self, Counting, CountingPlan, CountingRequest, CountingSession, CountingSettings,
    EmulatedCounting, TotalCounts,
};
use recorder::metrics::{MetricCore, on_core};
use recorder::session::{SessionSettings, TargetState};
use recorder::{Facts, Modes, SourceChoice, Target};
use row::{StatRow, StatTable, rows};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Signals are looked for at least so often.
const LOOK: Duration = Duration::from_millis(100);
/// Status of a program that SIGINT ended.
const INTERRUPTED: u8 = 130;

/// Does the job; gives the status to exit with.
///
/// # Errors
///
/// What cannot be counted, and why; a command that cannot be started.
pub fn run(arguments: &StatArguments) -> Result<u8> {
    let job = &StatJob::new(arguments)?;
    if job.list {
        let mut out = opened(job)?;
        write_list(&Facts::read(Path::new("/"))?, &mut out)?;
        return Ok(SUCCESS);
    }
    let mut request = CountingRequest {
        metrics: job.metrics.clone(),
        events: job.events.clone(),
        modes: job.modes.unwrap_or(Modes::BOTH),
        target: job.target,
    };
    let facts = request.facts(Path::new("/"))?;
    let is_emulated = emulates(job, &facts);
    if job.modes.is_none() && (is_emulated || facts.access.kernel_denied()) {
        request.modes = Modes::USER;
        if !is_emulated {
            say(
                "ebs",
                "user code alone is counted: this user may not count the kernel's (say -u, or be root)",
            );
        }
    }
    if job.emulation.classify {
        bail!(
            "--classify is of records, and counts have none: `ebs --classify exact -t l1_cache_miss -- PROGRAM`"
        );
    }
    if is_emulated && !matches!(job.target, Target::Command) {
        bail!(
            "the emulated PMU counts a command here: name a program, or sample the process with `ebs -u -p PID`"
        );
    }
    if is_emulated && job.interval.is_some() {
        bail!(
            "the emulated PMU's time is not the program's own, so that -I says nothing: leave it out"
        );
    }
    let plan = counting::plan(&request, is_emulated, &facts)?;
    for lacking in plan.unavailable.iter().filter(|_| !job.is_default) {
        say("ebs", &format!("{} is not counted: {}", lacking.name, lacking.why));
    }
    tell_of_the_machine(job, &plan, is_emulated, &facts);
    let plans = if job.passes { plan.passes() } else { vec![plan] };
    Statistics { job, request, facts, is_emulated, plans }.run()
}

/// Whether the emulated PMU counts: where it was asked for, or where a CPU's
/// metric was and there is no PMU.
fn emulates(job: &StatJob, facts: &Facts) -> bool {
    match job.emulation.source {
        SourceChoice::Pmu => false,
        SourceChoice::Emulated => true,
        SourceChoice::Auto => {
            let has_pmu = facts.pmus.iter().flatten().any(|pmu| pmu.counts_events());
            let of_cpu = job.metrics.iter().any(|choice| !choice.is_of_kernel());
            let emulable = |event: &recorder::EventSpec| {
                recorder::catalogue::find(event.text())
                    .is_some_and(|entry| recorder::source::emulable(entry, facts).is_some())
            };
            let is_for_cpu = of_cpu && !job.is_default || job.events.iter().any(emulable);
            !has_pmu && is_for_cpu
        }
    }
}

fn tell_of_the_machine(job: &StatJob, plan: &CountingPlan, is_emulated: bool, facts: &Facts) {
    let has_pmu = facts.pmus.iter().flatten().any(|pmu| pmu.counts_events());
    if job.is_default && !has_pmu {
        say(
            "ebs",
            "this machine has no hardware PMU: -m cache and -m tlb count by the emulated one, slowly",
        );
    }
    let is_of_pmu = plan.groups.iter().any(|group| group.pmu != "software");
    if facts.kernel.nmi_watchdog == Some(true) && is_of_pmu && !is_emulated {
        say(
            "ebs",
            "the NMI watchdog has a counter of each CPU: `sysctl kernel.nmi_watchdog=0` frees it",
        );
    }
}

fn opened(job: &StatJob) -> Result<PatientWriter> {
    let Some(path) = &job.output else { return PatientWriter::stdout().context("stdout") };
    let (file, name) = (outputs::create(path), path.display().to_string());
    Ok(PatientWriter::new(file.with_context(|| format!("cannot write to {name}"))?, name))
}

struct Statistics<'j> {
    job: &'j StatJob,
    request: CountingRequest,
    facts: Facts,
    is_emulated: bool,
    plans: Vec<CountingPlan>,
}

struct RunEnding {
    rows: Vec<StatRow>,
    wall: Duration,
    status: u8,
    is_over: bool,
}

impl Statistics<'_> {
    fn run(&self) -> Result<u8> {
        let mut out = opened(self.job)?;
        if self.job.form == StatForm::Csv {
            columns::csv_head(&self.job.per, &mut out).context("cannot write the table")?;
        }
        let (mut runs, mut walls) = (Vec::new(), Vec::new());
        let mut status = SUCCESS;
        for _ in 0..self.job.repeat {
            let ending = self.run_once(&mut out)?;
            status = ending.status;
            runs.push(ending.rows);
            walls.push(ending.wall);
            if ending.is_over {
                break;
            }
        }
        let table = StatTable {
            rows: row::over_runs(&runs),
            seconds: walls.iter().map(Duration::as_secs_f64).sum::<f64>() / walls.len() as f64,
            runs: runs.len(),
            at: None,
            per: &self.job.per,
            model: self.model()?,
        };
        // With -I everything was shown as it came.
        if self.job.interval.is_none() {
            self.write(&table, &mut out)?;
        }
        out.flush().context("cannot write the table")?;
        Ok(status)
    }

    fn model(&self) -> Result<Option<String>> {
        let model =
            self.is_emulated.then(|| self.job.emulation.model(Path::new("/"))).transpose()?;
        Ok(model.map(|model| model.to_string()))
    }

    fn write(&self, table: &StatTable<'_>, out: &mut dyn Write) -> Result<()> {
        let written = match self.job.form {
            StatForm::Text => out.write_all(text::table(table).as_bytes()).map_err(Into::into),
            StatForm::Json => columns::json(table, out),
            StatForm::Csv => columns::csv_lines(table, out),
        };
        written.context("cannot write the table")
    }

    fn run_once(&self, out: &mut dyn Write) -> Result<RunEnding> {
        let mut all =
            RunEnding { rows: Vec::new(), wall: Duration::ZERO, status: SUCCESS, is_over: false };
        for plan in &self.plans {
            let (counts, ending) = self.pass(plan, out)?;
            all.rows.extend(rows(plan, &counts));
            all.wall += counts.wall;
            all.status = ending.status;
            all.is_over |= ending.is_over;
            if all.is_over {
                break;
            }
        }
        Ok(all)
    }

    /// One run of the command, or one span of the process or the system.
    fn pass(&self, plan: &CountingPlan, out: &mut dyn Write) -> Result<(TotalCounts, RunEnding)> {
        let mut counter = self.open(plan)?;
        let counter = counter.as_mut();
        let mut catcher = Catcher::new().context("signals cannot be caught")?;
        counter.start()?;
        let mut ending =
            RunEnding { rows: Vec::new(), wall: Duration::ZERO, status: SUCCESS, is_over: false };
        let began = std::time::Instant::now();
        let mut shown = 0;
        let asked = loop {
            let due = self.job.interval.map(|interval| interval * (shown + 1));
            let left = due.map_or(LOOK, |due| due.saturating_sub(began.elapsed()).min(LOOK));
            let state = counter.wait(left)?;
            if due.is_some_and(|due| began.elapsed() >= due) {
                self.show_window(plan, counter, began.elapsed(), out)?;
                shown += 1;
            }
            let asked = catcher.asked();
            if asked != AskedEnd::default() || state != TargetState::Running {
                break asked;
            }
        };
        let counts = counter.finish()?;
        if self.job.interval.is_some() {
            self.show_window(plan, counter, began.elapsed(), out)?;
        }
        for note in counter.notes() {
            say("ebs", &note);
        }
        ending.is_over = asked != AskedEnd::default();
        if let Some(signal) = asked.end {
            end_command(counter.command(), signal);
            ending.status = u8::try_from(128 + signal).unwrap_or(FAILURE);
        }
        if let Some(command) = counter.command() {
            let outlived = outlive(command, &mut catcher, u32::from(asked.interrupt), &mut || {})?;
            ending.status = outlived.unwrap_or(INTERRUPTED);
        }
        signals::end_the_program(false);
        Ok((counts, ending))
    }

    fn show_window(
        &self,
        plan: &CountingPlan,
        counter: &mut dyn Counting,
        at: Duration,
        out: &mut dyn Write,
    ) -> Result<()> {
        let Some(counts) = counter.window() else { return Ok(()) };
        let table = StatTable {
            rows: rows(plan, &counts),
            seconds: counts.wall.as_secs_f64(),
            runs: 1,
            at: Some(at),
            per: &self.job.per,
            model: None,
        };
        self.write(&table, out)?;
        out.flush().context("cannot write the table")
    }

    fn open(&self, plan: &CountingPlan) -> Result<Box<dyn Counting>> {
        let command = self.job.command.clone();
        if self.is_emulated {
            let model = self.job.emulation.model(Path::new("/"))?;
            let plan = EmulatedCounting::plan(plan, &self.request, model, &self.facts)?;
            let settings = SessionSettings { command, ..SessionSettings::default() };
            let rules = hardmeter::program_rules();
            return Ok(Box::new(EmulatedCounting::open(plan, settings, &rules)?));
        }
        let (target, cpus, root) = (self.job.target, self.job.cpus.clone(), "/".into());
        let settings = CountingSettings { target, command, cpus, root };
        Ok(Box::new(CountingSession::open(plan.clone(), settings)?))
    }
}

/// A line of each metric, by who counts it.
///
/// # Errors
/// Those of `out`.
fn write_list(facts: &Facts, out: &mut dyn Write) -> Result<()> {
    let mut kinds = vec![("software", MetricCore::Kernel)];
    for pmu in facts.pmus.iter().flatten().filter(|pmu| pmu.counts_events()) {
        let uarch = identify(&facts.cpus, pmu).core();
        kinds.push((pmu.name.as_str(), MetricCore::Pmu { pmu, uarch }));
    }
    kinds.push(("emulated", MetricCore::Emulated));
    for (name, core) in kinds {
        for found in on_core(core) {
            let metric = found.metric;
            writeln!(
                out,
                "{name:9} {:9} {:22} {:11} {} = {}",
                metric.group, metric.name, metric.unit, metric.meaning, metric.text
            )
            .context("cannot write the list")?;
        }
    }
    Ok(())
}
