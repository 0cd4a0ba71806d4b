//! What the words of a command line that samples mean. Pure.

use crate::ebs::arguments::{
    self, EmulationChoice, InKernelUsageError, Serving, Steering, TableArguments, UsageError,
    names_modes, request, ring, scaled,
};
use crate::ebs::sample::{Format, SampleArguments};
use recorder::in_kernel::InKernel;
use recorder::{Modes, Request, Target};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Text records after which sampling stops, when `-c` is not given: the
/// original's. Tables and streams go on to the end.
pub const DEFAULT_COUNT: u64 = 2000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleJob {
    pub asked: recorder::Job,
    /// `-g` alone: the kernel is to follow frame pointers, where the program
    /// has them.
    pub prefers_frame_pointers: bool,
    /// Neither -u nor -k: user code, and kernel code where a PMU counts that and the user may.
    pub chooses_modes: bool,
    pub emulation: EmulationChoice,
    pub serving: Serving,
    pub steering: Steering,
    /// Only samples of tasks in this control group are kept, by programs in
    /// the kernel: its path below the hierarchy's root.
    pub cgroup: Option<PathBuf>,
    /// The program and its arguments; empty unless the target is a command.
    pub command: Vec<OsString>,
    pub output: OutputChoice,
    /// A recording gets the files that names come from and that may be gone
    /// later.
    pub carries_files: bool,
    /// Whether copied stacks stay as they are in a recording.
    pub keeps_stacks: bool,
    /// A page that is written when sampling has ended; `-` is stdout.
    pub page: Option<PathBuf>,
    /// Neither notices nor the last line are printed.
    pub is_quiet: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputChoice {
    Table {
        top: usize,
        shown: TableArguments,
    },
    /// A recording without a name, for a page.
    Unnamed,
    /// A recording under the usual name, and its summary.
    Summary,
    Text(OutputPlace),
    Stream(OutputPlace),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPlace {
    /// `-o -`, or `--format` alone.
    Stdout,
    /// `-o FILE`.
    File(PathBuf),
}

impl SampleJob {
    /// The meaning of what was typed.
    ///
    /// # Errors
    /// The word that has none.
    pub fn new(arguments: SampleArguments) -> Result<SampleJob, UsageError> {
        let mut arguments = arguments;
        let modes = Modes { user: arguments.user, kernel: arguments.kernel };
        let target = arguments::target(arguments.pid.as_deref(), &arguments.target)?;
        let command = if target == Target::Command { arguments.target.clone() } else { Vec::new() };
        let wants_answer = arguments.event.event.is_empty() && target != Target::System;
        if wants_answer {
            answer_all(&mut arguments);
        }
        let mut request = request(&arguments.event, modes, target)?;
        request.ring_pages = arguments.ring.map(ring).transpose()?;
        request.data_mappings = arguments.data;
        let chooses_modes = request.modes == Modes::default() && !names_modes(&request);
        if chooses_modes {
            request.modes = Modes::USER;
        }
        let mut asked = recorder::Job::new(request);
        let mut cgroup = None;
        if let Some(wanted) = arguments::in_kernel(&arguments.in_kernel)? {
            asked.request.in_kernel = Some(wanted.in_kernel);
            asked.every = wanted.every.unwrap_or(asked.every);
            (asked.rings, cgroup) = (wanted.rings, wanted.cgroup);
        }
        let counts = asked.request.in_kernel.as_ref().is_some_and(InKernel::counts);
        let output = output(&arguments, wants_answer)?;
        check_page(arguments.html.as_deref(), &output)?;
        asked.count = count(arguments.count.as_deref(), &output)?;
        // Text records have the original's intervals.
        asked.request.adapts = !matches!(output, OutputChoice::Text(_));
        if counts && matches!(output, OutputChoice::Text(_)) {
            return Err(InKernelUsageError::Text.into());
        }
        let mut emulation = EmulationChoice::new(&arguments.emulation)?;
        emulation.explains = wants_answer;
        let serving = Serving::new(&arguments.serving);
        let steering = Steering::new(&arguments.steering)?;
        if arguments.regions {
            check_regions(&asked.request, &output, &serving)?;
            asked.request.regions = true;
        }
        asked.kernel_symbols = matches!(output, OutputChoice::Stream(_) | OutputChoice::Summary)
            && !arguments.no_kallsyms;
        let prefers_frame_pointers = arguments.event.call_graph.is_none();
        let carries_files = !arguments.no_files;
        Ok(SampleJob {
            asked,
            prefers_frame_pointers,
            chooses_modes,
            emulation,
            serving,
            steering,
            cgroup,
            command,
            output,
            carries_files,
            keeps_stacks: arguments.keep_stacks,
            page: arguments.html,
            is_quiet: arguments.quiet,
        })
    }
}

/// What is asked for where nothing was: misses with their causes, callers and data.
fn answer_all(arguments: &mut SampleArguments) {
    arguments.event.event = vec!["l1_cache_miss".to_owned()];
    arguments.data = true;
    // Stacks of allocations, too, become frames then.
    arguments.event.callers = true;
}

/// Text records are what the original wrote, and so many.
fn count(text: Option<&str>, output: &OutputChoice) -> Result<Option<u64>, UsageError> {
    match text {
        None => Ok(matches!(output, OutputChoice::Text(_)).then_some(DEFAULT_COUNT)),
        Some("all") => Ok(None),
        Some(text) => match scaled(text).filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => Err(UsageError::Count(text.to_owned())),
        },
    }
}

fn output(arguments: &SampleArguments, wants_answer: bool) -> Result<OutputChoice, UsageError> {
    let path = match (&arguments.output, arguments.format) {
        (Some(path), _) => path.as_path(),
        (None, Some(_)) => Path::new("-"),
        (None, None) if arguments.html.is_some() => return Ok(OutputChoice::Unnamed),
        (None, None) if wants_answer => return Ok(OutputChoice::Summary),
        (None, None) => {
            return Ok(OutputChoice::Table { top: arguments.top, shown: arguments.table });
        }
    };
    if path.as_os_str().is_empty() {
        return Err(UsageError::EmptyOutput);
    }
    let place = if path == Path::new("-") {
        OutputPlace::Stdout
    } else {
        OutputPlace::File(path.to_path_buf())
    };
    let by_name = if path.extension().is_some_and(|extension| extension == "data") {
        Format::Perf
    } else {
        Format::Text
    };
    Ok(match arguments.format.unwrap_or(by_name) {
        Format::Text => OutputChoice::Text(place),
        Format::Perf => OutputChoice::Stream(place),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageUsageError {
    #[error(
        "--html makes its page of a recording: with -o say -o FILE.data, or leave -o and --format out"
    )]
    NoRecording,
    #[error("--html and -o name one file: name another for the page")]
    SameFile,
}

/// Whether a job can have a page.
///
/// # Errors
///
/// Why not.
fn check_page(page: Option<&Path>, output: &OutputChoice) -> Result<(), PageUsageError> {
    let Some(page) = page else { return Ok(()) };
    match output {
        OutputChoice::Stream(OutputPlace::File(recording)) if recording == page => {
            Err(PageUsageError::SameFile)
        }
        OutputChoice::Stream(OutputPlace::File(_)) | OutputChoice::Unnamed => Ok(()),
        OutputChoice::Summary
        | OutputChoice::Stream(OutputPlace::Stdout)
        | OutputChoice::Table { .. }
        | OutputChoice::Text(_) => Err(PageUsageError::NoRecording),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionUsageError {
    #[error(
        "--regions needs a program that ebs starts, which finds in its environment where to mark \
         them; of a process that runs already, or of the system, there are none"
    )]
    NotStarted,
    #[error(
        "--regions goes into recordings: say -o FILE.data, then ebs report --by region FILE.data"
    )]
    NoRecording,
    #[error("--regions needs samples with times, which --in-kernel does not keep: leave one out")]
    InKernel,
    #[error("--regions is for sessions of ebs itself, not of the daemon: leave --daemon out")]
    Daemon,
}

/// Whether a job can record regions.
///
/// # Errors
///
/// Why not.
fn check_regions(
    request: &Request,
    output: &OutputChoice,
    serving: &Serving,
) -> Result<(), RegionUsageError> {
    if request.target != Target::Command {
        return Err(RegionUsageError::NotStarted);
    }
    if request.in_kernel.as_ref().is_some_and(InKernel::counts) {
        return Err(RegionUsageError::InKernel);
    }
    if matches!(serving, Serving::Daemon(_)) {
        return Err(RegionUsageError::Daemon);
    }
    match output {
        OutputChoice::Stream(_) | OutputChoice::Unnamed | OutputChoice::Summary => Ok(()),
        OutputChoice::Table { .. } | OutputChoice::Text(_) => Err(RegionUsageError::NoRecording),
    }
}

#[cfg(test)]
mod tests {
    //! Many command lines, and what each means.

    use super::{OutputChoice, OutputPlace, SampleJob};
    use crate::ebs::arguments::{EmulationChoice, TableArguments};
    use crate::ebs::command::{self, Command};
    use crate::ebs::completions::CommandName;
    use perfdata::Pid;
    use proptest::prelude::*;
    use recorder::{Modes, SourceChoice, Target};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn sampled(words: Vec<OsString>) -> Result<SampleJob, String> {
        match command::parse(words) {
            Ok(Command::Sample(arguments)) => {
                SampleJob::new(*arguments).map_err(|error| error.to_string())
            }
            Ok(other) => panic!("{other:?} does not sample"),
            Err(error) => Err(error.to_string()),
        }
    }

    fn job(line: &str) -> SampleJob {
        sampled(words(line)).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// What `-h` asks for.
    fn types_of(line: &str) -> Option<Option<String>> {
        match command::parse(words(line)) {
            Ok(Command::Sample(arguments)) => arguments.types,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn complaint(line: &str) -> String {
        sampled(words(line)).err().unwrap_or_else(|| panic!("{line:?} was accepted"))
    }

    #[test]
    fn the_original_lines_keep_their_meaning() {
        let make = job("ebs -k -t l1_cache_miss -c 50000 -- make -j");
        assert_eq!(make.command, words("make -j"));
        assert_eq!(make.asked.count, Some(50000));
        assert_eq!(make.asked.request.modes, Modes::KERNEL);
        assert_eq!(make.asked.request.event.text(), "l1_cache_miss");
        assert_eq!(make.asked.request.target, Target::Command);
        assert_eq!(make.asked.request.interval, None);
        assert_eq!(make.output, OutputChoice::Table { top: 20, shown: TableArguments::default() });

        let ps = job("ebs -o pebs -u -i 100 -t dtlb_load_miss ps");
        assert_eq!(ps.command, words("ps"));
        assert_eq!(ps.asked.count, Some(2000));
        assert_eq!(ps.asked.request.modes, Modes::USER);
        assert_eq!(ps.asked.request.interval, Some(100));
        assert_eq!(ps.output, OutputChoice::Text(OutputPlace::File(PathBuf::from("pebs"))));

        let system = job("ebs -k -t l1_cache_miss -o l1miss.1 -c 50000");
        assert_eq!(system.asked.request.target, Target::System);
        assert_eq!(system.command, Vec::<OsString>::new());
        assert_eq!(system.output, OutputChoice::Text(OutputPlace::File(PathBuf::from("l1miss.1"))));
    }

    #[test]
    fn text_records_alone_end_at_a_count_by_themselves() {
        for (line, count) in [
            ("ebs -u -t x ./a", None),
            ("ebs -u -t x -o f.data ./a", None),
            ("ebs -u -t x -o - --format perf ./a", None),
            ("ebs -u -t x 1234", None),
            ("ebs -u -t x", None),
            ("ebs -u -t x -o f ./a", Some(2000)),
            ("ebs -u -t x --format text ./a", Some(2000)),
            ("ebs -u -t x -o f", Some(2000)),
            ("ebs -u -t x -o f -c all ./a", None),
            ("ebs -u -t x -c 7 ./a", Some(7)),
            ("ebs -u -t x -c 7 -o f.data ./a", Some(7)),
        ] {
            assert_eq!(job(line).asked.count, count, "{line}");
        }
    }

    #[test]
    fn modes_may_be_given_apart_or_together() {
        for line in ["ebs -u -k -t x", "ebs -uk -t x", "ebs -ku -t x", "ebs --user --kernel -t x"] {
            assert_eq!(job(line).asked.request.modes, Modes::BOTH, "{line}");
        }
        assert_eq!(job("ebs -kt x").asked.request.modes, Modes::KERNEL);
        let neither = job("ebs -t x ls");
        assert_eq!((neither.asked.request.modes, neither.chooses_modes), (Modes::USER, true));
    }

    #[test]
    fn words_after_the_program_are_its_own() {
        assert_eq!(job("ebs -u -t x ls -u -t y --help").command, words("ls -u -t y --help"));
        assert_eq!(job("ebs -u -t x make -- all").command, words("make -- all"));
        assert_eq!(job("ebs -u -t x -- -odd -h").command, words("-odd -h"));
        assert_eq!(job("ebs -u -t x -- ls -h").command, words("ls -h"));
    }

    #[test]
    fn programs_called_like_subcommands_are_programs() {
        for name in ["report", "script", "man", "completions", "help"] {
            assert_eq!(job(&format!("ebs -u -t x {name} a")).command, words(&format!("{name} a")));
            assert_eq!(job(&format!("ebs -u -t x -- {name}")).command, words(name));
        }
    }

    #[test]
    fn first_words_that_are_subcommands_are_subcommands() {
        assert!(matches!(command::parse(words("ebs report f.data")), Ok(Command::Report(_))));
        assert!(matches!(command::parse(words("ebs report -")), Ok(Command::Report(_))));
        assert!(matches!(command::parse(words("ebs script -F ip,sym f")), Ok(Command::Script(_))));
        for (line, program) in [
            ("ebs completions bash", CommandName::Ebs),
            ("ebs completions zsh eip2r", CommandName::Eip2r),
        ] {
            let meant = command::parse(words(line));
            assert!(
                matches!(meant, Ok(Command::Completions(it)) if it.program == program),
                "{line}"
            );
        }
        assert!(
            matches!(command::parse(words("ebs man")), Ok(Command::Man(it)) if it.directory.is_none())
        );
        assert!(
            matches!(command::parse(words("ebs man pages")), Ok(Command::Man(it)) if it.directory.is_some())
        );
        assert!(complaint("ebs report --json --csv f").contains("cannot be used with"));
        assert!(complaint("ebs report --site f f").contains("--regs"));
    }

    #[test]
    fn a_number_is_a_process() {
        assert_eq!(job("ebs -u -t x 1234").asked.request.target, Target::Process(Pid(1234)));
        assert_eq!(job("ebs -u -t x -- 1234").asked.request.target, Target::Process(Pid(1234)));
        assert_eq!(job("ebs -u -t x ./1234").command, words("./1234"));
        assert_eq!(job("ebs -u -t x 12a").command, words("12a"));
        assert!(complaint("ebs -u -t x 0").contains("0 is no process id"));
        assert!(complaint("ebs -u -t x 2147483648").contains("2147483648 is no process id"));
        assert!(complaint("ebs -u -t x 1234 ls").contains("takes no arguments"));
    }

    #[test]
    fn a_process_may_be_named_as_other_profilers_take_it() {
        for line in ["ebs -u -t x -p 1234", "ebs -u -t x --pid 1234", "ebs -p1234 -u -t x"] {
            assert_eq!(job(line).asked.request.target, Target::Process(Pid(1234)), "{line}");
            assert!(job(line).command.is_empty(), "{line}");
        }
        // Behind the program it is the program's.
        assert_eq!(job("ebs -u -t x mkdir -p 12").command, words("mkdir -p 12"));
        assert!(complaint("ebs -u -t x -p 1234 ls").contains("\"ls\" would be a program to start"));
        assert!(complaint("ebs -u -t x -p 1,2").contains("one process at a time"));
        for bad in ["0", "-1", "+1", "x", "2147483648", "12k", ""] {
            let line = ["ebs", "-u", "-t", "x", "-p", bad].map(OsString::from).to_vec();
            let said = sampled(line).expect_err("is no process");
            assert!(said.contains(&format!("{bad:?} is no process id")), "{bad}: {said}");
        }
    }

    #[test]
    fn numbers_may_end_in_a_letter() {
        assert_eq!(job("ebs -u -t x -i 10k").asked.request.interval, Some(10_000));
        assert_eq!(job("ebs -u -t x -i 1M -c 50K").asked.count, Some(50_000));
        assert_eq!(job("ebs -u -t x -i 1M").asked.request.interval, Some(1_000_000));
        assert_eq!(job("ebs -u -t x -i 2g").asked.request.interval, Some(2_000_000_000));
        assert!(complaint("ebs -u -t x -i 1T ls").contains("k, M and G may follow it"));
        assert!(complaint("ebs -u -t x -c 1T ls").contains("k, M and G may follow it"));
        assert!(complaint("ebs -u -t x -i 9999999999G ls").contains("\"9999999999G\""));
    }

    #[test]
    fn intervals_are_drawn_unless_an_equals_sign_fixes_them() {
        let of = |line: &str| {
            let Ok(Command::Sample(mut arguments)) = command::parse(words(line)) else {
                panic!("{line} does not sample")
            };
            arguments.event.fresh_seed = 77;
            let request = SampleJob::new(*arguments).expect(line).asked.request;
            (request.interval, request.seed)
        };
        assert_eq!(of("ebs -u -t x ls"), (None, Some(77)));
        assert_eq!(of("ebs -u -t x -i 10k ls"), (Some(10_000), Some(77)));
        assert_eq!(of("ebs -u -t x -i 10k --seed 5 ls"), (Some(10_000), Some(5)));
        for fixed in ["-i =10k", "--interval==10k"] {
            assert_eq!(of(&format!("ebs -u -t x {fixed} ls")), (Some(10_000), None));
        }
        assert!(complaint("ebs -u -t x -i =10k --seed 5 ls").contains("-i =10k makes each"));
        assert!(complaint("ebs -u -t x -i == ls").contains("\"==\""));
        assert!(complaint("ebs -u -t x -i =0 ls").contains("\"=0\""));
    }

    /// Help comes from clap as an error of its own kind.
    #[test]
    fn help_is_had_by_the_word_too() {
        let told = |line: &str| {
            let error = command::parse(words(line)).expect_err("is help");
            assert_eq!(error.exit_code(), 0, "{line}: {error}");
            error.to_string()
        };
        for line in ["ebs", "ebs help"] {
            assert!(matches!(command::parse(words(line)), Ok(Command::Overview)), "{line}");
        }
        for line in ["ebs help help", "ebs help ebs"] {
            assert_eq!(told(line), told("ebs --help"), "{line}");
        }
        for name in ["report", "annotate", "script", "convert", "plan", "list", "man"] {
            for line in [format!("ebs help {name}"), format!("ebs -h {name}")] {
                assert_eq!(told(&line), told(&format!("ebs {name} --help")), "{line}");
            }
        }
        assert_eq!(types_of("ebs help hitm"), Some(Some("hitm".to_owned())));
    }

    #[test]
    fn intervals_are_positive_numbers() {
        assert_eq!(job("ebs -u -t x -i 1").asked.request.interval, Some(1));
        assert_eq!(
            job("ebs -u -t x -i9223372036854775807").asked.request.interval,
            Some(i64::MAX as u64)
        );
        for bad in ["0", "-1", "-100", "1.5", "ten", "9223372036854775808", "99999999999999999999"]
        {
            let said = complaint(&format!("ebs -u -t x -i {bad} ls"));
            assert!(said.contains(&format!("{bad:?}")), "{bad}: {said}");
        }
        assert!(complaint("ebs -u -t x -i").contains("value is required"));
    }

    #[test]
    fn counts_are_positive_numbers_or_all() {
        assert_eq!(job("ebs -u -t x -c 1").asked.count, Some(1));
        assert_eq!(job("ebs -u -t x -c all").asked.count, None);
        for bad in ["0", "-1", "many"] {
            assert!(complaint(&format!("ebs -u -t x -c {bad}")).contains(&format!("{bad:?}")));
        }
    }

    #[test]
    fn names_and_formats_choose_what_is_written() {
        let file = |name: &str| OutputPlace::File(PathBuf::from(name));
        assert_eq!(job("ebs -u -t x -o a.data").output, OutputChoice::Stream(file("a.data")));
        assert_eq!(job("ebs -u -t x -o a --format perf").output, OutputChoice::Stream(file("a")));
        assert_eq!(
            job("ebs -u -t x -o a.data --format text").output,
            OutputChoice::Text(file("a.data"))
        );
        assert_eq!(job("ebs -u -t x -o -").output, OutputChoice::Text(OutputPlace::Stdout));
        assert_eq!(
            job("ebs -u -t x -o - --format perf").output,
            OutputChoice::Stream(OutputPlace::Stdout)
        );
        assert_eq!(
            job("ebs -u -t x --format perf").output,
            OutputChoice::Stream(OutputPlace::Stdout)
        );
        assert_eq!(job("ebs -u -t x -o ./-").output, OutputChoice::Text(file("./-")));
        assert_eq!(
            job("ebs -u -t x --top 3").output,
            OutputChoice::Table { top: 3, shown: TableArguments::default() }
        );
        assert!(complaint("ebs -u -t x --format elf").contains("text, perf"));
    }

    #[test]
    fn a_type_is_needed() {
        assert!(complaint("ebs -u").contains("say -t TYPE"), "of the whole system");
        assert!(complaint("ebs -u -t").contains("value is required"));
    }

    #[test]
    fn a_program_alone_asks_for_all_that_an_answer_needs() {
        for line in ["ebs ls", "ebs -u ls", "ebs -p 12", "ebs 12"] {
            let job = job(line);
            assert_eq!(job.asked.request.event.text(), "l1_cache_miss", "{line}");
            assert_eq!(job.output, OutputChoice::Summary, "{line}");
            assert_eq!(job.asked.request.modes, Modes::USER, "{line}");
            assert_eq!(job.chooses_modes, !line.contains("-u"), "{line}");
            assert!(job.asked.request.adapts && job.asked.request.call_graph.is_some(), "{line}");
            // A PMU that the machine has is taken, and no library is preloaded.
            let EmulationChoice { source, classify, heap, explains, .. } = job.emulation;
            assert_eq!((source, classify, heap), (SourceChoice::Auto, false, None), "{line}");
            assert!(explains, "{line}");
        }
        let model = |line: &str| job(line).emulation.model(Path::new("/")).unwrap();
        for (line, classify, heap) in [
            ("ebs ls", true, true),
            ("ebs --prefetch ls", false, true),
            ("ebs --burst 1M/100M ls", false, false),
            ("ebs -u -t l1_cache_miss ls", false, false),
        ] {
            let model = model(line);
            assert_eq!((model.classify, model.heap), (classify, heap), "{line}");
        }
        let stream = OutputChoice::Stream(OutputPlace::File(PathBuf::from("f.data")));
        assert_eq!(job("ebs -o f.data ls").output, stream);
        let recorded = OutputChoice::Stream(OutputPlace::File(PathBuf::from("ebs.data")));
        assert_eq!(job("ebs record -t page_fault ls").output, recorded);
    }

    #[test]
    fn rings_are_powers_of_two() {
        assert_eq!(job("ebs -u -t x").asked.request.ring_pages, None);
        assert!(!job("ebs -u -t x").asked.request.data_mappings);
        assert!(job("ebs -u -d -t x").asked.request.data_mappings);
        assert_eq!(job("ebs -u -t x --ring 1").asked.request.ring_pages, Some(1));
        assert_eq!(job("ebs -u -t x --ring 2147483648").asked.request.ring_pages, Some(1 << 31));
        assert_eq!(
            complaint("ebs -u -t x --ring 3"),
            "a ring of 3 pages is not possible: say a power of two, such as 2 or 4"
        );
        assert!(
            complaint("ebs -u -t x --ring 4294967295")
                .ends_with("a power of two, 2147483648 at most")
        );
    }

    #[test]
    fn masks_are_a_list() {
        assert_eq!(job("ebs -u -t x -m A,B -m C ls").asked.request.masks, ["A", "B", "C"]);
    }

    #[test]
    fn helps_are_told_apart() {
        assert_eq!(types_of("ebs -h"), Some(None));
        assert_eq!(types_of("ebs -h page_fault"), Some(Some("page_fault".to_owned())));
        assert!(complaint("ebs --help").contains("Examples:"));
        assert!(complaint("ebs report -h").contains("Usage: ebs report"));
        assert!(complaint("ebs --version").contains(env!("CARGO_PKG_VERSION")));
        assert!(complaint("ebs --nonsense").contains("--nonsense"));
    }

    #[test]
    fn a_program_may_have_bytes_that_are_no_text() {
        use std::os::unix::ffi::OsStringExt;
        let odd = OsString::from_vec(vec![b'a', 0xff]);
        let mut line = words("ebs -u -t x --");
        line.push(odd.clone());
        assert_eq!(sampled(line).expect("samples").command, [odd]);
    }

    proptest! {
        #[test]
        fn no_line_panics(line in proptest::collection::vec("-?-?[a-z0-9,=]{0,12}", 0..8)) {
            let mut typed = vec![OsString::from("ebs")];
            typed.extend(line.into_iter().map(OsString::from));
            if let Ok(Command::Sample(arguments)) = command::parse(typed) {
                let _ = SampleJob::new(*arguments);
            }
        }

        /// Whatever follows `--` reaches the program as it was typed.
        #[test]
        fn arguments_reach_the_program(rest in proptest::collection::vec("[^\0]{0,8}", 0..6)) {
            let mut line = words("ebs -u -t x -- program");
            line.extend(rest.iter().map(OsString::from));
            let job = sampled(line).expect("samples");
            let rest: Vec<OsString> = rest.iter().map(OsString::from).collect();
            prop_assert_eq!(&job.command[1..], &rest[..]);
        }
    }

    #[test]
    fn the_kernel_counts_where_that_is_asked_for() {
        use recorder::in_kernel::ProgramTask;
        let counted = job("ebs -u -t x --in-kernel ./a");
        assert_eq!(counted.command, words("./a"), "the program is no mode");
        assert_eq!(
            (counted.asked.count, counted.output),
            (None, OutputChoice::Table { top: 20, shown: TableArguments::default() })
        );
        let how = (counted.asked.every.as_secs(), counted.asked.rings, counted.cgroup);
        assert_eq!(how, (60, true, None));
        let Some(ProgramTask::Aggregate(tables)) =
            counted.asked.request.in_kernel.map(|asked| asked.duty)
        else {
            panic!("it is to count")
        };
        assert!(!tables.by_process && !tables.strides);

        let line = "ebs -u -t x --in-kernel=aggregate --sites 64 --by-process --strides --every 2s \
                    --no-rings --keep cgroup=/a -c 9 -o f.data ./a";
        let counted = job(line);
        let how = (counted.asked.every.as_secs(), counted.asked.rings, counted.cgroup);
        assert_eq!(how, (2, false, Some("/a".into())));
        let Some(ProgramTask::Aggregate(tables)) =
            counted.asked.request.in_kernel.map(|asked| asked.duty)
        else {
            panic!("it is to count")
        };
        assert_eq!((tables.sites, tables.by_process, tables.strides), (64, true, true));
        assert_eq!(counted.asked.count, Some(9));

        let filtered = job("ebs -u -t x --in-kernel=filter --keep comm=make -o f ./a");
        assert_eq!(filtered.asked.count, Some(2000));
        assert!(matches!(
            filtered.asked.request.in_kernel.map(|asked| asked.duty),
            Some(ProgramTask::Filter)
        ));
        assert_eq!(job("ebs -u -t x ./a").asked.request.in_kernel, None);
    }

    #[test]
    fn words_about_the_kernel_that_mean_nothing_are_quoted() {
        let wrong = [
            ("--in-kernel --sites 100", "--sites 100: say a power of two"),
            ("--in-kernel --sites 8", "power of two from 16"),
            ("--in-kernel --every 0s", "a second or more"),
            ("--in-kernel --keep pid=x", "--keep pid=x: say numbers"),
            ("--in-kernel -o text", "no text records"),
            ("--in-kernel=filter", "--keep KEY=VALUE"),
            ("--in-kernel=filter --keep pid=1 --strides", "--strides is of --in-kernel=aggregate"),
            ("--in-kernel=count", "aggregate"),
            ("--strides", "--in-kernel"),
            ("--keep pid=1", "--in-kernel"),
        ];
        for (words, why) in wrong {
            let said = complaint(&format!("ebs -u -t x {words} ./a"));
            assert!(said.contains(why), "{words}: {said}");
        }
    }
}
