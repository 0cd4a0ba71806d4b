//! The whole program end to end: the built `ebs` and `eip2r`, real kernels,
//! programs whose events are known, and `perf` as the second witness.
//!
//! Each test has a directory and commands of its own. A regression gets a
//! test in the module of its subject, named after what went wrong.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says on stderr why it skips"
)]

/// Routines by instruction.
mod annotate;
/// Sampling a process that already runs, and makes threads meanwhile.
mod attach;
/// Each mistake of a user gets a message and a status.
mod bad_input;
/// Hardware breakpoints.
mod breakpoint;
/// Lines that threads share.
mod c2c;
/// What cachegrind counts.
mod cachegrind;
/// Who called what was sampled.
mod callers;
/// Why programs miss.
mod causes;
/// Records by the class of their instruction.
mod class;
/// What a sampled command sees of us: nothing.
mod command;
/// Two commands recorded in turn.
mod compare;
/// Programs in namespaces of their own, and code that they make.
mod containers;
/// Recordings in another form.
mod convert;
mod daemon;
/// Debug files from servers.
mod debuginfod;
/// Two recordings side by side.
mod diff;
/// Two builds side by side.
mod diff_builds;
/// Who called what was emulated, counted.
mod exact_callers;
/// Recordings in the forms of other tools.
mod export;
/// What is written into files, read by other tools.
mod file_form;
/// `ebs PROGRAM` alone.
mod first_answer;
/// Programs that attack who emulates them.
mod heap;
mod holders;
mod hostile;
/// A recording as one page.
mod html;
/// Samples counted, or picked, by a program in the kernel.
mod in_kernel;
/// The kernel's names in recordings.
mod kernel_symbols;
/// Programs whose cause is known.
mod known_causes;
/// Objects in other layouts, tried in the model.
mod layouts;
/// What ends `ebs`, and not its target.
mod let_go;
/// Delivered and lost together are what the kernel counted.
mod loss;
/// What programs map themselves.
mod mappings;
/// Regions that programs name.
mod marked;
/// How long memory takes, on any machine and under any load.
mod memlat;
/// Why misses of an emulated cache are some.
mod miss_classes;
/// What caches of other sizes would miss.
mod miss_curves;
/// Mistakes of somebody new.
mod mistakes;
/// Names that outlive what they come from.
mod native_heap;
mod outlived;
/// Files that a user names to be written.
mod outputs;
/// Histograms behind a report.
mod plots;
/// Types of a CPU's PMU, where there is one and where not.
mod pmu;
/// Files that are no recordings, or not whole ones.
mod recordings;
/// Regions that a program marks.
mod regions;
/// Register histograms.
mod registers;
/// A user without rights.
mod rights;
/// Programs that sample themselves.
mod sampled_types;
mod sampler;
/// Programs of known truth inside `ebs`, and what it says of them.
mod selftest;
/// Several events in one run.
mod several;
/// Who counts: the PMU or the emulated one.
mod source;
/// Whole source files with counts.
mod source_files;
/// Outputs whose reader does not read.
mod stalled_readers;
/// Counts without samples, and what is derived from them.
mod stat;
/// Sampling turned on and off.
mod steering;
/// The original's pipeline and our table tell the same.
mod table;
/// The live view in a terminal.
mod top;
/// Layouts of types, against pahole's and compilers'.
mod typed;
mod types;
/// Breakpoints at names of programs and libraries.
mod watched_names;
/// Every address and register, against the program's truth and against perf.
mod witness;
